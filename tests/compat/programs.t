#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each program of Debian's Ganeti packages is there, or doc/KNOWN_DELTAS.md says
# what there is in its place.
. "$(dirname "$0")/../lib/tap.sh"
: "${BIN:?BIN must name the folder of the programs}"
packages="ganeti ganeti-3.0 ganeti-haskell-3.0 ganeti-htools ganeti-htools-3.0"
dpkg-query -W ganeti ganeti-3.0 >/dev/null 2>&1 ||
    skip_all "Debian's ganeti is not installed"
deltas=$(dirname "$0")/../../doc/KNOWN_DELTAS.md

programs() {
    # shellcheck disable=SC2086
    dpkg -L $packages 2>/dev/null |
        grep -E '^/usr/(s?bin|lib/ganeti(/tools)?)/[^/]*$' |
        while read -r file; do
            [ ! -f "$file" ] || [ ! -x "$file" ] || echo "${file##*/}"
        done | sort -u
}
# The first column: what is not there.
section() {
    sed -n "/^## Programs of Ganeti's that are not there/,/^## Commands/p" "$deltas" |
        cut -d '|' -f 2
}
programs >"${TMPDIR:-/tmp}/programs.$$"
trap 'rm -f "${TMPDIR:-/tmp}/programs.$$"' EXIT
missing=
while read -r name; do
    [ -x "$BIN/$name" ] || section | grep -qF "\`$name\`" || missing="$missing $name"
done <"${TMPDIR:-/tmp}/programs.$$"
is "$missing" "" "what is missing is named"
is "$(for name in $(section | grep -o '`[^`]*`' | tr -d '`'); do
    [ ! -x "$BIN/$name" ] || echo "$name"
done)" "" "and what is named is missing"
[ "$(wc -l <"${TMPDIR:-/tmp}/programs.$$")" -gt 30 ]
tap_point $? "in the packages' lists" || true
tap_done
