#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances move between a cluster of Ganeti's and one of ours, by Ganeti's
# move-instance and by ours.  Each cluster is a host of its own
# (tests/lib/hosts.sh).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/ganeti.sh"
mover=/usr/lib/ganeti/tools/move-instance
[ -x "$mover" ] || skip_all "Ganeti's move-instance is not installed"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_start 2

ours() { on node1 timeout 120 "$@"; }
theirs() {
    program=$1
    shift
    on node2 timeout 120 "/usr/sbin/$program" "$@"
}
rapi_answers() { curl -sk --max-time 5 -o /dev/null "https://$1:5080/version"; }
user() { # HOST
    on "$1" sh -c 'mkdir -p /var/lib/ganeti/rapi
        echo "mover secret read,write" >/var/lib/ganeti/rapi/users'
}

begin_real() {
    prepare node2 && user node2 &&
        theirs gnt-cluster init $options cluster2.example.com &&
        { rapi_answers 192.0.2.12 || on node2 /usr/lib/ganeti/daemon-util start ganeti-rapi; } &&
        until_true 30 rapi_answers 192.0.2.12
}
begin_real >"$HOSTS/real.log" 2>&1 </dev/null &
real=$!
prepare node1 && user node1
succeeds "our cluster begins" ours gnt-cluster init $options cluster.example.com
rapi_answers 192.0.2.11 || on node1 sh -c 'exec gantry-rapi -d >/dev/null 2>&1 </dev/null'
until_true 30 rapi_answers 192.0.2.11
wait "$real"
is $? 0 "Ganeti's cluster begins" || note "$(cat "$HOSTS/real.log")"
succeeds "ours takes the secret of Ganeti's" sh -c '
    "$1" node2 cat /var/lib/ganeti/cluster-domain-secret |
        "$1" node1 sh -c "cat >/root/secret; exec gnt-cluster renew-crypto -f --cluster-domain-secret /root/secret"
    ' sh "$hosts_own/on"

for host in node1 node2; do
    cp "$(root $host)/var/lib/ganeti/rapi.pem" "$HOSTS/ca-$host"
    for there in node1 node2; do
        sed '/PRIVATE KEY/,/PRIVATE KEY/d' "$HOSTS/ca-$host" >"$(root $there)/root/ca-$host"
    done
done
for host in node1 node2; do echo secret >"$(root $host)/root/password"; done

# move TOOL FROM TO INSTANCE
move() {
    on "$2" timeout 200 "$1" --verbose --src-ca-file="/root/ca-$2" --dest-ca-file="/root/ca-$3" \
        --src-username=mover --dest-username=mover --src-password-file=/root/password \
        --dest-password-file=/root/password --dest-primary-node="$3.example.com" \
        --dest-disk-template=file $more "192.0.2.1${2#node}" "192.0.2.1${3#node}" "$4.example.com"
}
disk() { # HOST INSTANCE
    on "$1" sh -c "head -c 7 /var/storage/file/$2.example.com/*.disk0"
}
write() { # HOST INSTANCE
    printf 'was %s\n' "$2" | on "$1" sh -c "dd of=\$(ls /var/storage/file/$2.example.com/*.disk0) conv=notrunc" 2>/dev/null
}
lists() { # ours|theirs
    "$1" gnt-instance list --no-headers --separator=: -o name,status,be/maxmem | xargs
}

ours gnt-instance add $quick -t file -s 16m --net 0:mac=aa:00:00:01:02:03 -n node1 -B memory=160 i1.example.com >/dev/null
write node1 i1
theirs gnt-instance add $quick -t file -s 16m --net 0:mac=aa:00:00:01:02:04 -n node2 -B memory=160 i2.example.com >/dev/null
write node2 i2
is "$(lists ours) $(lists theirs)" \
    "i1.example.com:running:160 i2.example.com:running:160" "each has an instance"

# Debian's needs to be told, as it fails without.
more=--opportunistic-tries=0
succeeds "Ganeti's tool moves one from ours to Ganeti's" move "$mover" node1 node2 i1
is "$(disk node2 i1)" "was i1" "with its data"
is "$(lists ours) $(lists theirs)" \
    " i1.example.com:running:160 i2.example.com:running:160" "it runs there"
succeeds "and one from Ganeti's to ours" move "$mover" node2 node1 i2
is "$(disk node1 i2)" "was i2" "with its data"
is "$(lists ours) $(lists theirs)" \
    "i2.example.com:running:160 i1.example.com:running:160" "it runs here"

more=
succeeds "our tool moves one back from Ganeti's" move "$BIN/move-instance" node2 node1 i1
is "$(disk node1 i1)" "was i1" "with its data"
like "$out" "removing it from 192.0.2.12" "which removes its own when all is there"
succeeds "and one to Ganeti's" move "$BIN/move-instance" node1 node2 i2
is "$(disk node2 i2)" "was i2" "with its data"
is "$(lists ours) $(lists theirs)" \
    "i1.example.com:running:160 i2.example.com:running:160" "each runs where it was"
tap_done
