#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every source file is formatted as .clang-format says.
cd "$(dirname "$0")/../.." || exit 1
command -v clang-format >/dev/null || {
    echo "1..0 # SKIP clang-format is not installed"
    exit 0
}
bad=$(find cli iallocators lib masterd noded queue tests -name '*.[ch]' -print0 |
    xargs -0 -n 100 clang-format --dry-run 2>&1 |
    grep -oE '^[^ :]+\.[ch]:' | sort -u)
echo "1..1"
if [ -z "$bad" ]; then
    echo "ok 1 - all files are formatted"
else
    echo "not ok 1 - run clang-format -i on these files"
    echo "$bad" | sed 's/^/# /'
fi
