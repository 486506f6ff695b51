#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build.sh FOLDER [VERSION]: Debian's packages of this tree, into FOLDER; with
# another version than debian/changelog's, for tests of upgrades.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
out=$1
# One place, so that ccache finds again what it has compiled.
tree=$out/tree
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' INT TERM HUP
rm -rf "$tree"
mkdir -p "$tree/gantry"
(cd "$top" && tar -cf - --exclude=./.git --exclude='./build*' .) |
    tar -xf - -C "$tree/gantry"
cd "$tree/gantry"
[ $# -lt 2 ] || sed -i "1s/(.*)/($2)/" debian/changelog
# Unchanged sources are not compiled again.
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
export CCACHE_DIR="${CCACHE_DIR:-${HOME:-/root}/.cache/ccache}"
CCACHE_BASEDIR=$tree/gantry DEB_BUILD_OPTIONS="nocheck parallel=${JOBS:-2}" \
    dpkg-buildpackage -us -uc -b -d >"$out/build.log" 2>&1 || {
    tail -n 40 "$out/build.log"
    exit 1
}
cp "$tree"/*.deb "$tree"/*.changes "$tree"/*.buildinfo "$out"
ls "$out"/*.deb
