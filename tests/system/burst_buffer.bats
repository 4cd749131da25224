#!/usr/bin/env bats
# Staging by the site's burst_buffer.lua: the order of its functions, jobs that wait for them, effects of failures.

load helper
load staging

setup_file() {
	export EVE=rbbe$$ ANN=rbba$$
	[ "$EUID" != 0 ] || users_add "$EVE" "$ANN"
	site_make < <(recorder)
	instance_up 1 "${SITE_OPTIONS[@]}" --set hooks.stage_in_timeout=600 --set hooks.stage_out_timeout=600
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change requeue_max --value=3
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ "$EUID" != 0 ] || users_remove "$EVE" "$ANN" || status=1
	site_remove
	return "$status"
}

teardown() {
	[ -z "${SWAP:-}" ] || pkill -P "$SWAP" || true
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	[ ! -e "$SITE/kept.lua" ] || mv "$SITE/kept.lua" "$SITE/burst_buffer.lua"
	rota up >/dev/null || true
	[ -z "${impatient:-}" ] || daemon_again runnerd --set hooks.other_timeout=300
}

@test "a plain job: all functions in this order, as the daemons' account, with their arguments" {
	cluster=$(sed -n 's/^name *= *//p' "$ROTA_HOME/etc/rota.conf" | head -n 1)
	job=$(submit "stage")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL" ]
	who="$(id -u) $(id -g)"
	[ "$(cat "$SITE/log.$job")" = "setup $who (null) 0 nil
data_in $who $(id -un) PENDING
test_data_in $who $(id -un) PENDING
paths $who
pre_run $who $(id -un) CONFIGURING
post_run $who $(id -un) COMPLETED
data_out $who $(id -un) COMPLETED
test_data_out $who $(id -un) COMPLETED
job_teardown false $who" ]
	# Each process of a function has the account of the daemons, the folder /, and nothing of the job or the submitter in its
	# environment.
	account=$(stat -c '%u %g' "$ROTA_HOME/run/hook/staging")
	[ "$EUID" != 0 ] || [ "$account" = "$(id -u rota) $(id -g rota)" ]
	for function in $ALL; do
		echo "$function $account / PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
			"ROTA_CLUSTER=$cluster SLURM_CLUSTER_NAME=$cluster "
	done >"$BATS_TEST_TMPDIR/processes"
	diff "$BATS_TEST_TMPDIR/processes" "$SITE/process.$job"
	[ "$(cat "$SITE/environment.$job")" = "BB_EMPTY=
BB_PATH=/fast/$job
BB_SIGN=a=b" ]
	[ -z "$(ls -A "$ROTA_HOME/run/hook/staging")" ]
	run rota show --hooks "$job"
	[[ "$output" == *"Staging"*"complete"*"data_in succeeded after"* ]]
	run rota admin hook show "$job"
	[[ "$output" == *"output of data_in:
data_in of job $job
output of test_data_in:
test_data_in of job $job
"* ]]
	[ "$(sql "select state || ' ' || (stage_in_s >= 0)::text from acct.staging where job_id = $job")" = "complete true" ]
	[ "$(sql "select count(*) from acct.staging_call where job_id = $job and rc = 0")" = 9 ]
	[ "$(sql "select string_agg(function, ' ' order by started_at) from acct.hook_run where job_id = $job and kind = 'burst_buffer' and success")" = "$ALL" ]
}

@test "rota up by root warns that scripts run as the account with the keys" {
	need_root
	grep -q 'warning: the scripts of section hooks run as "rota", .*rota up --set controller.account=rota-hook$' "$ROTA_TEST_DIR/up.log"
}

@test "no directive: no call and no row; held: none before its release" {
	printf '#!/bin/bash\necho\n#BB_LUA late\n' >"$BATS_TEST_TMPDIR/none"
	cd "$BATS_TEST_TMPDIR"
	none=$(rota submit --parsable --output=/dev/null none)
	held=$(submit "stage" --hold)
	rota wait --timeout=300 "$none"
	[ "$(sql "select count(*) from rota.staging where job_id = $none")" = 0 ]
	[ ! -e "$SITE/log.$none" ]
	[ "$(staging "$held")" = pending ]
	[ ! -e "$SITE/log.$held" ]
	rota release "$held"
	rota wait --timeout=300 "$held"
	eventually is_staging "$held" complete
	[ "$(called "$held")" = "$ALL" ]
}

@test "an array among several steps stages once, with its job; an element that waits, fails or runs again has no calls of its own" {
	printf '#!/bin/bash\n#BB_LUA stage\n[ "$BB_PATH" = "/fast/$ROTA_JOB_ID" ] && [ "${SLURM_JOB_ID}" = "$ROTA_JOB_ID" ]\n#ROTA step a --array=0-3%%2 --retry=1\n[ "$ROTA_ARRAY_INDEX.$ROTA_ATTEMPT" != 2.1 ]\n#ROTA step b\ntrue\n' >"$BATS_TEST_TMPDIR/array"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --output=/dev/null array)
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL" ]
	[ "$(sql "select count(*) filter (where state = 'completed') from rota.step where job_id = $job and array_index is not null")" = 4 ]
	rota requeue "$job"
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL $ALL" ]
}

@test "a job of several steps stages once; a dependent job does not wait for its stage-out" {
	cat >"$BATS_TEST_TMPDIR/several" <<-'END'
		#!/bin/bash
		#BB_LUA wait=data_out
		#ROTA step a
		true
		#ROTA step b --after=a
		test "$BB_PATH" = "/fast/$ROTA_JOB_ID"
	END
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --output=/dev/null several)
	next=$(submit "stage" --dependency=afterok:"$job")
	rota wait --timeout=300 "$job"
	rota wait --timeout=300 "$next"
	eventually is_staging "$next" complete
	eventually is_staging "$job" staging_out
	rota queue | grep -q "^ *$job .* staging_out .* completed$"
	rota queue --start | grep -q "^ *$job .* staging_out .* completed$"
	rota queue --all | grep -q "^ *$job .* staging_out .* completed$"
	[ "$(rota queue --json | jq -r ".jobs[] | select(.job_id == $job) | .state + \" \" + .reason")" = "completed staging_out" ]
	[ -z "$(rota queue -t running | grep "^ *$job ")" ]
	touch "$SITE/go.$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL" ]
}

@test "afterburstbuffer: the job waits for the teardown of the other one, also when its stage-out fails" {
	job=$(submit "fail=data_out wait=job_teardown")
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/bash\ntrue\n' >plain
	next=$(rota submit --parsable --output=/dev/null -d "afterok:$job,afterburstbuffer:$job" plain)
	rota wait --timeout=300 "$job"
	waits() { rota why "$next" | grep -qF "waits for job $job to end, and for its data to be torn down (completed, $1"; }
	eventually waits "staging_out, which failed"
	touch "$SITE/healed.$job"
	rota continue "$job"
	eventually runs "$job" job_teardown
	waits teardown
	[ "$(sql "select state from rota.job where job_id = $next")" = "" ]
	touch "$SITE/go.$job"
	rota wait --timeout=300 "$next"
	is_staging "$job" complete
	[ "$(sql "select min(s.started_at) > max(c.ended_at) from rota.step s, rota.staging_call c where s.job_id = $next and c.job_id = $job")" = t ]
	refused "there is no job 999999" rota submit -d afterburstbuffer:999999 plain
}

@test "while it stages in, queue, show and why say so, and the node stays free" {
	job=$(submit "wait=data_in")
	eventually runs "$job" data_in
	run rota queue
	[[ "$output" == *"$job"*staging_in* ]]
	run rota why "$job"
	[[ "$output" == *"its data is being staged in, data_in of burst_buffer.lua since"* ]]
	run rota admin hook list
	[[ "$output" == "$job"*staging_in* ]]
	[ "$(sql "select count(*) from rota.allocation where job_id = $job")" = 0 ]
	touch "$SITE/go.$job"
	rota wait --timeout=300 "$job"
}

@test "a function that answers BUSY is polled again" {
	job=$(submit "busy=test_data_in")
	polled() { [ "$(grep -cs test_data_in "$SITE/log.$job")" -ge 3 ]; }
	eventually polled
	touch "$SITE/go.$job"
	rota wait --timeout=300 "$job"
	[ "$(sql "select count(*) from rota.staging_call where job_id = $job and function = 'test_data_in'")" = 1 ]
}

@test "stage-in fails: the job is held with the message; its release tries again after a teardown" {
	for function in setup data_in test_data_in paths; do
		job=$(submit "fail=$function")
		eventually is_staging "$job" failed
		[ "$(sql "select held || ' ' || held_reason from rota.step where job_id = $job")" = \
			"system burst_buffer.lua: $function: $function says no" ]
		run rota why "$job"
		[[ "$output" == *"$function says no"* ]]
		[[ "$(called "$job")" == *"$function" ]]
		touch "$SITE/healed.$job"
		rota release "$job"
		rota wait --timeout=300 "$job"
		eventually is_staging "$job" complete
		[[ "$(called "$job")" == *"$function job_teardown $ALL" ]]
	done
}

@test "variables that are none: a failure that names the line" {
	job=$(submit "wait=data_in")
	touch "$SITE/bad.$job" "$SITE/go.$job"
	eventually is_staging "$job" failed
	[ "$(sql "select message from rota.staging where job_id = $job")" = \
		"burst_buffer.lua: paths: line 1 of the path file is not NAME=value" ]
	rota cancel "$job"
	eventually is_staging "$job" complete
}

@test "pre_run fails: teardown in a hurry, the step queued again, and held when it fails too often" {
	job=$(submit "fail=pre_run")
	held() { [ "$(sql "select held from rota.step where job_id = $job")" = system ]; }
	eventually held
	[ "$(sql "select held_reason from rota.step where job_id = $job")" = "pre_run of burst_buffer.lua failed too often" ]
	[[ "$(called "$job")" == "setup data_in test_data_in paths pre_run job_teardown setup"* ]]
	[ "$(grep job_teardown "$SITE/log.$job" | sort -u)" = "job_teardown true $(id -u) $(id -g)" ]
	[ "$(sql "select count(*) from rota.allocation where job_id = $job and ended_at is null")" = 0 ]
	[ ! -e "$SITE/environment.$job" ]
	touch "$SITE/healed.$job"
	rota release "$job"
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ -s "$SITE/environment.$job" ]
}

