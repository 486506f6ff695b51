#!/bin/sh
# The same on many nodes: gnt-cluster command and copyfile.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 3
m gnt-node modify -O yes node3 >/dev/null

if ! is_virtual; then # no program is run to get there
    for program in ssh scp sftp; do
        printf '#!/bin/sh\necho "$0" >>/root/programs\nexit 1\n' \
            >"$(root node1)/usr/bin/$program"
    done
fi
succeeds "a command runs on all nodes" m gnt-cluster command echo \
    'at ${GANETI_HOSTNAME:-$(hostname)}'
is "$out" "Note: skipping offline node(s): node3.example.com
------------------------------------------------
node: node2.example.com
at node2.example.com

return code = 0
------------------------------------------------
node: node1.example.com
at node1.example.com

return code = 0" "that are online, on the master last"
succeeds "options behind it are its own" \
    m gnt-cluster command -n node2.example.com -M printf '"%s\n"' -n -M
is "$out" "------------------------------------------------
node2.example.com: -n
node2.example.com: -M
return code = 0" "lines have the node's name"
succeeds "what fails" m gnt-cluster command --failure-only \
    'test ${GANETI_HOSTNAME:-$(hostname)} = node1.example.com || { echo no >&2; exit 3; }'
like "$out" "^node: node2.example.com" "is named"
like "$out" "^no" "with what it said"
like "$out" "return code = 3" "and how it ended"
unlike "$out" "node: node1" "the rest is not"
succeeds "a group's nodes" m gnt-cluster command -g default true
like "$out" "node: node2" "are found"
fails "a group that is none" m gnt-cluster command -g nosuch true
like "$out" "group 'nosuch' not known" "has none"

file=$(root node1)/etc/ganeti/site.conf
echo "a site's file" >"$file"
chmod 640 "$file"
succeeds "copyfile" m gnt-cluster copyfile -n node2.example.com \
    "$(path_on node1 /etc/ganeti/site.conf)"
is "$(cat "$(root node2)/etc/ganeti/site.conf")" "a site's file" \
    "puts it to the same place"
is "$(stat -c %a "$(root node2)/etc/ganeti/site.conf")" 640 "with its mode"
ln -s site.conf "$(root node1)/etc/ganeti/link.conf"
succeeds "a link is copied" m gnt-cluster copyfile \
    "$(path_on node1 /etc/ganeti/../ganeti/./link.conf)"
is "$(cat "$(root node2)/etc/ganeti/link.conf")" "a site's file" \
    "as a file with its name"
fails "a file that is not there" m gnt-cluster copyfile "$file.not"
like "$out" "No such filename" "is named"
mkdir "$(root node1)/etc/only-here"
cp "$file" "$(root node1)/etc/only-here/x"
succeeds "a copy that fails" m gnt-cluster copyfile \
    "$(path_on node1 /etc/only-here/x)"
like "$out" "Copy of file .*/x to node node2.example.com:22 failed" "is told"

[ ! -e "$(root node1)/root/programs" ]
tap_point $? "no program of OpenSSH is run"
lines=$(m gnt-cluster command --stream 'printf "a\nb"; exit 3' 2>"$VC/ends")
is "$(echo "$lines" | sort)" "node1.example.com: a
node1.example.com: b
node2.example.com: a
node2.example.com: b" "lines come with their node's name"
is "$(grep -v Note "$VC/ends" | sort)" "node1.example.com: return code = 3
node2.example.com: return code = 3" "and who has failed"
is "$(m gnt-cluster command --stream -n node2 echo alone 2>/dev/null)" alone "without, of one node"

# --- for the report of a bug ---
echo "key a secret" >>"$(root node2)/usr/share/ganeti/os/noop/parameters.list"
m gnt-instance add --no-name-check --no-ip-check -o noop -t diskless -n node2 \
    --os-parameters-private=key=s3cret --no-install web1 >/dev/null
"$BIN/gnt-vcluster" stop "$VC" node1
succeeds "the configuration is shown without a master" m gnt-cluster sanitize-config
like "$out" '"name": "web1"' "with its names"
unlike "$out" 's3cret' "but no secrets"
report=$VC/report
succeeds "and written" m gnt-cluster sanitize-config --anonymous "$report"
is "$(stat -c %a "$report")" 600 "for its owner alone"
is "$(grep -cE 'web1|s3cret' "$report")" 0 "without names"
like "$(cat "$report")" '"name": "instance1.example.com"' "but with others"
fails "a file that is there" m gnt-cluster sanitize-config "$report"
like "$out" 'exists; --force' "is not written over"
fails "a folder that is not there" m gnt-cluster sanitize-config "$VC/none/x"
unlike "$out" 'Unhandled' "is no riddle"
tap_done
