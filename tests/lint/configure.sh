#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the options of the build lead to.
# Usage: configure.sh [SOURCE-ROOT]; prints TAP.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
work=$(mktemp -d /tmp/gantry-configure.XXXXXX)
trap 'rm -rf "$work"' EXIT

n=0
# searched OPTION...: where allocators are looked for
searched() {
    rm -rf "$work/build"
    meson setup "$work/build" -Dunit_tests=disabled "$@" >"$work/log" 2>&1 ||
        sed 's/^/# /' "$work/log" >&2
    sed -n 's/^#define IALLOCATOR_SEARCH_PATH "\(.*\)"/\1/p' \
        "$work/build/gantry-config.h"
}

point() { # NAME GOT WANTED
    n=$((n + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $n - $1"
    else
        printf 'not ok %d - %s\n# got %s\n' $n "$1" "$2"
    fi
}

point "an installation elsewhere finds its own allocators" \
    "$(searched --prefix=/opt/gantry)" \
    "/usr/local/lib/ganeti/iallocators:/opt/gantry/lib/ganeti/iallocators:/usr/lib/ganeti/iallocators"
point "a list has commas or colons" \
    "$(searched --prefix=/usr -Diallocator_search_path=/a,/b:/c)" "/a:/b:/c"
echo "1..$n"
