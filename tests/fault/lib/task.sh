# task.sh - the work of the campaign's tasks, sourced by their scripts: `work SECONDS [EXIT CODE]`.
#
# Each line of the ledger is one write to a file opened for appending, so lines are whole and their order in the file is the order
# of events, whatever any clock says:
#	begin|end|beside LABEL ATTEMPT TASK NODE PID STARTED TIME
# `beside`: a task of an earlier attempt of this step lives while this one begins; found in /proc, by pid and start.

started() { # PID: when it started, in ticks of the kernel; empty where it does not live
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	set -- ${stat##*) }
	[ "$1" = Z ] || [ "$1" = X ] || echo "${20}"
}

mark() {
	printf '%s %s %s %s %s %s %s %s\n' "$1" "$ROTA_STEP_LABEL" "$ROTA_ATTEMPT" "${ROTA_TASK_ID:-0}" "$ROTA_NODE" "$2" "$3" "$EPOCHREALTIME" >>"$LEDGER"
}

beside() {
	local what label attempt pid since rest
	while read -r what label attempt rest rest pid since rest; do
		[ "$what" = begin ] && [ "$label" = "$ROTA_STEP_LABEL" ] && [ "$attempt" -lt "$ROTA_ATTEMPT" ] || continue
		[ "$(started "$pid")" != "$since" ] || mark beside "$pid" "$since"
	done <"$LEDGER"
}

work() {
	local since
	since=$(started $$)
	mark begin $$ "$since"
	[ "$ROTA_ATTEMPT" = 1 ] || beside
	sleep "$1"
	mark end $$ "$since"
	return "${2:-0}"
}
