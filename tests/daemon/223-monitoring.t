#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The alert rules and the dashboard of contrib/: promtool takes them, and all
# metrics that they name are those of a cluster.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
. "$(dirname "$0")/../lib/rapi.sh"
contrib=$(cd "$(dirname "$0")/../../contrib" && pwd)
rules=$contrib/prometheus/gantry.rules.yml
board=$contrib/grafana/gantry-cluster.json
rapi_cluster
add inst1.example.com -t sharedfile -s 4m -n node2.example.com >/dev/null
curl -sk "$api/metrics" >"$VC/metrics"
curl -sk "$api/metrics" >>"$VC/metrics"

# named FILE: the metrics that it names
named() {
    grep -oE '\b(ganeti|gantry)_[a-z_]+' "$1" | sort -u
}
for file in "$rules" "$board"; do
    missing=
    for metric in $(named "$file"); do
        grep -q "^$metric[{ ]" "$VC/metrics" || missing="$missing $metric"
    done
    is "$missing" "" "${file##*/} names metrics that there are"
done
is "$(python3 - "$board" <<'END'
import json, sys
board = json.load(open(sys.argv[1]))
panels = board["panels"]
cells = [(x, y) for p in panels for g in [p["gridPos"]]
         for x in range(g["x"], g["x"] + g["w"])
         for y in range(g["y"], g["y"] + g["h"])]
print(len({p["id"] for p in panels}) == len(panels), len(set(cells)) == len(cells),
      max(x for x, _ in cells) < 24, all(p["targets"] for p in panels))
END
)" "True True True True" "the dashboard's panels lie side by side"

if command -v promtool >/dev/null; then
    succeeds "promtool takes the rules" promtool check rules "$rules"
    succeeds "and their tests pass" promtool test rules "$contrib/prometheus/gantry.rules.test.yml"
else
    note "promtool is not installed"
fi
tap_done
