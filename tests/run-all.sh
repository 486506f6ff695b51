#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All tests: built with gcc, again with sanitizers by clang.  The last line is
# "N passed, N failed".
#
#   --quick   the gcc build alone
#
# Tests of daemons mostly wait, while compilers and simulations compute.  So one
# of each goes on at any time: the second build beside the daemons of the
# first, then the computing tests of the first beside the tests of the second.
set -u
cd "$(dirname "$0")/.." || exit 1
quick=${1-}
status=0
export CCACHE_NOHASHDIR=1

# build NAME DIR COMPILER OPTION... : configure once, build, -Werror in CI.  Less
# debug information than usual: enough for traces, quicker to compile and to link.
build() {
    dir=$2 cc=$3
    configure_and_build "$@" && return
    echo "the build with $cc failed" >"$tally/$1.failed"
    return 1
}

configure_and_build() {
    shift 3
    werror=false
    [ -n "${CI-}" ] && werror=true
    if [ ! -f "$dir/build.ninja" ]; then
        CC=$cc meson setup "$dir" -Dwerror=$werror -Dunit_tests=enabled \
            -Dc_args=-g1 "$@" >"$dir.log" 2>&1 ||
            { cat "$dir.log"; return 1; }
    fi
    nice ninja -C "$dir" >"$dir.log" 2>&1 || { tail -60 "$dir.log"; return 1; }
    rm -f "$dir.log"
}

# ring NAME DIR OPTION... : run tests, count into the tally.
ring() {
    name=$1 dir=$2
    shift 2
    meson test -C "$dir" --no-rebuild --print-errorlogs --logbase "$name" "$@"
    rc=$?
    # A wrapper's name is added to that of the log.
    cp "$dir/meson-logs/$name"*.json "$tally/$name.json" || rc=1
    return $rc
}

# Leaks are looked for in all three rings (leaks.sh says how), but not in a
# simulated test behind the kill of a process, whose memory nobody frees
# (tests/sim/machine.c); the random lives are full of them.
sanitizers() {
    ring sanitizers build-asan --num-processes 3 \
        --wrapper "$PWD/tests/lib/leaks.sh" --no-suite hosts \
        --suite unit --suite sim --suite daemon
}

# beside COMMAND...: run it, and say behind the other work what it had to say.
beside() {
    "$@" >"$said/$1" 2>&1 &
    beside=$! what=$1
}

end_beside() {
    wait "$beside"
    rc=$?
    beside=
    cat "$said/$what"
    return $rc
}

tally=$(mktemp -d)
said=$(mktemp -d)
beside=
trap 'rm -rf "$tally" "$said"; [ -z "$beside" ] || kill "$beside"' EXIT
trap 'exit 1' INT TERM HUP

second() {
    build clang build-asan clang -Doptimization=1 \
        -Db_sanitize=address,undefined -Db_lundef=false
}

build gcc build-gcc gcc && built=yes || built= status=1
[ "$quick" = --quick ] || beside second
[ -z "$built" ] || ring gcc-daemons build-gcc --num-processes 4 \
    --suite daemon --suite compat || status=1
if [ "$quick" != --quick ]; then
    end_beside && beside sanitizers || status=1
fi
[ -z "$built" ] || ring gcc-others build-gcc --num-processes 2 \
    --suite unit --suite sim --suite lint || status=1
[ -z "$beside" ] || end_beside || status=1
python3 tests/tally.py "$tally" || status=1
exit $status
