#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-vm-faults ROUNDS=30: a node daemon is killed, or the power of a node cut,
# behind a random node call of an operation on mirrored disks.  The job ends with an
# error that names what it was about, doing it again succeeds, and what was written
# before is on both nodes.  SEED repeats a run.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/nodes.sh"
ROUNDS=${ROUNDS:-30}
SEED=${SEED:-$(date +%s)}
CALLS=12 # the last call of a node behind which something happens
AGAIN=4  # so often an operation is repeated
MIB=32
note "SEED=$SEED"
vm_cluster 3 --memory 384

# A number below N, the same for the same seed.
random_state=$SEED
random() { # N
    random_state=$(((random_state * 1103515245 + 12345) % 2147483648))
    random_got=$((random_state / 65536 % $1))
}

daemon() { # NODE: with a line in the log for each call
    vm "$1" 'pidof gantry-noded >/dev/null || (gantry-noded -d >/dev/null 2>&1 </dev/null &)'
}
debug_daemon() { # NODE
    vm "$1" 'kill $(pidof gantry-noded); while pidof gantry-noded >/dev/null; do sleep 0.1; done; echo 1 >/proc/sys/kernel/sysrq'
    daemon "$1"
}
# arm NODE FAULT CALLS: behind so many calls.  The file "fired" is there before it
# happens.
arm() {
    case $2 in
    kill) arm_act='kill -9 $(pidof gantry-noded)' ;;
    power) arm_act='echo o >/proc/sysrq-trigger' ;;
    esac
    vm "$1" "rm -f /root/fired; cat >/root/fault <<'END'
#!/bin/sh
tail -n 0 -F /var/log/ganeti/node-daemon.log 2>/dev/null | {
    n=0
    while read -r line; do
        case \$line in
        *' DEBUG '*': '*' us'*) n=\$((n + 1)) ;;
        esac
        [ \$n -ge $3 ] && break
    done
    [ \$n -ge $3 ] || exit
    : >/root/fired
    $arm_act
}
END
sh /root/fault >/dev/null 2>&1 </dev/null & sleep 0.3" >/dev/null
}
is_off() { "$vc" list "$VC" | grep "^node$1" | grep -q ' off '; }
# What has not happened does not any more; what has, is over.
disarm() { # NODE: whether it happened
    disarm_said=$(vm "$1" 'test -e /root/fired || for p in $(pidof tail); do kill $p; done
        sleep 0.3; test -e /root/fired && echo fired || echo quiet' 2>/dev/null)
    [ "$disarm_said" != quiet ]
}
# recover NODE FAULT
recover() {
    if disarm "$1"; then
        fired=$((fired + 1))
        [ "$2" = kill ] || {
            until_true 60 is_off "$1" || vm_crash "$1"
            vm_boot "$1" >/dev/null 2>&1
            debug_daemon "$1"
        }
    fi
    daemon "$1"
    until_true 60 vm "$1" 'pidof gantry-noded >/dev/null'
}

add() { m gnt-instance add -o noop -B memory=32 --no-name-check --no-ip-check --no-nics -t drbd -s ${MIB}m -n "$1:$2" f; }
field() { m gnt-instance list --no-headers -o "$1" f 2>/dev/null | tr -d ' '; }
number() { echo "$1" | tr -dc '0-9' | cut -c1; }
device() { vm "$1" 'readlink /var/run/ganeti/instance-disks/f:0' | tail -1; }
sum_on() { vm_sum "$1" "$(device "$1")" $MIB; }
in_sync() {
    m gnt-instance activate-disks f >/dev/null 2>&1
    vm "$1" cat /proc/drbd | grep -q 'cs:Connected .*UpToDate/UpToDate'
}

operate() { # NAME: do it, or do the rest of it
    case $1 in
    create) [ -n "$(field name)" ] || add node2 node3 ;;
    replace-s) m gnt-instance replace-disks -s f ;;
    replace-p) m gnt-instance replace-disks -p f ;;
    replace-n) [ "$(number "$(field snodes)")" = 1 ] || m gnt-instance replace-disks -n node1 f ;;
    failover) [ "$(number "$(field pnode)")" = 3 ] || m gnt-instance failover -f f ;;
    migrate) [ "$(number "$(field pnode)")" = 3 ] || m gnt-instance migrate -f f ;;
    failover-n) [ "$(number "$(field pnode)")" = 1 ] || m gnt-instance failover -f -n node1 f ;;
    convert)
        m gnt-instance shutdown --timeout 0 f &&
            { [ "$(field disk_template)" = plain ] || m gnt-instance modify -t plain f; } &&
            m gnt-instance modify -t drbd -n node3 f && m gnt-instance startup f
        ;;
    esac
}

