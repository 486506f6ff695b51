#!/bin/sh
# Where systemd runs, guests get scopes of their own and daemons are started by
# their units. Here systemd's programs are scripts that write down what they are
# asked for.
ON_HOSTS=1
export ON_HOSTS
. "$(dirname "$0")/../lib/tap.sh"
command -v qemu-system-x86_64 >/dev/null ||
    skip_all "qemu-system-x86 is not installed"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2 --hypervisor kvm

host=$(root node2)
mkdir -p "$host/run/systemd/system" "$host/etc/systemd/system"
rm -f "$host/usr/bin/systemd-run" "$host/usr/bin/systemctl"
cat >"$host/usr/bin/systemd-run" <<'END'
#!/bin/sh
printf '%s\n' "$*" >>/root/scopes
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
END
cat >"$host/usr/bin/systemctl" <<'END'
#!/bin/sh
printf '%s\n' "$*" >>/root/units
[ "$1" = start ] && exec gantry-noded
END
chmod 755 "$host/usr/bin/systemd-run" "$host/usr/bin/systemctl"

pid_of() { # INSTANCE
    on node2 cat "/var/run/ganeti/kvm-hypervisor/pid/$1"
}
succeeds "a guest" m gnt-instance add -t diskless -o noop -n node2.example.com \
    -B memory=64,vcpus=1 --no-nics --no-name-check --no-ip-check vm1
pid=$(pid_of vm1)
like "$(cat "$host/root/scopes")" \
    "^--scope --quiet --collect --slice=gantry-guests.slice --description=Instance vm1 -- .*qemu" \
    "is started in a scope of its own"
like "$(tr '\0' ' ' <"/proc/$pid/cmdline")" "^[^ ]*(qemu|kvm)" \
    "whose process is the guest's"
succeeds "it reboots" m gnt-instance reboot --type=hard --shutdown-timeout=1 vm1
is "$(grep -c vm1 "$host/root/scopes")" 2 "into another one"
pid=$(pid_of vm1)

# The daemon is gone and comes back, by its unit where there is one.
: >"$host/etc/systemd/system/gantry-noded.service"
"$BIN/gnt-vcluster" kill "$VC" node2 noded
succeeds "the watcher" on node2 gantry-watcher
like "$(cat "$host/root/units")" "^start gantry-noded.service" \
    "starts the node daemon by its unit"
alive "$pid"
tap_point $? "the guest has not ended" || true
is "$(m gnt-instance list --no-headers -o status vm1)" running \
    "and is known as running"
is "$(pid_of vm1)" "$pid" "as the same process"
succeeds "it can be stopped" m gnt-instance shutdown --timeout=0 vm1

# --- other guests ---
. "$(dirname "$0")/../lib/container.sh"
container_needs
container_tree "$host/root/tree"
mke2fs -q -F -t ext4 -d "$host/root/tree" "$host/root/disk.img" 6M >/dev/null 2>&1
container_os "$host/srv/ganeti/os/disk" "$host/usr/share/ganeti/os/noop" /root/disk.img
m gnt-cluster modify --enabled-hypervisors=kvm,chroot,lxc >/dev/null
for hv in chroot lxc; do
    m gnt-instance add -t file -s 8m -o disk -n node2.example.com -H $hv \
        --no-nics --no-name-check --no-ip-check "g-$hv" >/dev/null 2>&1
done
like "$(cat "$host/root/scopes")" \
    "--slice=gantry-guests.slice --description=Instance g-chroot -- chroot .* start" \
    "what a chroot starts is in a scope"
like "$(cat "$host/root/scopes")" \
    "--slice=gantry-guests.slice --description=Instance g-lxc -- lxc-start" \
    "so is a container"
m gnt-instance shutdown --timeout=5 g-chroot >/dev/null 2>&1
m gnt-instance shutdown --timeout=5 g-lxc >/dev/null 2>&1
tap_done
