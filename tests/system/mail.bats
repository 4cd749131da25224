#!/usr/bin/env bats
# Mail about jobs, sent by runnerd with a program that stores it, and what happens when that fails, hangs or is killed.

load helper

setup_file() {
	SITE=$(mktemp -d /tmp/rota-mail.XXXXXX) # a folder that the daemons' account can enter
	export SITE
	chmod 1777 "$SITE"
	mkdir -m 0777 "$SITE/box"
	# Each mail is a file named after its Message-ID and the try. A script named after the job runs before the mail is accepted.
	cat >"$SITE/sendmail" <<-'END'
		#!/bin/bash
		site=${0%/*}
		text=$(cat; echo .)
		text=${text%.}
		id=$(sed -n 's/^Message-ID: <\(.*\)@.*/\1/p' <<<"$text")
		job=$(sed -n 's/^Job: *//p' <<<"$text")
		try=1
		while ! mkdir "$site/try.$id.$try" 2>/dev/null; do try=$((try + 1)); done
		[ ! -e "$site/do.$job" ] || . "$site/do.$job"
		printf '%s\n' "$@" >"$site/box/$id.$try.arguments"
		env >"$site/box/$id.$try.environment"
		printf '%s' "$text" >"$site/box/$id.$try.part"
		mv "$site/box/$id.$try.part" "$site/box/$id.$try"
	END
	chmod 0755 "$SITE/sendmail"
	instance_up 1 --cpus 8 --mem 4000 --set node.grace=1 --set mail.program="$SITE/sendmail" --set mail.limit=2
	rota admin setting change mail_retry_s --value=0
	rota admin setting change mail_tries --value=3
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$SITE"
	return "$status"
}

# submit SCRIPT [OPTION]...
submit() {
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
	shift
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh
}

# held [OPTION]...: submit a held job, so that a test can set the behaviour of its mail first.
held() {
	submit '#!/bin/bash
true' --hold "$@"
}

# box JOB EVENT: prints the files of accepted mails.
box() {
	ls "$SITE/box" | grep -E "^rota\.rota\.$1\.[-0-9]+\.[0-9]+\.$2\.[0-9]+\.[0-9]+$"
}

# mail JOB EVENT: waits for the first mail of the event, and prints it.
mail() {
	eventually box "$1" "$2" >/dev/null
	cat "$SITE/box/$(box "$1" "$2" | head -n 1)"
}

# Prints the mails in the database, with their results.
sent() {
	sql "select string_agg(concat_ws('|', event, case when sent_at is not null then 'sent' when due_at is null then 'given up' else 'due' end, tries), ' ' order by mail_id)
		from rota.mail where job_id = $1"
}

sent_is() {
	[ "$(sent "$1")" = "$2" ]
}

@test "a job's begin and end: one mail each, to the recipients asked for, shown with the job" {
	job=$(submit '#!/bin/bash
exit 3' --job-name="größe" --mail-type=ALL --mail-user=alice@example.org,bob --comment="a secret")
	rota wait "$job" || true
	run -0 mail "$job" BEGIN
	[[ $output == *"To: alice@example.org,bob"$'\n'* ]]
	[[ $output == *$'\n'"Subject: =?UTF-8?B?"* ]]
	[[ $output == *$'\n\n'"Job:        $job"$'\n'"Name:       größe"* ]]
	run -0 mail "$job" FAIL
	[[ $output == *"State:      failed"*"Exit code:  3"*"More: rota show $job"* ]]
	[[ $output != *secret* ]]
	eventually sent_is "$job" "BEGIN|sent|1 FAIL|sent|1"
	[ "$(cat "$SITE"/box/*."$job".-1.0.BEGIN.*.arguments)" = "-i
--
alice@example.org
bob" ]
	run ! grep -E '^(HOME|LD_|ROTA_HOME|ROTA_CONFIG|PG)' "$SITE"/box/*."$job".-1.0.BEGIN.*.environment
	run -0 rota show "$job"
	[[ $output == *"  Mail        BEGIN to alice@example.org,bob, sent "*"  Mail        FAIL to alice@example.org,bob, sent "* ]]
	[ "$(rota show "$job" --json | jq -r '.jobs[0].mails | map(.event) | join(" ")')" = "BEGIN FAIL" ]
	[ "$(rota sql -Atc "select count(*) from acct.mail where job_id = $job and sent_at is not null")" = 2 ]
}

@test "without an address it goes to the user's name; without --mail-type there is none" {
	job=$(submit '#!/bin/bash
true' --mail-type=END)
	quiet=$(submit '#!/bin/bash
true' --mail-user=alice@example.org)
	rota wait "$job" "$quiet"
	run -0 mail "$job" END
	[[ $output == "To: $(id -un)"$'\n'"Subject: Rota job $job (job.sh) ended: completed"* ]]
	eventually sent_is "$job" "END|sent|1"
	sent_is "$quiet" ""
}

@test "addresses that a mail program could take for something else are refused" {
	for address in -oQ/tmp '|/bin/id' ':include:/etc/passwd' $'a@b\nBcc: c@d' 'a b' ''; do
		run -1 submit '#!/bin/bash
true' --mail-type=END --mail-user="$address"
		[[ $output == *"--mail-user: "*"is not a mail address"* ]]
	done
	run -1 submit '#!/bin/bash
true' --mail-type=LUNCH
	[[ $output == *"is not an event"* ]]
}

@test "nothing in the database makes a header or an argument" {
	job=$(held --mail-type=END)
	sql "update rota.job set name = E'x\\nBcc: eve@example.org\\n\\ny' where job_id = $job"
	other=$(held --mail-type=END)
	sql "update rota.job set mail_user = '-oQ/tmp' where job_id = $other"
	rota cancel "$job" "$other"
	run -0 mail "$job" END
	[[ ${output%%$'\n\n'*} != *$'\n'"Bcc:"* ]]
	[[ $output == *"Subject: Rota job $job (x Bcc: eve@example.org  y) ended: cancelled"* ]]
	eventually sent_is "$other" "END|given up|3"
	run ! box "$other" END
	[[ $(sql "select message from rota.mail where job_id = $other") == 'not sent: "-oQ/tmp" is not a mail address; given up after 3 tries' ]]
}

@test "a program that fails is tried again; one that always fails is given up, with its words" {
	job=$(held --mail-type=END)
	echo '[ "$try" = 2 ] || { echo "no route to host"; exit 75; }' >"$SITE/do.$job"
	never=$(held --mail-type=END --mail-user=alice)
	echo 'echo "mailbox full"; exit 69' >"$SITE/do.$never"
	rota release "$job" "$never"
	rota wait "$job" "$never"
	eventually sent_is "$job" "END|sent|2"
	eventually sent_is "$never" "END|given up|3"
	[ "$(sql "select message from rota.mail where job_id = $never")" = "mail program \"$SITE/sendmail\" ended with exit code 69: mailbox full
; given up after 3 tries" ]
	run -0 rota show "$never"
	[[ $output == *"END to alice, not sent: mail program "*"exit code 69"* ]]
}

@test "runnerd killed while it sends: the program ends with it, and the next one sends the same mail" {
	job=$(held --mail-type=END)
	echo '[ "$try" -gt 1 ] || { echo $$ >"$site/pid.'"$job"'"; sleep 1000; }' >"$SITE/do.$job"
	rota release "$job"
	eventually test -s "$SITE/pid.$job"
	kill -9 "$(pid_of runnerd)"
	eventually are_dead "$(cat "$SITE/pid.$job")"
	rota up -q
	sent_is "$job" "END|due|1"
	sql "update rota.mail set due_at = now() where job_id = $job"
	eventually sent_is "$job" "END|sent|2"
	[ "$(box "$job" END | wc -l)" = 1 ]
	[ "$(ls -d "$SITE"/try.*."$job".-1.0.END.* | sed -E 's/\.[0-9]+$//' | sort -u | wc -l)" = 1 ]
}

@test "PostgreSQL killed while a mail is sent: the program goes on, and its end is reported later" {
	job=$(held --mail-type=END)
	echo 'touch "$site/begun.'"$job"'"; while [ ! -e "$site/go.'"$job"'" ]; do sleep 0.3; done' >"$SITE/do.$job"
	rota release "$job"
	eventually test -e "$SITE/begun.$job"
	kill -9 "$(pid_of PostgreSQL)"
	touch "$SITE/go.$job"
	rota up -q
	eventually sent_is "$job" "END|sent|1"
	[ "$(box "$job" END | wc -l)" = 1 ]
}

@test "half of the time limit, a retry, and each element of an array" {
	job=$(submit '#!/bin/bash
sleep 1000' --time=0:20 --mail-type=TIME_LIMIT_50)
	run -0 mail "$job" TIME_LIMIT_50
	[[ $output == *"Subject: Rota job $job (job.sh) step $job.script has used 50% of its time limit"* ]]
	[[ $output == *"Step:       $job.script"*"Attempt:    1"*"Nodes:      n1"*"Time limit: 00:00:20"* ]]
	rota cancel "$job"
	job=$(submit '#!/bin/bash
[ "$ROTA_ATTEMPT" = 2 ]' --retry=1 --mail-type=REQUEUE)
	rota wait "$job"
	run -0 mail "$job" REQUEUE
	[[ $output == *"step $job.script was queued again"*"Attempt:    1"*"Exit code:  1"* ]]
	job=$(submit '#!/bin/bash
exit "$ROTA_ARRAY_INDEX"' --array=0-1 --mail-type=END,FAIL,ARRAY_TASKS)
	rota wait "$job" || true
	all() { [ "$(sql "select string_agg(event || step_id, ' ' order by step_id) from rota.mail where job_id = $job and sent_at is not null")" = "FAIL-1 END1 FAIL2" ]; }
	eventually all
	run -0 mail "$job" END
	[[ $output == *"step $job.script[0] ended: completed"* ]]
}

@test "without a mail program, a submission that asks for mail is warned, and the mail waits" {
	mv "$SITE/sendmail" "$SITE/away"
	printf '#!/bin/bash\ntrue\n' >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	run -0 --separate-stderr rota submit --parsable --mail-type=END job.sh
	job=$output
	[ "$stderr" = "rota: warning: --mail-type: no mail will be sent: the instance's mail program \"$SITE/sendmail\" is not an executable file (mail.program in rota.conf)" ]
	run -0 --separate-stderr rota submit --parsable --mail-type=NONE job.sh
	[ -z "$stderr" ]
	rota wait "$job"
	sent_is "$job" "END|due|0"
	mv "$SITE/away" "$SITE/sendmail"
	eventually sent_is "$job" "END|sent|1"
}

@test "a mail program that hangs is killed with its processes, and delays no step" {
	rota down -q
	rota up -q --set mail.timeout=3
	jobs=()
	for i in 1 2 3; do
		job=$(held --mail-type=BEGIN)
		echo 'sleep 1000 & echo $! >"$site/child.'"$job"'"; sleep 1000' >"$SITE/do.$job"
		jobs+=("$job")
	done
	rota release "${jobs[@]}"
	rota wait "${jobs[@]}"
	eventually test -s "$SITE/child.${jobs[0]}"
	job=$(submit '#!/bin/bash
true')
	rota wait "$job"
	for job in "${jobs[@]}"; do
		eventually sent_is "$job" "BEGIN|given up|3"
		eventually are_dead "$(cat "$SITE/child.$job")"
	done
	[[ $(sql "select message from rota.mail where job_id = ${jobs[0]}") == *"not finished after 3 seconds"* ]]
}
