#!/usr/bin/env bats
# rota continue: steps that completed stay, the others run again, with data that is still staged; also after a power cut.

load helper
load staging

setup_file() {
	export EVE=rbgo$$
	site_make <<-'END'
		for _, name in ipairs{"setup", "data_in", "pre_run", "post_run", "data_out", "job_teardown"} do
			_G["slurm_bb_" .. name] = function(job, second, third, fourth, fifth, sixth)
				record(name, job, {})
				return behave(name, job, name == "setup" and sixth or second)
			end
		end
	END
	instance_up 1 "${SITE_OPTIONS[@]}"
	rota admin setting change flap_count --value=0
}

teardown_file() {
	local status=0
	instance_down || status=1
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	site_remove
	return "$status"
}

setup() {
	rm -f "$SITE"/fail.* "$SITE"/wait.* "$SITE"/ledger* "$SITE"/ok "$SITE"/go
	cd "$BATS_TEST_TMPDIR"
}

# A job of steps in a row. Each writes its name into the ledger; two fails until there is a file ok.
row() {
	printf '#!/bin/bash\n%s\n#ROTA --output=%s/out.%%j.%%S\n#ROTA step one\necho one >>%s\necho said\n' "$1" "$SITE" "$SITE/ledger"
	printf '#ROTA step two --after=one\necho two >>%s\n[ -e %s ]\n' "$SITE/ledger" "$SITE/ok"
	printf '#ROTA step three --after=two\nuntil [ -e %s ]; do sleep 0.3; done\necho three >>%s\n' "$SITE/go" "$SITE/ledger"
}

# submit [DIRECTIVE]: submit this job.
submit() {
	row "${1:-}" >row.sh
	rota submit --parsable row.sh
}

ledger() {
	paste -sd' ' "$SITE/ledger"
}

states() {
	sql "select string_agg(s.step || ':' || s.state, ' ' order by s.step_id) from acct.step s where s.job_id = $1"
}

# stuck JOB FUNCTION: this function has failed, and no call for the job is due.
stuck() {
	[ "$(sql "select g.message from rota.staging g where g.job_id = $1
		and not exists (select from rota.staging_call c where c.job_id = $1 and c.ended_at is null)")" = "burst_buffer.lua: $2: $2 says no" ]
}

runs() {
	[ "$(sql "select state from rota.step where job_id = $1 and step_id = $2")" = running ]
}

# Kill PostgreSQL and every daemon at once, then start them in the ordinary way.
power_cut() {
	local pids
	pids=$(rota status --json | jq -r '.processes[] | .pid // empty')
	kill -KILL $pids 2>/dev/null || true # some end with others
	eventually are_dead $pids
	rota up >/dev/null
}

@test "a job whose step failed: rota continue runs that and what comes after it; attempts and outputs stay" {
	touch "$SITE/go"
	job=$(submit)
	run rota wait --timeout=300 "$job"
	[ "$status" = 1 ]
	[ "$(ledger)" = "one two" ]
	touch "$SITE/ok"
	run rota continue "$job"
	[ "$status" = 0 ]
	[ "$output" = "$job: queued again (2 of 3 steps)" ]
	rota wait --timeout=300 "$job"
	[ "$(ledger)" = "one two two three" ]
	[ "$(states "$job")" = "one:completed two:completed three:completed" ]
	[ "$(sql "select string_agg(step_id || ':' || attempt || ':' || state, ' ' order by step_id, attempt) from rota.attempt where job_id = $job")" = "0:1:completed 1:1:failed 1:2:completed 2:1:completed" ]
	[ "$(cat "$SITE/out.$job.one")" = said ]
	run rota acct --attempts "$job"
	[[ "$output" == *two*failed*two*completed* ]]
	audit
}

@test "an array: only the elements that failed run again" {
	printf '#!/bin/bash\n#ROTA --output=/dev/null --array=0-5\necho $ROTA_ARRAY_INDEX >>%s\n[ $((ROTA_ARRAY_INDEX %% 2)) = 0 ] || [ -e %s ]\n' "$SITE/ledger" "$SITE/ok" >array.sh
	job=$(rota submit --parsable array.sh)
	rota wait --timeout=300 "$job" || true
	[ "$(sort "$SITE/ledger" | paste -sd' ')" = "0 1 2 3 4 5" ]
	touch "$SITE/ok"
	rota continue "$job"
	rota wait --timeout=300 "$job"
	[ "$(sort "$SITE/ledger" | paste -sd' ')" = "0 1 1 2 3 3 4 5 5" ]
	run rota continue "$job"
	[ "$status" = 1 ]
	[[ "$output" == *"not changed: nothing of it failed (completed)"* ]]
}

@test "a step that was cancelled, and one that timed out, go on" {
	touch "$SITE/ok"
	job=$(submit)
	eventually runs "$job" 2
	rota cancel "$job.three"
	rota wait --timeout=300 "$job" || true
	[ "$(states "$job")" = "one:completed two:completed three:cancelled" ]
	touch "$SITE/go"
	rota continue "$job"
	rota wait --timeout=300 "$job"
	[ "$(ledger)" = "one two three" ]
	rm "$SITE/go" "$SITE/ledger"
	row "" | sed 's/step three/& --time=0:01/' >short.sh
	job=$(rota submit --parsable short.sh)
	rota wait --timeout=300 "$job" || true
	[ "$(states "$job")" = "one:completed two:completed three:timeout" ]
	touch "$SITE/go"
	rota admin node drain n1 --reason=test # so that the step does not begin before it has another limit
	rota continue "$job"
	rota modify --time=5 "$job.three"
	rota admin node resume n1
	rota wait --timeout=300 "$job"
	[ "$(ledger)" = "one two three" ]
}

