#!/usr/bin/env bats
# Resources that running steps use: samples of real processes, their sums, and what users see.

ROTA_TEST_CLIENT=sanitizers
load helper
load terminal

setup_file() {
	# procmgrd's account reads this folder, too.
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.site.XXXXXX")
	export SITE
	chmod 0755 "$SITE"
	printf 'echo gpu0.util=35\necho gpu1.util=80\necho nonsense\n' >"$SITE/figures"
	printf '#!/bin/sh\n. %s/figures\n' "$SITE" >"$SITE/plugin"
	chmod 0755 "$SITE/plugin"
	instance_up 2 --cpus 4 --mem 4000 --set node.grace=1 --set schedule.period=1 --set node.sample_timeout=1 --set node.sample_command="$SITE/plugin"
	rota admin setting change sample_min_s --value=1
	rota admin node change n2 --gres=gpu:2
}

teardown_file() {
	rm -rf "$SITE"
	instance_down
}

submit() {
	local text=$1
	shift
	printf '#!/bin/bash\n%s\n' "$text" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable --sample=1 "$@" job.sh
}

# samples JOB [MORE]: prints the number of the job's samples
samples() {
	sql "select count(*) from acct.sample where job_id = $1 ${2:-}"
}

sampled() {
	[ "$(samples "$1" "${3:-}")" -ge "$2" ]
}

runs() {
	[ "$(sql "select state from rota.step where job_id = $1 and step_id = 0")" = running ]
}

is() {
	local got
	got=$(sql "$1")
	[ "$got" = "$2" ] || { echo "$1: $got"; return 1; }
}

# mean_is_right JOB: the mean is that of its samples, however much CPU time a busy machine gave it.
mean_is_right() {
	is "select abs(t.cpus_mean / (s.used / s.seconds) - 1) < 0.2
		from acct.step_stats t
		cross join (select max(x.cpu_s) - min(x.cpu_s) as used, extract(epoch from max(x.at) - min(x.at)) as seconds
			from acct.sample x where x.job_id = $1 and x.task is null) s
		where t.job_id = $1" t
}

@test "a task that burns CPU is seen to" {
	job=$(submit 'while :; do :; done')
	eventually is "select cpu_s > 0.5 and samples >= 4 from acct.step_stats where job_id = $job" t
	mean_is_right "$job"
	is "select cpus_max > cpus_mean * 0.999 and processes_last = 1 from acct.step_stats where job_id = $job" t
	run -0 rota top --once
	[[ $output == *STEP*CPUS*MEMORY* && $output == *"$job.script"* ]]
	run -0 rota top --json "$job"
	[ "$(jq -r '.steps[0] | [.label, .nodes, .cpus, .processes] | @tsv' <<<"$output")" = "$(printf '%s.script\tn1\t1\t1' "$job")" ]
	run -0 rota top --once --node=n2
	[[ $output != *"$job.script"* ]]
	refused 'there is no node "n9"' rota top --node=n9
	rota cancel "$job"
}