@test "stage-out fails: nodes are free, the job has ended, the data stays until retry or cancel --hurry" {
	for function in post_run data_out test_data_out; do
		job=$(submit "fail=$function")
		rota wait --timeout=300 "$job"
		failed() { [[ $(sql "select message from rota.staging where job_id = $job") == *"$function says no" ]]; }
		eventually failed
		[ "$(sql "select count(*) from rota.allocation where job_id = $job and ended_at is null")" = 0 ]
		[[ "$(staging "$job")" == post_run || "$(staging "$job")" == staging_out ]]
		run rota why "$job"
		[[ "$output" == *"completed"*"staging: stage-out has failed"*"$function says no"* ]]
		run rota admin hook list
		[[ "$output" == *"stage-out has failed"*"$function says no"* ]]
		rota queue | grep -q "^ *$job .* stage_out_failed .* completed$"
		[ "$(rota queue --json | jq -r ".jobs[] | select(.job_id == $job) | .reason")" = stage_out_failed ]
		rota acct | grep -q "^$job .* completed, stage-out failed "
		rota acct --fields=label,state "$job" | grep -q "^$job .*completed, stage-out failed$"
		[ "$(rota acct -nP --fields=state,staging "$job")" = "completed|stage_out_failed" ]
		run rota admin hook retry "$job"
		[ "$status" = 0 ]
		again() { [ "$(grep -c "^$function" "$SITE/log.$job")" = 2 ]; }
		eventually again
		eventually failed # so that the function does not find the file below
		if [ "$function" = data_out ]; then
			touch "$SITE/healed.$job"
			rota admin hook retry "$job"
			eventually is_staging "$job" complete
			[ "$(tail -n 1 "$SITE/log.$job")" = "job_teardown false $(id -u) $(id -g)" ]
		else
			rota cancel --hurry "$job"
			eventually is_staging "$job" complete
			[ "$(tail -n 1 "$SITE/log.$job")" = "job_teardown true $(id -u) $(id -g)" ]
		fi
		[ "$(sql "select state from rota.job where job_id = $job")" = completed ]
		[ -z "$(rota queue | grep "^ *$job ")" ]
		[ "$(rota acct -nP --fields=state,staging "$job")" = "completed|complete" ]
	done
	refused "nothing of job $job has failed" rota admin hook retry "$job"
}

