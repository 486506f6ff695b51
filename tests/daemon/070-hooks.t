#!/bin/sh
# Hooks run around opcodes, and can stop them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

hook() { # NODE DIRECTORY NAME: the script from stdin
    folder=$(root "$1")/etc/ganeti/hooks/$2
    mkdir -p "$folder"
    cat >"$folder/$3"
    chmod +x "$folder/$3"
}
for node in node1 node2; do
    for phase in pre post; do
        hook "$node" instance-add-$phase.d 10-note <<END
#!/bin/sh
env | sort >"$VC/$node.$phase"
END
    done
done
succeeds "add with hooks" add web1 -t sharedfile -s 4m -n node2
env=$(cat "$VC/node2.pre")
like "$env" '^GANETI_HOOKS_PHASE=pre$' "the pre hook ran on the node"
like "$env" '^GANETI_OP_CODE=OP_INSTANCE_CREATE$' "knows the opcode"
like "$env" '^GANETI_INSTANCE_NAME=web1$' "the instance"
like "$env" '^GANETI_INSTANCE_PRIMARY=node2.example.com$' "its node"
like "$env" '^GANETI_MASTER=node1.example.com$' "and the master"
unlike "$env" '^HOME=' "and nothing of ours"
like "$(cat "$VC/node1.post")" '^GANETI_POST_INSTANCE_DISK0_SIZE=4$' \
    "the post hook on the master sees what became of it"

m gnt-network add --network=203.0.113.0/24 --gateway=203.0.113.1 \
    --mac-prefix=aa:bb:cc --tags=rack net1 >/dev/null
m gnt-network connect -N mode=bridged,link=br0 net1 >/dev/null
succeeds "add into a network" add web5 -t diskless -n node2 \
    --net 0:ip=pool,network=net1
env=$(cat "$VC/node1.post")
for line in NAME=net1 SUBNET=203.0.113.0/24 GATEWAY=203.0.113.1 \
    MAC_PREFIX=aa:bb:cc TAGS=rack "UUID=[-0-9a-f]*"; do
    like "$env" "^GANETI_INSTANCE_NIC0_NETWORK_$line\$" \
        "hooks know ${line%%=*} of a NIC's network"
done
m gnt-instance remove -f web5 >/dev/null

hook node2 instance-add-pre.d 20-veto <<'END'
#!/bin/sh
echo "no more instances in rack 2"
exit 1
END
fails "a failing pre hook stops the opcode" add web2 -t diskless -n node2
like "$out" 'rack 2' "and its words are shown"
is "$(m gnt-instance list --no-headers -o name)" web1 "nothing was added"
rm "$(root node2)/etc/ganeti/hooks/instance-add-pre.d/20-veto"
hook node2 instance-add-post.d 20-sad <<'END'
#!/bin/sh
exit 1
END
succeeds "a failing post hook does not" add web3 -t diskless -n node2
hook node1 instance-add-pre.d 'not.run' <<'END'
#!/bin/sh
exit 1
END
succeeds "names with dots are not run" add web4 -t diskless -n node2

# What the master alone runs.
hook node1 config-update-post.d 10-note <<END
#!/bin/sh
env | sort >"$VC/update"
exit 1
END
succeeds "an opcode that changes the configuration" \
    m gnt-instance modify -B maxmem=256 web3
like "$out" 'config-update-post.d/10-note failed' "runs config-update"
env=$(cat "$VC/update")
like "$env" '^GANETI_HOOKS_PATH=config-update$' "under its own path"
like "$env" '^GANETI_OP_CODE=OP_INSTANCE_SET_PARAMS$' "for that opcode"
like "$env" '^GANETI_INSTANCE_NAME=web3$' "and object"
rm "$VC/update"
succeeds "one without hooks of its own" m gnt-instance add-tags web3 blue
like "$(cat "$VC/update")" '^GANETI_OP_CODE=OP_TAGS_SET$' "does as well"
rm "$VC/update"
m gnt-debug delay 0.01 >/dev/null
is "$(ls "$VC/update" 2>/dev/null)" "" "what changes nothing does not"

for way in turnup turndown; do
    hook node1 master-ip-$way-pre.d 10-note <<END
#!/bin/sh
env | sort >"$VC/$way.pre"
END
    hook node1 master-ip-$way-post.d 10-note <<END
#!/bin/sh
env | sort >"$VC/$way.post"
END
done
succeeds "the address goes down" m gnt-cluster deactivate-master-ip --yes
like "$(cat "$VC/turndown.post")" '^GANETI_OP_CODE=OP_CLUSTER_IP_TURNDOWN$' \
    "with its hooks"
succeeds "and up" m gnt-cluster activate-master-ip
ip=$(cat "$(root node1)/var/lib/ganeti/ssconf_master_ip")
like "$(cat "$VC/turnup.pre")" "^GANETI_MASTER_IP=$ip\$" "they know it"
like "$(cat "$VC/turnup.post")" "^GANETI_POST_MASTER_NETMASK=32\$" \
    "and the netmask"
hook node1 master-ip-turnup-pre.d 20-veto <<END
#!/bin/sh
echo the router is not ready
exit 1
END
fails "a failing one stops it" m gnt-cluster activate-master-ip
like "$out" 'the router is not ready' "and is shown"
tap_done
