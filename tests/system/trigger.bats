#!/usr/bin/env bats
# Triggers and webhooks: events that fire them, requests that a real server gets, who may make which, and deliveries when the
# server fails or hangs, or runnerd or PostgreSQL is killed.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	export ALICE=rota-trig-a$$ MALLORY=rota-trig-m$$
	SITE=$(mktemp -d /tmp/rota-trigger.XXXXXX) # a folder that the daemons' account can enter
	export SITE
	chmod 1777 "$SITE"
	mkdir -m 0755 "$SITE/programs"
	mkdir -m 0777 "$SITE/out"
	printf '#!/bin/bash\n{ printf "%%s\\n" "$@"; env; } >%q/out/$ROTA_DELIVERY\necho "ran $ROTA_EVENT"\n' "$SITE" >"$SITE/programs/note"
	printf '#!/bin/bash\ncat >%q/out/mail.$$\nprintf "%%s\\n" "$@" >%q/out/arguments.$$\n' "$SITE" "$SITE" >"$SITE/sendmail"
	cp "$SITE/programs/note" "$SITE/outside"
	chmod 0755 "$SITE/programs/note" "$SITE/sendmail" "$SITE/outside"
	: >"$SITE/got"
	server_up
	[ "$EUID" != 0 ] || users_add "$ALICE" "$MALLORY"
	instance_up 1 --cpus 8 --mem 4000 --set node.grace=1 --set mail.program="$SITE/sendmail" \
		--set hooks.trigger_folder="$SITE/programs" --set hooks.trigger_timeout=5
	rota admin setting change trigger_retry_s --value=0
	rota admin setting change webhook_hosts --value=localhost,hooks.example.org
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ "$EUID" != 0 ] || users_remove "$ALICE" "$MALLORY" || status=1
	kill "$SERVER"
	rm -rf -- "$SITE"
	return "$status"
}

teardown() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	rota admin setting change trigger_tries --value=10
	rota admin setting change webhook_hosts --value=localhost,hooks.example.org
}

server_up() {
	python3 "$BATS_TEST_DIRNAME/trigger_server.py" "$SITE" "$SITE/port" >"$SITE/server.log" 2>&1 3>&- &
	SERVER=$!
	eventually test -s "$SITE/port"
	URL=http://localhost:$(cat "$SITE/port")
	export SERVER URL
}

# add [OPTION]...: make a trigger; its number is in `trigger`. The secret of a webhook is passed to the server.
add() {
	local answer
	answer=$(rota trigger add --json "$@")
	trigger=$(jq -r '.triggers[0].trigger' <<<"$answer")
	jq -r '.secret // empty' <<<"$answer" >"$SITE/secret.$trigger"
}

# submit SCRIPT [OPTION]...
submit() {
	printf '#!/bin/bash\n%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
	shift
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh
}

# got TRIGGER [STATUS]: prints the requests about a trigger that the server has answered with that status, one JSON object a line.
got() {
	jq -c --argjson trigger "$1" --argjson status "${2:-200}" 'select(.body.trigger == $trigger and .status == $status)' "$SITE/got"
}

got_number() {
	[ "$(got "$1" | jq -s 'map(.body.delivery) | unique | length')" = "$2" ]
}

# over TRIGGER STATUS: prints how many deliveries ended with this status.
over() {
	superuser "select count(*) from rota.trigger_run where trigger_id = $1 and status = '$2'"
}

over_is() {
	[ "$(over "$1" "$2")" = "$3" ]
}