@test "a teardown that fails is tried three times, and then it is over" {
	job=$(submit "fail=job_teardown")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(grep -c job_teardown "$SITE/log.$job")" = 3 ]
	[ "$(sql "select message from rota.staging where job_id = $job")" = "burst_buffer.lua: job_teardown: job_teardown says no" ]
	[ "$(sql "select string_agg(tries::text, ' ' order by call_id) from rota.staging_call where job_id = $job and function = 'job_teardown'")" = "1 2 3" ]
}

@test "a requeued job stages in again" {
	job=$(submit "stage")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	rota requeue "$job"
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL $ALL" ]
}

@test "--bb and --bbf: inserted after the first line; another's file is read as the user, so not at all" {
	printf '#!/bin/bash\ntrue\n' >"$BATS_TEST_TMPDIR/plain"
	printf '#BB_LUA one\n#BB_LUA two \\\n#BB_LUA three\n' >"$BATS_TEST_TMPDIR/directives"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --output=/dev/null --bbf directives plain)
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(sql "select directives from rota.staging where job_id = $job")" = "#BB_LUA one
#BB_LUA two  three" ]
	job=$(rota submit --parsable --output=/dev/null --bb="#BB_LUA fail=setup" plain)
	eventually is_staging "$job" failed
	rota cancel "$job"
	refused "no regular file" rota submit --bbf /dev/zero plain
	head -c 70000 /dev/zero | tr '\0' x >big
	refused "at most 65536" rota submit --bbf big plain
	printf '#!/bin/bash\n#ROTA step a --array=0-3\ntrue\n#ROTA step b\ntrue\n' >several
	refused "several steps is staged once" rota submit --bb="#BB_LUA in=%a" several
	refused "there is no pool \"fast\"" rota submit --bb="#BB_LUA pool=fast capacity=10G" plain
}

