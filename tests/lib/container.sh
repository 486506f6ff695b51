# SPDX-License-Identifier: BSD-2-Clause
# A file system for containers and chroots: busybox and an init.  Source it after
# tap.sh.
#
# The init says "up <host name>" on the console; it ends on SIGPWR, unless there
# is a file /deaf, and reboots on SIGINT.

PATH=$PATH:/usr/sbin:/sbin

# What must be there for it, or the test is skipped.
container_needs() {
    [ "$(id -u)" = 0 ] || skip_all "needs root"
    [ -x /bin/busybox ] || skip_all "busybox-static is not installed"
    ldd /bin/busybox >/dev/null 2>&1 && skip_all "busybox is not a static one"
    command -v mke2fs >/dev/null || skip_all "e2fsprogs is not installed"
    [ -e /dev/loop-control ] || skip_all "the kernel has no loop devices"
}

# container_tree FOLDER: the files
container_tree() {
    mkdir -p "$1/bin" "$1/sbin" "$1/proc" "$1/sys" "$1/dev" "$1/etc" "$1/tmp"
    cp /bin/busybox "$1/bin/"
    : >"$1/dev/null"
    for tool in sh sleep cat kill hostname reboot ls ip mount; do
        ln -sf busybox "$1/bin/$tool"
    done
    cat >"$1/sbin/init" <<'END'
#!/bin/sh
trap '[ -e /deaf ] || { echo ends; exit 0; }' PWR
trap 'echo reboots; /bin/busybox reboot -f' INT
echo "up $(hostname)"
while :; do sleep 0.1; done
END
    cat >"$1/ganeti-chroot" <<'END'
#!/bin/sh
case $1 in
start)
    echo "started" >>/log
    [ ! -e /broken ] || {
        /bin/busybox setsid sleep 300 >/dev/null 2>&1 </dev/null &
        exit 3
    }
    /bin/busybox rm -f /pid # of its last start
    /bin/busybox setsid sh -c 'echo $$ >/pid; trap "" HUP; while :; do sleep 0.1; done' \
        >/dev/null 2>&1 </dev/null &
    n=0; while [ ! -s /pid ] && [ $n -lt 100 ]; do n=$((n + 1)); sleep 0.05; done
    ;;
stop)
    echo "stopped" >>/log
    [ -e /deaf ] || kill "$(cat /pid)"
    ;;
esac
END
    chmod 755 "$1/sbin/init" "$1/ganeti-chroot"
}

# container_os OS-FOLDER NOOP-FOLDER IMAGE: an OS that puts the image on the
# first disk
container_os() {
    mkdir -p "$1"
    cp -r "$2/." "$1"
    printf '#!/bin/sh\ndd if=%s of="$DISK_0_PATH" conv=notrunc status=none\n' \
        "$3" >"$1/create"
    chmod 755 "$1/create"
}

# --- one instance, without a daemon: $INSIDE/web1.json says which ---

drive=$(dirname "$BIN")/tests/hv_drive

# act VERB [ARGUMENT...]: what the hypervisor's code does with it
act() {
    verb=$1
    shift
    "$drive" "$verb" "$INSIDE/web1.json" "$@"
}
is_down() { [ "$(act info)" = "{}" ]; }
