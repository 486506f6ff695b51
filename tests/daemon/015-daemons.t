#!/bin/sh
# The daemons as programs: options, what keeps them from starting, signals.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
PATH=$BIN:$PATH
cluster_start --nodes 1
host=$VC/empty/host.example.com # a node of no cluster

lonely() { # COMMAND...
    GANETI_ROOTDIR=$host GANETI_HOSTNAME=host.example.com "$@"
}
status_of() { # COMMAND...
    rc=0
    "$@" >/dev/null 2>&1 </dev/null || rc=$?
    echo "$rc"
}

# --- options ---
for daemon in gantry-noded gantry-masterd; do
    is "$($daemon --version)" "$daemon $(gnt-job --version | sed 's/.*(gantry \([^)]*\)).*/\1/')" \
        "$daemon tells its version"
    like "$($daemon --help)" "^Usage: $daemon " "and its options"
    fails "one that it has not" $daemon --moon
    like "$out" moon "is named"
    fails "a word that is no option" $daemon moon
    like "$out" "^Usage: $daemon" "gets the usage"
done
for port in 0 65536 x; do
    fails "$port" gantry-noded --port $port
    like "$out" "^$port is not a port" "is no port"
done

# --- a host of no cluster ---
mkdir -p "$host"
fails "a node daemon that does not know its address" lonely gantry-noded
like "$out" 'address of node host.example.com is not known .*give one with --bind' \
    "does not start"
umask 027 # as its unit has it
fails "nor one without a certificate" lonely gantry-noded --bind 127.0.0.1
like "$out" 'There is no cluster certificate .*has to be set up by' "which it names"
umask 022
is "$(stat -c %a "$host/var/run/ganeti")" 755 "everybody may look for states of instances"
is "$(status_of lonely gantry-masterd)" 5 "for a master daemon there is no cluster, as Ganeti's status says"
is "$(GANETI_ROOTDIR='' GANETI_HOSTNAME=../x status_of gantry-noded)" 1 \
    "a name that leads elsewhere is none"

# --- a master without a vote ---
fails "a master without a vote" m gantry-masterd --debug --no-voting
like "$out" 'needs --yes-do-it where nobody can be asked' "has to be meant"
cat >"$VC/terminal.py" <<'END'
# terminal.py ANSWER COMMAND...: it runs in a terminal, where this is typed
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.write(fd, sys.argv[1].encode() + b"\n")
try:
    while data := os.read(fd, 1000):
        os.write(1, data)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
terminal() { # ANSWER COMMAND...
    m timeout 60 python3 "$VC/terminal.py" "$@"
}
fails "who is asked may say no" terminal n gantry-masterd --no-voting
like "$out" 'If another master runs' "and hears what is at stake"
unlike "$out" 'pid file' "then nothing begins"
fails "who says yes" terminal y gantry-masterd --no-voting
like "$out" 'Cannot hold the pid file' "still cannot have two masters on a node"

# --- in the foreground, with what NODED_ARGS of Ganeti's may have ---
data=$(root node1)/var/lib/ganeti
log=$VC/foreground.log
ip=$("$BIN/gnt-vcluster" list "$VC" --format=json | python3 -c '
import json, sys
print(json.load(sys.stdin)["nodes"][0]["ip"])')
"$BIN/gnt-vcluster" stop "$VC" node1 noded >/dev/null
rm "$data/client.pem"
"$BIN/gnt-vcluster" exec "$VC" node1 -- gantry-noded --foreground --debug --no-mlock \
    --max-clients=20 --port 1811 --bind "$ip" >"$log" 2>&1 &
noded=$!
tell() { # SIGNAL: to the daemon itself, which $! need not be
    m sh -c 'kill -"$1" "$(cat "$2")"' sh "$1" "$(path_on node1 /var/run/ganeti/ganeti-noded.pid)"
}
says() { # PATTERN [TIMES]
    [ "$(grep -c -- "$1" "$log")" -ge "${2-1}" ]
}
until_true 20 says 'is ready'
like "$(cat "$log")" "serves node node1.example.com at $ip port 1811" \
    "a daemon in the foreground writes no file"
succeeds "a certificate that it missed has been made" \
    openssl verify -CAfile "$data/server.pem" "$data/client.pem"
fails "a second daemon" m gantry-noded --bind "$ip"
like "$out" 'Cannot hold the pid file' "leaves the first one alone"
cp -p "$data/server.pem" "$VC/server.pem"
chmod u+w "$data/server.pem"
echo nonsense >"$data/server.pem"
tell HUP
until_true 20 says 'keeping the old certificate'
like "$(cat "$log")" 'keeping the old certificate: .*server.pem' \
    "what cannot be read at SIGHUP is not taken"
cp -p "$VC/server.pem" "$data/server.pem"
tell HUP
tell TERM
wait $noded
is "$?" 0 "SIGTERM ends it in order"
is "$(grep -c 'keeping the old' "$log")" 1 "and a good one was taken"
like "$(cat "$log")" 'ganeti-noded is ending' "which it says"
"$BIN/gnt-vcluster" start "$VC" node1 noded >/dev/null
like "$(m gnt-cluster verify 2>&1)" 'Verifying' "all goes on"
tap_done
