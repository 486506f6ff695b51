# SPDX-License-Identifier: BSD-2-Clause
# The remote API of a virtual cluster: source it after cluster.sh, make the
# cluster with rapi_cluster.  $api is its URL, $api_address host and port.

# rapi_cluster [OPTION...]: three nodes, and three users
rapi_cluster() {
    vcluster_only "the remote API is started by gnt-vcluster"
    cluster_start --nodes 3 --rapi --user rw:secret:read,write \
        --user ro:secret:read --user none:secret: "$@"
    api_address=$("$BIN/gnt-vcluster" list "$VC" --format=json |
        python3 -c 'import json, sys
print([n["ip"] for n in json.load(sys.stdin)["nodes"] if n["master"]][0])'):5080
    api=https://$api_address
}

# ask METHOD PATH [BODY [CURL-OPTION...]]: the status in $status, the answer's
# body in $out; as the user rw
ask() {
    ask_method=$1
    ask_path=$2
    ask_body=${3-}
    shift $(($# < 3 ? $# : 3))
    if [ -n "$ask_body" ]; then
        set -- -H "Content-Type: application/json" --data-binary "$ask_body" "$@"
    fi
    rm -f "$VC/answer"
    status=$(curl -sk --max-time 30 -u "${api_user-rw:secret}" -o "$VC/answer" \
        -w '%{http_code}' -X "$ask_method" "$@" "$api$ask_path")
    out=$(cat "$VC/answer" 2>/dev/null)
}

# answers NAME STATUS METHOD PATH [BODY [CURL-OPTION...]]
answers() {
    ask_name=$1
    ask_wanted=$2
    shift 2
    ask "$@"
    is "$status" "$ask_wanted" "$ask_name"
}

# job_ends NAME STATUS: the job whose id is $out
job_ends() {
    job=$out
    until_true 30 job_is_final "$job"
    is "$(job_status "$job")" "$2" "$1"
}

job_status() { # ID
    curl -sk "$api/2/jobs/$1" | python3 -c 'import json, sys
print(json.load(sys.stdin).get("status"))'
}

job_is_final() { # ID
    case $(job_status "$1") in
    success | error | canceled) return 0 ;;
    esac
    return 1
}
