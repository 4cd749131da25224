#!/usr/bin/env bats
# Sub-steps in the accounting: the test writes the journal of a step manager by hand, while a real job runs.

load helper

setup_file() {
	instance_up 1 --cpus 4 --set node.grace=1
	export GO=$ROTA_TEST_DIR/go FOLDER=$ROTA_HOME/node/n1/substeps
}

teardown_file() {
	instance_down
}

setup() {
	rm -f "$GO"
	printf '#!/bin/bash\nuntil [ -e %s ]; do sleep 0.3; done\n' "$GO" >"$BATS_TEST_TMPDIR/job.sh"
}

is() {
	local got
	got=$(sql "$1")
	[ "$got" = "$2" ] || { echo "$1: $got"; return 1; }
}

running() {
	is "select state from rota.step where job_id = $1 and step_id = 0" running
}

# start: submit a job, wait until it runs, and make the file that its keeper would make.
start() {
	job=$(cd /tmp && rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/job.sh")
	eventually running "$job"
	file=$FOLDER/$job.0.1
	touch "$file"
	chmod 0644 "$file"
}

# Prints the clock of the journal, in microseconds.
clock() {
	awk '{printf "%.0f\n", $1 * 1000000}' /proc/uptime
}

queued() {
	printf '{"kind":"queue","substep":%d,"at":%d,"name":"s%d","command":"./solve %d","ntasks":1,"cpus":1,"mem_mb":0,"gres":"","after":"","priority":0,"retry":0,"key":"k"}\n' "$1" "$(clock)" "$1" "$1"
}

started() {
	printf '{"kind":"start","substep":%d,"at":%d,"run":1,"node":"n1"}\n' "$1" "$(clock)"
}

ended() {
	printf '{"kind":"end","substep":%d,"at":%d,"state":"%s","exit":%d,"signal":0,"cause":"exit","run":1,"tasks_failed":0,"user_usec":250000,"system_usec":250000,"max_rss_kb":1000,"minflt":1,"majflt":0,"rchar":1,"wchar":1,"read_bytes":0,"write_bytes":0,"nvcsw":1,"nivcsw":-1}\n' "$1" "$(clock)" "$2" "$3"
}

# states JOB: prints the states of its sub-steps: "1:completed 2:failed"
states() {
	sql "select string_agg(substep || ':' || state, ' ' order by substep) from acct.substep where job_id = $1"
}

have() {
	[ "$(states "$1")" = "$2" ] || { states "$1"; return 1; }
}

end_job() {
	touch "$GO"
	rota wait "$job" >/dev/null || true
}

@test "records become rows of acct.substep, and the file goes with the attempt" {
	start
	{ queued 1; started 1; queued 2; queued 3; } >>"$file"
	eventually have "$job" "1:running 2:waiting 3:waiting"
	{ ended 1 completed 0; started 2; ended 2 failed 3; started 3; } >>"$file"
	eventually have "$job" "1:completed 2:failed 3:running"
	is "select name, command, exit_code, user_cpu_s from acct.substep where job_id = $job and substep = 2" 's2||3|0.25'
	is "select count(*) from acct.substep u join acct.attempt t using (job_id, step_id, attempt)
		where u.job_id = $job and u.queued_at >= t.started_at and u.started_at >= u.queued_at" 3
	is "select waiting, running, ended, failed from rota.substep_total where job_id = $job" '0|1|2|1'
	[ -e "$file" ]
	end_job
	gone() { [ ! -e "$file" ]; }
	eventually gone
	is "select state, cause from acct.substep where job_id = $job and substep = 3" 'cancelled|allocation_ended'
}

@test "lines that no step manager writes are skipped, and harm nothing else" {
	start
	{
		queued 1
		echo nonsense
		printf '{"kind":"start","substep":"1","at":1}\n{"kind":"queue","substep":2,"at":1,"name":"\\u0000"}\n'
		head -c 3000000 /dev/zero
		echo
		printf '{"kind":"env","env":1}\n{"kind":"end","substep":4,"job":1,"attempt":9,"at":-9223372036854775808,"state":"completed","exit":999999,"user_usec":9223372036854775807,"system_usec":9223372036854775807}\n'
		started 1
		printf '{"kind":"start","substep":5,"at":1'
	} >>"$file"
	eventually have "$job" "1:running 4:completed"
	printf ',"run":1}\n' >>"$file"
	eventually have "$job" "1:running 4:completed 5:running"
	is "select count(*) from acct.substep where job_id = $job and started_at < (select started_at from acct.attempt where job_id = $job)" 0
	[ "$(grep -c "substeps/$job.0.1.*a line is not valid" "$ROTA_HOME/log/launcher.n1.log")" = 1 ]
	truncate -s 0 "$file"
	started 6 >>"$file"
	truncate -s 100G "$file"
	running "$job"
	end_job
	gone() { [ ! -e "$file" ]; }
	eventually gone
}

@test "a record of a session becomes a row, and one that names another job does not" {
	start
	{
		queued 1
		started 1
		printf '{"kind":"session","substep":1,"at":%d,"name":"work","idle_timeout_s":60,"key_at":0,"output_at":%d,"attached":[{"user":"ada","host":"desk","since":%d}]}\n' "$(clock)" "$(clock)" "$(clock)"
	} >>"$file"
	attached() { is "select name, state, attached -> 0 ->> 'user', last_key_at is null, last_output_at >= started_at from acct.session where job_id = $job" 'work|running|ada|t|t'; }
	eventually attached
	printf '{"kind":"session","substep":1,"job":1,"job_id":1,"step":9,"at":%d,"name":"forged","key_at":9223372036854775807,"output_at":-1,"attached":[]}\n' "$(clock)" >>"$file"
	forged() { is "select name, job_id, step_id, last_key_at <= now() from acct.session where name = 'forged'" "forged|$job|0|t"; }
	eventually forged
	is "select count(*) from rota.session where job_id <> $job" 0
	is "select state from acct.substep where job_id = $job" running
	end_job
	is "select state, attached from acct.session where job_id = $job" 'cancelled|[]'
}

@test "what is not the file of an attempt here does not hurt" {
	start
	mkfifo "$FOLDER/999999.0.1" "$FOLDER/name"
	ln -s /etc/passwd "$FOLDER/999998.0.1"
	{ queued 1; started 1; ended 1 completed 0; } | tee "$BATS_TEST_TMPDIR/other" >>"$file"
	chmod 0644 "$BATS_TEST_TMPDIR/other"
	mv "$BATS_TEST_TMPDIR/other" "$FOLDER/999997.0.1"
	eventually have "$job" "1:completed"
	is "select count(*) from rota.substep where job_id > 999000" 0
	gone() { [ ! -e "$FOLDER/999999.0.1" ] && [ ! -L "$FOLDER/999998.0.1" ] && [ ! -e "$FOLDER/999997.0.1" ]; }
	eventually gone
	rm "$FOLDER/name"
	end_job
}

@test "while the database is away the records stay, and procmgrd reads them again after a restart" {
	start
	{ queued 1; started 1; } >>"$file"
	eventually have "$job" "1:running"
	postmaster=$(head -n 1 "$ROTA_HOME"/pg/*/postmaster.pid)
	kill -INT "$postmaster"
	eventually are_dead "$postmaster"
	{ ended 1 completed 0; for i in $(seq 2 50); do queued "$i"; started "$i"; done; } >>"$file"
	sleep 2
	rota up >/dev/null
	all() { is "select count(*) from acct.substep where job_id = $job" 50; }
	eventually all
	kill -9 "$(pid_of procmgrd)"
	ended 2 completed 0 >>"$file"
	two() { is "select state from acct.substep where job_id = $job and substep = 2" completed; }
	eventually two
	is "select waiting, running, ended, failed from rota.substep_total where job_id = $job" '0|48|2|0'
	end_job
}

@test "acct --substeps and show list them to whom they belong" {
	start
	{ queued 1; started 1; ended 1 completed 0; queued 2; started 2; ended 2 failed 3; queued 3; started 3; queued 4; } >>"$file"
	eventually have "$job" "1:completed 2:failed 3:running 4:waiting"
	run -0 rota acct --substeps --csv --no-header --fields=label,attempt,substep,substep_name,state,exit_code,cpu_s,command "$job"
	[ "${lines[0]}" = "$job.script,1,1,s1,completed,0,0.5,./solve 1" ] || { echo "${lines[0]}"; return 1; }
	[ "${#lines[@]}" = 4 ]
	run -0 rota acct --substeps --states=failed --json "$job"
	[ "$(jq -c '[.rows[] | [.substep, .exit_code, .tasks_failed]]' <<<"$output")" = '[[2,3,0]]' ]
	run -0 rota acct --substeps --json --since=today
	[ "$(jq --argjson job "$job" '[.rows[] | select(.job_id == $job)] | length' <<<"$output")" = 4 ]
	run -0 rota acct --substeps "$job"
	[[ $output == *s3* ]]
	run -0 rota show "$job.script"
	[[ $output =~ Sub-steps\ +2\ ended,\ 1\ failed,\ 1\ running,\ 1\ waiting ]] || { echo "$output"; return 1; }
	end_job
	run -0 rota show "$job.script"
	[[ $output =~ Sub-steps\ +4\ ended,\ 1\ failed ]] || { echo "$output"; return 1; }
	is "select substeps, substeps_failed, substep_cpu_s from acct.step where job_id = $job" '4|1|1'
}