@test "a webhook for ends of jobs has a valid signature, and what the event is" {
	add --on=job_end --webhook="$URL/ok"
	job=$(submit 'exit 3' --job-name='a "quoted" \name')
	eventually got_number "$trigger" 1
	[ "$(got "$trigger" | jq -c '[.signed, .body.event, .body.job_id, .body.state, .body.exit_code, .body.job_name]')" = \
		"$(jq -nc --argjson job "$job" '[true, "job_end", $job, "failed", 3, "a \"quoted\" \\name"]')" ]
	eventually over_is "$trigger" delivered 1
	rota trigger show "$trigger" --json | jq -e '.triggers[0].runs[0] | .status == "delivered" and .code == 200 and .tries == 1'
	# The secret is shown once, and nobody can read it in the database.
	run ! grep -F "$(cat "$SITE/secret.$trigger")" <(rota trigger show "$trigger" --json; rota trigger list --json; rota sql -Atc 'table acct.trigger_run')
	refused 'permission denied' rota sql -Atc 'select secret from rota.trigger'
	rota trigger remove "$trigger"
}

@test "states, jobs and events choose what fires" {
	add --on=job_end --state=failed,timeout --webhook="$URL/ok"
	local failed=$trigger
	add --on=step_fail --webhook="$URL/ok"
	local step=$trigger
	add --on=job_start --webhook="$URL/ok"
	local start=$trigger
	good=$(submit true)
	rota wait "$good"
	bad=$(submit false --hold)
	add --on=job_end --job="$bad" --webhook="$URL/ok"
	local one=$trigger
	rota release "$bad"
	eventually got_number "$failed" 1
	eventually got_number "$step" 1
	eventually got_number "$start" 2
	eventually got_number "$one" 1
	[ "$(got "$failed" | jq .body.job_id)" = "$bad" ]
	[ "$(got "$one" | jq .body.job_id)" = "$bad" ]
	[ "$(got "$step" | jq -c '[.body.step, .body.state]')" = "[\"$bad.script\",\"failed\"]" ] || { got "$step"; false; }
	# In order of the events.
	[ "$(got "$start" | jq .body.job_id | tr '\n' ' ')" = "$good $bad " ]
	for trigger in $failed $step $start $one; do rota trigger remove "$trigger"; done
}

@test "a server that fails twice gets the event again, with the same number, before the next" {
	add --on=job_end --webhook="$URL/twice"
	first=$(submit true)
	rota wait "$first"
	second=$(submit true)
	eventually got_number "$trigger" 2
	[ "$(got "$trigger" 500 | jq .body.job_id | tr '\n' ' ')" = "$first $first " ]
	[ "$(got "$trigger" | jq .body.job_id | tr '\n' ' ')" = "$first $second " ]
	rota trigger remove "$trigger"
}

@test "a server that hangs or always fails is given up, with the reason, and holds nothing else up" {
	rota admin setting change trigger_tries --value=2
	add --on=job_end --webhook="$URL/hang"
	local hang=$trigger
	add --on=job_end --webhook="$URL/500"
	local bad=$trigger
	add --on=job_end --webhook="$URL/redirect"
	local redirect=$trigger
	add --on=job_end --webhook="$URL/ok"
	rota wait "$(submit true)"
	eventually got_number "$trigger" 1
	eventually over_is "$bad" failed 1
	eventually over_is "$redirect" failed 1
	eventually over_is "$hang" failed 1
	[[ $(rota trigger show "$bad") == *'HTTP status 500; given up after 2 tries'* ]]
	[[ $(rota trigger show "$hang") == *'given up after 2 tries'* ]]
	[ "$(rota trigger show "$redirect" --json | jq '.triggers[0].runs[0].code')" = 302 ]
	[ -z "$(got "$redirect")" ]
	for trigger in $hang $bad $redirect $trigger; do rota trigger remove "$trigger"; done
	rota admin setting change trigger_tries --value=10
}

