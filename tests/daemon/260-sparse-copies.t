#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copies of disks: zeros are neither read nor sent between nodes of ours.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

disk() { # NODE INSTANCE
    echo "$(root "$1")/srv/ganeti/file-storage/$2/"*.disk0
}
kib() { du -k "$1" | cut -f1; }
add web1 -t file -s 8g -n node1 >/dev/null
m gnt-instance shutdown web1 >/dev/null
# Data at the beginning, in the middle and at the end; written zeros between.
seq 1 200000 | dd of="$(disk node1 web1)" conv=notrunc 2>/dev/null
seq 1 200000 | dd of="$(disk node1 web1)" bs=1M seek=3000 conv=notrunc iflag=fullblock 2>/dev/null
head -c 20000000 /dev/zero | dd of="$(disk node1 web1)" bs=1M seek=5000 conv=notrunc iflag=fullblock 2>/dev/null
printf end | dd of="$(disk node1 web1)" bs=1 seek=8589934589 conv=notrunc 2>/dev/null
begin=$(date +%s)
succeeds "8 GiB with hardly any data move" m gnt-instance move -f -n node2 web1
took=$(($(date +%s) - begin))
[ "$took" -lt 20 ]
tap_point $? "in no time" || note "it took $took s"
file=$(disk node2 web1)
is "$(stat -c %s "$file")" 8589934592 "the size is the same"
part() { # FIRST MIB, COUNT
    dd if="$file" bs=1M skip="$1" count="$2" 2>/dev/null | sha256sum | cut -c1-16
}
want() { { seq 1 200000; cat /dev/zero; } | head -c 4194304 | sha256sum | cut -c1-16; }
is "$(part 0 4)" "$(want)" "the data at the beginning"
is "$(part 3000 4)" "$(want)" "in the middle"
is "$(tail -c 3 "$file")" end "and at the end"
is "$(dd if="$file" bs=1M skip=5000 count=20 2>/dev/null | tr -d '\0' | wc -c)" 0 "zeros are zeros"
[ "$(kib "$file")" -lt 6000 ]
tap_point $? "which take no room" || note "$(kib "$file") KiB"
succeeds "compressed as well" m gnt-instance move -f -n node1 --compress=gzip-fast web1
file=$(disk node1 web1)
is "$(part 3000 4)" "$(want)" "with the same data"
is "$(stat -c %s "$file")" 8589934592 "and size"
tap_done
