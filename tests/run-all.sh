#!/bin/sh
# All tests: built with gcc, again with sanitizers by clang.  The last line is
# "N passed, N failed".
#
#   --quick   the gcc build alone
set -u
cd "$(dirname "$0")/.." || exit 1
quick=${1-}
status=0
export CCACHE_NOHASHDIR=1

# build NAME COMPILER OPTION... : configure once, build, -Werror in CI.
build() {
    dir=$1 cc=$2
    shift 2
    werror=false
    [ -n "${CI-}" ] && werror=true
    if [ ! -f "$dir/build.ninja" ]; then
        CC=$cc meson setup "$dir" -Dwerror=$werror -Dunit_tests=enabled "$@" \
            >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
    fi
    ninja -C "$dir" >"$dir.log" 2>&1 || { tail -60 "$dir.log"; return 1; }
    rm -f "$dir.log"
}

# ring DIR WRAPPER SUITE... : run suites, count into the tally.  The wrapper is a
# program that runs each test.
ring() {
    dir=$1 wrapper=$2
    shift 2
    suites=
    for suite in "$@"; do suites="$suites --suite $suite"; done
    # shellcheck disable=SC2086
    meson test -C "$dir" --no-rebuild --print-errorlogs \
        --wrapper "$wrapper" $suites ||
        status=1
    cp "$dir/meson-logs/testlog.json" "$tally/$(basename "$dir").json"
}

tally=$(mktemp -d)
trap 'rm -rf "$tally"' EXIT

if build build-gcc gcc; then
    ring build-gcc env unit sim daemon compat lint
else
    echo "the build with gcc failed" >"$tally/gcc.failed"
fi
if [ "$quick" != --quick ]; then
    if build build-asan clang -Db_sanitize=address,undefined -Db_lundef=false; then
        # Leaks are looked for in all three rings (leaks.sh says how), but not
        # in a simulated test behind the kill of a process, whose memory nobody
        # frees (tests/sim/machine.c); the random lives are full of them.
        ring build-asan "$PWD/tests/lib/leaks.sh" unit sim daemon
    else
        echo "the build with clang failed" >"$tally/clang.failed"
    fi
fi
python3 tests/tally.py "$tally" || status=1
exit $status
