#!/usr/bin/env bats
# Clients that repeat requests, hang up, are killed, send too much or too often: no job is made twice or in part, the API serves
# other clients, and its memory stays small.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 1 --cpus 2 --mem 1000
	SCRIPT=$ROTA_TEST_DIR/held.sh
	printf '#!/bin/sh\n#ROTA --hold --output=/dev/null\n#ROTA step a\ntrue\n#ROTA step b\ntrue\n' >"$SCRIPT"
	export SCRIPT
}

teardown_file() {
	instance_down
}

teardown() {
	[ -z "${LOCKER:-}" ] || unlock
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then # it may have left these as no other test expects them
		rota admin setting change max_submitted --value=200000
		rota admin setting change max_submitted_all --value=1000000
	fi
	jobs=$(superuser "select coalesce(string_agg(job_id::text, ' '), '') from rota.job where ended_at is null")
	[ -z "$jobs" ] || rota cancel $jobs >/dev/null
}

jobs() { # prints how many jobs have this name
	superuser "select count(*) from rota.job where name = '$1'"
}

known() { # FILE...: prints how many answers say that the job was known
	cat "$@" | jq -s 'map(select(.known)) | length'
}

# lock TABLE: keep sessions from writing to the table until unlock.
lock() {
	coproc LOCKER { psql -X -h "$ROTA_HOME/run" -d rota -U postgres -Atq 3>&-; }
	LOCKER_IN=${LOCKER[1]}
	printf 'begin; lock table rota.%s in exclusive mode; select 1;\n' "$1" >&"$LOCKER_IN"
	read -r _ <&"${LOCKER[0]}"
}

unlock() {
	local pid=$LOCKER_PID
	eval "exec $LOCKER_IN>&-"
	wait "$pid" || true
	LOCKER=
}

waiting_for_lock() { # a submission waits for the table's lock
	[ "$(superuser "select count(*) from pg_locks l join pg_stat_activity a using (pid)
		where not l.granted and l.locktype = 'relation' and a.query ~ 'job_submit'")" -ge 1 ]
}

stuck() { # NUMBER: so many calls wait for any lock
	[ "$(superuser "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'jobmgrd gate%'")" -ge "$1" ]
}

gate_files() {
	ls "/proc/$(pid_of jobmgrd)/fd" | wc -l
}

@test "the same key at the same time from many: one job, one of them made it" {
	for i in {1..12}; do
		rota submit --json --client-key=together --job-name=together "$SCRIPT" >"$BATS_TEST_TMPDIR/$i" 3>&- &
	done
	wait
	[ "$(jobs together)" = 1 ]
	[ "$(known "$BATS_TEST_TMPDIR"/*)" = 11 ]
	[ "$(cat "$BATS_TEST_TMPDIR"/* | jq -s 'map(.job_id) | unique | length')" = 1 ]
	# The same key of another user is another key, and another key makes another job.
	rota submit --client-key=apart --job-name=together "$SCRIPT"
	[ "$(jobs together)" = 2 ]
}

@test "the same key while the first request is under way and its client has died" {
	lock step
	rota submit --json --client-key=slow --job-name=slow "$SCRIPT" >"$BATS_TEST_TMPDIR/first" 3>&- &
	first=$!
	eventually waiting_for_lock
	kill -9 "$first"
	rota submit --json --client-key=slow --job-name=slow "$SCRIPT" >"$BATS_TEST_TMPDIR/second" 3>&- &
	sleep 0.5
	unlock
	wait $! || true
	[ "$(jobs slow)" = 1 ]
	[ "$(known "$BATS_TEST_TMPDIR/second")" = 1 ]
}

