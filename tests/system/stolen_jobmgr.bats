#!/usr/bin/env bats
# One of jobmgrd's passwords of the database is stolen: that of the HTTP API, of the leader, or of administration. Each is worth
# what its role is for, and none starts a process. Beside each attack, the legitimate use works.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export VIC=rvic$$
	users_add "$VIC"
	instance_up 1 --cpus 4 --mem 4000
	folders_add "$VIC"
}

teardown_file() {
	instance_users_down "$VIC"
}

setup() {
	need_root
	BEGUN=$ROTA_TEST_DIR/$VIC/begun
	rm -f "$BEGUN"
}

# thief ROLE SQL: run it with the stolen password of the role.
thief() {
	psql -X -w -h "$ROTA_HOME/run" -d rota -U "$1" -v ON_ERROR_STOP=1 -Atqc "$2" 2>&1
}

# denied ROLE SQL...: the role may not call this.
denied() {
	local role=$1 answer statement
	shift
	for statement in "$@"; do
		echo "# $role reaches for: $statement"
		answer=$(thief "$role" "$statement") || true
		[[ $answer == *"ERROR:  permission denied for function "* ]] || { echo "$answer" >&2; return 1; }
	done
}

# submitted [OPTION]...: a job of the victim that writes a line into $BEGUN each time it runs; prints its number.
submitted() {
	printf '#!/bin/sh\n#ROTA --output=/dev/null\necho $ROTA_JOB_ID >>%s\n' "$BEGUN" >"$ROTA_TEST_DIR/begin.sh"
	as "$VIC" rota submit --parsable --chdir="$ROTA_TEST_DIR/$VIC" "$@" "$ROTA_TEST_DIR/begin.sh"
}

# copied JOB NUMBER: SQL that submits the victim's held job once more, with its authenticator, as job NUMBER.
copied() {
	cat <<-END
		select api.job_submit(j.uid, j.gid, j.user_name,
			jsonb_build_object('job', jsonb_build_object('job_id', $2, 'name', 'copy', 'script_name', 'copy', 'workdir', '/tmp', 'groups', '[]'::jsonb),
				'steps', jsonb_build_array((s - '{job_id,request_id,uid,gid,user,script_hash,environment_hash,hold}'::text[]) || '{"hold": false}'),
				'edges', '[]'::jsonb),
			j.script, j.environment)
		from (select u.* from (values ($(id -u "$VIC"), $(id -g "$VIC"), '$VIC')) v (uid, gid, user_name)
			cross join lateral (select v.*, convert_to(x ->> 'script', 'UTF8') as script,
				(select string_agg(convert_to(e #>> '{}', 'UTF8') || '\\x00'::bytea, '') from jsonb_array_elements(x -> 'environment') e) as environment
				from api.job_script(v.uid, v.user_name, '{"jobs": ["$1"]}') x) u) j,
			jsonb_array_elements(api.job_spec($(id -u "$VIC"), '$VIC', '{"jobs": ["$1"]}') -> 'steps') s
	END
}

@test "the API's password: no second run of what a user submitted" {
	job=$(submitted --hold)
	number=$(thief rota_jobmgr "select api.job_number(1) -> 0")
	echo "# rota_jobmgr reaches for: job $job once more, as job $number, with the authenticator of its step"
	[ "$(thief rota_jobmgr "select s ->> 'auth' from jsonb_array_elements(api.job_spec($(id -u "$VIC"), '$VIC', '{\"jobs\": [\"$job\"]}') -> 'steps') s" | wc -c)" = 65 ]
	thief rota_jobmgr "$(copied "$job" "$number")"
	rota wait --quiet "$number" || true
	[ "$(superuser "select state from rota.job where job_id = $number")" = failed ]
	# Only the number differs from what the victim submitted.
	[ "$(superuser "select count(distinct (j.script_hash, j.environment_hash, r.spec, r.auth)) from rota.job j
		join rota.step_request r using (job_id) where j.job_id in ($job, $number)")" = 1 ]
	echo "# rota_jobmgr reaches for: the number of job $job a second time"
	[[ $(thief rota_jobmgr "$(copied "$job" "$job")") == *"ERROR:  duplicate key value"* ]]
	echo "# rota_jobmgr reaches for: a number that nobody reserved, and for one of long ago"
	[[ $(thief rota_jobmgr "$(copied "$job" 900000)") == *"ERROR:  job number 900000 was not reserved"* ]]
	[[ $(thief rota_jobmgr "$(copied "$job" 0)") == *"ERROR:  job number 0 was not reserved"* ]]
	[ ! -e "$BEGUN" ]
	# The legitimate use: the owner releases the job, and it runs once.
	as "$VIC" rota release "$job"
	rota wait --quiet "$job"
	[ "$(cat "$BEGUN")" = "$job" ]
}

@test "the API's password: no step of a job gets what another job runs" {
	job=$(submitted --hold)
	other=$(submitted --hold --comment=other --time=5)
	echo "# rota_jobmgr reaches for: the options of job $other, with their authenticator, for job $job"
	thief rota_jobmgr "select api.job_modify(0, 'root', jsonb_build_object('jobs', jsonb_build_array('$job'), 'steps', jsonb_build_array(jsonb_build_object(
			'job_id', $job, 'request_id', 0, 'changed', '{}'::jsonb, 'spec', s -> 'spec', 'auth', s -> 'auth'))))
		from jsonb_array_elements(api.job_spec(0, 'root', '{\"jobs\": [\"$other\"]}') -> 'steps') s"
	as "$VIC" rota release "$job" "$other"
	rota wait --quiet "$job" || true
	rota wait --quiet "$other"
	[ "$(superuser "select state from rota.job where job_id = $job")" = failed ]
	run ! grep -qx "$job" "$BEGUN"
	grep -qx "$other" "$BEGUN"
}

