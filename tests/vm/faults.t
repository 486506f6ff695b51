#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make test-vm-faults ROUNDS=30: a node daemon is killed, or the power of a node cut,
# behind a random node call of an operation on an instance with two mirrored disks; the
# daemon or the node comes back at once, as under systemd, or when the job has ended.
# The job ends with an error that names what it was about, doing it again succeeds, and
# what was written before is on both nodes.  Another instance on these nodes keeps what
# it has.  SEED repeats a run.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/nodes.sh"
ROUNDS=${ROUNDS:-30}
SEED=${SEED:-$(date +%s)}
CALLS="6 16" # the last call of a node behind which something happens, often and rarely
AGAIN=4  # so often an operation is repeated
MIB=16   # of a disk
DISKS="0 1"
NOTHING=e3b0c44298fc1c14 # the sum of no data
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
    vm "$1" 'kill $(pidof gantry-noded) 2>/dev/null; while pidof gantry-noded >/dev/null; do sleep 0.1; done; echo 1 >/proc/sys/kernel/sysrq'
    daemon "$1"
}
# arm NODE FAULT CALLS: behind so many calls.  The file "fired" is there before it
# happens.
arm() {
    case $2 in
    kill) arm_act='kill -9 $(pidof gantry-noded)' ;;
    restart) arm_act='kill -9 $(pidof gantry-noded); sleep 5; exec gantry-noded -d >/dev/null 2>&1 </dev/null' ;;
    power | cycle) arm_act='echo o >/proc/sysrq-trigger' ;;
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
has_power() { grep -qsa -- "$VC/[.]machine/node$1/" /proc/[0-9]*/cmdline; }
# Boot a node that has lost its power, until the operation is over.
cycle() { # NODE
    while [ ! -e "$VC/over" ]; do
        has_power "$1" || {
            : >"$VC/booted"
            vm_boot "$1"
            return
        }
        sleep 1
    done
}
went_off() { [ -e "$VC/booted" ] || ! has_power "$1"; }
is_off() { "$vc" list "$VC" | grep "^node$1" | grep -q ' off '; }
# What has not happened does not any more; what has, is over.
disarm() { # NODE: whether it happened
    disarm_said=$(vm "$1" 'test -e /root/fired || for p in $(pidof tail); do kill $p; done 2>/dev/null
        sleep 0.3; test -e /root/fired && echo fired || echo quiet' 2>/dev/null)
    [ "$disarm_said" != quiet ]
}
happened() { # NODE FAULT
    disarm "$1" && return 0
    [ "$2" = cycle ] && [ -e "$VC/booted" ]
}
# recover NODE FAULT
recover() {
    if happened "$1" "$2"; then
        fired=$((fired + 1))
        case $2 in
        power)
            # An emulated kernel may hang while it switches the power off.
            until_true 60 is_off "$1" || vm_crash "$1"
            vm_boot "$1" >/dev/null 2>&1
            ;;
        cycle)
            until_true 60 went_off "$1" || vm_crash "$1"
            wait "$one_cycle"
            ;;
        esac
        case $2 in power | cycle)
            quick "$1"
            debug_daemon "$1"
            ;;
        esac
    fi
    : >"$VC/over"
    [ "$2" != cycle ] || wait "$one_cycle"
    daemon "$1"
    until_true 60 vm "$1" 'pidof gantry-noded >/dev/null'
}

# Without udev, whose programs take most of the time of an emulated node.
quick() { # NODE
    vm "$1" 'cat >/etc/lvm/lvmlocal.conf; udevadm control --exit 2>/dev/null; sync' <<'END'
activation { udev_sync = 0 udev_rules = 0 }
backup { backup = 0 archive = 0 }
global { event_activation = 0 }
END
}

# --- the instance f, that lives through all rounds ---

