#!/bin/sh
# Run each fuzz target for so many seconds: run.sh BUILD [SECONDS].
# What it learns stays in BUILD/corpus for the next time; an input that
# crashes is left in BUILD as crash-*, and the status is 1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
seconds=${2:-60}

# The words of the opcodes.
sed -n -e 's/^OPCODE([a-z_]*, *"\(OP_[A-Z_]*\)".*/"\\"\1\\""/p' \
    -e 's/^PARAM([a-z_]*, *[a-z]*, *\([a-z_]*\),.*/"\\"\1\\""/p' \
    "$here/../../lib/model/opcode/opcodes.def" | sort -u >"$build/opcode.dict"
sed -n 's/^LUXI(\([A-Za-z]*\),.*/"\\"\1\\""/p' \
    "$here/../../lib/model/luxi.def" >"$build/luxi.dict"
# The words of requests; the files have few.
cat "$here"/corpus/hail/* | grep -o '"[a-z][a-z_-]*"' | sort -u |
    sed 's/"\(.*\)"/"\\"\1\\""/' >"$build/hail.dict"
echo '"|"' >"$build/text.dict"
cp "$build/opcode.dict" "$build/rapi.dict"
cp "$build/text.dict" "$build/websocket.dict"
cd "$build"
status=0
for name in luxi opcode hail text rapi websocket; do
    mkdir -p "corpus/$name"
    echo "fuzz_$name, $seconds s"
    "tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -max_len=4096 -dict="$name.dict" \
        -print_final_stats=1 -verbosity=0 \
        "corpus/$name" "$here/corpus/$name" >"fuzz_$name.log" 2>&1 ||
        status=1
    grep -E 'ERROR|SUMMARY|number_of_executed_units|peak_rss' \
        "fuzz_$name.log" || true
done
exit $status