@test "one that grows has a last, a mean and a highest figure, which are there when it has ended" {
	job=$(submit 'exec python3 -c "
import os, time
kept = []
for i in range(5):
	kept.append(bytearray(b\"x\" * 20000000))
	time.sleep(0.6)
while not os.path.exists(\"over\"):
	time.sleep(0.1)
"')
	eventually sampled "$job" 3 'and rss_kb > 60000'
	touch "$BATS_TEST_TMPDIR/over"
	rota wait "$job"
	sql "select samples, rss_kb_max, rss_kb_mean, rss_kb_last from acct.step_stats where job_id = $job"
	is "select rss_kb_max > 60000 and rss_kb_max >= rss_kb_mean and rss_kb_last is not null from acct.step_stats where job_id = $job" t
	is "select max_rss_kb > 90000 from acct.step_stats where job_id = $job" t
	is "select samples >= 3 from acct.task_stats where job_id = $job and task = 0" t
	run -0 rota show --stats "$job"
	[[ $output == *"step $job.script: completed"* && $output == *SAMPLED*LAST*MEAN*MAX* && $output == *memory* ]]
	run -0 rota show --stats --json "$job"
	[ "$(jq '.steps[0] | .rss_kb_max > 60000 and .samples >= 3' <<<"$output")" = true ]
}

@test "each task of a node has its own figures" {
	job=$(submit 'if [ "$ROTA_TASK_ID" = 1 ]; then while :; do :; done; else sleep 600; fi' --ntasks=2 --run=tasks --nodes=1)
	eventually sampled "$job" 3 "and task = 1"
	eventually is "select string_agg(task || ':' || (cpu_s > 0.3), ' ' order by task) from acct.task_stats where job_id = $job" "0:false 1:true"
	rota cancel "$job"
}

@test "a short step costs no sample and has its end" {
	job=$(submit 'true' --sample=60) # on a slow machine, also a short step may run for some seconds
	rota wait "$job"
	[ "$(samples "$job")" = 0 ]
	is "select samples || ' ' || (cpu_s is not null) || ' ' || (rss_kb_mean is null) from acct.step_stats where job_id = $job" "0 true true"
	run -0 rota show --stats "$job"
	[[ $output == *"Samples         none"* ]]
}

@test "a step that wants no samples gets none, and none are taken too often" {
	job=$(submit 'sleep 60' --sample=0)
	other=$(submit 'sleep 60')
	eventually sampled "$other" 3
	[ "$(samples "$job")" = 0 ]
	rota cancel "$job" "$other"
	rota admin setting change sample_min_s --value=5
	refused '--sample: must be 0 or between 5 and 86400 seconds, not 1' submit 'true'
	rota admin setting change sample_min_s --value=1
}

@test "a killed procmgrd samples running steps again when it is back" {
	job=$(submit 'sleep 600')
	eventually sampled "$job" 2
	kill -KILL "$(pid_of procmgrd n1)"
	before=$(samples "$job")
	eventually sampled "$job" $((before + 2))
	is "select count(*) = count(distinct at) from acct.sample where job_id = $job" t
	rota cancel "$job"
}

@test "samples taken while the database is away are reported once" {
	need_root
	job=$(submit 'sleep 600')
	eventually sampled "$job" 2
	superuser "select pg_terminate_backend(pid) from pg_stat_activity where usename like 'rota\\_node\\_%'" >/dev/null
	before=$(samples "$job")
	eventually sampled "$job" $((before + 2))
	is "select t.samples = count(*) from acct.sample s join acct.step_stats t using (job_id, step_id) where s.job_id = $job group by t.samples" t
	rota cancel "$job"
}

@test "figures of devices come from the site's program, for the devices that a step holds" {
	printf 'echo gpu0.util=35\necho gpu1.util=80\necho nonsense\n' >"$SITE/figures"
	job=$(submit 'sleep 600' --gres=gpu:1)
	eventually sampled "$job" 2 "and gauges is not null"
	is "select gauges::text from acct.sample where job_id = $job and gauges is not null limit 1" '{"gpu0.util": 35}'
	printf 'echo '"'"'{"gpu0.util": 45.5, "other": "x"}'"'"'\n' >"$SITE/figures"
	eventually is "select gauges::text from acct.sample where job_id = $job order by at desc limit 1" '{"gpu0.util": 45.5}'
	topped() { [ "$(rota top --json "$job" | jq -c '.steps[0].gauges')" = '{"n2":{"gpu0.util":45.5}}' ]; }
	eventually topped
	rota cancel "$job"
}

@test "a site's program that hangs is killed, and delays no sample" {
	printf 'echo gpu0.util=1\nsleep 1000.%s\n' $$ >"$SITE/figures"
	job=$(submit 'sleep 600' --gres=gpu:1)
	eventually sampled "$job" 4
	is "select count(*) from acct.sample where job_id = $job and gauges is not null" 0
	short=$(submit 'true' --nodelist=n2)
	rota wait "$short"
	rota cancel "$job"
	rota wait "$job" || true
	gone() { ! pgrep -fx "sleep 1000\.$$" >/dev/null; }
	eventually gone
}

@test "rota top gets figures whatever the step's sampling, and only the first counts as a sample" {
	job=$(submit 'while :; do :; done' --sample=3600)
	eventually runs "$job"
	# It waits for figures for a few seconds, and a busy node takes longer.
	topped() { rota top --json "$job" | jq -e '.steps[0] | .sampled and .cpus_used > 0 and .rss_kb > 0'; }
	eventually topped
	# The first look counts as a sample.
	eventually sampled "$job" 1
	[ "$(samples "$job")" = 1 ]
	is "select samples from acct.step_stats where job_id = $job" 1
	none=$(submit 'sleep 600' --sample=0)
	eventually runs "$none"
	run -0 rota top --json "$none"
	jq -e '.steps[0] | (.sampled | not) and .rss_kb == null' <<<"$output"
	rota cancel "$job" "$none"
}

@test "q ends top and watch, and the terminal is as it was, however they end" {
	job=$(submit 'sleep 600')
	eventually runs "$job"
	for verb in "top $job" "watch $job"; do
		for end in q INT TERM HUP; do
			person
			keys "sh -c 'rota $verb; echo status \$?; stty -a'" Enter
			see script
			if [ "$end" = q ]; then
				keys xq
				see 'status 0'
			else
				kill "-$end" "$(in_instance "rota $verb")"
			fi
			see icanon
			[[ $(screen) == *" icanon"* && $(screen) != *"-icanon"* && $(screen) == *" echo "* ]]
			hang_up
		done
	done
	rota cancel "$job"
}

@test "on a terminal top refreshes until it is ended" {
	job=$(submit 'sleep 600')
	eventually sampled "$job" 2
	typescript "stty rows 30 cols 120; rota top --delay=1 $job"
	twice() { [ "$(grep -o "$job.script" "$BATS_TEST_TMPDIR/typescript" | wc -l)" -ge 2 ]; }
	eventually twice
	typescript_end q
	[[ $output == *$'\033[?1049h'* && $output == *$'\033[?1049l'* ]]
	rota cancel "$job"
}

@test "the figures of a step that was retried are those of all its attempts" {
	job=$(submit 'python3 -c "sum(range(10000000))"; exit 1' --retry=1)
	run rota wait "$job"
	run -0 rota show --stats "$job"
	[[ $output == *"Attempts        2, all together; "*"Memory peak     "*"; without pages of files"*"Largest process "*", with pages of files"* ]]
	run -0 rota show --stats --json "$job"
	# In whole microseconds, because a sum of floating point numbers is not always the rounded sum.
	is "select round(s.cpu_used_s * 1e6) = sum(round(a.cpu_used_s * 1e6)) and min(a.cpu_used_s) > 0
		from acct.step s join acct.attempt a using (job_id, step_id) where s.job_id = $job group by s.cpu_used_s" t
	is "select attempts || ' ' || cpu_used_s from acct.step where job_id = $job" "$(jq -r '.steps[0] | "\(.attempts) \(.cpu_s)"' <<<"$output")"
	run -0 rota acct --wide --format=max_rss_kb,peak_mb "$job"
	[[ ${lines[0]} == *"MAX RSS"*PEAK* ]]
}

@test "a step over its memory limit reports the peak and the limit" {
	[ -n "$(sql "select 1 from rota.allocation where peak_mb is not null limit 1")" ] || skip "no control groups"
	job=$(submit 'exec python3 -c "x = bytearray(b\"x\" * 300000000)"' --mem=50)
	run rota wait "$job"
	[ "$status" -ne 0 ]
	is "select state from rota.step where job_id = $job" out_of_memory
	run sql "select message from acct.step where job_id = $job"
	[[ $output == *"limit 50 MiB, peak "*" MiB" ]]
	run -0 rota show --stats "$job"
	[[ $output == *"step $job.script: out_of_memory"*"of 50M"* ]]
}

@test "a step over several nodes: each has its samples, and they are added up" {
	job=$(submit 'sleep 600' --nodes=2 --ntasks=2 --ntasks-per-node=1 --run=tasks)
	eventually is "select count(*) from acct.task_stats where job_id = $job and samples >= 2" 2
	is "select string_agg(task || ':' || node, ' ' order by task) from acct.task_stats where job_id = $job" "0:n1 1:n2"
	is "select nodes_sampled = 2 and rss_kb_max >= rss_kb_last and processes_last >= 2 from acct.step_stats where job_id = $job" t
	run -0 rota top --json "$job"
	[ "$(jq -r '[.steps[].nodes] | sort | join(" ")' <<<"$output")" = "n1 n2" ]
	run -0 rota top --json
	[ "$(jq -r --arg name "$job.script" '.steps[] | select(.label == $name) | .nodes' <<<"$output")" = n1,n2 ]
	rota cancel "$job"
}

@test "while the database is down samples wait, and all are there when it is back" {
	need_root
	# Each sample calls the site's program, so its calls tell how many samples were taken.
	printf 'echo >>%s/called\n' "$SITE" >"$SITE/figures"
	job=$(submit 'sleep 600' --gres=gpu:1)
	eventually sampled "$job" 2
	postmaster=$(head -n 1 "$ROTA_HOME"/pg/*/postmaster.pid)
	kill -INT "$postmaster"
	eventually are_dead "$postmaster"
	install -m 0666 /dev/null "$SITE/called"
	from=$(date +%s.%N)
	has_called() { [ "$(wc -l <"$SITE/called")" -ge 4 ]; }
	eventually has_called
	to=$(date +%s.%N)
	rota up
	eventually sampled "$job" 2 "and at between to_timestamp($from) and to_timestamp($to)"
	is "select samples = (select count(*) from acct.sample where job_id = $job) from acct.step_stats where job_id = $job" t
	rota cancel "$job"
}

@test "without control groups processes are found below their keeper, by a new process manager too" {
	rota down
	rota up --set node.cgroup=off
	job=$(submit 'if [ "$ROTA_TASK_ID" = 1 ]; then (while :; do :; done) & wait; else sleep 600; fi' --ntasks=2 --run=tasks --nodes=1)
	eventually sampled "$job" 2 "and task = 1"
	node=$(sql "select nodes from acct.step where job_id = $job")
	kill -KILL "$(pid_of procmgrd "$node")"
	before=$(samples "$job")
	eventually sampled "$job" $((before + 6))
	mean_is_right "$job"
	eventually is "select concat_ws(' ', processes_last, rss_kb_mean > 0, peak_mb is null) from acct.step_stats where job_id = $job" "4 t t"
	eventually is "select string_agg(task || ':' || processes_last || ':' || (cpu_s > 0.3), ' ' order by task) from acct.task_stats where job_id = $job" "0:2:false 1:2:true"
	rota cancel "$job"
}
