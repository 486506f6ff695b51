#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# repeat.sh RUN: the same seed gives the same trace, another one another.
one=$("$1" --seed 5 --steps 40)
two=$("$1" --seed 5 --steps 40)
other=$("$1" --seed 6 --steps 40)
echo "1..2"
if [ "$one" = "$two" ] && [ -n "$one" ]; then
    echo "ok 1 - a seed can be repeated"
else
    echo "not ok 1 - a seed can be repeated"
    printf '%s\n%s\n' "$one" "$two"
fi
if [ "${one#*trace}" != "${other#*trace}" ]; then
    echo "ok 2 - another seed is another life"
else
    echo "not ok 2 - another seed is another life"
fi
