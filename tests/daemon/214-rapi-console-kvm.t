#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The consoles of a real virtual machine through the remote API.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
[ -x /usr/bin/qemu-system-x86_64 ] || skip_all "QEMU is not installed"
guest=$(mktemp -d /tmp/gguest.XXXXXX)
trap 'cluster_end; rm -rf "$guest"' EXIT
"$(dirname "$0")/../lib/guest.sh" "$guest" "" || {
    [ $? = 77 ] && skip_all "no kernel or busybox for the guest"
    exit 1
}
rapi_cluster --hypervisor kvm
mkdir "$guest/vnc"
hv="kernel_path=$guest/vmlinuz,initrd_path=$guest/initrd,kernel_args=quiet"
succeeds "a virtual machine" add vm1.example.com -t diskless -n node2 -B memory=128 \
    -H "kvm:$hv,vnc_bind_address=$guest/vnc"

# look KIND: what rapi_console_kvm.py finds
look() {
    python3 "$(dirname "$0")/rapi_console_kvm.py" "$api_address" "" vm1.example.com \
        "$1" >"$VC/tap"
    while read -r point; do
        case $point in
        "ok "*) tap_point 0 "${point#* - }" ;;
        "not ok "*) tap_point 1 "${point#* - }" ;;
        *) echo "$point" ;;
        esac
    done <"$VC/tap"
}
look vnc
m gnt-instance modify -H vnc_bind_address=127.0.0.1 vm1 >/dev/null
m gnt-instance reboot -t hard vm1 >/dev/null 2>&1 &
rebooting=$!
look serial
wait "$rebooting"
look vnc
m gnt-instance shutdown --timeout=0 vm1 >/dev/null
m gnt-instance startup --paused vm1 >/dev/null
look serial # one that is paused goes on
tap_done
