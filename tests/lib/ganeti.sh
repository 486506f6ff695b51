# SPDX-License-Identifier: BSD-2-Clause
# Debian's own Ganeti on hosts (hosts.sh): what its clusters are made with here.
# Source it after tap.sh and before hosts.sh; without the packages the test is
# skipped.

[ -x /usr/sbin/ganeti-noded ] && [ -d /usr/share/ganeti/os/noop ] &&
    command -v socat >/dev/null ||
    skip_all "the packages ganeti and ganeti-os-noop are not installed"

policy=min:disk-size=1,cpu-count=1,disk-count=0,memory-size=1,nic-count=0,spindle-use=1
policy=$policy/max:disk-size=4096,cpu-count=8,disk-count=8,memory-size=4096,nic-count=8,spindle-use=8
options="--no-etc-hosts --no-ssh-init --master-netdev=eth0
    --enabled-hypervisors=fake --enabled-disk-templates=diskless,file,sharedfile
    --file-storage-dir=/var/storage/file --nic-parameters=link=br0
    --shared-file-storage-dir=/var/storage/shared
    --ipolicy-bounds-specs $policy"
quick="--no-name-check --no-ip-check -o noop"

# prepare HOST: what the package's installation leaves to the admin
prepare() {
    on "$1" sh -c '
        printf "/var/storage/%s\n" file shared >/etc/ganeti/file-storage-paths
        echo NODED_ARGS=--no-mlock >/etc/default/ganeti
        /usr/lib/ganeti/ensure-dirs'
}
