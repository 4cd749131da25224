#!/usr/bin/env bats
# Usage figures of a real instance: they are right while jobs run and when they end, whatever dies meanwhile, and each reader sees own rows.

load helper

setup_file() {
	instance_up 2 --cpus 4 --mem 4000 --set node.grace=1 --set nodemgr.period=1
	rota admin account create lab
	rota admin account create bench --parent=lab
	if [ "$EUID" = 0 ]; then
		export LEA=ulea$$ TOM=utom$$
		useradd --no-create-home --home-dir "/tmp/$LEA" --shell /bin/bash "$LEA"
		useradd --no-create-home --home-dir "/tmp/$TOM" --shell /bin/bash "$TOM"
		rota admin user create "$LEA" --reader=true
		rota admin user create "$TOM" --reader=true
	fi
}

teardown_file() {
	local status=0 user
	instance_down || status=1
	for user in ${LEA:-} ${TOM:-}; do
		userdel "$user" || status=1
	done
	return "$status"
}

# submit SCRIPT [OPTION]...
submit() {
	local text=$1
	shift
	printf '%s\n' "$text" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null "$@" job.sh
}

added_up() {
	[ "$(superuser 'select (select count(*) from rota.usage_pending) + (select count(*) from rota.usage_state where rebuild_at is not null)')" = 0 ]
}

right() {
	[ "$(superuser "select count(*) from acct.usage_audit('2000-01-01', '2100-01-01')")" = 0 ]
}

@test "running steps count up to now; ended ones are counted once" {
	job=$(submit '#!/bin/bash
until [ -e '"$BATS_TEST_TMPDIR"'/go ]; do sleep 0.3; done' --account=bench --ntasks=2)
	eventually eval '[ "$(rota sql -Atc "select state from acct.step where job_id = $job")" = running ]'
	now=$(rota sql -Atc "select sum(cpu_s) from acct.usage_month where account = 'bench'")
	eventually eval '[ "$(rota sql -Atc "select sum(cpu_s) > $now + 0.2 from acct.usage_month where account = '\''bench'\''")" = t ]'
	touch "$BATS_TEST_TMPDIR/go"
	rota wait "$job"
	[ "$(rota sql -Atc "select steps_ended || ' ' || steps_completed from acct.usage_month where account = 'bench'")" = "1 1" ]
	eventually added_up
	right
	[ "$(rota sql -Atc "select sum(cpu_s) = (select sum(cpu_held_s)::numeric(20, 3) from acct.allocation where account = 'bench') from (select sum(cpu_s)::numeric(20, 3) as cpu_s from acct.usage_hour where account = 'bench') x")" = t ]
}

@test "killed node managers and a killed database neither lose nor double anything" {
	job=$(submit '#!/bin/bash
#ROTA step a --array=0-199
true')
	for _ in 1 2 3; do
		sleep 1
		daemon_again nodemgrd
	done
	server=$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")
	kill -QUIT "$server"
	eventually bash -c "! kill -0 $server 2>/dev/null"
	rota up >/dev/null
	rota wait "$job"
	eventually added_up
	right
	[ "$(rota sql -Atc "select sum(steps_ended) from acct.usage_month where account is null")" = 200 ]
}

@test "a rebuild by the days of another time zone" {
	rota admin setting change time_zone --value=Asia/Tokyo
	refused "there is no time zone" rota admin setting change time_zone --value=Middle/Earth
	before=$(rota sql -Atc "select sum(cpu_s), sum(steps_ended) from acct.usage_hour")
	run -0 rota admin usage rebuild
	[[ $output == *Asia/Tokyo* ]]
	eventually added_up
	right
	[ "$(rota sql -Atc "select sum(cpu_s), sum(steps_ended) from acct.usage_hour")" = "$before" ]
	[ "$(rota sql -Atc "select max(day) = (now() at time zone 'Asia/Tokyo')::date from acct.usage_day")" = t ]
	refused 'there is no action "delete"; name rebuild' rota admin usage delete
}

@test "the past: the queue, the nodes and the use of a moment" {
	job=$(submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/go ]; do sleep 0.3; done" --ntasks=3)
	eventually eval '[ "$(rota sql -Atc "select state from acct.step where job_id = $job")" = running ]'
	at=$(rota sql -Atc 'select now()')
	sleep 0.2
	touch "$BATS_TEST_TMPDIR/go"
	rota wait "$job"
	[ "$(rota sql -Atc "select step_id, state, cpus from acct.queue_at('$at') where job_id = $job")" = "0|running|3" ]
	[ "$(rota sql -Atc "select sum(cpus_held), sum(cpus) from acct.nodes_at('$at')")" = "3|8" ]
	[ "$(rota sql -Atc "select count(*) from acct.queue_at(now())")" = 0 ]
	[ "$(rota sql -Atc "select round(sum(cpu_s), 3) from acct.usage_between('$at', '$at'::timestamptz + interval '100 milliseconds')")" = 0.300 ]
}

@test "a reader sees own rows, a coordinator those of the account and all accounts below it" {
	need_root
	cd /tmp
	own=$(printf '#!/bin/bash\ntrue\n' | as "$TOM" rota submit --parsable --output=/dev/null --account=bench -)
	rota wait "$own"
	[ "$(as "$TOM" rota sql -Atc 'select distinct user_name from acct.job')" = "$TOM" ]
	for view in step attempt task allocation event usage_hour usage_day usage_month; do
		[ "$(as "$TOM" rota sql -Atc "select distinct user_name from acct.$view")" = "$TOM" ]
		[ -z "$(as "$LEA" rota sql -Atc "select distinct user_name from acct.$view")" ]
	done
	[ "$(as "$TOM" rota sql -Atc "select count(*) from acct.usage_between(now() - interval '1 day', now())")" = 1 ]
	[ "$(as "$LEA" rota sql -Atc "select count(*) from acct.usage_between(now() - interval '1 day', now())")" = 0 ]
	refused "permission denied" as "$TOM" rota sql -Atc "select * from acct.usage_audit('2020-01-01', '2030-01-01')"
	refused "permission denied" as "$TOM" rota sql -Atc 'select * from rota.job'
	refused "read-only transaction" as "$TOM" rota sql -Atc 'create table x ()'
	rota admin account change lab --coordinators="$LEA"
	[ "$(as "$LEA" rota sql -Atc 'select distinct account from acct.job')" = bench ]
	[ "$(as "$LEA" rota sql -Atc 'select accounts from acct.me')" = "{bench,lab}" ]
	rota admin account change lab --coordinators=
	[ -z "$(as "$LEA" rota sql -Atc 'select account from acct.job')" ]
	rota admin user change "$LEA" --analyst=true
	[ "$(as "$LEA" rota sql -Atc 'select count(distinct user_name) from acct.job')" = 2 ]
	rota admin user change "$LEA" --analyst=false --reader=false
	refused "" as "$LEA" rota sql -Atc 'select 1'
}