@test "symbols: functions that move data get the directives with values, the others the script as it is" {
	mkdir -p "$BATS_TEST_TMPDIR/a b"
	printf '#!/bin/bash\n#BB_LUA to=/fast/%%j/%%u name=%%x \\\n#BB_LUA ,%%A,%%a,%%%%,%%z.\n#BB_LUA %%d \\\\%%j\necho %%j\n' >"$BATS_TEST_TMPDIR/a b/symbols"
	cd "$BATS_TEST_TMPDIR/a b"
	job=$(rota submit --parsable --output=/dev/null --job-name=box symbols)
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL" ]
	replaced="#!/bin/sh
#BB_LUA to=/fast/$job/$(id -un) name=box  ,0,4294967294,%,.
#BB_LUA $PWD \\\\%j"
	for function in setup data_in test_data_in post_run data_out test_data_out; do
		[ "$(cat "$SITE/script.$job.$function")" = "$replaced" ]
	done
	for function in paths pre_run job_teardown; do
		cmp symbols "$SITE/script.$job.$function"
	done
	# Without a symbol, all get the script.
	job=$(submit "stage")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	for function in $ALL; do
		cmp "$BATS_TEST_TMPDIR/script" "$SITE/script.$job.$function"
	done
	# A value that is much longer than its symbol.
	mkdir -p "$BATS_TEST_TMPDIR/$(printf 'x%.0s' {1..200})"
	cd "$BATS_TEST_TMPDIR/xx"*
	printf '#!/bin/bash\n#BB_LUA %s\n' "$(printf '%%d%.0s' {1..30000})" >long
	job=$(rota submit --parsable --output=/dev/null long)
	eventually is_staging "$job" failed
	[[ $(sql "select message from rota.staging where job_id = $job") == *"setup: the directives are longer than 1024 KiB with the values of their symbols" ]]
	rota cancel "$job"
	eventually is_staging "$job" complete
}

@test "hostile directives: metacharacters stay text, NUL and 10 MB are refused" {
	job=$(submit '$(touch '"$SITE"'/evil) ; `touch '"$SITE"'/evil` | touch '"$SITE"'/evil '"'"'"')
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ ! -e "$SITE/evil" ]
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/bash\n#BB_LUA a\0b\ntrue\n' >nul
	refused NUL rota submit nul
	{ printf '#!/bin/bash\n#BB_LUA '; head -c 10000000 /dev/zero | tr '\0' x; printf '\ntrue\n'; } >big
	refused "bytes" rota submit big
	{ printf '#!/bin/bash\n#BB_LUA '; head -c 100000 /dev/zero | tr '\0' x; printf '\ntrue\n'; } >large
	refused "the directives #BB_LUA have" rota submit large
}

