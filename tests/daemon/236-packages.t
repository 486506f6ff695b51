#!/bin/sh
# The packages on a machine on which systemd runs: installed in the place of
# Ganeti's, a cluster from them, restart and upgrade with a guest that runs,
# removed and purged. make test-deb builds them and runs this.
. "$(dirname "$0")/../lib/tap.sh"
[ -n "${DEBS-}" ] || skip_all "DEBS names no folder with packages (make test-deb)"
ls "$DEBS"/gantry-master_*.deb >/dev/null 2>&1 || skip_all "no packages in $DEBS"
command -v qemu-system-x86_64 >/dev/null ||
    skip_all "qemu-system-x86 is not installed"
. "$(dirname "$0")/../lib/booted.sh"
booted_start node1.example.com
mkdir "$booted/share/new" "$booted/share/next"
cp "$DEBS"/gantry-*_*.deb "$booted/share/new"
rm -f "$booted"/share/new/*-dbgsym_*
# Relative links of the documents that lead to none; the tests' own are not there.
dead_links() { # FOLDER
    find "$1" -name '*.md' | while read -r doc; do
        grep -oE '\]\([^)#:]+\.md' "$doc" | cut -c3- | grep -v 'tests/' |
            while read -r target; do
                [ -e "${doc%/*}/$target" ] || echo "$doc: $target"
            done
    done
}
# The same as of a later version.
for deb in "$booted"/share/new/*.deb; do
    tree=$booted/tree
    dpkg-deb -R "$deb" "$tree"
    case $deb in
    */gantry-master_*)
        docs=$tree/usr/share/doc/gantry-master
        succeeds "the guides are in a package" test -s "$docs/doc/install.md"
        is "$(dead_links "$docs")" "" "and their links lead somewhere"
        ;;
    esac
    sed -i 's/0\.2\.0/&+next/g' "$tree/DEBIAN/control"
    dpkg-deb -b --root-owner-group -Znone "$tree" "$booted/share/next" >/dev/null
    rm -r "$tree"
done

install() { # FOLDER
    booted sh -c "apt-get install -y -q --no-install-recommends --allow-downgrades /mnt/$1/gantry-*_*.deb"
}
active() { # UNIT
    booted systemctl is-active "$1" 2>&1
}
installed() {
    booted dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
        sed -n 's/ installed$//p' | tr '\n' ' '
}

noop=/usr/share/ganeti/os/noop
booted mkdir -p $noop
booted sh -c "cd $noop; echo 20 >ganeti_api_version; : >parameters.list; : >variants.list; for s in create rename import export verify; do printf '#!/bin/sh\n' >\$s; chmod 755 \$s; done"
init() {
    booted gnt-cluster init --no-etc-hosts \
        --no-ssh-init --master-netdev=br0 --enabled-hypervisors=kvm \
        --enabled-disk-templates=diskless \
        -H kvm:kvm_path=/usr/bin/qemu-system-x86_64,kernel_path=,serial_console=true \
        --nic-parameters=mode=bridged,link=br0 cluster.example.com
}
add() { # INSTANCE
    booted gnt-instance add -t diskless -o noop -n node1.example.com \
        -B memory=128,vcpus=1 --no-name-check --no-ip-check "$1"
}
guest() { # INSTANCE: the pid of its process
    booted cat "/run/ganeti/kvm-hypervisor/pid/$1"
}

# A cluster of Ganeti's packages, with a guest that runs, where they are.
had=$(installed ganeti)
if [ -n "$had" ]; then
    booted mkdir -p /var/lib/ganeti /var/log/ganeti /run/sshd /root/.ssh
    booted /usr/lib/ganeti/ensure-dirs
    booted ssh-keygen -A >/dev/null
    booted /usr/sbin/sshd
    succeeds "Ganeti makes a cluster" init
    like "$(booted gnt-cluster version)" "VCS version: .ganeti." "its own"
    succeeds "with a guest" add theirs
    pid=$(guest theirs)
fi
succeeds "the packages are installed" install new
if [ -n "$had" ]; then
    like "$(booted gnt-cluster version)" "VCS version: .gantry." \
        "they take its cluster over"
    is "$(active gantry-masterd)" active "by themselves"
    is "$(booted gnt-instance list --no-headers -o name,status)" \
        "theirs running" "with the guest"
    is "$(guest theirs)" "$pid" "which has not ended"
    succeeds "it can be stopped" booted gnt-instance shutdown --timeout=1 theirs
    succeeds "and removed" booted gnt-instance remove -f theirs
    succeeds "and the cluster be destroyed" booted gnt-cluster destroy --yes-do-it
fi
is "$(installed 'gantry-*')" \
    "gantry-client gantry-htools gantry-master gantry-node " "all of them"
is "$(installed ganeti ganeti-3.0)" "" "in the place of Ganeti's (here: ${had:-none})"
is "$(active gantry-noded)" inactive "without a cluster no daemon runs"
is "$(booted systemctl is-enabled gantry-noded gantry-masterd gantry-rapi gantry-watcher.timer | tr '\n' ' ')" \
    "enabled enabled enabled enabled " "but will"
is "$(active gantry-watcher.timer)" active "a timer runs the watcher"
for user in gnt-masterd gnt-confd gnt-rapi gnt-metad; do
    succeeds "there is the user $user" booted id "$user"
