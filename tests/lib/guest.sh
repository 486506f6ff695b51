#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# guest.sh DIR [INIT MODULE...]: the smallest Linux guest: Debian's cloud kernel
# and an initramfs with busybox that says "guest is up" on the serial line and
# powers off when asked, by the power button or by the line "off"; or that runs
# INIT with these modules loaded.  Makes DIR/vmlinuz and DIR/initrd; status 77
# when something for it is not installed.
set -eu
dir=$1
shift
init=${1-}
[ $# -gt 0 ] && shift
# The power button is a module in some kernels.
modules="${*:-button evdev}"
kernel=$(ls /boot/vmlinuz-*cloud-amd64 /boot/vmlinuz-*-amd64 2>/dev/null |
    sort -V | tail -1)
busybox=/bin/busybox
[ -n "$kernel" ] && [ -x "$busybox" ] && command -v cpio >/dev/null || exit 77
folder=/lib/modules/$(basename "$kernel" | sed 's/^vmlinuz-//')

tree=$dir/initramfs
mkdir -p "$tree/bin" "$tree/lib" "$tree/dev" "$tree/proc" "$tree/sys" \
    "$tree/mnt" "$tree/etc/acpi/PWRF"
cp "$busybox" "$tree/bin/busybox"
for tool in sh mount insmod sleep poweroff acpid; do
    ln -s busybox "$tree/bin/$tool"
done
n=10 # they are loaded in this order
for name in $modules; do
    n=$((n + 1))
    file=$(find "$folder" -name "$name.ko*" 2>/dev/null | head -1)
    case $file in
    *.ko) cp "$file" "$tree/lib/$n-$name.ko" ;;
    *.ko.xz) xz -dc "$file" >"$tree/lib/$n-$name.ko" ;;
    esac
done
cat >"$tree/etc/acpi/PWRF/00000080" <<'END'
#!/bin/sh
echo "powering off" >/dev/console
exec poweroff -f
END
chmod +x "$tree/etc/acpi/PWRF/00000080"
cat >"$tree/init" <<'END'
#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /lib/*.ko; do insmod "$module"; done
acpid -l /dev/null
echo "guest is up" >/dev/console
while :; do
    read -r line </dev/console && [ "$line" = off ] && poweroff -f
    sleep 1
done
END
[ -z "$init" ] || cp "$init" "$tree/init"
chmod +x "$tree/init"
(cd "$tree" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$dir/initrd"
cp "$kernel" "$dir/vmlinuz"
rm -rf "$tree"