@test "job_process refuses a submission in the site's words, and says what it logs for the user" {
	cp "$SITE/burst_buffer.lua" "$SITE/kept.lua"
	cat >>"$SITE/burst_buffer.lua" <<-'END'
		function slurm_bb_job_process(job_script, uid, gid, info)
			local f = io.open(job_script)
			local text = f:read("a")
			f:close()
			if text:find("\n#BB_LUA refused") then
				return slurm.ERROR, "no " .. info.user_name .. " here, " .. uid
			end
			slurm.log_user("welcome to " .. text:match("\n#BB_LUA ([^\n]*)"))
			return slurm.SUCCESS
		end
	END
	run submit "refused"
	[ "$status" != 0 ]
	[[ "$output" == *"no $(id -un) here, $(id -u)"* ]]
	run submit "x" --bb="#BB_LUA refused"
	[ "$status" != 0 ]
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/bash\n#BB_LUA refused\n' >refused
	refused "no $(id -un) here" rota check refused
	run submit "fine %j" # the symbols of its directives have no values yet
	[ "$status" = 0 ]
	[[ "$output" == *"welcome to fine %j"* ]]
	job=${lines[-1]}
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	echo 'syntax error here' >>"$SITE/burst_buffer.lua"
	run submit "fine"
	[ "$status" != 0 ]
	[[ "$output" == *"burst_buffer could not be asked"* ]]
	mv "$SITE/kept.lua" "$SITE/burst_buffer.lua"
}

@test "get_status: words are arguments and no shell text; its answer is printed as it is" {
	cd "$BATS_TEST_TMPDIR"
	run rota admin hook status 'a b' '$(touch evil)' ';' "'" -- --json -x
	[ "$status" = 0 ]
	[ "$output" = "$(id -u)|$(id -g)|a b|\$(touch evil)|;|'|--json|-x" ]
	[ ! -e evil ]
	[ "$(rota admin hook status | wc -l)" = 0 ] # without a newline of its own
	run rota admin hook status --json x
	[ "$(jq -r .lines <<<"$output")" = "$(id -u)|$(id -g)|x" ]
	[ "$(rota admin hook status bytes | od -An -c | tr -d ' ')" = 'a\tb?c?\nd\n' ]
	[ "$(rota admin hook status size 200000 | wc -c)" = 200000 ]
	refused "Error running slurm_bb_get_status: what it returns has 300" rota admin hook status size 300000
	refused "Error running slurm_bb_get_status: no storage" rota admin hook status fail "no storage"
	[ "$status" = 1 ]
	run rota admin hook status fail
	[ "$output" = "rota: Error running slurm_bb_get_status" ]
	refused "broken" rota admin hook status break
	refused "no option --x" rota admin hook status --x=1
	refused "at most 100 texts" rota admin hook status $(seq 101)
	refused "at most 100 texts" rota admin hook status "$(head -c 70000 /dev/zero | tr '\0' x)"
}

@test "get_status: all users may ask, each as themselves; who asks too much waits alone; it ends with its time" {
	need_root
	cd /tmp
	run as "$EVE" rota admin hook status 0 0
	[ "$output" = "$(id -u "$EVE")|$(id -g "$EVE")|0|0" ]
	for n in 1 2; do
		as "$EVE" rota admin hook status hang "$n" >"$BATS_TEST_TMPDIR/hang.$n" 2>&1 &
		eventually test -e "$SITE/asked.$n"
	done
	refused "2 of your calls of slurm_bb_get_status are under way" as "$EVE" rota admin hook status
	run as "$ANN" rota admin hook status
	[ "$status" = 0 ]
	rota status >/dev/null # jobmgrd serves other clients
	eventually sleeps
	# A client that leaves has its call of the function killed, and may ask again.
	kill "$(pgrep -u "$EVE" -fx "[^ ]*rota admin hook status hang 1")"
	eventually as "$EVE" rota admin hook status
	impatient=yes
	daemon_again runnerd --set hooks.other_timeout=2
	wait
	functions_are_called
	refused "Error running slurm_bb_get_status: function of" rota admin hook status hang 6
	[[ $output == *"not finished after 2 seconds"* ]]
	eventually gone
	daemon_again runnerd --set hooks.other_timeout=300
	functions_are_called
}

