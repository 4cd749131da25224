#!/usr/bin/env bats
# Limits and fair share, with two ordinary users of this machine and an operator.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	local role user
	for role in ALICE BOB OLGA; do
		user=r${role,,}$$
		useradd --no-create-home --home-dir "/tmp/$user" --shell /bin/bash "$user"
		export "$role=$user"
	done
	instance_up 1 --cpus 4 --mem 4000 --set node.grace=1
	rota admin user create "$OLGA" --role=operator
	rota admin account create uni
	rota admin account create physics --parent=uni --users="$ALICE,$BOB" --shares=3
	rota admin account create arts --parent=uni --users="$BOB"
	cat >"$ROTA_TEST_DIR/sleep.sh" <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null --time=5
		sleep 250
	END
	cat >"$ROTA_TEST_DIR/short.sh" <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null --time=5
		sleep 0.1
	END
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0 user
	instance_down || status=1
	for user in "$ALICE" "$BOB" "$OLGA"; do
		userdel "$user" || status=1
	done
	return "$status"
}

setup() {
	need_root
}

teardown() {
	local jobs key
	[ "$EUID" = 0 ] || return 0
	jobs=$(rota queue --json | jq -r '.jobs[].job_id')
	[ -z "$jobs" ] || rota cancel $jobs >/dev/null
	eventually is_idle
	for key in running cpus submitted cpu_minutes; do
		rota admin account change physics --max_$key=none >/dev/null
		rota admin account change uni --max_$key=none >/dev/null
	done
	rota admin account change physics --max_running_per_user=none >/dev/null
	rota admin setting change fair_share_weight_s --value=0 >/dev/null
}

# submit USER [OPTION]... SCRIPT: the job's id.
submit() {
	local user=$1
	shift
	as "$user" rota submit --parsable "$@"
}

state() {
	rota queue --json "$1" | jq -r '.jobs[0].state'
}

why_has() {
	run -0 rota why "$1"
	[[ $output == *"$2"* ]]
}

runs() {
	[ "$(state "$1")" = running ]
}

@test "a limit of an account keeps its users' steps waiting, why names it, and a higher one starts them at once" {
	rota admin account change uni --max_cpus=2
	one=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/sleep.sh")
	two=$(submit "$BOB" --account=arts "$ROTA_TEST_DIR/sleep.sh")
	eventually runs "$one"
	eventually runs "$two"
	three=$(submit "$BOB" --account=physics "$ROTA_TEST_DIR/sleep.sh")
	free=$(submit "$BOB" "$ROTA_TEST_DIR/sleep.sh")
	eventually runs "$free"
	[ "$(state "$three")" = pending ]
	eventually why_has "$three" 'limit: '
	run -0 as "$BOB" rota why "$three"
	[[ $output == *'limit: 2 of at most 2 CPUs held on account "uni"'* ]]
	is_limited() { [[ $(rota queue "$three") == *limit* ]]; }
	eventually is_limited # in the plan of the leader, while why looks at the limits themselves
	rota admin account change uni --max_cpus=3
	eventually runs "$three"
}

@test "a limit for each user holds for each by himself" {
	rota admin account change physics --max_running_per_user=1
	one=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/sleep.sh")
	two=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/sleep.sh")
	three=$(submit "$BOB" --account=physics "$ROTA_TEST_DIR/sleep.sh")
	eventually runs "$one"
	eventually runs "$three"
	[ "$(state "$two")" = pending ]
	eventually why_has "$two" "1 of at most 1 step of \"$ALICE\" running on account \"physics\""
	rota cancel "$one"
	eventually runs "$two"
}

@test "a step above a limit by itself is refused with its line and option" {
	rota admin account change physics --max_cpus=2 --max_cpu_minutes=100/month
	printf '#!/bin/bash\n#ROTA --time=10\n#ROTA step wide --ntasks=3\ntrue\n' >"$ROTA_TEST_DIR/wide.sh"
	refused 'wide.sh:3: --ntasks: 3 CPUs asked for, at most 2 may be held at once on account "physics"' submit "$ALICE" --account=physics "$ROTA_TEST_DIR/wide.sh"
	refused '--time: it may come to 120 CPU-minutes, at most 100 may be used on account "physics" this month' submit "$ALICE" --account=physics --time=2:00:00 "$ROTA_TEST_DIR/short.sh"
	rota admin account change physics --max_submitted=1
	submit "$ALICE" --account=physics --hold "$ROTA_TEST_DIR/short.sh"
	refused '1 of at most 1 live step on account "physics"' submit "$BOB" --account=physics "$ROTA_TEST_DIR/short.sh"
}

@test "fair share: of two accounts, the steps of the one that has used less go first" {
	# Bob's account has used an hour, and his steps were submitted first.
	superuser "insert into rota.usage_day (day, account, user_name, partition, qos, cpu_s) select (now() at time zone z.time_zone)::date, 'arts', '$BOB', 'main', 'normal', 3600 from rota.usage_state z on conflict (day, account, user_name, partition, qos) do update set cpu_s = 3600"
	rota admin setting change fair_share_weight_s --value=3600
	full=$(submit "$OLGA" --exclusive "$ROTA_TEST_DIR/sleep.sh")
	eventually runs "$full"
	later=$(submit "$BOB" --account=arts --exclusive "$ROTA_TEST_DIR/short.sh")
	first=$(submit "$ALICE" --account=physics --exclusive "$ROTA_TEST_DIR/short.sh")
	rota cancel "$full"
	rota wait "$first" "$later"
	run -0 superuser "select string_agg(job_id::text, ' ' order by started_at) from rota.job where job_id in ($first, $later)"
	[ "$output" = "$first $later" ]
	run -0 rota shares
	[[ $output == *FACTOR* && $output == *physics*"$ALICE"* ]]
	# Somebody who is in two accounts has a line in each, which names it.
	rota admin association create "uni/$BOB"
	run -0 rota shares
	[ "$(awk -v who="$BOB" '$2 == who { print $1 }' <<<"$output" | xargs)" = "uni arts physics" ]
	rota admin account change uni --users=none
}

