#!/usr/bin/env bats
# Pages of `rota report` and `rota plan` in a browser: everything is drawn in its place, for jobs of any shape.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	command -v chromium >/dev/null || skip "there is no chromium"
	instance_up 2 --cpus 4 --mem 1000 --set node.grace=1
	rota admin setting change requeue_delay_s --value=0 >/dev/null
}

teardown_file() {
	instance_down
}

# After a test that failed: none of its jobs is left.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || rota cancel -q --me || true
}

# submit SCRIPT-TEXT: runs it to its end; its number is in $job.
submit() {
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
	job=$(rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/job.sh")
	rota wait -q "$job" || true
}

# drawn: checks the page of $job.
drawn() {
	rota report job "$job" --html "$BATS_TEST_TMPDIR/page.html"
	checked
}

# checked: the result of page_check.js for page.html, as JSON in `check`; an error on the page fails the test.
checked() {
	{ echo '<script>'; cat "$BATS_TEST_DIRNAME/page_check.js"; echo '</script>'; } >>"$BATS_TEST_TMPDIR/page.html"
	chromium --headless --no-sandbox --disable-gpu --disable-background-networking --user-data-dir="$BATS_TEST_TMPDIR/browser" --window-size=1280,1000 \
		--virtual-time-budget=5000 --dump-dom "file://$BATS_TEST_TMPDIR/page.html" 2>"$BATS_TEST_TMPDIR/browser.log" |
		sed -n 's,.*<pre id="check">\(.*\)</pre>.*,\1,p' | sed 's/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g' >"$BATS_TEST_TMPDIR/check"
	jq -e '.wrong == []' "$BATS_TEST_TMPDIR/check" >/dev/null || { cat "$BATS_TEST_TMPDIR/check"; return 1; }
}

# column STEP: prints the left edge of the step's box.
column() {
	jq ".columns.$1" "$BATS_TEST_TMPDIR/check"
}

# watched JOB: prints the picture of the job on a terminal, without colours.
watched() {
	script -qec "rota watch $1" /dev/null | sed 's/\x1b\[[?0-9;]*[a-zA-Z]//g; s/\r//g'
}

@test "one step" {
	submit '#!/bin/bash
sleep 0.1'
	drawn
	[ "$(jq -r '.ticks[0]' "$BATS_TEST_TMPDIR/check")" = 0 ]
}

@test "lines of a net pass by the boxes between" {
	submit '#!/bin/bash
#ROTA step a
true
#ROTA step b
true
#ROTA step c --after=a
true
#ROTA step d --after=c
true
#ROTA step e --after=d,a,b
true
#ROTA step f --after=b,e
true
#ROTA step g --after=a
true
#ROTA step h --after=f,a --same-nodes=c
true'
	drawn
	[ "$(column a)" = "$(column b)" ]
	[ "$(column h)" -gt "$(column f)" ]
}

@test "steps that start together share a column, and their dependents are in the next one" {
	submit '#!/bin/bash
#ROTA step prepare
true
#ROTA step server --after=prepare
sleep 0.3
#ROTA step client --with=server
sleep 0.3
#ROTA step monitor --with=client
sleep 0.3
#ROTA step report --after=monitor
true'
	drawn
	[ "$(column server) $(column monitor)" = "$(column client) $(column client)" ]
	[ "$(column prepare)" -lt "$(column client)" ]
	[ "$(column report)" -gt "$(column server)" ]
	watched "$job" >"$BATS_TEST_TMPDIR/watched"
	for line in '. prepare' '  . server' '  . client' '  . monitor' '    . report'; do
		grep -q "^$line " "$BATS_TEST_TMPDIR/watched" || { cat "$BATS_TEST_TMPDIR/watched"; false; }
	done
}

@test "long names, arrays, attempts and failures" {
	submit '#!/bin/bash
#ROTA --job-name="Überströmung-größer-als-alles-was-bisher-berechnet-wurde-日本語"
#ROTA step WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW --nodes=2
sleep 0.2
#ROTA step many --array=0-11 --after=WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW
sleep 0.1
#ROTA step iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii --retry=1 --after=many
[ "$ROTA_ATTEMPT" = 2 ]
#ROTA step bad --after=many
exit 3
#ROTA step never --after=bad
true'
	drawn
	grep -q '"label":"'"$job"'.i*","' "$BATS_TEST_TMPDIR/page.html"
	watched "$job" >"$BATS_TEST_TMPDIR/watched"
	[ "$(grep -cE '^ *. (WWW|iii)[Wi]*~ (completed)' "$BATS_TEST_TMPDIR/watched")" = 2 ] || { cat "$BATS_TEST_TMPDIR/watched"; false; }
	[ "$(grep -oE '^.*(completed|failed|dependency_failed) ' "$BATS_TEST_TMPDIR/watched" | sed 1d | sed -E 's/(completed|failed|dependency_failed).*//' | awk '{ print length }' | sort -u | wc -l)" = 1 ]
}

@test "a step that was cancelled before start has no times, and a long wait does not displace others" {
	printf '#!/bin/sh\n#ROTA step a --begin=now+1hour\ntrue\n#ROTA step b --after=a\ntrue\n' >"$BATS_TEST_TMPDIR/job.sh"
	job=$(rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/job.sh")
	rota cancel "$job"
	drawn
	[ "$(jq '.ticks | length' "$BATS_TEST_TMPDIR/check")" = 0 ]
	submit '#!/bin/sh
sleep 0.2'
	superuser "update rota.job set submit_at = submit_at - interval '1 hour' where job_id = $job"
	drawn
	[ "$(jq -r '.ticks[-1] | test(" s$")' "$BATS_TEST_TMPDIR/check")" = true ]
}

# runs_as ATTEMPT: this attempt runs, and handles the signal; the database has its start.
runs_as() {
	[ -e "at.$1" ] && [ "$(sql "select attempt || ' ' || state from rota.step where job_id = $job")" = "$1 running" ]
}

@test "a preempted job's life: its attempts, checkpoints and preemptions, and from which checkpoint each attempt went on" {
	local high
	cd "$BATS_TEST_TMPDIR"
	rota admin qos create high --tier=1
	rota admin partition change main --preempt=checkpoint
	rota admin setting change checkpoint_pace_s --value=0
	printf '%s\n' '#!/bin/bash' '#ROTA step solve --checkpoint=app --checkpoint-signal=B:USR1 --checkpoint-keep=9 --output=/dev/null' \
		"trap 'echo >\"\$ROTA_CHECKPOINT_DIR/state\"; rota checkpoint --done' USR1" ': >at.$ROTA_ATTEMPT' 'until [ -e go ]; do sleep 0.3; done' >job.sh
	job=$(rota submit --parsable job.sh)
	eventually runs_as 1
	run -0 rota checkpoint "$job" --wait
	for attempt in 2 3; do
		high=$(rota submit --parsable --time=1 --qos=high --nodes=2 --exclusive --output=/dev/null --wrap 'sleep 0.3')
		run -0 rota wait "$high"
		eventually runs_as "$attempt"
	done
	touch go
	run -0 rota wait "$job"
	drawn
	[ "$(jq .fits "$BATS_TEST_TMPDIR/check")" = true ]
	run jq -r '.marks | to_entries[] | .key, .value[]' "$BATS_TEST_TMPDIR/check"
	diff <(sed "s/by [0-9]*/by N/" <<<"$output") - <<-'END'
		checkpoint
		solve, checkpoint 1
		solve, checkpoint 2
		solve, checkpoint 3
		preemption
		solve, attempt 1 preempted by N.script (checkpoint)
		solve, attempt 2 preempted by N.script (checkpoint)
		restart
		solve, attempt 2, from checkpoint 2
		solve, attempt 3, from checkpoint 3
	END
	COLUMNS=200 run -0 rota report job "$job"
	[[ $output =~ solve\ .*█*.*◆.*×.*█ ]]
	[[ $output = *"◆ checkpoint   × preempted"* ]]
	[ "$(grep -cE 'solve +[123] .* (-|2|3) +n[12]' <<<"$output")" = 3 ]
	[[ $output = *CHECKPOINT*NODES* ]]
	LC_ALL=C COLUMNS=200 run -0 rota report job "$job"
	[[ $output = *"o checkpoint   x preempted"* ]]
}

# planned OPTION...: draws the plan with these changes, and checks the page.
planned() {
	rota plan "$@" --html "$BATS_TEST_TMPDIR/page.html"
	checked
}

# bars KIND: prints how many bars of a kind the page has.
bars() {
	jq ".bars.$1 // 0" "$BATS_TEST_TMPDIR/check"
}

@test "a plan has bars before and after changes, arrows for what is far away, and no bar for what never starts" {
	hold=$(rota submit --parsable --nodes=2 --exclusive --time=2:00:00 --wrap 'sleep 7200')
	holds() { [ "$(sql "select count(*) from acct.attempt where job_id = $hold and started_at is not null")" = 1 ]; }
	eventually holds
	printf '#!/bin/sh\n#ROTA --after=none\n#ROTA step WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW --time=1:00:00 --cpus-per-task=4\ntrue\n#ROTA step wide --time=1:00:00 --nodes=2 --exclusive\ntrue\n' >"$BATS_TEST_TMPDIR/job.sh"
	job=$(rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/job.sh")
	far=$(rota submit --parsable --time=60-0 --cpus-per-task=4 --wrap true)
	planned
	[ "$(bars bar) $(bars before) $(jq .arrows "$BATS_TEST_TMPDIR/check")" = "3 0 1" ]
	# Sixty days of one step do not stretch the axis.
	jq -e '.ticks[0] == "now" and (.ticks[-1] | endswith(" h"))' "$BATS_TEST_TMPDIR/check"
	planned --drain n1
	[ "$(bars before) $(jq .never "$BATS_TEST_TMPDIR/check")" = "3 1" ]
	printf '#!/bin/sh\n#ROTA step new --time=30 --cpus-per-task=4\ntrue\n' >"$BATS_TEST_TMPDIR/job.sh"
	planned --add-nodes 1:4c,1G --submit "$BATS_TEST_TMPDIR/job.sh"
	[ "$(bars before) $(bars new)" = "3 1" ]
	[ "$(bars earlier)" -ge 1 ]
	rota cancel "$hold" "$job" "$far"
	planned
	[ "$(jq -c .ticks "$BATS_TEST_TMPDIR/check")" = "[]" ]
}