gone() {
	! sleeps
}

@test "get_status ends with jobmgrd and with runnerd" {
	rota admin hook status hang 3 >"$BATS_TEST_TMPDIR/hang.3" 2>&1 &
	eventually test -e "$SITE/asked.3"
	eventually sleeps
	kill -TERM "$(pid_of jobmgrd)"
	wait
	grep -q "the job manager is shutting down" "$BATS_TEST_TMPDIR/hang.3"
	eventually gone
	rota up >/dev/null
	rota admin hook status hang 5 >/dev/null 2>&1 &
	eventually test -e "$SITE/asked.5"
	eventually sleeps
	daemon_kill jobmgrd
	wait
	eventually gone
	rota admin hook status hang 4 >"$BATS_TEST_TMPDIR/hang.4" 2>&1 &
	eventually test -e "$SITE/asked.4"
	daemon_kill runnerd
	wait
	grep -q "Error running slurm_bb_get_status: lost the connection to runnerd" "$BATS_TEST_TMPDIR/hang.4"
}

@test "strangers see neither directives nor calls of others, and may not try again" {
	need_root
	job=$(submit "fail=setup")
	eventually is_staging "$job" failed
	run as "$EVE" rota admin hook retry "$job"
	[[ "$output" == *"only operators and administrators"* ]]
	run as "$EVE" rota admin hook list
	[ "$status" != 0 ]
	run as "$EVE" rota show --json "$job"
	[[ "$output" != *"fail=setup"* ]]
	run as "$EVE" rota sql -Atc "select count(*) from acct.staging where job_id = $job"
	[[ "$output" != 1 ]]
	is_staging "$job" failed
	rota cancel "$job"
}

@test "the example of the slides: copies in and out, with the functions that it has" {
	cat >"$SITE/slides.lua" <<-'END'
		function slurm_bb_job_process(job_script)
			local rc
			rc = _parse_job_script(job_script, true, true)
			if (rc == slurm.ERROR) then
				return slurm.ERROR, "Burst buffer staging directive not given or invalid"
			end
			return slurm.SUCCESS
		end
		function slurm_bb_data_in(job_id, job_script)
			return _stage(job_script, "stage_in")
		end
		function slurm_bb_data_out(job_id, job_script)
			return _stage(job_script, "stage_out")
		end
		function _stage(job_script, stage)
			local rc, src, dest, tmp1, tmp2
			if (stage == "stage_in") then
				rc, src, dest, tmp1, tmp2 = _parse_job_script(job_script, true, false)
			else
				rc, tmp1, tmp2, src, dest = _parse_job_script(job_script, false, true)
			end
			if (rc == slurm.ERROR) then
				return slurm.SUCCESS
			end
			return _stage_file(src, dest)
		end
		function _parse_job_script(job_script, stage_in, stage_out)
			local rc, in_src, in_dest, out_src, out_dest
			local rc1, rc2 = slurm.SUCCESS, slurm.SUCCESS
			io.input(job_script)
			local contents = io.read("*all")
			io.close()
			if (stage_in) then
				rc1, in_src, in_dest = _get_stage_src_dest(contents, "#BB_LUA stage_in")
			end
			if (stage_out) then
				rc2, out_src, out_dest = _get_stage_src_dest(contents, "#BB_LUA stage_out")
			end
			if ((rc1 == slurm.ERROR) and (rc2 == slurm.ERROR)) then
				rc = slurm.ERROR
			else
				rc = slurm.SUCCESS
			end
			return rc, in_src, in_dest, out_src, out_dest
		end
		function _get_stage_src_dest(contents, stage_str)
			local src, dest, inx_start, inx_end
			inx_start, inx_end, src, dest = string.find(contents, stage_str .. " source=(\"%S+\") destination=(\"%S+\")")
			if (inx_start == nil) then
				return slurm.ERROR, nil, nil
			end
			slurm.log_info("stage=%s: src=%s, dest=%s", stage_str, src, dest)
			return slurm.SUCCESS, src, dest
		end
		function _stage_file(src, dest)
			local rc, str, num, ret_str
			if ((src == nil) or (dest == nil)) then
				return slurm.ERROR, "src or dest are nil"
			end
			cmd = "cp " .. src .. " " .. dest
			slurm.log_info("Running %s", cmd)
			rc, str, num = os.execute(cmd)
			if (rc == nil) then
				ret_str = cmd .. " failed; " .. str .. ":" .. num
				return slurm.ERROR, ret_str
			end
			return slurm.SUCCESS
		end
		function slurm_bb_teardown()
			return slurm.SUCCESS
		end
	END
	cp "$SITE/burst_buffer.lua" "$SITE/kept.lua"
	cp "$SITE/slides.lua" "$SITE/burst_buffer.lua"
	echo hello >"$SITE/hello.txt"
	printf '#!/bin/bash\n#BB_LUA stage_in source="%s/hello.txt" destination="%s/job_in"\n#BB_LUA stage_out source="%s/job_out" destination="%s/copied_out"\necho "my job $SLURM_JOB_ID output this" >%s/job_out\n' \
		"$SITE" "$SITE" "$SITE" "$SITE" "$SITE" >"$BATS_TEST_TMPDIR/slides"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --output=/dev/null slides)
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(cat "$SITE/job_in")" = hello ]
	[ "$(cat "$SITE/copied_out")" = "my job $job output this" ]
	rm "$SITE/hello.txt"
	job=$(rota submit --parsable --output=/dev/null slides)
	eventually is_staging "$job" failed
	[[ $(sql "select message from rota.staging where job_id = $job") == *"data_in: cp "*"failed; exit:1" ]]
	rota cancel "$job"
	eventually is_staging "$job" complete
	mv "$SITE/kept.lua" "$SITE/burst_buffer.lua"
}