@test "refused: a job that runs, one that is complete, a step, no job, and a job of somebody else" {
	need_root
	users_add "$EVE"
	touch "$SITE/ok"
	job=$(submit)
	eventually runs "$job" 2
	run rota continue "$job"
	[ "$status" = 1 ]
	[[ "$output" == *"$job: not changed: it has not ended (running)"* ]]
	run rota continue "$job.two"
	[ "$status" != 0 ]
	[[ "$output" == *"only whole jobs can be requeued or continued, not steps"* ]]
	run rota continue
	[ "$status" = 2 ]
	run rota continue 99999999
	[ "$status" != 0 ]
	[[ "$output" == *99999999* ]]
	rota cancel "$job"
	rota wait --timeout=300 "$job" || true
	before=$(states "$job")
	run as "$EVE" rota continue "$job"
	[ "$status" != 0 ]
	[ "$(states "$job")" = "$before" ]
	touch "$SITE/go"
	rota continue --quiet "$job"
	rota wait --timeout=300 "$job"
	run rota continue --json "$job"
	[ "$status" = 1 ]
	[ "$(jq -r '.steps[0].changed' <<<"$output")" = false ]
}

@test "stage-in failed: its owner continues it, after a teardown" {
	touch "$SITE/fail.data_in" "$SITE/ok" "$SITE/go"
	job=$(submit "#BB_LUA stage")
	eventually is_staging "$job" failed
	rm "$SITE/fail.data_in"
	run rota continue "$job"
	[ "$output" = "$job: its data is staged in again" ]
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "setup data_in job_teardown setup data_in pre_run post_run data_out job_teardown" ]
}

@test "stage-out failed: nothing runs again but the stage-out" {
	touch "$SITE/fail.data_out" "$SITE/ok" "$SITE/go"
	job=$(submit "#BB_LUA stage")
	rota wait --timeout=300 "$job"
	eventually stuck "$job" data_out
	rm "$SITE/fail.data_out"
	run rota continue "$job"
	[ "$output" = "$job: its data is staged out again" ]
	eventually is_staging "$job" complete
	[ "$(ledger)" = "one two three" ]
	[ "$(called "$job")" = "setup data_in pre_run post_run data_out post_run data_out job_teardown" ]
}

@test "a step failed and then the stage-out: the step runs again with the data that is staged" {
	touch "$SITE/fail.data_out" "$SITE/go"
	job=$(submit "#BB_LUA stage")
	rota wait --timeout=300 "$job" || true
	eventually stuck "$job" data_out
	rm "$SITE/fail.data_out"
	touch "$SITE/ok"
	run rota continue "$job"
	[ "$output" = "$job: queued again (2 of 3 steps; its data is still staged)" ]
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(ledger)" = "one two two three" ]
	[ "$(called "$job")" = "setup data_in pre_run post_run data_out pre_run post_run data_out job_teardown" ]
	audit
}

@test "a power cut while a continued job runs: what completed stays, and the rest completes" {
	job=$(submit)
	rota wait --timeout=300 "$job" || true
	touch "$SITE/ok"
	rota continue "$job"
	eventually runs "$job" 2
	power_cut
	touch "$SITE/go"
	rota wait --timeout=300 "$job"
	[ "$(grep -c one "$SITE/ledger")" = 1 ]
	[ "$(states "$job")" = "one:completed two:completed three:completed" ]
	audit
}

@test "a power cut right after rota continue: it is kept" {
	touch "$SITE/go"
	job=$(submit)
	rota wait --timeout=300 "$job" || true
	touch "$SITE/ok"
	rota continue "$job"
	power_cut
	rota wait --timeout=300 "$job"
	[ "$(states "$job")" = "one:completed two:completed three:completed" ]
	audit
}

@test "a power cut in each function of a continued job: the ordinary start goes on" {
	for function in data_in pre_run data_out; do
		rm -f "$SITE/ok" "$SITE/ledger"
		touch "$SITE/go" "$SITE/fail.data_out"
		[ "$function" != data_in ] || touch "$SITE/fail.data_in"
		job=$(submit "#BB_LUA stage")
		if [ "$function" = data_in ]; then
			eventually is_staging "$job" failed
		else
			rota wait --timeout=300 "$job" || true
			eventually stuck "$job" data_out
		fi
		touch "$SITE/ok" "$SITE/wait.$function"
		rm -f "$SITE"/fail.*
		truncate --no-create --size=0 "$SITE/log.$job" # a sticky folder: others may write to the file, and not create it
		rota continue "$job"
		is_called() { grep -q "^$function " "$SITE/log.$job"; }
		eventually is_called
		power_cut
		rm "$SITE/wait.$function"
		rota wait --timeout=300 "$job"
		eventually is_staging "$job" complete
		[ "$(states "$job")" = "one:completed two:completed three:completed" ]
		[ "$(grep -c one "$SITE/ledger")" = 1 ]
		[ "$function" = data_in ] || ! grep -q "^data_in " "$SITE/log.$job"
	done
	audit
}
