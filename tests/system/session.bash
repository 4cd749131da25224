# session.bash - one database session for the queries of tests, because a new one costs as much as thirty queries.
#
# A psql takes queries from the FIFO "query" of the session's folder, and answers in "answer". The FIFO "turn" has one line while nobody
# asks. So processes of a test may ask at any time, and none of them starts a program. "pids" has the process of psql, and that of
# PostgreSQL which serves it. A session that is lost, as with its server, is not started again in the same test.

# session_open FOLDER: start a session in the database of $ROTA_HOME as its superuser, unless there is one that can be asked. Returns 0
# also if there is no database. No other process of the test asks at this time.
session_open() {
	local folder=$1 backend
	! session_ask "$folder" 'select 1' >/dev/null 2>&1 || return 0
	session_close "$folder"
	mkdir -m 0700 "$folder" && mkfifo "$folder"/{query,answer,turn} || return
	# psql is no child of the test, which may wait for all of its children. It keeps the FIFOs open, and so what is in them.
	(
		exec 4<>"$folder/turn" 5<>"$folder/query" 1<>"$folder/answer" 2>&1 3>&-
		echo >&4
		PGOPTIONS='-c client_min_messages=error' psql -X -h "$ROTA_HOME/run" -d rota -U postgres -Atq <&5 &
		echo "$! $!" >"$folder/pids"
	)
	backend=$(session_ask "$folder" 'select pg_backend_pid()' 2>/dev/null) || return 0
	echo "$(cut -d ' ' -f 1 "$folder/pids") $backend" >"$folder/pids"
}

# session_close FOLDER: end the session, if there is one.
session_close() {
	local psql
	! read -r psql _ 2>/dev/null <"$1/pids" || kill "$psql" 2>/dev/null || true
	rm -rf -- "$1"
}

# session_query FOLDER SQL: run SQL in the database of $ROTA_HOME as its superuser: a single query through the session of this folder, if
# there is one that can be asked, and all else by a psql of its own. The rows of a query, or an error on standard error.
session_query() {
	local status
	session_ask "$@" && return || status=$?
	[ "$status" = 3 ] || return "$status"
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -Atqc "$2"
}

# session_ask FOLDER SQL: the rows of one query, or its error on standard error. Returns 0, 2 after an error, as also if the session
# is lost meanwhile, or 3 if there is no session that can be asked, or it is not for such SQL. What was asked may have run, unless that
# is 3.
session_ask() {
	local folder=$1 psql backend turn answer part line= rows= end="end $BASHPID $RANDOM"
	# Only a single query: several statements would not be one transaction, and others may change the session.
	[[ $2 =~ ^[[:space:]]*(select|with)[[:space:]] && $2 != *[\;\\]* ]] || return 3
	read -r psql backend 2>/dev/null <"$folder/pids" && [ -e "/proc/$psql/exe" ] && [ -e "/proc/$backend/exe" ] || return 3
	exec {turn}<>"$folder/turn" {answer}<>"$folder/answer"
	# Who was killed in a query did not give the turn back.
	if ! read -rt 5 -u "$turn" line; then
		exec {turn}>&- {answer}>&-
		return 3
	fi
	printf '%s\n;\n\\warn %s :ERROR\n' "$2" "$end" 1<>"$folder/query"
	while :; do
		part=
		if IFS= read -rt 1 -u "$answer" part; then
			line+=$part
			[[ $line != "$end "* ]] || break
			rows+=$line$'\n'
			line=
		else
			line+=$part
			[ -e "/proc/$psql/exe" ] && [ -e "/proc/$backend/exe" ] || break
		fi
	done
	echo >&"$turn"
	exec {turn}>&- {answer}>&-
	case $line in
	"$end false") printf %s "$rows" ;;
	*) printf %s "$rows" >&2; return 2 ;;
	esac
}
