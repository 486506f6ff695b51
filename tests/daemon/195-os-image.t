#!/bin/sh
# The OS parameter os-image: an image on the first disk in place of an
# installation, from a file or a URL.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/http.sh"
cluster_start --nodes 2

# Everybody may read what becomes an image.
chmod 755 "$VC"
images=$VC/images
mkdir -m 755 "$images"
head -c 3000001 /dev/urandom >"$images/small"
head -c 2000000 /dev/urandom >"$images/other"
head -c 4194304 /dev/urandom >"$images/full"
head -c 4194305 /dev/zero >"$images/big"
chmod 644 "$images"/*

# An OS has to know the parameter, as any other.
for node in node1 node2; do
    os=$(root $node)/srv/ganeti/os/known
    mkdir -p "$os"
    cp -r "$(root $node)/usr/share/ganeti/os/noop/." "$os"
    echo 'os-image what is put on the disk' >"$os/parameters.list"
    printf '#!/bin/sh\ncp "$DISK_0_PATH" %s/seen\n' "$VC" >"$os/create"
done

add_image() { # NAME IMAGE OPTION...
    name=$1
    image=$2
    shift 2
    m gnt-instance add --no-name-check --no-ip-check -t file -s 4m -n node2 \
        -O "os-image=$image" "$@" "$name"
}
disk() { # INSTANCE
    echo "$(root node2)/srv/ganeti/file-storage/$1/"*.disk0
}
has() { # INSTANCE IMAGE: its disk begins with it
    cmp -n "$(stat -c %s "$images/$2")" "$(disk "$1")" "$images/$2"
}
field() { m gnt-instance list --no-headers -o "$1" "$2"; }

# --- files ---
succeeds "an instance is made of an image" add_image web1 "$images/small"
like "$out" "Imaging disk '0' for instance 'web1'" "and the log says so"
succeeds "its disk has it" has web1 small
is "$(stat -c %s "$(disk web1)")" 4194304 "and its size"
is "$(field status web1)" running "it runs"
is "$(field os web1)" "" "without an operating system"
like "$(field custom_osparams web1)" "$images/small" "the image is recorded"
succeeds "one that fills the disk, for an OS" add_image web2 "$images/full" \
    -o known --no-start
succeeds "is there" has web2 full
[ ! -e "$VC/seen" ]
tap_point $? "and no script runs"
succeeds "an image comes though nothing is to be installed" \
    add_image web3 "$images/small" --no-install
succeeds "as upstream" has web3 small
is "$(field status web3)" ADMIN_down "but then it stays down"

# --- what is refused ---
refused() { # IMAGE PATTERN WHAT
    fails "$3" add_image bad "$1"
    like "$out" "$2" "in words"
    is "$(m gnt-instance list --no-headers -o name | grep -c bad)" 0 \
        "and nothing is left"
    [ ! -e "$(disk bad)" ]
    tap_point $? "of its disk neither"
}
refused "$images/none" "Image '$images/none' not found" "a file that is not there"
refused "$images" "neither a file nor a block device" "a folder"
refused /dev/zero "neither a file nor a block device" "a device of characters"
refused "$images/big" "has 4194305 bytes, more than the 4194304" \
    "one that is too big"
pem=$(path_on node2 /var/lib/ganeti/server.pem)
refused "$pem" "cluster's own files" \
    "the node daemon's key"
ln -s "$pem" "$images/link"
refused "$images/link" "cluster's own files" "a link to it"
refused rel "must be an absolute path or a URL" "neither path nor URL"
refused file:///etc/passwd "must be an absolute path or a URL" "another scheme"
if [ "$(id -u)" -eq 0 ]; then
    printf secret >"$images/closed"
    chmod 600 "$images/closed"
    refused "$images/closed" "is not readable for everybody" \
        "what not everybody may read"
    refused "$(disk web1)" "is not readable for everybody" \
        "the disk of another instance"
fi
fails "an instance without disks" m gnt-instance add --no-name-check \
    --no-ip-check -t diskless -n node2 -O "os-image=$images/small" bad
like "$out" 'needs a new disk' "has no place for one"
fails "without OS and image" m gnt-instance add --no-name-check \
    --no-ip-check -t file -s 4m -n node2 bad
like "$out" 'No guest OS or OS image specified' "there is nothing to install"

# --- URLs ---
http_serve "$images"
succeeds "an image is downloaded" add_image net1 "$url/small"
succeeds "whole" has net1 small
succeeds "from where the server sends" add_image net2 "$url/to//full"
succeeds "whole as well" has net2 full
succeeds "without a size" add_image net3 "$url/unsized/small"
succeeds "to its end" has net3 small
refused "$url/none" 404 "a file that the server has not"
refused "$url/big" "bigger than the 4194304 bytes" "too big a file"
refused "$url/unsized/big" "more data than the disk" "one that turns out so"
refused "$url/cut/small" "Cannot download the image" "half a file"
refused "$url/to/file:///etc/passwd" "Cannot download the image.*file" \
    "a way to another scheme"
refused http://127.0.0.1:1/small "Cannot download the image.*connect" \
    "a server that is not there"

# --- again ---
m gnt-instance shutdown web1 >/dev/null
dd if=/dev/zero of="$(disk web1)" bs=1M count=4 conv=notrunc 2>/dev/null
succeeds "a reinstallation" m gnt-instance reinstall -f web1
succeeds "puts the image there again" has web1 small
succeeds "one with another image" \
    m gnt-instance reinstall -f -O "os-image=http://me:hush@${url#http://}/other" web1
like "$out" "Using OS image '$url/other'" "says so, without a password"
succeeds "and has that" has web1 other
like "$(field custom_osparams web1)" "$images/small" "for this time"
succeeds "an OS comes on top" m gnt-instance reinstall -f -o known web1
succeeds "with its scripts, which see the image" \
    cmp -n 3000001 "$VC/seen" "$images/small"
fails "one that does not know the parameter" \
    m gnt-instance reinstall -f -o noop web1
like "$out" "not supported by the OS noop: os-image" "is not used with it"
fails "a wrong image" m gnt-instance reinstall -f -O os-image=rel web1
like "$out" "must be an absolute path or a URL" "is refused"
succeeds "another one for later" m gnt-instance modify \
    -O "os-image=$images/other" web3
succeeds "is taken" m gnt-instance reinstall -f web3
succeeds "by reinstallations" has web3 other
succeeds "modify" m gnt-instance modify -O os-image=default web3
is "$(field custom_osparams web3)" "{}" "takes it away"
succeeds "then a reinstallation" m gnt-instance reinstall -f web3
like "$out" "nothing to install" "does nothing"
m gnt-instance modify -O "os-image=$images/none" web3 >/dev/null
fails "an image that has gone" m gnt-instance reinstall -f web3
like "$out" "Could not image disk '0' for instance 'web3'" "fails it"
is "$(field status web3)" ADMIN_down "the instance stays"

# --- many, planned ---
printf '[{"instance_name": "bulk1", "disk_template": "file", "mode": "create",
 "name_check": false, "ip_check": false, "hypervisor": "fake",
 "disks": [{"size": 4}], "nics": [], "pnode": "node2.example.com",
 "osparams": {"os-image": "%s"}}]' "$images/small" >"$VC/bulk"
succeeds "many at once" m gnt-instance batch-create "$VC/bulk"
running() { [ "$(field status bulk1)" = running ]; }
until_true 60 running
tap_point $? "are made of images too"
succeeds "each" has bulk1 small
succeeds "a plan" add_image web4 "$images/small" --plan
like "$out" blockdev_image "has the image among its steps"
is "$(m gnt-instance list --no-headers -o name | grep -c web4)" 0 \
    "and puts nothing anywhere"

# --- killed on the way ---
transfers() { ls "$(root node2)/var/run/ganeti/import-export" 2>/dev/null; }
writing() { grep -qs connected "$(root node2)"/var/run/ganeti/import-export/image*/status; }
job=$(add_image slow1 "$url/slow/" --submit --print-jobid 2>/dev/null)
until_true 30 writing
tap_point $? "a server that takes its time"
succeeds "the job is killed" m gnt-job cancel --kill --yes-do-it "$job"
gone() { [ -z "$(transfers)" ] && [ ! -e "$(disk slow1)" ]; }
until_true 30 gone
tap_point $? "and neither process nor disk is left"
m gnt-instance reinstall -f --submit -O "os-image=$url/slow/" web2 >/dev/null 2>&1
until_true 30 writing
tap_point $? "once more"
pid=$(cat "$(root node2)"/var/run/ganeti/import-export/image*/pid)
"$BIN/gnt-vcluster" kill "$VC" node2 noded
ended() { ! alive "$pid"; }
until_true 30 ended
tap_point $? "it ends with the node daemon"
"$BIN/gnt-vcluster" start "$VC" node2 >/dev/null
last=$(m gnt-job list --no-headers -o id | tail -1)
final() { [ "$(m gnt-job list --no-headers -o status "$last")" = error ]; }
until_true 30 final
tap_point $? "and the job fails"
succeeds "which can be repeated" \
    m gnt-instance reinstall -f -O "os-image=$images/small" web2
succeeds "as if nothing was" has web2 small
is "$(transfers)" "" "nothing is left of all that"
succeeds "verify is content" m gnt-cluster verify
tap_done