added="gnt-instance add -o noop -B memory=32 --no-name-check --no-ip-check --no-nics -t drbd"
add() { m $added --disk 0:size=${MIB}m --disk 1:size=${MIB}m -n "node$1:node$2" f; }
field() { m gnt-instance list --no-headers -o "$1" f 2>/dev/null | tr -d ' '; }
number() { echo "$1" | sed -n 's/^node\([0-9]\).*/\1/p'; }
primary() { number "$(field pnode)"; }
secondary() { number "$(field snodes)"; }
device() { echo "/var/run/ganeti/instance-disks/$1:$2"; } # INSTANCE DISK
# Sequence numbers, others on each disk and in each round.
write_on() { # NODE INSTANCE ROUND
    for write_disk in $DISKS; do
        write_to=$(device "$2" "$write_disk")
        vm_pattern "$1" "$write_to" $MIB "1$write_disk$(printf %04d "$3")000"
        vm_sum "$1" "$write_to" $MIB
    done | xargs
}
config_volumes() { m grep -o '"xenvg", *"[^"]*"' /var/lib/ganeti/config.data | sed 's/.*"\([^"]*\)"$/\1/'; }
data_of() { echo "$1" | grep -E "[.]disk$2(_data)?\$"; } # VOLUMES DISK
# What lies below both sides, which are in sync; disk after disk.
sums() {
    sums_of=$(config_volumes | grep -vxF "$g_volumes")
    for sums_node in "$(primary)" "$(secondary)"; do
        for sums_disk in $DISKS; do
            vm_sum "$sums_node" "/dev/xenvg/$(data_of "$sums_of" "$sums_disk")" $MIB
        done
    done | xargs
}
# All mirrors of a node, and so many at least; each has one primary.
SOUND='cs:Connected ro:\(Primary/Secondary\|Secondary/Primary\) ds:UpToDate/UpToDate'
connected() { # NODE N
    connected_is=$(vm "$1" "grep ' cs:' /proc/drbd" | grep -v cs:Unconfigured)
    [ "$(echo "$connected_is" | grep -c "$SOUND")" -ge "$2" ] &&
        ! echo "$connected_is" | grep -qv "$SOUND"
}
in_sync() { # NODE: both instances
    connected "$1" "$(echo $DISKS | wc -w)" || {
        m sh -c 'gnt-instance activate-disks f; gnt-instance activate-disks g' >/dev/null 2>&1
        connected "$1" "$(echo $DISKS | wc -w)"
    }
}

# --- the instance g, that nobody touches ---

g_sums() {
    for g_node in 2 3; do
        for g_disk in $DISKS; do
            vm_sum $g_node "/dev/xenvg/$(data_of "$g_volumes" "$g_disk")" $MIB
        done
    done | xargs
}
g_begin() {
    m $added --disk 0:size=${MIB}m --disk 1:size=${MIB}m -n node2:node3 g >/dev/null || return 1
    g_volumes=$(config_volumes)
    g_sum=$(write_on 2 g 0)
}
# A node that has lost its power has no mirrors when it comes again.
g_check() {
    until_true 200 in_sync 2 || note "$(m gnt-instance activate-disks g 2>&1; vm 2 cat /proc/drbd)"
    is "$(g_sums)" "$g_sum $g_sum" "$one_what: the other instance"
}

# A conversion to volumes that did not reach the secondary has left volumes there.
# The way back refuses to write over them and says what to do, which is done here.
to_mirrors() {
    for to_try in 1 2 3; do
        to_said=$(m gnt-instance modify -t drbd -n "node$one_s" f 2>&1) && return 0
        echo "$to_said"
        to_old=$(echo "$to_said" | sed -n 's/^Node node\([0-9]\).* has a volume xenvg\/\([^ ]*\) already.*/\1 \2/p')
        [ -n "$to_old" ] || return 1
        vm "${to_old% *}" "lvremove -f -qq xenvg/${to_old#* }" || return 1
    done
    return 1
}

operate() { # do it, or do the rest of it
    case $one_op in
    create) [ -n "$(field name)" ] || add "$one_p" "$one_s" ;;
    replace-s) m gnt-instance replace-disks -s f ;;
    replace-p) m gnt-instance replace-disks -p f ;;
    replace-n) [ "$(secondary)" = "$one_t" ] || m gnt-instance replace-disks -n "node$one_t" f ;;
    failover) [ "$(primary)" = "$one_s" ] || m gnt-instance failover -f f ;;
    migrate) [ "$(primary)" = "$one_s" ] || m gnt-instance migrate -f f ;;
    failover-n) [ "$(primary)" = "$one_t" ] || m gnt-instance failover -f -n "node$one_t" f ;;
    convert)
        m gnt-instance shutdown --timeout 0 f &&
            { [ "$(field disk_template)" = plain ] || m gnt-instance modify -t plain f; } &&
            to_mirrors && m gnt-instance startup f
        ;;
    esac
}

# What the cluster has to do with it when somebody looks after a fault.
settle() {
    [ "$one_op" != migrate ] || m gnt-instance migrate -f --cleanup f
    [ -z "$(field name)" ] || m gnt-instance activate-disks f
    [ "$(field admin_state)" != up ] || m gnt-instance startup f
}

# --- what is left behind ---