@test "shares and limits: users see their own, operators see all" {
	rota admin account change physics --max_running_per_user=5 --max_cpu_minutes=1000/month,100/day
	rota admin setting change queue_visible --value=false
	as "$ALICE" rota shares --json | jq -e --arg me "$ALICE" '[.shares[].user | select(. != null)] == [$me]' >/dev/null
	rota admin setting change queue_visible --value=true
	as "$ALICE" rota shares --limits --json | jq -e '[.limits[].measure] | sort == ["cpu_minutes", "cpu_minutes", "running"]' >/dev/null
	run -0 as "$OLGA" rota shares --limits --all
	[[ $output == *"account physics, each user"* && $output == *cpu_minutes/month* ]]
	rota admin account change arts --max_time=7-0
	run -0 rota shares --limits --all
	[[ $output =~ account\ arts\ +time\ +7-00:00:00 ]]
	rota admin account change arts --max_time=none
	refused "may not do this to the cluster" as "$ALICE" rota admin account show physics
	run -0 as "$OLGA" rota admin account show physics
	[[ $output == *'max_cpu_minutes'*'"month": 1000'* ]]
	run -0 rota admin association change "arts/$BOB" --max_running=2 --shares=7
	rota admin association show "arts/$BOB" --json | jq -e '.row.shares == 7 and .row.max_running == 2' >/dev/null
	refused 'Write it like physics/alice' rota admin association create nobody
}

@test "a grant: within it steps run, beyond it they wait or are refused, with their cost known before and billed after" {
	local today
	today=$(superuser "select (now() at time zone time_zone)::date from rota.usage_state")
	rota admin partition change main --billing=cpu:60,mem:0
	rota admin price create tariff --from="${today:0:7}" --per_unit=0.5
	rota admin grant create spring --account=physics --units=8 --first_day="$today" --last_day="$today"
	run -0 as "$ALICE" rota check --cost --account=physics "$ROTA_TEST_DIR/short.sh"
	[[ $output == *'at most 5.00 billing units, 2.50 EUR of account physics'* ]]
	as "$ALICE" rota check --cost --json --account=physics "$ROTA_TEST_DIR/short.sh" | jq -e '.units == 5 and .amount == 2.5 and .steps[0].cpus == 1' >/dev/null
	refused '--time: it may come to 10 billing units, at most 8 may be used on account "physics" by its grant "spring"' submit "$ALICE" --account=physics --time=10 "$ROTA_TEST_DIR/short.sh"
	one=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/sleep.sh")
	two=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/short.sh")
	eventually runs "$one"
	eventually why_has "$two" 'billing units used or promised on account "physics" by its grant "spring"'
	[ "$(state "$two")" = pending ]
	# Units that a grant had reserved for running steps and that were not used are free again.
	rota cancel "$one"
	rota wait "$two"
	run -0 as "$ALICE" rota shares --grants
	[[ $output =~ spring\ +physics\ .*\ active ]]
	run -0 as "$ALICE" rota report invoice --account=uni
	[[ $output == "Invoice of account uni for ${today:0:7}: "*' EUR'* && $output == *physics* ]]
	[ "$(rota report invoice --account=uni --only --json | jq '.rows | length')" = 0 ]
	rota report invoice --account=uni --json | jq -e '.rows[] | select(.account == "physics") | .units > 0 and (.amount - .units * 0.5 | fabs < 1e-9)' >/dev/null
	superuser "insert into rota.usage_day (day, account, user_name, partition, qos, cpu_s) values ('$today', 'physics', '$ALICE', 'other', 'normal', 480 * 60)"
	refused '--account: the 8 billing units of grant "spring" of account "physics" are used' submit "$ALICE" --account=physics "$ROTA_TEST_DIR/short.sh"
	rota admin grant change spring --at_end=low_priority
	three=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/short.sh")
	rota wait "$three"
	refused 'account "physics" has grant "spring" from' rota admin grant create second --account=physics --units=1 --first_day="$today" --last_day="$today"
	refused 'may not do this to the cluster' as "$ALICE" rota admin grant change spring --units=1000000
	refused 'may not do this to the cluster' as "$OLGA" rota admin price change tariff --per_unit=0
	rota admin grant delete spring
}

@test "accounting of an account has those below it, unless only that account is asked for" {
	job=$(submit "$ALICE" --account=physics "$ROTA_TEST_DIR/short.sh")
	rota wait "$job"
	run -0 rota acct --account=uni --json
	[[ $output == *"\"job_id\": $job"* || $output == *"\"job_id\":$job"* ]]
	run rota acct --account=uni --only --json
	[[ $output != *"\"job_id\": $job"* && $output != *"\"job_id\":$job"* ]]
	[ "$(rota report usage --account=uni --since=today --json | jq '.rows | length')" -gt "$(rota report usage --account=uni --only --since=today --json | jq '.rows | length')" ]
}
