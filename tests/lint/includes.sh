#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A few rules that a grep can check; who includes whom is for rooms.py.
# Usage: includes.sh [SOURCE-ROOT]; prints TAP.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1

n=0
# point NAME COMPLAINTS: ok when there are none
point() {
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

rooms=
for room in lib queue masterd noded cli rapi iallocators; do
    [ -d "$room" ] && rooms="$rooms $room"
done
list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT

# shellcheck disable=SC2086
find $rooms tests -name '*.[ch]' | sort >"$list"
# shellcheck disable=SC2086
product=$(find $rooms -name '*.[ch]' | sort)

wrong=$(while read -r file; do
    head -1 "$file" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' ||
        echo "$file: its first line is not the SPDX line"
done <"$list")
point "each file begins with its licence" "$wrong"

# A tab is as wide as eight blanks; bytes of one character count once.
wrong=$(while read -r file; do
    expand "$file" | LC_ALL=C sed 's/[\x80-\xBF]//g' |
        awk -v f="$file" 'length($0) > 100 {
            print f ":" NR ": " length($0) " columns" }'
done <"$list")
point "no line is over 100 columns" "$wrong"

# shellcheck disable=SC2086
wrong=$(grep -nE '(^|[^A-Za-z0-9_])(system|popen)[[:space:]]*\(' $product)
point "no shell is started with system() or popen()" "$wrong"

# shellcheck disable=SC2086
wrong=$(grep -nE '(^|[^A-Za-z0-9_])goto[[:space:]]+[a-z_]+;' $product)
point "no goto" "$wrong"

echo "1..$n"
