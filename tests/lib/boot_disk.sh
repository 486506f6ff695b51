#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# boot_disk.sh KERNEL INITRD ARGS IMAGE: a disk from which a PC starts Linux
# (boot.S); status 77 without an assembler.
set -eu
kernel=$1
initrd=$2
args=$3
image=$4
command -v gcc >/dev/null && command -v objcopy >/dev/null || exit 77
piece=32768

size() { stat -c %s "$1"; }
# Sectors of setup, 4 where the kernel says 0, and its first one.
setup=$(od -An -tu1 -j497 -N1 "$kernel" | tr -d ' ')
[ "$setup" -gt 0 ] || setup=4
setup=$((setup + 1))
rest=$((($(size "$kernel") - setup * 512 + piece - 1) / piece))
at=$((1 + setup + rest * piece / 512))
pieces=$((($(size "$initrd") + piece - 1) / piece))

gcc -c -x assembler-with-cpp -m32 -DSETUP="$setup" -DKERNEL="$rest" \
    -DINITRD="$at" -DBYTES="$(size "$initrd")" -DPIECES="$pieces" \
    -DARGS="\"$args\"" -o "$image.o" "$(dirname "$0")/boot.S" || exit 77
objcopy -O binary -j .text "$image.o" "$image"
rm "$image.o"
dd if="$kernel" of="$image" bs=512 seek=1 conv=notrunc status=none
dd if="$initrd" of="$image" bs=512 seek="$at" conv=notrunc status=none
truncate -s "$(((at + pieces * piece / 512) * 512))" "$image"
