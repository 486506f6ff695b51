#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# An operating system whose script nobody trusts: the instance is started from
# the cluster's install image, asks its node for the script and the parameters,
# and shuts itself down.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "instances come from loopback addresses"
cluster_start --nodes 2

for node in node1 node2; do
    os=$(root $node)/srv/ganeti/os/wild
    mkdir -p "$os"
    cp -r "$(root $node)/usr/share/ganeti/os/noop/." "$os"
    rm "$os/create"
    echo 20 >"$os/ganeti_api_version"
    printf '%s a parameter\n' size root_pw >"$os/parameters.list"
    printf '#!/bin/sh\n# WILD\n' >"$os/create_untrusted"
    printf '#!/bin/sh\nexit 0\n' >"$os/verify"
    chmod 755 "$os/create_untrusted" "$os/verify"
done
chmod 755 "$VC" # everybody may read what becomes an image
image=$VC/install.img
head -c 3000001 /dev/urandom >"$image"
chmod 644 "$image"
disks=$(root node2)/srv/ganeti/file-storage
machine=$(root node2)/var/run/ganeti/fake-hypervisor/web1
address=$(m gnt-node list --no-headers -o pip node2 | tr -d ' ')

add_wild() {
    m gnt-instance add --no-name-check --no-ip-check -o wild -t file -s 4m \
        -n node2 -c yes -O size=9G --os-parameters-secret=root_pw=sesame4712 \
        "$@" web1
}
ask() { # PATH: as the instance
    curl -s --max-time 20 --interface 127.254.0.1 \
        "http://$address:1816/ganeti/latest/$1"
}

m gnt-cluster modify --instance-communication-network=talk >/dev/null
fails "an install image is needed" add_wild
like "$out" 'gnt-cluster modify --install-image' "and is asked for"
m gnt-cluster modify --install-image="$VC/nothing"
fails "it has to be there" add_wild
like "$out" "The install image $VC/nothing is not there on node node2" \
    "on the node"
m gnt-cluster modify --install-image="$image"

add_wild --no-start >"$VC/add.log" 2>&1 &
job=$!
until_true 60 test -e "$machine"
is "$(ask os/parameters.json)" \
    '{"size":["9G","public"],"root_pw":["sesame4712","secret"]}' \
    "the helper gets the parameters"
like "$(ask os/scripts/create_untrusted)" '# WILD' "and the script"
is "$(find "$disks" -type f | wc -l)" 2 "it has a disk of its own"
is "$(find "$disks" -type f -size 3145728c -exec head -c 3000001 {} \; |
    cmp - "$image" && echo same)" same "with the image"
rm "$machine"
wait "$job"
is "$?" 0 "when it has shut itself down the instance is installed"
like "$(cat "$VC/add.log")" 'waiting up to 7200 seconds for the helper machine' \
    "as the job's log says"
is "$(find "$disks" -type f | wc -l)" 1 "its disk is gone"
is "$(m gnt-instance list --no-headers -o disk.count,status web1 | xargs)" \
    "1 ADMIN_down" "nobody sees it any more"
is "$(ask os/parameters.json)" "" "nor the secret"
succeeds "the instance starts" m gnt-instance startup web1
is "$(ask os/parameters.json)" '{"size":["9G","public"]}' \
    "and gets its own parameters"
m gnt-instance shutdown --timeout=0 web1 >/dev/null
m gnt-instance reinstall -f --os-parameters-secret=root_pw=sesame4712 web1 \
    >"$VC/reinstall.log" 2>&1 &
job=$!
until_true 60 test -e "$machine"
like "$(ask os/parameters.json)" '"sesame4712","secret"' "it is reinstalled so"
rm "$machine"
wait "$job"
is "$?" 0 "as well"
is "$(find "$disks" -type f | wc -l)" 1 "and keeps its disk alone"
fails "in the time that it is given" m gnt-instance reinstall -f \
    --os-parameters-secret=root_pw=sesame4712 --helper-shutdown-timeout=1 web1
like "$out" 'within 1 seconds; give it more with --helper-shutdown-timeout' \
    "or is ended"
is "$(find "$disks" -type f | wc -l)" 1 "without its disk"
m gnt-instance remove -f --shutdown-timeout=0 web1 >/dev/null
fails "no time is less than none" add_wild --helper-startup-timeout=-1
like "$out" 'must not be negative' "for its start"

fails "one that does not end is ended" add_wild --helper-shutdown-timeout=1
like "$out" 'has not shut itself down within 1 seconds' "after its time"
fails "and leaves no machine" test -e "$machine"
is "$(find "$disks" -type f)" "" "no disk"
is "$(m gnt-instance list --no-headers)" "" "and no instance"

add_wild >"$VC/add.log" 2>&1 &
job=$!
until_true 60 test -e "$machine"
id=$(m gnt-job list --no-headers -o id --running | tr -d ' ')
m gnt-job cancel --force --kill --yes-do-it "$id" >/dev/null 2>&1
wait "$job"
until_true 60 sh -c "! test -e '$machine'"
until_true 60 sh -c "[ -z \"\$(find '$disks' -type f)\" ]"
tap_point $? "a killed job's is removed by another"
unlike "$(cat "$(root node1)/var/log/ganeti/"*.log "$(root node2)/var/log/ganeti/"*.log)" \
    'sesame4712' "no log has the secret"
tap_done
