#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every source file is formatted as .clang-format says.
cd "$(dirname "$0")/../.." || exit 1
command -v clang-format >/dev/null || {
    echo "1..0 # SKIP clang-format is not installed"
    exit 0
}
bad=0
for file in $(find cli iallocators lib masterd noded queue tests -name '*.[ch]'); do
    clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || {
        echo "# $file"
        bad=1
    }
done
echo "1..1"
[ "$bad" = 0 ] && echo "ok 1 - all files are formatted" ||
    echo "not ok 1 - run clang-format -i on these files"
