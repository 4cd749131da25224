#!/usr/bin/env bats
# `rota report`: each report in each form, against the same sums in SQL; pages in a browser.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 1 --cpus 1 --mem 500
	"$ROTA_BUILD/tests/bench/history" "host=$ROTA_HOME/run dbname=rota user=postgres" --jobs=3000 --days=60 --nodes=4 --cpus=16 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	superuser "update rota.usage_state set rebuild_at = now()" >/dev/null
	eventually rolled
}

teardown_file() {
	instance_down
}

# rolled: whether all usage is added up.
rolled() {
	[ "$(superuser "select rebuild_left from acct.site")" = 0 ]
}

# page FILE: the page's elements after its scripts have run.
page() {
	command -v chromium >/dev/null || skip "there is no chromium"
	chromium --headless --no-sandbox --disable-gpu --user-data-dir="$BATS_TEST_TMPDIR/browser" --virtual-time-budget=5000 --dump-dom "file://$1" 2>"$BATS_TEST_TMPDIR/browser.log"
}

ALL=(--since=2026-08-01 --until=2026-11-10)

@test "usage by month and account is that of SQL" {
	rota report usage --period=month --by=account "${ALL[@]}" --csv | tail -n +2 | awk -F, '{ printf "%s,%s,%.2f\n", $1, $2, $3 }' | sort >"$BATS_TEST_TMPDIR/report"
	superuser "set time zone 'UTC'; select month || ',' || coalesce(account, '') || ',' || round(sum(cpu_s) / 3600, 2) from acct.usage_month group by month, account" |
		sort >"$BATS_TEST_TMPDIR/sql"
	[ -s "$BATS_TEST_TMPDIR/sql" ]
	run -0 diff "$BATS_TEST_TMPDIR/report" "$BATS_TEST_TMPDIR/sql"
}

