#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Answers of the remote API that are given again while they hold: never older
# than what who asks may know already, and to nobody else than before
# (rapi_answers.py).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
rapi_cluster
add inst1.example.com -t diskless -n node2.example.com >/dev/null
python3 "$(dirname "$0")/rapi_answers.py" "$api_address" \
    "$(root node2)/var/run/ganeti/fake-hypervisor/inst1.example.com" >"$VC/tap"
while read -r point; do
    case $point in
    "ok - "*) tap_point 0 "${point#ok - }" ;;
    "not ok - "*) tap_point 1 "${point#not ok - }" ;;
    *) echo "$point" ;;
    esac
done <"$VC/tap"
is "$(grep -c 'ok - ' "$VC/tap")" 11 "all was tried"

tags_of() { # CURL-OPTION...
    curl -sk -o /dev/null -w '%{http_code}' "$@" "$api/2/tags"
}
is "$(tags_of) $(tags_of)" "200 200" "an answer is there"
"$BIN/gnt-vcluster" kill "$VC" node1 masterd
is "$(tags_of)" 502 "without the master it is not given"
"$BIN/gnt-vcluster" start "$VC" node1 masterd
is "$(tags_of) $(tags_of)" "200 200" "with the next one it is"
m gnt-cluster add-tags later
like "$(curl -sk "$api/2/tags")" later "and follows that one"

"$BIN/gnt-vcluster" stop "$VC" node1 rapi
GANETI_RAPI_PORT=5080 on node1 "$BIN/gantry-rapi" --require-authentication
is "$(tags_of -u ro:secret) $(tags_of -u ro:secret) $(tags_of)" "200 200 401" \
    "where everybody has to be known, others do not get it"
is "$(tags_of -u ro:wrong)" 401 "nor with a wrong password"
sed -i '/^ro /d' "$(root node1)/var/lib/ganeti/rapi/users"
is "$(tags_of -u ro:secret)" 401 "nor who is no longer a user"
tap_done
