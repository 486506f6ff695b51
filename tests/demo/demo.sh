#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh BIN: an admin's session on a cluster of three nodes on this machine.
# Each command is printed before its output; the first that fails ends the demo
# with its status.  The cluster is gone afterwards.
set -eu
BIN=$(cd "$1" && pwd)
PATH=$BIN:$PATH
work=$(mktemp -d /tmp/gdemo.XXXXXX)
vc=$work/vc

finish() {
    [ -e "$vc/vcluster.json" ] && gnt-vcluster destroy "$vc"
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

say() {
    if [ -t 1 ]; then
        printf '\n\033[1m# %s\033[0m\n' "$*"
    else
        printf '\n# %s\n' "$*"
    fi
}

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

say "A cluster of three nodes on this machine, each with daemons of its own"
run gnt-vcluster create "$vc" --nodes 3
run gnt-vcluster list "$vc"
eval "$(gnt-vcluster env "$vc" node1)"
run gnt-cluster getmaster
run gnt-node list

say "An instance, placed by the built-in allocator"
run gnt-instance add -t sharedfile -s 64m -o noop -I hail \
    --no-name-check --no-ip-check web1.example.com
run gnt-instance list

say "Another one, placed by a script of the site from the search path"
script=$GANETI_ROOTDIR/usr/local/lib/ganeti/iallocators/second-node
cat >"$script" <<'END'
#!/bin/sh
# Everything goes to the second node.
echo '{"success": true, "info": "site policy", "result": ["node2.example.com"]}'
END
chmod +x "$script"
run cat "$script"
run gnt-instance add -t sharedfile -s 64m -o noop -I second-node \
    --no-name-check --no-ip-check web2.example.com

say "Ten more from a file, placed together"
batch=$work/batch.json
{
    echo '['
    for i in 1 2 3 4 5 6 7 8 9 10; do
        [ "$i" = 1 ] || echo ','
        printf '{"mode": "create", "instance_name": "app%d.example.com", "os_type": "noop", "disk_template": "sharedfile", "disks": [{"size": 32}], "nics": [{}], "beparams": {"memory": 128}, "name_check": false, "ip_check": false}' "$i"
    done
    echo
    echo ']'
} >"$batch"
run head -c 300 "$batch"
run gnt-instance batch-create "$batch"
run gnt-instance list -o name,pnode,status,oper_ram

say "While a job runs, others see its locks"
run gnt-debug delay --submit --no-master -n node2.example.com 2
run gnt-debug locks -o name,mode,owner
run gnt-job list

say "Node 3 is to be serviced: drain it, and move everything away"
run gnt-node modify --drained yes node3.example.com
run gnt-node evacuate -f -p node3.example.com
run gnt-node list -o name,role,pinst_cnt,mfree
run gnt-instance list -o name,pnode,status

say "Every step was a job"
run gnt-job list
last=$(gnt-job list --no-headers -o id | tail -1 | tr -d ' ')
run gnt-job info "$last"

say "All is well"
run gnt-cluster verify
run gnt-vcluster destroy "$vc"
