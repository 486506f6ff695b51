#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# prove.sh [-p] TEST...: run tests that print TAP, for targets of the Makefile; one
# after the other, or with -p all at the same time, each line then with its test's
# name.  The last line is "N passed, N failed".  Status 1 when a point failed, or a
# test ended before its plan.
said=$(mktemp -d /tmp/gprove.XXXXXX)
trap 'rm -rf "$said"' EXIT
trap "exit 1" INT TERM HUP
passed=0
failed=0

# What a test says is seen as it comes, also while it ends as it was told to.
run() { # TEST PREFIX
    log=$said/${1##*/}
    echo "# $1"
    { sh "$1"; echo "# status $?"; } | {
        trap "" INT TERM HUP
        tee "$log" | sed -u "s/^/$2/"
    }
}

count() { # TEST
    log=$said/${1##*/}
    passed=$((passed + $(grep -c '^ok ' "$log")))
    failed=$((failed + $(grep -c '^not ok ' "$log")))
    if ! grep -q '^1\.\.' "$log" || ! grep -q '^# status 0$' "$log"; then
        echo "# $1 did not come to its end"
        failed=$((failed + 1))
    fi
}

if [ "$1" = -p ]; then
    shift
    # What runs in the background hears no Ctrl-C.
    trap 'trap "" TERM; kill 0; wait; exit 1' INT TERM HUP
    for test in "$@"; do
        name=${test##*/}
        {
            trap : TERM
            run "$test" "${name%.t}: "
        } &
    done
    wait
else
    for test in "$@"; do run "$test" ""; done
fi
for test in "$@"; do count "$test"; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
