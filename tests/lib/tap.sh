# SPDX-License-Identifier: BSD-2-Clause
# TAP for shell tests: source it, call ok/is/like/succeeds/fails, end with
# tap_done.  Nothing here sleeps for luck: until() polls a condition, bounded.
#
# It prints what meson reads, and nothing else is needed for that.  The
# libraries that there are (bats, sharness, shunit2) bring a runner of their own,
# which would stand between meson and the points, or a language of their own.

tap_n=0

tap_point() { # STATUS NAME
    tap_n=$((tap_n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tap_n - $2"
    else
        echo "not ok $tap_n - $2"
    fi
    return "$1"
}

note() {
    printf '%s\n' "$*" | sed 's/^/# /'
}

skip_all() { # REASON
    echo "1..0 # SKIP $1"
    exit 0
}

tap_done() {
    echo "1..$tap_n"
}

# is GOT WANTED NAME
is() {
    if [ "$1" = "$2" ]; then
        tap_point 0 "$3"
    else
        tap_point 1 "$3"
        note "got:    $1"
        note "wanted: $2"
    fi
}

# like TEXT REGEX NAME: an extended regular expression on some line
like() {
    if printf '%s\n' "$1" | grep -Eq -- "$2"; then
        tap_point 0 "$3"
    else
        tap_point 1 "$3"
        note "no line matches: $2"
        note "$1"
    fi
}

# unlike TEXT REGEX NAME
unlike() {
    if printf '%s\n' "$1" | grep -Eq -- "$2"; then
        tap_point 1 "$3"
        note "a line matches: $2"
        note "$1"
    else
        tap_point 0 "$3"
    fi
}

# succeeds NAME COMMAND...: exit status 0; output in $out
succeeds() {
    tap_name=$1
    shift
    if out=$("$@" 2>&1 </dev/null); then
        tap_point 0 "$tap_name"
    else
        tap_rc=$?
        tap_point 1 "$tap_name"
        note "status $tap_rc of: $*"
        note "$out"
    fi
}

# fails NAME COMMAND...: exit status not 0; output in $out
fails() {
    tap_name=$1
    shift
    if out=$("$@" 2>&1 </dev/null); then
        tap_point 1 "$tap_name"
        note "status 0 of: $*"
        note "$out"
    else
        tap_point 0 "$tap_name"
    fi
}

# until SECONDS COMMAND...: poll until the command succeeds; 1 when it never did
until_true() {
    tap_limit=$1
    tap_deadline=$(($(date +%s) + $1))
    shift
    while ! "$@" >/dev/null 2>&1; do
        if [ "$(date +%s)" -ge "$tap_deadline" ]; then
            echo "# waited $tap_limit s in vain: $*"
            return 1
        fi
        sleep 0.02
    done
}
