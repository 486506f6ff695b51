#!/bin/sh
# Parameters of operating systems: public, private and secret, from the cluster
# and from the instance to the OS's scripts, and nowhere else.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 2

# An OS with variants and parameters, whose scripts write down what they get.
for node in node1 node2; do
    os=$(root $node)/srv/ganeti/os/param
    mkdir -p "$os"
    cp -r "$(root $node)/usr/share/ganeti/os/noop/." "$os"
    echo 20 >"$os/ganeti_api_version"
    printf 'small\nbig\n' >"$os/variants.list"
    printf '%s a parameter\n' size root_pw api-key mirror >"$os/parameters.list"
    printf '#!/bin/sh\nenv | grep ^OSP_ | sort >%s/env\nenv | grep ^INSTANCE_HV_ >%s/hv\n' "$VC" "$VC" >"$os/create"
    printf '#!/bin/sh\ncase $OSP_SIZE in bad*) echo not this size; exit 1;; esac\n' \
        >"$os/verify"
    chmod +x "$os/create" "$os/verify"
done

add_os() { # NAME OPTION...
    name=$1
    shift
    m gnt-instance add --no-name-check --no-ip-check -o param+big \
        -t sharedfile -s 4m -n node2 "$@" "$name"
}
env_of_script() { tr '\n' ' ' <"$VC/env"; }

# --- the cluster's ---
succeeds "the cluster keeps parameters of an OS" m gnt-os modify \
    -O size=5G,mirror=here --os-parameters-private=api-key=hush4711 param
succeeds "and of a variant" m gnt-os modify -O size=9G param+big
fails "which the OS must know" m gnt-os modify -O colour=red param
like "$out" "colour" "by name"
fails "and its verify script accept" m gnt-os modify -O size=bad param
like "$out" "not this size" "for its reason"
succeeds "an OS need not exist" m gnt-os modify -O any=thing later
succeeds "values are taken back" m gnt-os modify -O any=default later
succeeds "the hypervisor's for an OS are kept too" \
    m gnt-os modify -H fake:migration_mode=non-live param+big
fails "if there are such" m gnt-os modify -H fake:speed=9 param
like "$out" "speed" "by name"
fails "something must be asked for" m gnt-os modify param
like "$(m gnt-cluster info)" 'size: 9G' "info shows them"
unlike "$(m gnt-cluster info)" 'hush4711' "but no private ones"

# --- the instance's ---
succeeds "an instance has its own" add_os web1 -O mirror=there \
    --os-parameters-secret=root_pw=sesame4712
is "$(env_of_script)" \
    "OSP_API_KEY=hush4711 OSP_MIRROR=there OSP_ROOT_PW=sesame4712 OSP_SIZE=9G " \
    "the script gets all of them"
is "$(cat "$VC/hv")" INSTANCE_HV_migration_mode=non-live \
    "the hypervisor's lie below its own"
m gnt-instance shutdown web1 >/dev/null
succeeds "reinstall" m gnt-instance reinstall -f -O mirror=once \
    --os-parameters-private=api-key=hush4713 \
    --os-parameters-secret=root_pw=sesame4714 web1
is "$(env_of_script)" \
    "OSP_API_KEY=hush4713 OSP_MIRROR=once OSP_ROOT_PW=sesame4714 OSP_SIZE=9G " \
    "takes others for this time"
succeeds "reinstall as it was" m gnt-instance reinstall -f web1
is "$(env_of_script)" \
    "OSP_API_KEY=hush4711 OSP_MIRROR=there OSP_SIZE=9G " \
    "the secret is gone, the rest is the instance's"
succeeds "modify" m gnt-instance modify -O mirror=default,size=7G \
    --os-parameters-private=api-key=hush4715 web1
like "$out" "os_private/api-key -> Private\(\?, descr='api-key'\)" \
    "does not say private values"
m gnt-instance reinstall -f web1 >/dev/null
is "$(env_of_script)" "OSP_API_KEY=hush4715 OSP_MIRROR=here OSP_SIZE=7G " \
    "it is in force"
unlike "$(m gnt-instance info web1)" 'hush' "info does not show private ones"
fails "a parameter is in one class only" \
    m gnt-instance modify -O api-key=seen web1
like "$out" "more than one of the classes public, private and secret: api-key" \
    "which is said"
unlike "$out" hush "without the value"

printf '[{"instance_name": "bulk1", "disk_template": "sharedfile",
 "os_type": "param+small", "mode": "create", "name_check": false,
 "ip_check": false, "hypervisor": "fake", "disks": [{"size": 4}],
 "nics": [], "pnode": "node2.example.com",
 "osparams_secret": {"root_pw": "sesame4716"}}]' >"$VC/bulk"
succeeds "many at once have secrets too" m gnt-instance batch-create "$VC/bulk"
until_true 60 sh -c \
    "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-instance list --no-headers -o status bulk1 | grep -q running"
like "$(env_of_script)" 'OSP_ROOT_PW=sesame4716' "which reach the script"

# --- nowhere else ---
is "$(grep -rlE 'sesame471' "$VC"/*/var | wc -l)" 0 \
    "secrets are in no file of any node"
is "$(grep -rl hush47 "$VC"/*/var/log | wc -l)" 0 "private ones are in no log"
is "$(grep -rl hush47 "$VC"/*/var | while read -r f; do
    find "$f" -perm /007; done)" "" "files with private ones are closed"
ids=$(m gnt-job list --no-headers -o id | tr '\n' ' ')
# shellcheck disable=SC2086
unlike "$(m gnt-job info $ids)" 'hush47|sesame47' "no job shows any"

# --- what all nodes have ---
of_param() { m gnt-os list --no-headers | grep '^param' | tr '\n' ' '; }
is "$(of_param)" "param+big param+small " "an OS is listed by its variants"
succeeds "what is known of it" m gnt-os info param param+big
like "$out" 'mirror: a parameter' "are its parameters"
like "$out" 'size: 9G' "what the cluster gives to a variant"
like "$out" 'migration_mode: non-live' "and its hypervisor"
there=$(root node2)/srv/ganeti/os/param
printf 'huge\nbig\n' >"$there/variants.list"
is "$(of_param)" "param+big " "a variant counts that all nodes have"
mv "$there" "$VC/param"
is "$(of_param)" "" "an OS as well"
like "$(m gnt-os diagnose)" '^OS: param \[global status: partial valid\]' "which diagnose tells"
mv "$VC/param" "$there"
m gnt-node modify -f -O yes node2 >/dev/null 2>&1
is "$(of_param)" "param+big param+small " "nodes that are offline are not asked"
m gnt-node modify -f -O no node2 >/dev/null 2>&1
printf 'small\nbig\n' >"$there/variants.list"

# --- hidden and blacklisted ---
succeeds "an OS is hidden" m gnt-os modify --hidden=yes param
unlike "$(m gnt-os list)" param "from lists"
succeeds "it may be installed" add_os web2
succeeds "a blacklisted one" m gnt-os modify --hidden=no --blacklisted=yes param
unlike "$(m gnt-os list)" param "is not listed either"
fails "nor installed" add_os web3
like "$out" "Guest OS 'param\+big' is not allowed for installation" "in words"
m gnt-instance shutdown web2 >/dev/null
succeeds "but installed again" m gnt-instance reinstall -f web2
succeeds "verify is content" m gnt-cluster verify
tap_done
