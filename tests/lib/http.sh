# SPDX-License-Identifier: BSD-2-Clause
# A web server for one test: source it after cluster.sh.  It ends with the test.

# http_serve FOLDER: what is there is at $url then (see http_server.py)
http_serve() {
    python3 "$(dirname "$0")/../lib/http_server.py" "$1" >"$VC/port" \
        2>/dev/null &
    http_server=$!
    trap 'kill $http_server 2>/dev/null; cluster_end' EXIT
    until_true 60 test -s "$VC/port"
    url=http://127.0.0.1:$(cat "$VC/port")
}