done
like "$(booted man -w gantry-watcher gnt-instance hbal 2>&1 | tr '\n' ' ')" \
    "gantry-watcher.8.*gnt-instance.8.*hbal.1" "and manual pages"
for unit in gantry-noded.service gantry-masterd.service gantry-rapi.service \
    gantry-watcher.service gantry-watcher.timer; do
    is "$(booted systemd-analyze verify "/lib/systemd/system/$unit" 2>&1 |
        grep gantry)" "" "systemd understands $unit"
done

succeeds "a cluster begins" init
is "$(active gantry-noded)" active "the node daemon is systemd's"
is "$(active gantry-masterd)" active "so is the master daemon"
is "$(active gantry-rapi)" active "and the remote API"
is "$(booted stat -c '%U %a' /var/lib/ganeti/rapi)" "gnt-rapi 750" "whose folder is there"
like "$(booted sh -c 'cat /var/log/ganeti/node-daemon.log')" "is ready" \
    "its log is where it was"
# Beside Ganeti's rules, which stay.
is "$(booted ls /etc/logrotate.d | grep -E '^(00-gantry|ganeti)$' | head -n 1)" \
    00-gantry "its rules for logs come first"
if booted sh -c 'command -v logrotate' >/dev/null; then
    new_log() {
        booted grep -qs "read its files again" /var/log/ganeti/node-daemon.log
    }
    set -- /etc/logrotate.d/00-gantry
    [ -z "$had" ] || set -- "$@" /etc/logrotate.d/ganeti
    succeeds "with which logs are turned" booted logrotate -f -s /root/state "$@"
    succeeds "and begun anew" until_true 20 new_log
fi

succeeds "a guest" add vm1
daemon() {
    booted cat /run/ganeti/ganeti-noded.pid
}
pid=$(guest vm1)
like "$(booted cat "/proc/$pid/cgroup")" "gantry-guests.slice/run-.*\.scope" \
    "lives in a scope of its own"
unlike "$(booted systemctl status --no-pager gantry-noded)" qemu \
    "and not in the daemon's"

before=$(daemon)
succeeds "a restart of the node daemon" booted systemctl restart gantry-noded
[ "$(daemon)" != "$before" ]
tap_point $? "makes another process" || true
is "$(guest vm1)" "$pid" "and the guest is the same"
is "$(booted gnt-instance list --no-headers -o status vm1)" running "and known"
before=$(daemon)
booted kill -9 "$before"
back() {
    [ "$(active gantry-noded)" = active ] && [ "$(daemon)" != "$before" ]
}
until_true 60 back
tap_point $? "systemd starts one that was killed" || true
booted kill -STOP "$(daemon)"
booted kill -CONT "$(daemon)"

masterd() {
    booted cat /run/ganeti/ganeti-masterd.pid
}
unit() {
    booted systemctl show -P MainPID gantry-masterd
}
# As master-failover leaves one.
booted systemctl stop gantry-masterd
succeeds "a master daemon that is not systemd's" booted gantry-masterd
before=$(daemon)
succeeds "an upgrade" install next
[ "$(daemon)" != "$before" ]
tap_point $? "starts the daemons anew" || true
is "$(active gantry-masterd)" active "also the master"
is "$(masterd)" "$(unit)" "which is systemd's"
is "$(guest vm1)" "$pid" "and the guest is the same"
is "$(booted gnt-instance list --no-headers -o status vm1)" running "and known"

booted kill -9 "$pid"
succeeds "the watcher's service" booted systemctl start gantry-watcher.service
like "$(booted gnt-cluster watcher status)" "start instance vm1" \
    "starts a guest that died"
pid=$(guest vm1)
is "$(active gantry-rapi)" active "and the remote API of a new master"
like "$(booted curl -sk https://127.0.0.1:5080/2/info -o /dev/null -w '%{http_code}')" \
    401 "which wants a password"
like "$(booted systemctl show -p MainPID,StatusText,NotifyAccess gantry-rapi)" \
    "NotifyAccess=main" "it told that it is ready"

# As the node daemon starts one where another node is the master.
named() { # FROM TO
    booted sed -i "s/^$1\./$2./" /var/lib/ganeti/ssconf_master_node
}
booted systemctl stop gantry-rapi gantry-masterd
named node1 node2
succeeds "a master daemon that stands by" booted gantry-masterd --standby
before=$(masterd)
succeeds "another version" install new
fails "ends it, for the node daemon to start it anew" booted kill -0 "$before"
named node2 node1
succeeds "a master daemon that is not systemd's" booted gantry-masterd
before=$(masterd)

succeeds "removed" booted apt-get remove -y -q gantry-client gantry-htools
is "$(installed 'gantry-*')" "" "all are gone"
is "$(active gantry-noded)" inactive "the daemons have ended"
fails "also that one" booted kill -0 "$before"
succeeds "but not the guest" booted kill -0 "$pid"
succeeds "nor the configuration" booted test -s /var/lib/ganeti/config.data
succeeds "installed again" install new
is "$(active gantry-masterd)" active "the cluster goes on"
is "$(booted gnt-instance list --no-headers -o status vm1)" running "with its guest"
succeeds "purged" booted apt-get purge -y -q gantry-client gantry-htools gantry-node gantry-master
succeeds "it keeps the data" booted test -s /var/lib/ganeti/config.data
succeeds "and the guest" booted kill -0 "$pid"
succeeds "but not its settings" booted test ! -e /etc/default/gantry
tap_done
