#!/bin/sh
# kill -9 of the master daemon: what was acknowledged is there afterwards.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2
vc() { "$BIN/gnt-vcluster" "$@"; }

jobs_in() { m gnt-job list --no-headers -o status | grep -c "$1"; }

m gnt-cluster modify --max-running-jobs 2 >/dev/null
# Two that run for long, many behind them.
long1=$(m gnt-debug delay --submit 60 2>&1 | grep -Eo '[0-9]+' | tail -1)
long2=$(m gnt-debug delay --submit --no-master -n node2 60 2>&1 | grep -Eo '[0-9]+' | tail -1)
ids=
for _ in $(seq 20); do
    ids="$ids $(m gnt-debug delay --submit 0.01 2>&1 | grep -Eo '[0-9]+' | tail -1)"
done
until_true 10 sh -c "$BIN/gnt-vcluster exec $VC node1 -- gnt-job list \
    --no-headers -o status $long1 | grep -q running"
is "$(m gnt-job list --no-headers -o status "$long1")" running "a job runs"
vc kill "$VC" node1 masterd
succeeds "the master comes back" vc start "$VC" node1 masterd
# It is seen when the other candidates have it, too.
m gnt-job wait "$long1" >/dev/null 2>&1
m gnt-job wait "$long2" >/dev/null 2>&1
is "$(m gnt-job list --no-headers -o status "$long1")" error \
    "the running job became an error"
like "$(m gnt-job info "$long1")" 'master daemon ended' "with a reason"
is "$(m gnt-job list --no-headers -o status "$long2")" error "the other too"
for id in $ids; do
    m gnt-job wait "$id" >/dev/null 2>&1
done
# shellcheck disable=SC2086
is "$(m gnt-job list --no-headers -o status $ids | sort | uniq -c | awk '{print $1, $2}')" \
    "20 success" "all queued jobs ran, each once"

# A creation that is cut off leaves nothing.
os=$(root node1)/srv/ganeti/os/slow
mkdir -p "$os"
cp -r "$(root node1)/usr/share/ganeti/os/noop/." "$os"
printf '#!/bin/sh\ntouch %s/started\nexec sleep 5\n' "$VC" >"$os/create"
id=$(m gnt-instance add --submit --no-name-check --no-ip-check -o slow \
    -t sharedfile -s 4m -n node1 web1 2>&1 | grep -Eo '[0-9]+' | tail -1)
until_true 10 test -e "$VC/started"
vc kill "$VC" node1 masterd
vc start "$VC" node1 masterd
m gnt-job wait "$id" >/dev/null 2>&1
is "$(m gnt-job list --no-headers -o status "$id")" error \
    "the creation became an error"
until_true 20 sh -c "! ls $VC/shared-file-storage | grep -q web1"
is "$(m gnt-instance list --no-headers -o name)" "" "no instance is left"
is "$(ls "$VC/shared-file-storage")" "" "no disk"
rm -r "$os"
succeeds "verify is content" m gnt-cluster verify
tap_done
