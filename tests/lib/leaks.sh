#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# leaks.sh TEST ARGUMENT...: run a test of a build with sanitizers and fail it
# when any process that it started reports an error or lost memory.  It is the
# wrapper that run-all.sh gives to meson.
#
# Each process writes its report into a folder of this test, because a status
# or a stderr is not seen by all who should see them: criterion does not ask
# how the process of a test ends behind its last line, nobody waits for a
# daemon, and what goes to stderr is a part of what a test compares.
#
# A process that ends by _exit() or by a signal looks for no leaks, so
# cluster.sh stops its daemons in order when LEAK_REPORTS is set.  There are no
# suppressions: none of the libraries needs one, but for one test of lib/ssh, which
# says so itself.
set -u
lines_max=25 # of each report
reports_max=4
reports=$(mktemp -d /tmp/gleaks.XXXXXX)
trap 'rm -rf "$reports"' EXIT
trap 'exit 1' INT TERM HUP
# Daemons and scripts may run as other users.
chmod 1777 "$reports"
export LEAK_REPORTS="$reports"

common=log_path=$reports/report
export ASAN_OPTIONS="detect_leaks=1:abort_on_error=1:$common"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:$common"

# Any process of the test: a daemon that was told to end writes its report when
# its pid file is gone already.
lives() {
    grep -qsF "LEAK_REPORTS=$reports" /proc/[0-9]*/environ
}

"$@"
status=$?
tries=0
while lives && [ $tries -lt 250 ]; do
    tries=$((tries + 1))
    sleep 0.02
done
if [ -n "$(ls "$reports")" ]; then
    echo "Bail out! the sanitizers found something"
    for report in $(find "$reports" -type f | head -n $reports_max); do
        grep -Ev '^(=+|)$' "$report" | head -n $lines_max | sed 's/^/# /'
    done
    [ $status != 0 ] || status=1
fi
exit $status