@test "jobmgrd killed between the commit and the answer" {
	lock step
	sed "s/^patience = .*/patience = 0/" "$ROTA_HOME/etc/rota.conf" >"$BATS_TEST_TMPDIR/impatient.conf"
	rota submit --config="$BATS_TEST_TMPDIR/impatient.conf" --json --client-key=unanswered --job-name=unanswered "$SCRIPT" >"$BATS_TEST_TMPDIR/first" 2>&1 3>&- &
	client=$!
	eventually waiting_for_lock
	kill -9 "$(pid_of jobmgrd)"
	unlock
	wait "$client" || true
	# A session that lost its client commits its call, unless it notices the loss before.
	settled() { [ "$(superuser "select count(*) from pg_stat_activity where usename ~ '^rota_jobmgr'")" = 0 ]; }
	eventually settled
	made=$([ "$(jobs unanswered)" = 1 ] && echo true || echo false)
	rota up >/dev/null
	run rota submit --json --client-key=unanswered --job-name=unanswered "$SCRIPT"
	[ "$(jq .known <<<"$output")" = "$made" ]
	[ "$(jobs unanswered)" = 1 ]
}

@test "many jobs in one request: all or none, and common members count for each" {
	many() { # JSON: the members of a submission, made of the script
		jq -nc --rawfile script "$SCRIPT" "$1" >"$BATS_TEST_TMPDIR/body"
		curl -sS --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $(rota token -d "@$BATS_TEST_TMPDIR/body" POST /v1/submit)" \
			--data-binary "@$BATS_TEST_TMPDIR/body" http://gate/v1/submit
	}
	answer=$(many '{$script, workdir: "/tmp", options: ["--job-name=many"], jobs: [range(20) | {client_key: "many \(.)"}]}')
	[ "$(jq -c '.jobs | [length, (map(.job_id) | unique | length), any(.known)]' <<<"$answer")" = '[20,20,false]' ]
	[ "$(jobs many)" = 20 ]
	again=$(many '{$script, workdir: "/tmp", options: ["--job-name=many"], jobs: [range(19; 21) | {client_key: "many \(.)"}]}')
	[ "$(jq -c '.jobs[0].job_id, [.jobs[].known]' <<<"$again")" = "$(jq -c '.jobs[19].job_id, [true, false]' <<<"$answer")" ]
	[ "$(jobs many)" = 21 ]
	while IFS=$'\t' read -r wrong words; do
		answer=$(many "$wrong")
		echo "$wrong: $answer"
		[[ $(jq -r .error.code <<<"$answer") == RT4[12][23] && $answer == *"$words"* ]]
	done <<-'END'
		{jobs: []}	1 to 1000
		{jobs: [limit(1001; repeat({}))]}	1 to 1000
		{jobs: {}}	1 to 1000
		{jobs: [5]}	jobs[0]
		{client_key: "one", jobs: [{$script}]}	give each job a key of its own
		{$script, workdir: "/", environment: ["A=1", 5], jobs: [{}]}	\"environment\" must be
		{$script, workdir: "/", environment: "A=1", jobs: [{}]}	\"environment\" must be
		{$script, workdir: "/", jobs: [{}, {option: []}]}	jobs[1]: unknown member \"option\"
		{$script, workdir: "/", option: [], jobs: [{}]}	unknown member \"option\"
		{workdir: "/", jobs: [{$script}, {}]}	jobs[1]: the request has no
		{$script, workdir: "/", jobs: [{}, {workdir: "tmp"}]}	jobs[1]: \"workdir
		{$script, workdir: "/", jobs: [{}, {options: ["--tme=5"]}]}	jobs[1]: --tme
		{workdir: "/", jobs: [{$script}, {script: "#!/bin/sh\n#ROTA --tme=5\n"}]}	jobs[1]:2:
		{script: ($script + "#" * 4000000), workdir: "/", jobs: [range(10) | {}]}	jobs[4]: the scripts and environments
		{$script, environment: ["A=" + "a" * 3000000], workdir: "/", jobs: [range(10) | {options: ["--export=\(["A", "ALL"][. % 2])"]}]}	jobs[5]: the scripts and environments
		{script: ("#!/bin/sh\n" + ([range(100) | "#ROTA step s\(.)\ntrue\n"] | add)), workdir: "/", jobs: [range(102) | {}]}	jobs[100]: the jobs up to
	END
	[ "$(superuser "select count(*) from rota.job where workdir = '/'")" = 0 ]
}

