#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The documents must be true to the tree: files, tests and modules that they
# name exist, and the code map knows all modules.
# Usage: docs.sh [SOURCE-ROOT]; prints TAP.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
docs="README.md CONTRIBUTING.md $(find doc -name '*.md' | sort | tr '\n' ' ')"
map=doc/architecture.md

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

# names FILE: what stands between backticks, one a line
names() {
    # shellcheck disable=SC2016
    grep -o '`[^`]*`' "$1" | tr -d '`'
}

# shellcheck disable=SC2086
wrong=$(for doc in $docs; do
    names "$doc" |
        grep -E '^(lib|queue|masterd|noded|cli|rapi|iallocators|tests|doc)/' |
        grep -v '[<{ ]' | sed 's/:[A-Za-z_0-9]*$//' | while read -r name; do
        for found in $name; do # may be a pattern
            [ -e "$found" ] || [ -e "$found.c" ] || [ -e "$found.h" ] ||
                echo "$doc: there is no $name"
            break
        done
    done
done)
point "files that documents name exist" "$wrong"

# shellcheck disable=SC2086
wrong=$(for doc in $docs; do
    grep -oE '\]\([^)#:]+' "$doc" | cut -c3- | while read -r target; do
        [ -e "$(dirname "$doc")/$target" ] || echo "$doc: a link to $target"
    done
done)
point "links between documents lead somewhere" "$wrong"

wrong=$(names doc/KNOWN_DELTAS.md | grep -E '^[a-z_0-9]+\.[a-z_0-9]+$' |
    grep -v '\.def$' | while IFS=. read -r suite fact; do
    grep -rqE "^(Parameterized)?Test\($suite, *$fact\b" tests/unit tests/sim ||
        echo "no test $suite.$fact"
done)
wrong=$wrong$(grep -oE '[0-9]{3} "[^"]+"' doc/KNOWN_DELTAS.md |
    while read -r number fact; do
        fact=${fact#?}
        grep -qF -- "${fact%?}" tests/daemon/"$number"-*.t ||
            echo "no point ${fact%?} in test $number"
    done)
point "tests that pin differences exist" "$wrong"

wrong=$(names doc/tour.md 2>/dev/null | grep -oE '^[a-z_0-9]+\(\)$' | tr -d '()' |
    sort -u | while read -r function; do
    grep -rqwF "$function" lib queue masterd noded cli iallocators ||
        echo "no function $function()"
done)
point "functions of the tour exist" "$wrong"

wrong=$(sed -n 's/^LUXI(\([A-Za-z]*\),.*/\1/p' lib/model/luxi.def |
    while read -r call; do
        grep -qw "$call" doc/protocol/luxi.md ||
            echo "$call of lib/model/luxi.def is not in doc/protocol/luxi.md"
    done)
point "each LUXI call is described" "$wrong"

# The row of a call names its arguments in their order.
node_calls=lib/model/rpc/noderpcs.def
wrong=$(sed -n 's/^RPC(\([a-z0-9_]*\), *[0-9]*, *[A-Z]*, *[A-Z_]*, *[0-9]*\(.*\))$/\1\2/p' \
    $node_calls | sed 's/[A-Z_]*(\([a-z0-9_]*\))/\1/g' | tr -d , |
    while read -r call args; do
        rows=$(grep "^| $call |" doc/protocol/noderpc.md)
        [ -n "$rows" ] ||
            echo "$call of $node_calls is not in doc/protocol/noderpc.md"
        [ -z "$rows" ] || echo "$rows" | while IFS='|' read -r _ _ cell _; do
            # shellcheck disable=SC2016
            named=$(echo "$cell" | grep -o '`[a-z0-9_]*`' | tr -d '`' |
                tr '\n' ' ')
            [ "${named% }" = "$args" ] ||
                echo "doc/protocol/noderpc.md: $call has \"$args\", not \"${named% }\""
        done
    done)
point "each node call is described" "$wrong"

# A module may stand in the map by its own name or as one of a family.
known=$(names "$map" 2>/dev/null | grep '/' | sed 's/\.[ch]$//')
rooms=
for room in lib queue masterd noded cli rapi iallocators; do
    [ -d "$room" ] && rooms="$rooms $room"
done
# shellcheck disable=SC2086
wrong=$(find $rooms -name '*.[ch]' | sed 's/\.[ch]$//' | sort -u |
    while read -r module; do
        set -f # the patterns are not for files
        for pattern in $known; do
            # shellcheck disable=SC2254
            case $module in $pattern) continue 2 ;; esac
        done
        echo "$module is not in $map"
    done)
point "the code map knows each module" "$wrong"

# A merge may lose a line of a list, and with it a test that nobody misses.
# shellcheck disable=SC2086
build=$(find $rooms tests \( -name meson.build -o -path '*compat/*.t' \) -exec cat {} +)
# shellcheck disable=SC2086
wrong=$(find $rooms tests -name '*.c' -o -name '*.t' -o -path '*compat/test_*.py' |
    while read -r file; do
        base=$(basename "${file%.*}")
        case $file in
        tests/unit/* | tests/sim/*) base=${base#test_} ;;
        tests/fuzz/*) base=${base#fuzz_} ;;
        esac
        case $build in
        *[\'/]"$base"[\'\"]* | *[\'/]"$base.${file##*.}"[!A-Za-z0-9_.]*) ;;
        *) echo "$file is in no meson.build" ;;
        esac
    done)
point "each source and test is built or run" "$wrong"

echo "1..$n"