# example_install: install the example of the sources as burst_buffer.lua, with folders of the users below SITE/pool, and a script
# SITE/example.
example_install() {
	cp "$SITE/burst_buffer.lua" "$SITE/kept.lua"
	sed -e "s,^local POOL = .*,local POOL = \"$SITE/pool\"," -e "s,^local FAST = .*,local FAST = \"$SITE/fast\"," \
		"$ROTA_SOURCE/examples/hooks/burst_buffer.lua" >"$SITE/burst_buffer.lua"
	rm -rf "$SITE/pool" "$SITE/fast"
	mkdir -p "$SITE/pool/$ANN/run/in" "$SITE/pool/$EVE/private" "$SITE/fast"
	echo hello >"$SITE/pool/$ANN/run/in/data"
	echo secret >"$SITE/pool/$EVE/private/data"
	chmod 0700 "$SITE/pool/$EVE"
	chown -R "$ANN": "$SITE/pool/$ANN"
	chown -R "$EVE": "$SITE/pool/$EVE"
	setfacl -R -m u:rota:rwX "$SITE/pool/$ANN" "$SITE/pool/$EVE"
	chown rota: "$SITE/fast"
}

# example_submit BODY DIRECTIVE: submit a job of ANN.
example_submit() {
	printf '#!/bin/bash\n#BB_LUA %s\n%s\n' "$2" "$1" >"$SITE/example"
	(cd /tmp && as "$ANN" rota submit --parsable --output=/dev/null "$SITE/example")
}

example_remove() {
	mv "$SITE/kept.lua" "$SITE/burst_buffer.lua"
}

@test "the example of the sources: copies below the user's folder alone, opened to the owner alone" {
	need_root
	example_install
	printf '#!/bin/bash\n#BB_LUA input=run/in output=run/out\ncp "$STAGE_IN/data" "$STAGE_OUT/copy"\nmkdir "$STAGE_OUT/sub"\ngetfacl -p "$STAGE_IN" >"$STAGE_OUT/sub/acl"\n' \
		>"$BATS_TEST_TMPDIR/example"
	chmod 644 "$BATS_TEST_TMPDIR/example"
	cp "$BATS_TEST_TMPDIR/example" "$SITE/example"
	cd /tmp
	job=$(as "$ANN" rota submit --parsable --output=/dev/null "$SITE/example")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(cat "$SITE/pool/$ANN/run/out/copy")" = hello ]
	grep -qx other::--- "$SITE/pool/$ANN/run/out/sub/acl"
	grep -qx "user:$ANN:rwx" "$SITE/pool/$ANN/run/out/sub/acl"
	[ -z "$(ls -A "$SITE/fast")" ]
	for name in ../root /etc 'a;touch${IFS}x' ''; do
		job=$(as "$ANN" rota submit --parsable --output=/dev/null --bb="#BB_LUA input=$name" "$SITE/example")
		eventually is_staging "$job" failed
		[[ $(sql "select message from rota.staging where job_id = $job") == *"input is not a name below"* ]]
		rota cancel "$job"
		eventually is_staging "$job" complete
	done
	example_remove
}

