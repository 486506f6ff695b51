# SPDX-License-Identifier: BSD-2-Clause
# A web server for one test: source it after cluster.sh.  It ends with the test.

# http_serve FOLDER: what is there is at $url then (see http_server.py)
http_serve() {
    http_address=127.0.0.1
    is_virtual || http_address=192.0.2.1
    python3 "$(dirname "$0")/../lib/http_server.py" "$1" "$http_address" \
        >"$VC/port" 2>/dev/null &
    http_server=$!
    trap 'kill $http_server 2>/dev/null; cluster_end' EXIT
    until_true 60 test -s "$VC/port"
    url=http://$http_address:$(cat "$VC/port")
}
