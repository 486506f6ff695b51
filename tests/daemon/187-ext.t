#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Disks of external storage: a provider of scripts, here one that keeps files.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
shelf=$VC/shelf
log=$VC/scripts
mkdir "$shelf"

script() { # NAME: of all nodes' provider, what it does from stdin
    body=$(cat)
    for node in node1 node2; do
        folder=$(root $node)/srv/ganeti/extstorage/shelf
        mkdir -p "$folder"
        cat >"$folder/$1" <<END
#!/bin/sh
echo "$node $1 \$(env | grep -E '^(VOL|EXTP)_' | sort | tr '\n' ' ')" >>"$log"
$body
END
        chmod +x "$folder/$1"
        echo 'colour what it looks like' >"$folder/parameters.list"
    done
}
script create <<END
truncate -s "\${VOL_SIZE}M" "$shelf/\$VOL_NAME"
END
script attach <<END
echo "attaching" >&2
[ -f "$shelf/\$VOL_NAME" ] || { echo "not on the shelf" >&2; exit 2; }
echo "$shelf/\$VOL_NAME"
END
script detach </dev/null
script remove <<END
rm -f "$shelf/\$VOL_NAME"
END
script grow <<END
truncate -s "\${VOL_NEW_SIZE}M" "$shelf/\$VOL_NAME"
END
script setinfo </dev/null
script verify </dev/null
script open </dev/null
script close </dev/null

# last SCRIPT: what it was told the last time
last() {
    grep " $1 " "$log" | tail -n 1
}

m gnt-cluster modify --enabled-disk-templates=sharedfile,file,diskless,ext \
    --ipolicy-disk-templates=sharedfile,file,diskless,ext >/dev/null
succeeds "the provider is valid" m gnt-storage diagnose
like "$out" 'shelf' "and named"
fails "a disk needs a provider" add web1 -t ext --disk 0:size=8m -n node1
like "$out" 'provider' "which is said"
fails "one that is there" add web1 -t ext -n node1 \
    --disk 0:size=8m,provider=attic
like "$out" "'attic'" "and not another"
printf '#!/bin/sh\necho "$DISK_0_PATH" >%s\n' "$VC/told" >"$(root node1)/usr/share/ganeti/os/noop/create"
succeeds "an instance on it" add web1 -t ext -n node1 \
    --disk 0:size=8m,name=root,provider=shelf,colour=green
like "$(last create)" '^node1 create .*VOL_NAME=[-0-9a-f]+\.ext\.disk0 ' \
    "the volume has a name"
like "$(last create)" ' EXTP_COLOUR=green EXTP_PROVIDER=shelf .*VOL_CNAME=root .*VOL_SIZE=8 ' \
    "the script knows its size and parameters"
like "$(last setinfo)" ' VOL_METADATA=originstname\+web1 ' "and whose it is"
like "$(last open)" '^node1 .*VOL_OPEN_EXCLUSIVE=True' "it is opened alone"
volume=$(ls "$shelf")
is "$(readlink "$(root node1)/var/run/ganeti/instance-disks/web1:0")" \
    "$shelf/$volume" "the instance has the device"
is "$(cat "$VC/told")" "$shelf/$volume" "the OS's script was told where it is"
is "$(stat -c %s "$shelf/$volume")" 8388608 "of its size"
succeeds "it grows" m gnt-instance grow-disk web1 0 8m
like "$(last grow)" 'VOL_NEW_SIZE=16 VOL_SIZE=8' "by its script"
is "$(stat -c %s "$shelf/$volume")" 16777216 "and is larger"
succeeds "it migrates" m gnt-instance migrate -f -n node2 web1
like "$(last open)" '^node2 ' "is opened there"
like "$(last detach)" '^node1 ' "and detached here"
succeeds "it fails over" m gnt-instance failover -f -n node1 web1

printf '#!/bin/sh\necho no room left\nexit 4\n' \
    >"$(root node1)/srv/ganeti/extstorage/shelf/create"
fails "a script that fails" add web2 -t ext -n node1 \
    --disk 0:size=8m,provider=shelf
like "$out" 'create script failed .exited with exit code 4., output: no room left' \
    "fails the creation, with its words"
succeeds "parameters change" m gnt-instance modify \
    --disk 0:modify,colour=red,size_of=9,mode=rw web1
like "$out" 'disk.params:colour/0 -> red' "which is said"
succeeds "or go" m gnt-instance modify --disk 0:modify,size_of=default web1
fails "the provider stays" m gnt-instance modify --disk 0:modify,provider=attic web1
like "$out" "Disk 'provider' parameter change is not possible" "what it is"
succeeds "the next script" m gnt-instance reboot --type=full web1
like "$(last open)" ' EXTP_COLOUR=red EXTP_PROVIDER=shelf ' "is told so"
succeeds "an empty one" m gnt-instance modify --disk 0:modify,colour= web1
like "$out" 'disk.params:colour/0 -> *$' "is one, too"
succeeds "it is removed" m gnt-instance remove -f web1
is "$(ls "$shelf")" "" "and its volume with it"
tap_done