@test "a program of the folder runs with its arguments, another one does not" {
	add --on=job_end --program="$SITE/programs/note" -- one 'two words'
	job=$(submit true)
	eventually over_is "$trigger" delivered 1
	run=$(superuser "select run_id from rota.trigger_run where trigger_id = $trigger")
	[ "$(head -n 2 "$SITE/out/$run")" = $'one\ntwo words' ]
	grep -Fx "ROTA_JOB_ID=$job" "$SITE/out/$run"
	grep -Fx 'ROTA_EVENT=job_end' "$SITE/out/$run"
	[ "$(rota trigger show "$trigger" --json | jq -r '.triggers[0].runs[0].output')" = 'ran job_end' ]
	rota trigger remove "$trigger"
	rota admin setting change trigger_tries --value=1
	for path in "$SITE/outside" "$SITE/programs/../outside" /bin/true; do
		add --on=job_end --program="$path"
		rota wait "$(submit true)"
		eventually over_is "$trigger" failed 1
		[[ $(rota trigger show "$trigger" --json) == *'is not in the folder hooks.trigger_folder'* ]]
		rota trigger remove "$trigger"
	done
	rota admin setting change trigger_tries --value=10
}

@test "a mail has the event" {
	add --on=job_end --mail=alice@example.org
	job=$(submit true)
	eventually over_is "$trigger" delivered 1
	grep -l "^Subject: Rota job_end of job $job" "$SITE"/out/mail.*
	grep -Fx alice@example.org "$SITE"/out/arguments.*
	rota trigger remove "$trigger"
}

@test "a node that is drained and resumed fires, and a queue that becomes longer fires once" {
	add --on=node_drained --webhook="$URL/ok"
	local drained=$trigger
	add --on=node_up --webhook="$URL/ok"
	local up=$trigger
	add --on=queue_longer --longer=2 --webhook="$URL/ok"
	local queue=$trigger
	node=$(rota nodes --json | jq -r '.nodes[0].name')
	rota admin node drain "$node" --reason='new fan'
	eventually got_number "$drained" 1
	[ "$(got "$drained" | jq -c '[.body.node, .body.reason]')" = "[\"$node\",\"new fan\"]" ]
	for _ in 1 2 3; do jobs="${jobs:-} $(submit true)"; done
	eventually got_number "$queue" 1
	jobs+=" $(submit true)"
	rota admin node resume "$node"
	eventually got_number "$up" 1
	rota wait $jobs
	shorter() { [ "$(superuser "select is_longer from rota.trigger where trigger_id = $queue")" = f ]; }
	eventually shorter
	got_number "$queue" 1
	for trigger in $drained $up $queue; do rota trigger remove "$trigger"; done
}

@test "what is wrong is refused and changes nothing" {
	before=$(rota trigger list --json)
	refused 'no event "end"' rota trigger add --on=end --webhook="$URL/ok"
	refused 'no state "bad"' rota trigger add --on=job_end --state=bad --webhook="$URL/ok"
	refused 'has no states' rota trigger add --on=job_start --state=failed --webhook="$URL/ok"
	refused 'no job 99999' rota trigger add --on=job_end --job=99999 --webhook="$URL/ok"
	refused 'belongs to event queue_longer' rota trigger add --on=queue_longer --webhook="$URL/ok"
	refused 'give one of' rota trigger add --on=job_end --webhook="$URL/ok" --mail=alice
	refused 'needs a program' rota trigger add --on=job_end
	refused 'no absolute path' rota trigger add --on=job_end --program=note
	refused 'no mail address' rota trigger add --on=job_end --mail=-oQ/tmp
	for url in http://hooks.example.org/ https://a@hooks.example.org/ 'https://hooks.example.org\@x/' file:///etc/passwd 'https://x/"' 'https://x/ y' https://; do
		refused 'is no URL for a webhook' rota trigger add --on=job_end --webhook="$url"
	done
	[ "$(rota trigger list --json)" = "$before" ]
	refused 'you have no trigger 99999' rota trigger remove 99999
}

