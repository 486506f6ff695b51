MASTERD_PID=/run/ganeti/ganeti-masterd.pid
END_WAITS=240 # half seconds; the unit waits as long

# The process of the master daemon: it holds its pid file as long as it lives.
# Who looks takes a shared lock, so that two who look do not see each other.
masterd() {
	[ -s $MASTERD_PID ] && ! flock -s -n $MASTERD_PID true || return 0
	cat $MASTERD_PID
}

# end_masterd PID: it completes what it does, and is waited for.
end_masterd() {
	kill "$1" 2>/dev/null || return 0
	waits=0
	while [ "$(masterd)" = "$1" ]; do
		waits=$((waits + 1))
		if [ $waits -gt $END_WAITS ]; then
			echo "gantry-master: the master daemon (process $1) is still ending" >&2
			return 0
		fi
		sleep 0.5
	done
}
