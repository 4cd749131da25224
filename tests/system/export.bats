#!/usr/bin/env bats
# `rota admin export` and `rota admin range`: all rows of a job leave the database, or none.

load helper

setup_file() {
	instance_up 1 --cpus 1 --mem 500
	"$ROTA_BUILD/tests/bench/history" "host=$ROTA_HOME/run dbname=rota user=postgres" --jobs=2000 --days=60 --nodes=4 --cpus=16 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# whole FOLDER: the files are those of the manifest, with the rows, columns and hashes that it lists.
whole() {
	jq -r '.files[] | "\(.sha256)  \(.file)"' "$1/manifest.json" | (cd "$1" && sha256sum --quiet -c -)
	jq -r '.files[] | "\(.file) \(.rows) \(.columns | join(","))"' "$1/manifest.json" | while read -r file rows columns; do
		[ "$(zcat "$1/$file" | head -1)" = "$columns" ] || { echo "$file: columns"; false; }
		[ "$(zcat "$1/$file" | python3 -c 'import csv, sys; print(sum(1 for _ in csv.reader(sys.stdin)) - 1)')" = "$rows" ] || { echo "$file: rows"; false; }
	done
}

@test "a month's export has the jobs that ended in it, with all their rows" {
	run -0 rota admin export 2026-10 --to=out
	whole out/2026-10
	ended="j.ended_at >= '2026-10-01 UTC' and j.ended_at < '2026-11-01 UTC'"
	for table in job step attempt allocation task_end event; do
		[ "$(jq ".files[] | select(.file == \"$table.csv.gz\").rows" out/2026-10/manifest.json)" = "$(superuser "select count(*) from rota.$table t join rota.job j on j.job_id = t.job_id where $ended")" ]
	done
	! jq -r '.files[].columns[]' out/2026-10/manifest.json | grep -qE '^(script_hash|environment_hash|spec|auth)$'
}

@test "an export is not written over, and a month that is not one is refused" {
	run -0 rota admin export 2026-09 --to=out
	refused "could not make the folder" rota admin export 2026-09 --to=out
	refused "is not a month" rota admin export 2026-13 --to=out
	refused "is not over" rota admin export 2999-01 --to=out
	refused "name the folder" rota admin export 2026-09
}

@test "an export can be loaded again" {
	rota admin export 2026-10 --to=out
	columns=$(jq -r '.files[] | select(.file == "event.csv.gz").columns | join(",")' out/2026-10/manifest.json)
	superuser "create table public.again (like rota.event)"
	superuser "alter table public.again alter xid drop not null"
	zcat out/2026-10/event.csv.gz | psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -qc "copy public.again ($columns) from stdin (format csv, header)"
	[ "$(superuser "select count(*) from public.again a join rota.event e using (job_id, event_id, step_id, attempt, at, from_state, event, to_state, actor)")" = "$(superuser "select count(*) from public.again")" ]
	superuser "drop table public.again"
}

@test "a range with ids to come, live steps, or jobs that others wait for is not dropped" {
	printf '#!/bin/sh\nsleep 600\n' >long.sh
	refused "ids of jobs to come are in it" rota admin range drop 0 --to=out
	# Advance the job number, as if two ranges had been filled.
	running=$(rota submit --parsable long.sh)
	superuser "select setval('rota.job_job_id_seq', 1000000), api.range_ensure()" >/dev/null
	refused "job $running has not ended" rota admin range drop 0 --to=out
	waiting=$(rota submit --parsable --after="$running:any" --hold long.sh)
	[ "$waiting" = 1000001 ]
	rota cancel -q "$running"
	run rota wait -q --timeout=300 "$running"
	superuser "update rota.step_edge set state = 'waiting' where job_id = $waiting"
	eventually settled
	refused "job $waiting waits for job $running" rota admin range drop 0 --to=out
	superuser "update rota.step_edge set state = 'met' where job_id = $waiting"
	[ ! -e out ]
	rota cancel -q "$waiting"
}

# settled: whether nothing is left on the node, and all usage is added up.
settled() {
	is_idle && [ "$(superuser "select count(*) from rota.usage_pending")" = 0 ]
}

# attached: whether the first range is among the tables.
attached() {
	[ "$(rota admin range list --json | jq '.ranges[0] | .from_job == 0 and .attached')" = true ]
}

@test "a range that cannot be exported is not detached" {
	eventually settled
	refused 'could not make the folder "/no/such/dir/range-0": No such file' rota admin range drop 0 --to=/no/such/dir
	attached
	mkdir -p there/range-0
	refused "File exists" rota admin range drop 0 --to=there
	attached
	[ -d there/range-0 ]
	need_root
	rota admin user create nobody --role=admin
	mkdir -m 0777 "$ROTA_TEST_DIR/open"
	refused "Only root and the account of the instance" as nobody rota admin range drop 0 --to="$ROTA_TEST_DIR/open"
	attached
	[ -z "$(ls "$ROTA_TEST_DIR/open")" ]
	rota admin user delete nobody
}

@test "a range that has ended is exported and dropped, and the rest goes on" {
	eventually settled
	jobs=$(superuser "select count(*) from rota.job where job_id < 1000000")
	used=$(superuser "select sum(cpu_s) from rota.usage_month")
	run -0 rota admin range list
	[[ $output == *1000000* ]]
	refused "no range begins with job 5" rota admin range drop 5 --to=out
	[ ! -e out ]
	# A copy that fails on a full disk is removed, and a repeated command succeeds.
	attached
	(
		trap '' XFSZ
		ulimit -f 1
		refused "File too large" rota admin range drop 0 --to=out
	)
	run ! attached
	[ ! -e out ]
	run rota admin range drop 0 --to=out
	[ "$status" = 0 ] || { echo "$output"; false; }
	whole out/range-0
	[ "$(jq '.files[] | select(.file == "job.csv.gz").rows' out/range-0/manifest.json)" = "$jobs" ]
	[ "$(superuser "select count(*) from rota.job where job_id < 1000000")" = 0 ]
	[ -z "$(superuser "select relname from pg_class where relnamespace = 'rota'::regnamespace and relname ~ '_0$' and relkind = 'r'")" ]
	[ "$(superuser "select sum(cpu_s) from rota.usage_month")" = "$used" ]
	[ "$(superuser "select string_agg(action, ',' order by admin_event_id) from rota.admin_event where object = 'range'")" = detach,drop ]
	printf '#!/bin/sh\ntrue\n' >true.sh
	job=$(rota submit --parsable true.sh)
	run -0 rota wait --timeout=300 "$job"
	refused "there is no job 1" rota show 1
	refused "were detached" rota admin usage rebuild
}

@test "a month's export without jobs of a dropped range says so" {
	run -0 --separate-stderr rota admin export 2026-10 --to=out
	[ "$stderr" = "rota: jobs 0 to 999999 have left the database: what ended of them in 2026-10 is not in this export" ]
	whole out/2026-10
	[ "$(jq -c .without out/2026-10/manifest.json)" = '[{"to_job":1000000,"from_job":0}]' ]
	run -0 --separate-stderr rota admin export 2020-01 --to=out
	[ -z "$stderr" ]
	[ "$(jq .without out/2020-01/manifest.json)" = null ]
	[ "$(superuser "select count(*) from acct.usage_audit('2026-01-01', '2100-01-01')")" = 0 ]
}

@test "only administrators" {
	need_root
	refused "only administrators" as nobody rota admin export 2026-10 --to=/tmp/none
	refused "only administrators" as nobody rota admin range drop 1000000 --to=/tmp/none
	[ ! -e /tmp/none ]
}