@test "a user has triggers for his own jobs, and a stranger neither sees nor removes them" {
	need_root
	refused 'only administrators' as "$ALICE" rota trigger add --on=job_end --program="$SITE/programs/note"
	refused 'only operators' as "$ALICE" rota trigger add --on=node_down --webhook="$URL/ok"
	refused 'only operators' as "$ALICE" rota trigger add --on=job_end --jobs-of=all --webhook="$URL/ok"
	refused 'only operators' as "$ALICE" rota trigger add --on=job_end --jobs-of="$MALLORY" --webhook="$URL/ok"
	refused 'are not allowed (setting webhook_hosts)' as "$ALICE" rota trigger add --on=job_end --webhook=https://evil.example.org/
	refused 'are not allowed (setting webhook_hosts)' as "$ALICE" rota trigger add --on=job_end --webhook=https://169.254.169.254/
	refused 'are not allowed (setting webhook_hosts)' as "$ALICE" rota trigger add --on=job_end --webhook=https://hooks.example.org.evil.org/
	folders_add "$ALICE" "$MALLORY"
	answer=$(as "$ALICE" rota trigger add --json --on=job_end --webhook="$URL/ok")
	trigger=$(jq '.triggers[0].trigger' <<<"$answer")
	jq -r .secret <<<"$answer" >"$SITE/secret.$trigger"
	[ "$(as "$MALLORY" rota trigger list --json | jq '.triggers | length')" = 0 ]
	refused "you have no trigger $trigger" as "$MALLORY" rota trigger show "$trigger"
	refused "you have no trigger $trigger" as "$MALLORY" rota trigger remove "$trigger"
	cd "$ROTA_TEST_DIR/$MALLORY" && as "$MALLORY" rota submit --wait --wrap=true --output=/dev/null
	cd "$ROTA_TEST_DIR/$ALICE" && as "$ALICE" rota submit --wait --wrap=true --output=/dev/null
	eventually got_number "$trigger" 1
	[ "$(got "$trigger" | jq -r .body.user)" = "$ALICE" ]
	# The host is no longer allowed: deliveries that were made before are not sent either.
	rota admin setting change webhook_hosts --value=hooks.example.org
	as "$ALICE" rota submit --wait --wrap=true --output=/dev/null
	eventually over_is "$trigger" failed 1
	rota admin setting change webhook_hosts --value=localhost,hooks.example.org
	got_number "$trigger" 1
	as "$ALICE" rota trigger remove "$trigger"
	[ "$(as "$ALICE" rota trigger list --json | jq '.triggers | length')" = 0 ]
}

@test "a killed runnerd and a killed PostgreSQL lose no delivery" {
	add --on=job_end --webhook="$URL/slow"
	for _ in 1 2 3 4 5 6; do jobs="${jobs:-} $(submit true)"; done
	some_got() { [ -n "$(got "$trigger")" ]; }
	eventually some_got
	kill -KILL "$(pid_of runnerd)"
	rota up
	rota wait $jobs
	kill -KILL "$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")"
	rota up
	eventually over_is "$trigger" delivered 6
	[ "$(got "$trigger" | jq -s 'map(.body.job_id) | unique | length')" = 6 ]
	rota trigger remove "$trigger"
}

@test "a thousand ends are all delivered, and do not delay the jobs" {
	add --on=job_end --webhook="$URL/ok"
	for i in $(seq 1000); do printf '#!/bin/bash\ntrue\n' >"$BATS_TEST_TMPDIR/$i.sh"; done
	cd "$BATS_TEST_TMPDIR"
	rota submit --each --parsable --output=/dev/null [0-9]*.sh >jobs
	ended() { [ "$(superuser "select count(*) from rota.job where ended_at is null")" = 0 ]; }
	until=$((SECONDS + 600))
	until ended; do [ "$SECONDS" -lt "$until" ]; sleep 0.5; done
	until over_is "$trigger" delivered 1000; do [ "$SECONDS" -lt "$until" ]; sleep 0.5; done
	[ "$(got "$trigger" | jq -s 'map(.body.job_id) | unique | length')" = 1000 ]
	[ "$(got "$trigger" | jq -s 'map(.signed) | all')" = true ]
	rota trigger remove "$trigger"
}