@test "the API's password: it neither schedules nor changes the cluster" {
	denied rota_jobmgr "select api.schedule_queue(10)" "select api.schedule_launch('{1}', '{0}')" "select api.schedule_commit(1, '[]', '[]', true)" \
		"select api.admin_change(0, 'root', '{\"object\": \"user\", \"action\": \"create\", \"name\": \"$VIC\", \"values\": {\"role\": \"admin\"}}')" \
		"select api.range_detach(0, 'root', '{\"from\": \"0\"}')" "select api.range_drop(0, 'root', '{\"from\": \"0\"}')" \
		"select api.usage_rebuild(0, 'root', '{}')" "select api.session_judge(0)" "select api.node_orders('{1}', '{}', 0)"
	rota admin user create "$VIC" --role=operator
	rota admin user delete "$VIC"
}

@test "the leader's password: it neither submits, nor reads scripts, nor changes the cluster" {
	denied rota_jobmgr_leader "select api.job_submit(0, 0, 'root', '{}', '', '')" "select api.job_script(0, 'root', '{\"jobs\": [\"1\"]}')" \
		"select api.job_spec(0, 'root', '{\"jobs\": [\"1\"]}')" "select api.job_cancel(0, 'root', '{\"jobs\": [\"1\"]}')" \
		"select api.admin_change(0, 'root', '{}')" "select api.range_drop(0, 'root', '{}')" "select api.node_blob('{}')"
	job=$(submitted)
	rota wait --quiet "$job"
}

@test "administration's password: it neither submits, nor reads scripts, nor schedules" {
	denied rota_jobmgr_admin "select api.job_submit(0, 0, 'root', '{}', '', '')" "select api.job_script(0, 'root', '{\"jobs\": [\"1\"]}')" \
		"select api.job_spec(0, 'root', '{\"jobs\": [\"1\"]}')" "select api.job_cancel(0, 'root', '{\"jobs\": [\"1\"]}')" \
		"select api.schedule_launch('{1}', '{0}')" "select api.schedule_commit(1, '[]', '[]', true)" "select api.node_blob('{}')" \
		"select api.leader_claim('schedule', 5, false, false)"
	rota admin partition create spare --nodes=n1
	rota admin partition delete spare
	audit
}