@test "the example of the sources: no link leads it into the folder of somebody else" {
	need_root
	local pool=$SITE/pool job
	failed() { [[ $(sql "select message from rota.staging where job_id = $job") == *"$1"* ]]; }
	example_install
	as "$ANN" ln -s "../$EVE" "$pool/$ANN/theirs"
	as "$ANN" ln -s "../../$EVE/private" "$pool/$ANN/run/in/link"

	job=$(example_submit true "input=theirs/private")
	eventually failed "data_in: $pool/$ANN/theirs is not a folder, or a link leads to it"
	[ -z "$(ls -A "$SITE/fast/$job/in")" ]
	rota cancel "$job"

	for to in theirs/private theirs/new theirs; do
		job=$(example_submit 'echo mine >$STAGE_OUT/data' "output=$to")
		rota wait --timeout=300 "$job"
		eventually failed "theirs"
		rota cancel --hurry "$job"
		eventually is_staging "$job" complete
	done
	[ "$(cd "$pool/$EVE" && find . -type f)" = ./private/data ]
	[ "$(cat "$pool/$EVE/private/data")" = secret ]

	# A link below the folder is copied as a link, and the job cannot put one in the place of $STAGE_OUT.
	job=$(example_submit "[ -L \$STAGE_IN/link ] && ! mv \$STAGE_OUT \$STAGE_OUT.old && ! rmdir \$STAGE_OUT && ln -s $pool/$EVE/private \$STAGE_OUT/link" "input=run/in output=run/links")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(readlink "$pool/$ANN/run/links/link")" = "$pool/$EVE/private" ]

	# Files that exist already stay.
	job=$(example_submit true "output=run/links")
	rota wait --timeout=300 "$job"
	eventually failed "data_out: run/links exists already"
	rota cancel --hurry "$job"
	eventually is_staging "$job" complete
	example_remove
}

@test "the example of the sources: nor a link that changes places with a folder all the time" {
	need_root
	local pool=$SITE/pool job jobs=()
	example_install
	as "$ANN" mkdir -p "$pool/$ANN/a/private" "$pool/$ANN/in/a/private"
	as "$ANN" ln -s "../$EVE" "$pool/$ANN/b"
	as "$ANN" ln -s "../../$EVE" "$pool/$ANN/in/b"
	as "$ANN" python3 "$BATS_TEST_DIRNAME/link_swap.py" "$pool/$ANN/a" "$pool/$ANN/b" "$pool/$ANN/in/a" "$pool/$ANN/in/b" 3>&- &
	SWAP=$!
	for i in 1 2 3 4; do
		jobs+=("$(example_submit 'cp -R $STAGE_IN/. $STAGE_OUT; echo mine >$STAGE_OUT/mine' "input=a/private output=a/out$i")")
		jobs+=("$(example_submit 'cp -R $STAGE_IN/. $STAGE_OUT; echo mine >$STAGE_OUT/mine' "input=in output=a/private/out$i")")
	done
	is_over() { [ "$(sql "select state = 'complete' or message is not null from rota.staging where job_id = $1")" = t ]; }
	for job in "${jobs[@]}"; do
		eventually is_over "$job"
		rota cancel --hurry "$job" 2>/dev/null || true
	done
	for job in "${jobs[@]}"; do eventually is_staging "$job" complete; done # a teardown that fails is tried for 20 seconds
	[ "$(cd "$pool/$EVE" && find . ! -type d)" = ./private/data ]
	! grep -rqs secret "$pool/$ANN" || false
	example_remove
}