# Volumes that no disk has, "node:volume".
orphans() {
    orphans_known=$(config_volumes)
    for orphan_node in 1 2 3; do
        for orphan in $(vm "$orphan_node" 'lvs --noheadings -o lv_name xenvg'); do
            echo "$orphans_known" | grep -qx "$orphan" || echo "$orphan_node:$orphan"
        done
    done
}
# Verify names them; they are removed by hand, as it says.
check_orphans() {
    one_left=$(orphans)
    [ -n "$one_left" ] || return 0
    note "left over:" $one_left
    left=$((left + 1))
    one_said=$(m gnt-cluster verify 2>&1)
    for one_volume in $one_left; do
        echo "$one_said" | grep -q "${one_volume#*:}" || {
            note "$one_said"
            tap_point 1 "$one_what: verify does not name $one_volume"
        }
        vm "${one_volume%%:*}" "for m in \$(sed -n 's/^ *\([0-9]*\): cs:.*/\1/p' /proc/drbd); do
                drbdsetup show \$m | grep -q '${one_volume#*:}' && drbdsetup down resource\$m; done
            lvremove -f -qq xenvg/${one_volume#*:}"
    done
}

# --- a round ---

begin() { # whatever the round before has left
    one_p=$(primary) one_s=$(secondary)
    if [ -z "$one_s" ] || [ "$one_op" = create ]; then
        m gnt-instance remove -f --shutdown-timeout 0 --ignore-failures f >/dev/null 2>&1
    fi
    [ -n "$one_s" ] || { one_p=2 one_s=3; }
    [ "$one_op" != create ] || return 0
    [ -n "$(primary)" ] || add "$one_p" "$one_s" >/dev/null 2>&1 || return 1
    m gnt-instance activate-disks f >/dev/null 2>&1
    one_sum=$(write_on "$one_p" f "$1")
    case $one_sum in *$NOTHING*) false ;; esac
}

# One that takes part, but for the master.
choose_node() {
    case $one_op in
    *-n) one_parts="$one_p $one_s $one_t" ;;
    *) one_parts="$one_p $one_s" ;;
    esac
    one_parts=$(for n in $one_parts; do [ $n = 1 ] || echo $n; done)
    random 2
    [ "$random_got" = 0 ] && one_node=$(echo "$one_parts" | head -1) ||
        one_node=$(echo "$one_parts" | tail -1)
}

one() { # NUMBER
    set -- "$1" $(echo create replace-s replace-p replace-n failover migrate failover-n convert)
    one_number=$1
    shift
    shift $(((one_number - 1 + SEED) % 8))
    one_op=$1
    random 6
    one_fault=$(echo kill restart restart power cycle cycle | cut -d' ' -f$((random_got + 1)))
    random 3; [ "$random_got" = 0 ] && one_calls=${CALLS#* } || one_calls=${CALLS% *}
    random "$one_calls"; one_calls=$((random_got + 1))
    one_what="round $one_number: $one_op"
    begin "$one_number" || { tap_point 1 "$one_what: cannot begin"; return; }
    one_t=$((6 - one_p - one_s))
    choose_node
    one_what="$one_what of $one_p:$one_s, $one_fault of node$one_node behind call $one_calls"
    arm "$one_node" "$one_fault" "$one_calls"
    rm -f "$VC/over" "$VC/booted"
    [ "$one_fault" != cycle ] || { cycle "$one_node" >/dev/null 2>&1 & one_cycle=$!; }
    one_said=$(operate 2>&1)
    one_status=$?
    recover "$one_node" "$one_fault"
    [ $one_status = 0 ] || failed=$((failed + 1))
    [ $one_status = 0 ] || echo "$one_said" | grep -q "node$one_node\|instance f\|'f'\| f " || {
        note "$one_said"
        tap_point 1 "$one_what: the error names nothing"
    }
    [ $one_status = 0 ] || for one_try in $(seq $AGAIN); do
        settle >/dev/null 2>&1
        one_said=$(operate 2>&1) && break
    done || {
        note "$one_said"
        tap_point 1 "$one_what: it cannot be done again"
    }
    [ "$one_op" != create ] || one_sum=$(write_on "$(primary)" f "$one_number")
    until_true 200 in_sync "$(primary)" || note "$(m gnt-instance activate-disks f 2>&1; vm "$(primary)" cat /proc/drbd)"
    is "$(sums)" "$one_sum $one_sum" "$one_what"
    g_check
    check_orphans
}

for n in 1 2 3; do
    quick $n
    [ $n = 1 ] || debug_daemon $n
done
g_begin || {
    echo "Bail out! no second instance"
    exit 1
}
failed=0 left=0 fired=0
for round in $(seq "$ROUNDS"); do
    one_begun=$(date +%s)
    one "$round"
    note "round $round took $(($(date +%s) - one_begun)) s; so far $fired faults, $failed jobs failed, $left left volumes"
done
note "$ROUNDS rounds: $fired faults, $failed jobs failed, $left left volumes behind"
tap_done
