#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances move between two clusters.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
. "$(dirname "$0")/../lib/two_clusters.sh"
two_clusters_start

there gnt-cluster modify --enabled-disk-templates=file,diskless >/dev/null 2>&1
m gnt-instance add --no-name-check --no-ip-check -o copy -t file \
    --disk 0:size=12m --disk 1:size=4m -n node1 --no-nics web1 >/dev/null
head -c 5000000 /dev/urandom | dd of="$(disk_of node1 web1 0)" conv=notrunc 2>/dev/null
sums="$(sum "$(disk_of node1 web1 0)") $(sum "$(disk_of node1 web1 1)")"

# Two clusters begin with a secret each.
own=$(cat "$(root node1)/var/lib/ganeti/cluster-domain-secret")
[ "$own" != "$(cat "$(root_there node1)/var/lib/ganeti/cluster-domain-secret")" ]
tap_point $? "each cluster has a secret of its own"
succeeds "they share one" share_secret

export BROKEN_EXPORT="$(root node1)/usr/share/ganeti/os/copy/broken"
export OTHER_CAME="$(root_there node1)/usr/share/ganeti/os/copy/came.1"
python3 "$(dirname "$0")/move_between.py" "$api_address" "$there_address" >"$VC/points"
while read -r line; do
    case $line in
    "ok - "*) tap_point 0 "${line#ok - }" ;;
    "not ok - "*) tap_point 1 "${line#not ok - }" ;;
    *) echo "$line" ;;
    esac
done <"$VC/points"

is "$(sum "$(disk_there moved 0)") $(sum "$(disk_there moved 1)")" "$sums" \
    "the data are the same"
is "$(cat "$VC/renamed")" "web1 moved" "the guest is told its new name"
is "$(there gnt-instance list --no-headers -o status moved)" running "and it runs"
is "$(keys_left)" "" "no key is left" || note "$(keys_left)"
is "$(find "$(root node1)/srv/ganeti/file-storage" -type f)" "" "nor a disk"

# --- by the tool ---

: >"$(root node1)/usr/share/ganeti/os/copy/broken"
fails "what the other cluster cannot write" \
    move_back -v --dest-primary-node=node1 --dest-instance-name=web2 moved
like "$out" "not moved: job .* \(import\) .*exit code 3" "is told"
is "$(there gnt-instance list --no-headers -o name,status | xargs)" "moved running" \
    "the instance runs where it was"
is "$(m gnt-instance list --no-headers)" "" "and is not here"
rm "$(root node1)/usr/share/ganeti/os/copy/broken"
succeeds "then it comes" \
    move_back --dest-primary-node=node1 --dest-instance-name=web2 moved
like "$out" "starting on ${api_address%:*}" "it is started when all is here"
like "$out" "removing it from ${there_address%:*}" "and is removed when all is here"
is "$(there gnt-instance list --no-headers)" "" "there it is no more"
is "$(m gnt-instance list --no-headers -o name,status | xargs)" "web2 running" "it runs here"
is "$(sum "$(disk_of node1 web2 0)") $(sum "$(disk_of node1 web2 1)")" "$sums" \
    "the data are the same"
is "$(keys_left)" "" "no key is left" || note "$(keys_left)"
is "$(grep -rl -e "$(cat "$VC/secret")" "$(root node1)/var/log" "$(root_there node1)/var/log")" \
    "" "no log has the secret"
tap_done
