#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# promtool.sh [SUDO]: put promtool alone into /usr/local/bin.  Installing Debian's
# package prometheus would start a server, which no test needs.
set -eu
work=$(mktemp -d /tmp/promtool.XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
apt-get download -q prometheus >/dev/null
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
${1-} install -m 755 usr/bin/promtool /usr/local/bin/promtool
