#!/usr/bin/env bats
# How analysts' questions are answered: by which indexes, in which ranges of jobs, and what is not read. plans/NAME.plan has the
# shape of each plan (plan_shape) on an example history of twelve ranges, all of whose rows were looked at for the statistics, so it is the
# same everywhere. A plan that has changed and is good: ROTA_PLANS=new bats plans.bats writes them down, to be read before they are committed.

load helper

setup_file() {
	instance_up 1 --cpus 1 --mem 500
	narrow_ranges 1000
	"$ROTA_BUILD/tests/bench/history" "host=$ROTA_HOME/run dbname=rota user=postgres" --jobs=12000 --days=400 --users=40 --accounts=12 --nodes=4 --cpus=16 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -qf "$ROTA_SOURCE/tests/bench/history/rollup.sql"
	superuser "insert into rota.substep (job_id, step_id, attempt, substep, runs, state, ended_at)
		select job_id, step_id, attempt, nr, 1, 'completed', ended_at from rota.attempt, generate_series(1, 3) nr where ended_at is not null;
		insert into rota.substep_total (job_id, step_id, attempt, ended)
		select job_id, step_id, attempt, 3 from rota.attempt where ended_at is not null"
	PGOPTIONS="-c default_statistics_target=1000" superuser "vacuum (freeze, analyze)"
}

teardown_file() {
	instance_down
}

# narrow_ranges SIZE: small ranges for the big tables of an instance without jobs; only this test analyses tables from now on.
narrow_ranges() {
	superuser "alter system set autovacuum = off" && superuser "select pg_reload_conf()" >/dev/null
	superuser "do \$\$
		declare
			v_part record;
		begin
			update rota.setting set value = '$1' where name = 'range_size';
			for v_part in
				select i.inhparent::regclass as whole, i.inhrelid::regclass as part from internal.range_tables() with ordinality x (name, nr) join pg_inherits i on i.inhparent = ('rota.' || x.name)::regclass order by x.nr
			loop
				execute format('alter table %s detach partition %s', v_part.whole, v_part.part);
				execute format('drop table %s', v_part.part);
			end loop;
			set local role rota_owner;
			perform rota.range_make(0, $1);
			-- None but those that the history fills: how many are kept ahead is nothing to plans.
			create or replace function api.range_ensure() returns int language sql set search_path = pg_catalog, pg_temp return 0;
		end \$\$"
}

# analyst STATEMENT...: psql as an analyst, with fixed memory and costs, so that plans are the same on every machine.
analyst() {
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -v VERBOSITY=terse -Atq <<END
set role rota_analyst;
set time zone 'UTC';
set random_page_cost = 1.1;
set effective_cache_size = '4GB';
set work_mem = '16MB';
set max_parallel_workers_per_gather = 0;
set jit = off;
$(printf '%s;\n' "$@")
END
}

# shape_is NAME: the plans that were written to plan.json are plans/NAME.plan.
shape_is() {
	jq -c 'if type == "array" then . else [.] end' "$BATS_TEST_TMPDIR/plan.json" | while read -r plan; do
		"$BATS_TEST_DIRNAME/plan_shape" <<<"$plan" || return 1
	done >"$BATS_TEST_TMPDIR/plan"
	[ -z "${ROTA_PLANS:-}" ] || cp "$BATS_TEST_TMPDIR/plan" "$BATS_TEST_DIRNAME/plans/$1.plan"
	diff -u "$BATS_TEST_DIRNAME/plans/$1.plan" "$BATS_TEST_TMPDIR/plan"
}

# plan_is NAME QUERY [SETTING...]: the plan of an analyst's query is plans/NAME.plan.
plan_is() {
	analyst "${@:3}" "explain (costs off, format json) $2" >"$BATS_TEST_TMPDIR/plan.json"
	shape_is "$1"
}

# plans_within NAME QUERY [SETTING...]: the plans of the queries in the functions that it calls are plans/NAME.plan, in the order in which they end.
plans_within() {
	PGOPTIONS="-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 -c auto_explain.log_nested_statements=on -c auto_explain.log_format=json -c client_min_messages=log" \
		analyst "${@:3}" "$2" 2>"$BATS_TEST_TMPDIR/log" >/dev/null
	sed '/^LOG:/d' "$BATS_TEST_TMPDIR/log" >"$BATS_TEST_TMPDIR/plan.json"
	shape_is "$1"
}

# value QUERY: prints the query's result, as the plan has to name it.
value() {
	superuser "set time zone 'UTC'; $1"
}

@test "one job, its steps, its events, its tasks and its allocations are found by key, in one range" {
	for view in job step event task allocation attempt substep; do
		plan_is "$view" "select * from acct.$view where job_id = 6500"
	done
}

@test "a user's last day goes by the user's jobs or by times, never through a range as a whole" {
	plan_is user_day "select * from acct.job where user_name = 'u001' and ended_at >= '$(value "select date_trunc('day', max(submit_at)) from rota.job where user_name = 'u001'")' order by job_id"
}

@test "sums by month and day read the figures that are added up, and the rest by key" {
	month=$(value "select (max(month) - interval '1 month')::date from rota.usage_month where steps_ended > 0")
	plan_is account_month "select day, sum(cpu_s) from acct.usage_day where account = 'physics' and day >= '$month' and day < ('$month'::date + interval '1 month')::date group by day order by day"
	plan_is site_month "select account, sum(cpu_s), sum(steps_ended) from acct.usage_month where month = '$month' group by account"
	plan_is all_months "select month, account, sum(cpu_s), sum(steps_ended) from acct.usage_month group by month, account"
	run ! grep -E 'Seq Scan on .*[[][0-9]{1,4}\b' "$BATS_TEST_DIRNAME"/plans/{account_month,site_month,all_months}.plan
}

@test "a report of an hour ago and the export of a range read only their rows" {
	plan_is hour "select user_name, sum(cpu_s) from acct.usage_hour where hour >= '2026-01-01 10:00Z' and hour < '2026-01-01 12:00Z' group by user_name"
	plan_is export_job "select * from acct.job where job_id >= 3000 and job_id < 4000"
}

@test "the queue of a moment is that of the jobs that were there, which are found by times, and goes on by key" {
	# Each range of this history has only a few pages.
	plans_within queue_at "select * from acct.queue_at('2026-01-01 12:00Z')" "set enable_seqscan = off"
}

@test "whether a transfer has been made before is asked of the latest one, at the end of an index" {
	superuser "insert into rota.transfer (job_id, transfer, direction, mode, on_fail, source, destination, checksum, reuse, prefer)
		select job_id, 1, 'in', 'copy', 'keep', '/archive', '/pool/x', false, true, false from rota.job;
		insert into rota.transfer_run (job_id, transfer, place, state, by_job, step_id, attempt, node, print, began_at, ended_at, target)
		select job_id, 1, '', 'done', job_id, 0, 1, 'n1', 'p', submit_at, submit_at, internal.transfer_target(7, '', '/pool/x')
		from rota.job;
		analyze rota.transfer, rota.transfer_run"
	[ "$(superuser "select count(*) from rota.transfer_run")" -gt 10000 ]
	plans_within transfer_known "select internal.transfer_known(7, t, '', 'p') from rota.transfer t where job_id = 2500" "reset role"
}

@test "with the settings of docs/querying.md, a whole view is joined range by range and by the step" {
	plan_is export_event "select * from acct.event where job_id < 2000" "set enable_partitionwise_join = on" "set enable_mergejoin = off" "set enable_nestloop = off"
}