# What the cluster has to do with it when somebody looks after a fault.
settle() {
    case $1 in
    migrate) m gnt-instance migrate -f --cleanup f ;;
    esac
    [ -z "$(field name)" ] || m gnt-instance activate-disks f
    [ "$(field admin_state)" != up ] || m gnt-instance startup f
}

# Volumes that no instance has, "node:volume"; those are removed by hand, and counted.
orphans() {
    for orphan_node in 1 2 3; do
        vm "$orphan_node" 'lvs --noheadings -o lv_name xenvg' | tr -d ' ' | sed "s/^/$orphan_node:/"
    done
}

one() { # NUMBER
    set -- "$1" $(echo create replace-s replace-p replace-n failover migrate failover-n convert)
    one_number=$1
    shift
    shift $(((one_number - 1 + SEED) % 8))
    one_op=$1
    random 2; [ "$random_got" = 0 ] && one_fault=kill || one_fault=power
    random 2; one_node=$((random_got + 2))
    random $CALLS; one_calls=$((random_got + 1))
    one_what="round $one_number: $one_op, $one_fault of node$one_node behind call $one_calls"
    if [ "$one_op" != create ]; then
        add node2 node3 >/dev/null 2>&1 || { tap_point 1 "$one_what: cannot begin"; return; }
        vm_pattern 2 "$(device 2)" $MIB
        one_sum=$(sum_on 2)
    fi
    arm "$one_node" "$one_fault" "$one_calls"
    one_said=$(operate "$one_op" 2>&1)
    one_status=$?
    recover "$one_node" "$one_fault"
    [ $one_status = 0 ] || failed=$((failed + 1))
    [ $one_status = 0 ] || echo "$one_said" | grep -q "node$one_node\|instance f\|'f'\| f " || {
        note "$one_said"
        tap_point 1 "$one_what: the error names nothing"
    }
    for one_try in $(seq $AGAIN); do
        settle "$one_op" >/dev/null 2>&1
        one_said=$(operate "$one_op" 2>&1) && break
    done || {
        note "$one_said"
        tap_point 1 "$one_what: it cannot be done again"
    }
    if [ "$one_op" = create ]; then
        vm_pattern 2 "$(device 2)" $MIB
        one_sum=$(sum_on 2)
    fi
    one_primary=$(number "$(field pnode)")
    until_true 120 in_sync "$one_primary"
    one_here=$(sum_on "$one_primary")
    m gnt-instance failover -f f >/dev/null 2>&1
    one_other=$(number "$(field pnode)")
    [ "$one_other" != "$one_primary" ] || note "it did not fail over"
    one_there=$(sum_on "$one_other")
    is "$one_here $one_there" "$one_sum $one_sum" "$one_what"
    m gnt-instance remove -f --ignore-failures f >/dev/null 2>&1
    one_left=$(orphans)
    [ -z "$one_left" ] || {
        note "left over:" $one_left
        left=$((left + 1))
        for one_volume in $one_left; do
            vm "${one_volume%%:*}" "lvremove -f -qq xenvg/${one_volume#*:}"
        done
    }
    for one_node in 1 2 3; do
        vm "$one_node" 'for d in /dev/drbd[0-9]*; do drbdsetup down ${d#/dev/drbd} 2>/dev/null; done; true' >/dev/null 2>&1
    done
}

debug_daemon 2
debug_daemon 3
failed=0 left=0 fired=0
for round in $(seq "$ROUNDS"); do
    one_begun=$(date +%s)
    one "$round"
    note "round $round took $(($(date +%s) - one_begun)) s"
done
note "$ROUNDS rounds: $fired faults, $failed jobs failed, $left left volumes behind"
tap_done
