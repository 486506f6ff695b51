#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All tests: built with gcc, again with sanitizers by clang.  The last line is
# "N passed, N failed".
#
#   --quick   the gcc build alone
#
# Tests of daemons mostly wait, while compilers and simulations compute.  So the
# second build and then its tests go on beside the tests of the first.
#
# A test of daemons has to hold on a loaded machine, too, but a machine that is
# shared with others may stop for longer than its time limits.  So what failed
# beside others runs once more, alone, when all else is over: the result of that
# counts, and the last lines name each such test.
set -u
cd "$(dirname "$0")/.." || exit 1
quick=${1-}
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
        CC=$cc CC_LD=lld meson setup "$dir" -Dwerror=$werror -Dunit_tests=enabled \
            -Dc_args=-g1 "$@" >"$dir.log" 2>&1 ||
            { cat "$dir.log"; return 1; }
    fi
    nice ninja -C "$dir" >"$dir.log" 2>&1 || { tail -60 "$dir.log"; return 1; }
    rm -f "$dir.log"
}

# ring NAME DIR OPTION... : run tests, keep their log for the tally.
ring() {
    name=$1 dir=$2
    shift 2
    meson test -C "$dir" --no-rebuild --print-errorlogs --logbase "$name" "$@"
    # A wrapper's name is added to that of the log.
    cp "$dir/meson-logs/$name"*.json "$tally/$name.json" ||
        echo "no log of $name" >"$tally/$name.failed"
}

# Leaks are looked for in all three rings (leaks.sh says how), but not in a
# simulated test behind the kill of a process, whose memory nobody frees
# (tests/sim/machine.c); the random lives are full of them.
sanitizers() {
    ring_name=$1
    shift
    ring "$ring_name" build-asan --wrapper "$PWD/tests/lib/leaks.sh" "$@"
}

# Build with sanitizers and test, and say behind the other work what there was
# to say.
begin_second() {
    [ "$quick" != --quick ] || return
    {
        build clang build-asan clang -Doptimization=1 \
            -Db_sanitize=address,undefined -Db_lundef=false &&
            sanitizers sanitizers --num-processes 3 --no-suite hosts \
                --suite unit --suite sim --suite daemon
    } >"$said" 2>&1 &
    second=$!
}

end_second() {
    [ -z "$second" ] || wait "$second"
    second=
    cat "$said"
}

# again BUILD COMMAND... : what failed with this build, alone.
again() {
    python3 tests/tally.py --failed "$tally" "$1" >"$said"
    shift
    set -f
    IFS='
'
    # shellcheck disable=SC2046
    set -- "$@" --num-processes 1 $(cat "$said")
    unset IFS
    set +f
    [ ! -s "$said" ] || "$@"
}

tally=$(mktemp -d)
said=$(mktemp)
second=
trap 'rm -rf "$tally" "$said"; [ -z "$second" ] || kill "$second"' EXIT
trap 'exit 1' INT TERM HUP

built=
build gcc build-gcc gcc && built=yes
begin_second
if [ -n "$built" ]; then
    ring gcc-daemons build-gcc --num-processes 4 \
        --suite daemon --suite compat
    ring gcc-others build-gcc --num-processes 2 \
        --suite unit --suite sim --suite lint
fi
end_second
again gcc ring again-gcc build-gcc
again sanitizers sanitizers again-sanitizers
python3 tests/tally.py "$tally"
