#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# prove.sh TEST...: run tests that print TAP one after the other, for targets of the
# Makefile; the last line is "N passed, N failed".  Status 1 when a point failed, or a
# test ended before its plan.
said=$(mktemp /tmp/gprove.XXXXXX)
trap 'rm -f "$said"' EXIT
passed=0
failed=0
for test in "$@"; do
    echo "# $test"
    # What is said is seen as it comes.
    { sh "$test"; echo "# status $?"; } | tee "$said"
    passed=$((passed + $(grep -c '^ok ' "$said")))
    failed=$((failed + $(grep -c '^not ok ' "$said")))
    if ! grep -q '^1\.\.' "$said" || ! grep -q '^# status 0$' "$said"; then
        echo "# $test did not come to its end"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