@test "clients killed at any moment leave whole jobs or none" {
	for i in {1..40}; do
		rota submit --client-key="killed$i" --job-name=killed "$SCRIPT" >/dev/null 2>&1 3>&- &
		sleep "0.0$((i % 10))"
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
	[ "$(superuser "select count(*) from rota.job j where name = 'killed'
		and (2, 2) is distinct from (steps_left, (select count(*) from rota.step s where s.job_id = j.job_id))")" = 0 ]
	for i in {1..40}; do
		rota submit --client-key="killed$i" --job-name=killed "$SCRIPT" >/dev/null
	done
	[ "$(jobs killed)" = 40 ]
}

@test "a waiting request ends when its client hangs up" {
	job=$(rota submit --parsable "$SCRIPT")
	before=$(gate_files)
	for i in {1..30}; do
		rota wait --timeout=600 "$job" >/dev/null 2>&1 3>&- &
		pids[$i]=$!
	done
	all_wait() { [ "$(gate_files)" -ge $((before + 25)) ]; }
	eventually all_wait
	kill -9 "${pids[@]}"
	gone() { [ "$(gate_files)" -le $((before + 3)) ]; }
	eventually gone
}

@test "slow calls of one user do not delay calls of others" {
	need_root
	lock job
	for i in {1..8}; do
		rota submit --job-name=long "$SCRIPT" >/dev/null 3>&- &
		pids[$i]=$!
	done
	eventually stuck 3
	as nobody timeout 60 rota queue
	as nobody timeout 60 rota queue
	unlock
	wait "${pids[@]}"
	[ "$(jobs long)" = 8 ]
}

@test "rota wait returns while calls of others take long" {
	lock account
	for i in 1 2; do
		rota admin account create "slow$i" >/dev/null 3>&- &
		pids[$i]=$!
	done
	eventually stuck 1
	timeout 60 rota submit --wait --output=/dev/null /dev/stdin <<<'#!/bin/sh'
	unlock
	wait "${pids[@]}"
}

@test "a submission above a limit is refused with 429 and a hint, and accepted as soon as it fits" {
	rota admin setting change max_submitted --value=5
	first=$(rota submit --parsable "$SCRIPT")
	rota submit "$SCRIPT"
	run rota submit "$SCRIPT"
	[ "$status" -ne 0 ]
	[[ $output == *"more than 5 live steps"*hint*arrays* ]]
	rota cancel "$first"
	rota submit "$SCRIPT"
	rota admin setting change max_submitted --value=200000
	rota admin setting change max_submitted_all --value=5
	body=$(jq -nc --rawfile script "$SCRIPT" '{$script, workdir: "/tmp", options: []}')
	credential=$(printf 'rota2:%s unix:rota' "$(printf 'POST /v1/submit\n%s' "$body" | sha256sum | cut -d' ' -f1)" | munge --socket="$ROTA_HOME/run/munge.sock")
	run curl -sS -i --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $credential" -d "$body" http://gate/v1/submit
	rota admin setting change max_submitted_all --value=1000000
	[[ $output == *" 429 "* && $output == *Retry-After* && $output == *"all users together"* ]]
	rota submit "$SCRIPT"
}

@test "a gigabyte, a body without end, a body of a million values: refused, and no memory taken" {
	local pid before after
	pid=$(pid_of jobmgrd)
	rota queue >/dev/null
	before=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	run bash -c 'head -c 1G /dev/zero | curl -sS -m 60 -o /dev/null -w "[%{http_code}]" --unix-socket "$ROTA_HOME/run/gate.sock" -T - -X POST http://gate/v1/submit'
	[[ $output == *"[413]"* ]]
	{ cat "$SCRIPT"; yes '# much' | head -c 20M; } >"$BATS_TEST_TMPDIR/script"
	run rota submit "$BATS_TEST_TMPDIR/script"
	[ "$status" -ne 0 ]
	[[ $output == *"larger than jobmgrd accepts"* ]]
	truncate -s 1G "$BATS_TEST_TMPDIR/large"
	run curl -sS -m 60 -w '[%{http_code}]' --unix-socket "$ROTA_HOME/run/gate.sock" -H 'Expect:' -T "$BATS_TEST_TMPDIR/large" -X POST http://gate/v1/submit
	[[ $output == *"[413]"* || $output == *"[000]"* ]]
	body="{\"environment\":[$(yes '""' | head -n 1000000 | paste -sd,)]}"
	printf %s "$body" >"$BATS_TEST_TMPDIR/many"
	credential=$(printf 'rota2:%s unix:rota' "$({ printf 'POST /v1/submit\n'; cat "$BATS_TEST_TMPDIR/many"; } | sha256sum | cut -d' ' -f1)" | munge --socket="$ROTA_HOME/run/munge.sock")
	run curl -sS -m 60 --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $credential" --data-binary "@$BATS_TEST_TMPDIR/many" http://gate/v1/submit
	[[ $output == *"RT413"*"200000 JSON values"* ]]
	after=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	echo "peak of memory before $before KiB, after $after KiB"
	sanitized || [ $((after - before)) -lt 65536 ]
	[ "$(pid_of jobmgrd)" = "$pid" ]
	rota queue >/dev/null
}

