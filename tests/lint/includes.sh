#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The direction of the code map (doc/architecture.md), and a few rules that a
# grep can check.  Usage: includes.sh [SOURCE-ROOT]; prints TAP.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1

# Room, and the rooms that its files may include besides their own; the longest
# match of a file's path counts.
edges='
lib/base        -
lib/json        lib/base
lib/event       lib/base
lib/store       lib/base lib/event
lib/model       lib/base lib/json
lib/client      lib/base lib/json lib/model lib/event
queue           lib
masterd         lib queue iallocators
noded           lib
cli             lib
rapi            lib
iallocators     lib/base lib/json lib/model lib/client
tests           lib queue masterd noded cli rapi iallocators
'

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

wrong=$(xargs grep -Hn '^[ ]*#[ ]*include "' <"$list" |
    awk -v edges="$edges" '
    BEGIN {
        rows = split(edges, row, "\n")
        for (i = 1; i <= rows; i++) {
            cols = split(row[i], col, " ")
            if (cols) {
                may[col[1]] = " " col[1]
                for (j = 2; j <= cols; j++)
                    may[col[1]] = may[col[1]] " " col[j]
            }
        }
    }
    function room_of(path,   r, best) {
        best = ""
        for (r in may)
            if (index(path, r "/") == 1 && length(r) > length(best))
                best = r
        return best
    }
    {
        split($0, at, ":")
        split($0, quoted, "\"")
        header = quoted[2]
        room = room_of(at[1])
        if (header == "gantry-config.h")
            next
        if (room_of(header) == "") {
            print at[1] ":" at[2] ": \"" header \
                "\" does not start at the root of the project"
            next
        }
        n = split(may[room], allowed, " ")
        for (i = 1; i <= n; i++)
            if (index(header, allowed[i] "/") == 1)
                next
        print at[1] ":" at[2] ": " room " may not include \"" header "\""
    }')
point "includes go in the allowed direction only" "$wrong"

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
