# task.sh - the work of the campaign's tasks, sourced by their scripts: `work SECONDS [EXIT CODE]`, or `during COMMAND...`, whose
# command may run sub-steps: `substep [OPTION OF rota run]... -- SECONDS [EXIT CODE [EXIT CODE OF LATER RUNS]]`.
#
# Each line of the ledger is one write to a file opened for appending, so lines are whole and their order in the file is the order
# of events, whatever any clock says:
#	begin|end|beside LABEL ATTEMPT TASK NODE PID STARTED TIME
#	subbegin|subend LABEL ATTEMPT SUBSTEP.TASK.EXIT-CODE NODE PID STARTED TIME
# `beside`: a task of an earlier attempt of this step lives while this one begins; found in /proc, by pid and start.

TASK_FILE=${BASH_SOURCE[0]}

started() { # PID: when it started, in ticks of the kernel; empty where it does not live
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	set -- ${stat##*) }
	[ "$1" = Z ] || [ "$1" = X ] || echo "${20}"
}

mark() { # WHAT PID STARTED [TASK]
	printf '%s %s %s %s %s %s %s %s\n' "$1" "$ROTA_STEP_LABEL" "$ROTA_ATTEMPT" "${4:-${ROTA_TASK_ID:-0}}" "$ROTA_NODE" "$2" "$3" "$EPOCHREALTIME" >>"$LEDGER"
}

beside() {
	local what label attempt pid since rest
	while read -r what label attempt rest rest pid since rest; do
		[[ $what = *begin ]] && [ "$label" = "$ROTA_STEP_LABEL" ] && [ "$attempt" -lt "$ROTA_ATTEMPT" ] || continue
		[ "$(started "$pid")" != "$since" ] || mark beside "$pid" "$since"
	done <"$LEDGER"
}

during() {
	local since code=0
	since=$(started $$)
	mark begin $$ "$since"
	[ "$ROTA_ATTEMPT" = 1 ] || beside
	"$@" || code=$?
	mark end $$ "$since"
	return "$code"
}

work() {
	during sleep "$1"
	return "${2:-0}"
}

substep() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	rota run "${options[@]}" bash -c '. "$0" && substep_work "$@"' "$TASK_FILE" "$ROTA_STEP_LABEL.$ROTA_ATTEMPT" "${@:2}"
}

substep_work() { # OWNER SECONDS [EXIT CODE [EXIT CODE OF LATER RUNS]]: a task of a sub-step
	local since code=${3:-0}
	[ $# -lt 4 ] || ! grep -q "^subend $ROTA_STEP_LABEL $ROTA_ATTEMPT $ROTA_SUBSTEP\.$ROTA_TASK_ID\." "$LEDGER" || code=$4
	since=$(started $$)
	mark subbegin $$ "$since" "$ROTA_SUBSTEP.$ROTA_TASK_ID.$code"
	sleep "$2"
	mark subend $$ "$since" "$ROTA_SUBSTEP.$ROTA_TASK_ID.$code"
	return "$code"
}

answered() { # EXIT-CODE COMMAND...: the command ends with this code
	local code=0
	"${@:2}" || code=$?
	[ "$code" = "$1" ] || exit 99
}