# posted JQ: submit the script with the members of the JSON object that the filter makes; prints the answer.
posted() {
	jq -nc --rawfile script "$SCRIPT" "{\$script, workdir: \"/tmp\"} + $1" >"$BATS_TEST_TMPDIR/body"
	curl -sS --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $(rota token -d "@$BATS_TEST_TMPDIR/body" POST /v1/submit)" \
		--data-binary "@$BATS_TEST_TMPDIR/body" http://gate/v1/submit
}

line_of() { # JOB: prints the command line by which it was submitted, as JSON
	rota show --json "$1" | jq -c '.jobs[0].submit_line'
}

@test "a job keeps the command line by which it was submitted" {
	local words=(rota submit --parsable --hold --time=5 -c 1 "$SCRIPT" 'a b' "it's" '$HOME' '' $'two\nlines')
	job=$("${words[@]}")
	line=$(line_of "$job" | jq -r .)
	[[ $line == "rota submit --parsable --hold --time=5 -c 1 $SCRIPT 'a b' "* ]]
	eval "given=($line)"
	[ "$(printf '[%q]' "${given[@]}")" = "$(printf '[%q]' "${words[@]}")" ]
	[ "$(rota acct --csv --no-header --fields=SubmitLine "$job")" = "$(superuser "select submit_line from rota.job where job_id = $job")" ]
	# A command line that is too long is cut.
	job=$(rota submit --parsable --hold "$SCRIPT" "$(printf '%05000d')")
	line=$(line_of "$job" | jq -r .)
	[ "${#line}" = 4096 ]
	[[ $line == "rota submit --parsable --hold $SCRIPT 000"*000... ]]
}

@test "the command line of other clients is text without control characters, or null" {
	[ "$(line_of "$(posted '{}' | jq .job_id)")" = null ]
	[ "$(line_of "$(posted '{submit_line: null}' | jq .job_id)")" = null ]
	[ "$(line_of "$(posted '{submit_line: "a\u001b[2J\nb\u202e\tc\u0085ö"}' | jq .job_id)")" = '"a?[2J b??? c??ö"' ]
	[ "$(line_of "$(posted '{submit_line: ("ö" * 3000)}' | jq .job_id)" | jq -c '[utf8bytelength, endswith("ö...")]')" = '[4095,true]' ]
	[ "$(posted '{submit_line: ["rota", "submit"]}' | jq -r .error.code)" = RT422 ]
	[ "$(posted '{submit_line: "rota submit \u0000"}' | jq -r '.error.code // .job_id')" = RT400 ]
}

@test "allocations and growths keep the command line of rota run and rota grow" {
	rota run --time=5 -J lined sh -c 'rota grow --nodes=+1 --within=1 --parsable; true' >"$BATS_TEST_TMPDIR/grown"
	[ "$(superuser "select submit_line from rota.job where name = 'lined'")" = "rota run --time=5 -J lined sh -c 'rota grow --nodes=+1 --within=1 --parsable; true'" ]
	[ "$(line_of "$(cat "$BATS_TEST_TMPDIR/grown")")" = '"rota grow --nodes=+1 --within=1 --parsable"' ]
}
