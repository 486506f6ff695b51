# SPDX-License-Identifier: BSD-2-Clause
# A cluster of virtual machines for one test: source it after tap.sh, in place of
# cluster.sh, which it includes.  Skips where there can be none: no QEMU, or no
# image within IMAGE_WAIT_S (root builds one; it is kept in VM_CACHE).

IMAGE_WAIT_S=${IMAGE_WAIT_S:-300}
KIND= # so that nothing of theirs is mounted here
. "$(dirname "$0")/../lib/cluster.sh"
KIND=vm
[ -z "${ON_HOSTS-}" ] || skip_all "it makes hosts itself"
[ -z "${LEAK_REPORTS-}${COVERAGE-}" ] ||
    skip_all "programs that watch themselves are too slow in emulation"
vc="$BIN/gnt-vcluster"

# vms_start OPTION...: a cluster of them in $VC.  VM_PACKAGES: what the image has
# besides, names with commas.  VM_XEN=xen: an image with Xen.
vms_start() {
    VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gantry}
    [ -x /usr/bin/qemu-system-x86_64 ] && [ -x /usr/bin/qemu-img ] ||
        skip_all "QEMU is not installed (qemu-system-x86, qemu-utils)"
    vms_said=$(timeout "$IMAGE_WAIT_S" "$BIN/gantry-node-image" "$VM_CACHE" "$BIN" \
        "${VM_PACKAGES-}" ${VM_XEN-} 2>&1) ||
        skip_all "no image for virtual machines in $IMAGE_WAIT_S s: $(echo "$vms_said" | tail -1)"
    [ -z "${VM_PACKAGES-}" ] || set -- --packages "$VM_PACKAGES" "$@"
    cluster_start --cache "$VM_CACHE" "$@"
}

# The processes of a cluster's machines and of its switch.  The pattern does
# not match itself.
vms_processes() { # FOLDER
    grep -lsa -- "$1/[.]machine" /proc/[0-9]*/cmdline | wc -l
}
