#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Progress of long opcodes: lines in a pipe, one line that is drawn again on a
# terminal.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
cluster_start --nodes 1

id=$(m gnt-debug delay -l --submit --print-jobid 7 2>/dev/null | head -1)
cat >"$VC/terminal.py" <<'END'
# terminal.py COMMAND...: run it on a terminal and print the repr of its output
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
out = b""
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    out += data
os.waitpid(pid, 0)
print(repr(out.decode()))
END
"$BIN/gnt-vcluster" exec "$VC" node1 -- python3 "$VC/terminal.py" \
    "$BIN/gnt-job" watch "$id" >"$VC/terminal" 2>&1 &
watcher=$!
m gnt-job watch "$id" >"$VC/pipe" 2>&1
wait "$watcher"
like "$(cat "$VC/pipe")" 'delay: [0-9]+% done, [0-9]s left \(estimated\)$' \
    "a pipe gets lines with per cent and time left"
succeeds "more than one" test "$(grep -c 'done,' "$VC/pipe")" -gt 1
is "$(tr -d '\n -~' <"$VC/pipe" | wc -c)" 0 "and no control character"
like "$(cat "$VC/terminal")" \
    '\\r[^\\]*delay: [0-9]+% done[^\\]*\\x1b\[K\\r[^\\]*delay: [0-9]+% done' \
    "a terminal draws one over the other"
like "$(cat "$VC/terminal")" '\\x1b\[K\\r\\n.$' "and ends the line"
like "$(m gnt-job info "$id")" 'delay: [0-9]+% done' "gnt-job info has them"
tap_done