@test "every report has rows, in each form, within 80 columns" {
	for report in usage efficiency wait top utilization failures; do
		COLUMNS=80 run -0 rota report $report "${ALL[@]}"
		[ "${#lines[@]}" -gt 3 ] || { echo "$report: $output"; false; }
		[[ $output != *$'\e'* ]]
		while read -r line; do
			[ "${#line}" -le 80 ] || { echo "too wide: $line"; false; }
		done <<<"$output"
		run -0 rota report $report "${ALL[@]}" --csv
		count=$((${#lines[@]} - 1))
		[ "$count" -gt 0 ]
		[ "$(rota report $report "${ALL[@]}" --json | jq '.rows | length')" = "$count" ]
	done
}

@test "in a narrow window the bar is cut first, then words; never times and numbers" {
	job=$(superuser "select job_id from rota.step_edge group by job_id having count(*) = 3 order by job_id limit 1")
	COLUMNS=200 run -0 rota report job "$job"
	titles=$(grep ^STEP <<<"$output")
	[[ $titles == *WHEN ]]
	needs=${#titles}
	[[ $output == *████* ]]
	COLUMNS=$((needs + 3)) run -0 rota report job "$job"
	[[ $output == *WHEN* && $output == *██* && $output != *'~'* ]]
	while read -r line; do
		[ "${#line}" -le $((needs + 3)) ] || { echo "too wide: $line"; false; }
	done <<<"$output"
	COLUMNS=$((needs - 1)) run -0 rota report job "$job"
	[[ $output != *WHEN* && $output != *██* && $output != *'~'* ]]
	COLUMNS=$((needs - 10)) run -0 rota report job "$job"
	grep -q 'WAITED .* CPUS  CPU TIME  .*USED *PEAK' <<<"$output"
	COLUMNS=80 run -0 rota report usage --by=account,user --period=day "${ALL[@]}"
	[ "$(sed 1,4d <<<"$output" | grep -cvE '^2026-[0-9-]{5}  .* [0-9.]+%  ')" = 0 ]
	COLUMNS=60 run -0 rota report usage --by=none --period=hour --since=2026-10-01 --until=2026-10-02
	[ "$(sed 1,4d <<<"$output" | grep -cvE '^2026-10-01 [0-9]{2}:00Z  .* [0-9.]+%  ')" = 0 ]
}

@test "reports by period, grouping and filter" {
	[ "$(rota report usage --period=day --by=none "${ALL[@]}" --csv | head -1)" = "day,cpu_h,percent,gpu_h,mem_gb_h,steps" ]
	[ "$(rota report usage --by=partition,qos "${ALL[@]}" --csv | head -1 | cut -d, -f1,2)" = partition,qos ]
	[ "$(rota report usage --by=none "${ALL[@]}" --json | jq '.rows[0].steps')" = "$(superuser "select sum(steps_ended) from acct.usage_month")" ]
	[ "$(rota report usage --by=user --user=u001 "${ALL[@]}" --json | jq -r '.rows | length, .[0].user' | xargs)" = "1 u001" ]
	[ "$(rota report top --limit=3 "${ALL[@]}" --json | jq '.rows | length')" = 3 ]
	[ "$(rota report failures "${ALL[@]}" --json | jq '[.rows[].attempts] | add')" = "$(superuser "select count(*) from acct.failure where ended_at is not null")" ]
	run -0 rota report utilization --period=hour --by=partition --since=2026-10-01 --until=2026-10-02
	run -0 rota report wait --period=month "${ALL[@]}"
}

@test "a wrong request is refused with a hint" {
	refused "which report?" rota report
	refused "there is no report \"usages\"" rota report usages
	refused "there is no period \"week\"" rota report usage --period=week
	refused "cannot be grouped by \"node\"" rota report usage --by=node
	refused "must end after it begins" rota report usage --since=2026-10-02 --until=2026-10-01
	refused "there is no job 999999" rota report job 999999
	refused "name one job" rota report job
}

@test "a page has its charts, and the numbers of SQL" {
	rota report usage --period=month --by=account "${ALL[@]}" --html "$BATS_TEST_TMPDIR/usage.html"
	run ! grep -qE '(src|href)="?(https?:)?//' "$BATS_TEST_TMPDIR/usage.html"
	page "$BATS_TEST_TMPDIR/usage.html" >"$BATS_TEST_TMPDIR/dom"
	grep -q '<canvas' "$BATS_TEST_TMPDIR/dom"
	grep -q 'class="uplot' "$BATS_TEST_TMPDIR/dom"
	grep -oE 'data-name="cpu_h" data-value="[0-9.]*"' "$BATS_TEST_TMPDIR/dom" | grep -oE '[0-9.]+' | awk '{ n += $1 } END { printf "%.1f\n", n }' >"$BATS_TEST_TMPDIR/sum"
	[ "$(cat "$BATS_TEST_TMPDIR/sum")" = "$(superuser "select round(sum(cpu_s) / 3600, 1) from acct.usage_month")" ]
}

@test "a page of one day has an axis of about a day" {
	rota report usage --period=day --by=none --since=2026-10-01 --until=2026-10-02 --html "$BATS_TEST_TMPDIR/day.html"
	page "$BATS_TEST_TMPDIR/day.html" >"$BATS_TEST_TMPDIR/dom"
	from=$(grep -oE 'data-from="[0-9]+' "$BATS_TEST_TMPDIR/dom" | grep -oE '[0-9]+')
	until=$(grep -oE 'data-until="[0-9]+' "$BATS_TEST_TMPDIR/dom" | grep -oE '[0-9]+')
	[ "$((until - from))" = 86400 ]
	[ "$from" -lt "$(date -u -d 2026-10-02 +%s)" ] && [ "$until" -gt "$(date -u -d 2026-10-01 +%s)" ]
}

@test "a page of one time has a bar for each row" {
	rota report top "${ALL[@]}" --html "$BATS_TEST_TMPDIR/top.html"
	page "$BATS_TEST_TMPDIR/top.html" >"$BATS_TEST_TMPDIR/dom"
	[ "$(grep -o '<rect class="bar"' "$BATS_TEST_TMPDIR/dom" | wc -l)" = 10 ]
	rota report wait "${ALL[@]}" --html - | grep -q 'uPlot'
}

@test "a job's page has its graph and when each step ran" {
	job=$(superuser "select job_id from rota.step_edge group by job_id having count(*) = 3 order by job_id limit 1")
	COLUMNS=80 run -0 rota report job "$job"
	[[ $output == *"solve after prepare (ok)"* ]]
	rota report job "$job" --html "$BATS_TEST_TMPDIR/job.html"
	page "$BATS_TEST_TMPDIR/job.html" >"$BATS_TEST_TMPDIR/dom"
	[ "$(grep -o '<path class="edge"' "$BATS_TEST_TMPDIR/dom" | wc -l)" = 3 ]
	held=$(sed 's/.*id="gantt"//; t; d' "$BATS_TEST_TMPDIR/dom" | grep -o 'data-attempt=' | wc -l)
	[ "$held" = "$(superuser "select count(*) from rota.allocation where job_id = $job")" ]
}

@test "a job's page shows no nodes that were only reserved for a step" {
	printf '%s\n' '#!/bin/sh' '#ROTA step a' true '#ROTA step b --after=a --same-nodes=a' true >"$BATS_TEST_TMPDIR/reserved.sh"
	job=$(rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/reserved.sh")
	rota wait -q --timeout=300 "$job"
	[ "$(superuser "select count(*) from rota.allocation where job_id = $job and attempt = 0")" = 1 ]
	[ "$(rota report job "$job" --json | jq -c '[.held[] | .state]')" = '["completed","completed"]' ]
}

@test "a job's name ends no script of its page" {
	printf '#!/bin/sh\n#ROTA --job-name="</script><b>x"\ntrue\n' >"$BATS_TEST_TMPDIR/name.sh"
	job=$(rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/name.sh") || skip "such a name is refused"
	rota wait -q --timeout=300 "$job"
	rota report job "$job" --html "$BATS_TEST_TMPDIR/job.html"
	! grep -q '</script><b>' "$BATS_TEST_TMPDIR/job.html"
}

@test "a user who sees only own jobs has only these counted" {
	need_root
	rota admin setting change queue_visible --value=false
	run -0 as nobody rota report usage --by=none "${ALL[@]}" --json
	[ "$(jq '.rows[0].steps // 0' <<<"$output")" = 0 ]
	run as nobody rota report job 1
	[ "$status" != 0 ]
	rota admin setting change queue_visible --value=true
	[ "$(as nobody rota report usage --by=none "${ALL[@]}" --json | jq '.rows[0].steps')" -gt 0 ]
}
