#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What instances are told by their node when they ask over HTTP.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
vcluster_only "instances come from loopback addresses"
cluster_start --nodes 2

for node in node1 node2; do
    os=$(root $node)/srv/ganeti/os/param
    mkdir -p "$os"
    cp -r "$(root $node)/usr/share/ganeti/os/noop/." "$os"
    echo 20 >"$os/ganeti_api_version"
    printf '%s a parameter\n' size root_pw api-key os-install-package \
        >"$os/parameters.list"
    printf '#!/bin/sh\nexit 0\n' >"$os/create"
    cp "$os/create" "$os/verify"
    chmod 755 "$os/create" "$os/verify"
    echo PACKAGE >"$(root $node)/srv/package"
done

# ask NODE INSTANCE PATH: as the instance 169.254.0.INSTANCE
ask() {
    address=$(m gnt-node list --no-headers -o pip "$1" | tr -d ' ')
    curl -s --max-time 20 -o "$VC/answer" -w '%{http_code} ' \
        --interface "127.254.0.$2" "http://$address:1816/ganeti/latest/$3"
    cat "$VC/answer" 2>/dev/null
    rm -f "$VC/answer"
}

like "$(ask node2 1 read)" '^000' "without instances that ask, nobody listens"
m gnt-cluster modify --instance-communication-network=talk >/dev/null
succeeds "an instance may ask" m gnt-instance add --no-name-check \
    --no-ip-check -o param -t sharedfile -s 4m -n node2 -c yes \
    -O size=9G,os-install-package=/srv/package \
    --os-parameters-private=api-key=hush4711 \
    --os-parameters-secret=root_pw=sesame4712 web1
is "$(m gnt-instance list --no-headers -o nic.ips web1 | tr -d ' ')" \
    None,169.254.0.1 "at its address"
is "$(ask node2 1 os/parameters.json)" \
    '200 {"size":["9G","public"],"os-install-package":["/srv/package","public"],"api-key":["hush4711","private"]}' \
    "it gets its parameters, none that was for the installation alone"
is "$(ask node2 1 os/os-install-package)" "200 PACKAGE" "its package"
like "$(ask node2 1 os/scripts/create)" '^200 #!/bin/sh' "its scripts"
is "$(ask node2 2 os/parameters.json)" "404 Resource not found" \
    "nobody else does"
succeeds "a parameter changes" m gnt-instance modify -O size=7G web1
like "$(ask node2 1 os/parameters.json)" '"7G"' "it gets the new one"
succeeds "it moves" m gnt-instance migrate -f web1
like "$(ask node1 1 os/parameters.json)" '"7G"' "and asks the other node"
like "$(ask node2 1 os/parameters.json)" '^000' "the first knows it no more"
succeeds "it is shut down" m gnt-instance shutdown web1
like "$(ask node1 1 read)" '^000' "nobody listens"
succeeds "it starts" m gnt-instance startup web1
is "$(ask node1 1 read)" "200 " "and may ask again"
succeeds "it asks no more" m gnt-instance modify -c no web1
like "$(ask node1 1 read)" '^000' "and gets no answers"
unlike "$(cat "$(root node1)/var/log/ganeti/"*.log "$(root node2)/var/log/ganeti/"*.log)" \
    'hush4711|sesame4712' "no log has what is private"
tap_done
