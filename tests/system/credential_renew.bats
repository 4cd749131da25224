#!/usr/bin/env bats
# Credentials of waiting and running jobs are renewed: tickets at a real KDC, tokens at a token service, and by a program of the
# site. Effects on the jobs when a renewal fails, and when rota-credd is killed during one.

load helper
load kdc

setup_file() {
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-renew.XXXXXX")
	export SITE
	chmod 0755 "$SITE"
	mkdir -m 0755 "$SITE/programs"
	mkdir -m 1777 "$SITE/box"
	printf '#!/bin/bash\ncat >"%s/$$.part" && mv "%s/$$.part" "%s/$$.mail"\n' "$SITE/box" "$SITE/box" "$SITE/box" >"$SITE/sendmail"
	chmod 0755 "$SITE/sendmail"
	kdc_up
	certificates localhost DNS:localhost
	printf 'refresh-0' >"$SITE/refresh"
	python3 "$BATS_TEST_DIRNAME/token_server.py" "$SITE" "$SITE/port" "$TLS/localhost.pem" "$TLS/localhost.key" >"$SITE/server.log" 2>&1 3>&- &
	SERVER=$!
	eventually test -s "$SITE/port"
	URL=https://localhost:$(cat "$SITE/port")
	export SERVER URL CURL_CA_BUNDLE=$TLS/authority.pem
	service_up
	instance_up 1 --cpus 8 --mem 4000 --set node.grace=1 --set credentials.keys="$SITE/keys" --set credentials.period=1 \
		--set credentials.refresh_allowed="$URL" --set credentials.command_folder="$SITE/programs" --set mail.program="$SITE/sendmail"
}

teardown_file() {
	local status=0
	instance_down || status=1
	kill "$SERVER" "$SERVICE"
	kdc_down
	rm -rf -- "$SITE" "$TLS"
	return "$status"
}

# service_up: start a service that asks for a Kerberos ticket, on port SERVICE_PORT.
service_up() {
	SERVICE_PORT=$(free_port)
	# The service's replay cache is a file in TMPDIR.
	TMPDIR=$SITE gss-server -port "$SERVICE_PORT" -keytab "$KDC/keytab" -logfile "$SITE/service.log" host@localhost >"$SITE/service.out" 2>&1 3>&- &
	SERVICE=$!
	export SERVICE SERVICE_PORT
}

# submit SCRIPT [OPTION]...
submit() {
	printf '#!/bin/bash\n%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
	shift
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output="$BATS_TEST_TMPDIR/%j.out" "$@" job.sh
}

# cred NAME EXPRESSION: prints a value of `rota cred show`.
cred() {
	rota cred show "$1" --json | jq -r "$2"
}

cred_is() {
	[ "$(cred "$1" "$2")" = "$3" ]
}

held_because() { # JOB TEXT
	[[ $(rota why "$1") == *"$2"* ]]
}

mailed() { # TEXT: prints how many mails contain it
	[ "$(cat "$SITE"/box/*.mail | grep -c -- "$1")" = "$2" ]
}

output_has() { # JOB TEXT
	grep -qs -- "$2" "$BATS_TEST_TMPDIR/$1.out"
}

# program TEXT: make the site's program `make` of this text.
program() {
	printf '#!/bin/bash\n%s\n' "$1" >"$SITE/programs/make"
	chmod 0755 "$SITE/programs/make"
}

@test "the ticket of a held job is renewed while it waits, and opens a service then" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 16s -r 10m
	rota cred add first "$BATS_TEST_TMPDIR/cache" --kind=krb5
	[ "$(cred first .subject)" = alice@KIND.TEST ]
	first=$(cred first .expires_at)
	job=$(submit "gss-client -port $SERVICE_PORT localhost host@localhost 'hello from $BATS_TEST_NUMBER'; klist" --cred=first --hold)
	eventually cred_is first '.renewals >= 2' true
	[[ $(cred first .expires_at) > $first ]]
	# the first ticket has expired
	is_over() { ! klist -s -c "FILE:$BATS_TEST_TMPDIR/cache"; }
	eventually is_over
	rota release "$job"
	rota wait --timeout=300 "$job"
	grep 'Signature verified' "$BATS_TEST_TMPDIR/$job.out"
	grep 'Default principal: alice@KIND.TEST' "$BATS_TEST_TMPDIR/$job.out"
	rota cred remove first
}

@test "a running job finds the renewed ticket in the same file" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 16s -r 10m
	rota cred add second "$BATS_TEST_TMPDIR/cache" --kind=krb5
	job=$(submit 'klist -c "$KRB5CCNAME"; first=$(sha256sum <"${KRB5CCNAME#FILE:}"); echo begun
		while [ "$(sha256sum <"${KRB5CCNAME#FILE:}")" = "$first" ]; do sleep 0.2; done; klist -s && kvno host/localhost' --cred=second)
	rota wait --timeout=300 "$job"
	output_has "$job" 'host/localhost@KIND.TEST: kvno'
	[ "$(cred second '.renewals >= 1')" = true ]
	rota cred remove second
}

@test "a new upload and the removal of a ticket reach a running step, whose klist shows it" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 10m
	rota cred add live "$BATS_TEST_TMPDIR/cache" --kind=krb5
	job=$(submit 'until [ -e over ]; do klist 2>/dev/null | grep "Default principal" >now || echo none >now; mv now shown; sleep 0.05; done' --cred=live)
	shows() { grep -qs -- "$1" "$BATS_TEST_TMPDIR/shown"; }
	eventually shows alice@KIND.TEST
	ticket bob "$BATS_TEST_TMPDIR/cache" -l 10m
	rota cred add live "$BATS_TEST_TMPDIR/cache" --kind=krb5
	eventually shows bob@KIND.TEST
	rota cred remove live
	eventually shows none
	touch "$BATS_TEST_TMPDIR/over"
	rota wait --timeout=300 "$job"
}

@test "a step whose ticket cannot be renewed any more is held and says so; a new ticket releases it" {
	rota admin node drain n1 --reason=test
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 12s -r 14s
	rota cred add third "$BATS_TEST_TMPDIR/cache" --kind=krb5
	job=$(submit 'kvno host/localhost' --cred=third)
	eventually held_because "$job" "credential third"
	held_because "$job" "expire"
	# The owner has got a mail before, and gets another one now.
	eventually mailed "Subject: Rota credential third ends before 1 step" 1
	eventually mailed "Subject: Rota credential third is dead: 1 step held" 1
	mailed "Add it anew: rota cred add third --kind=krb5" 2
	rota admin node resume n1
	[ "$(superuser "select state || ' ' || held from rota.step where job_id = $job")" = "pending system" ]
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 10m
	rota cred add third "$BATS_TEST_TMPDIR/cache" --kind=krb5
	rota wait --timeout=300 "$job"
	output_has "$job" 'host/localhost@KIND.TEST: kvno'
	rota cred remove third
}

@test "a test asks the KDC about a ticket and says what it finds, and changes nothing" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 10m
	rota cred add tested "$BATS_TEST_TMPDIR/cache" --kind=krb5
	run -0 rota cred test tested
	[[ $output == "credential tested: of use"*"alice@KIND.TEST"*"the KDC accepts the ticket"* ]] || { echo "$output"; false; }
	[ "$(cred tested '[.version, .renewals] | join(" ")')" = "1 0" ]
	# the same ticket, of a KDC that has another key now
	kadmin.local -q "cpw -randkey krbtgt/KIND.TEST" >/dev/null
	refused "the KDC said: " rota cred test tested
	kdc_stop
	refused "no KDC answers" rota cred test tested
	kdc_start
	rota cred remove tested
	printf 'opaque' | rota cred add noted --kind=token
	run -0 rota cred test noted
	[[ $output == *"nobody; it was opened and read"* ]]
	rota cred remove noted
	refused 'you have no credential "noted"' rota cred test noted
}

@test "while the KDC is away, renewals fail and say why; then they go on" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	rota cred add fourth "$BATS_TEST_TMPDIR/cache" --kind=krb5
	kdc_stop
	rota cred refresh fourth
	eventually cred_is fourth '.failure // "" | contains("no KDC answers")' true
	[ "$(cred fourth .renewals)" = 0 ]
	[ "$(cred fourth .objection)" = null ]
	kdc_start
	eventually cred_is fourth .renewals 1
	[ "$(cred fourth .failure)" = null ]
	rota cred remove fourth
}

@test "rota-credd is killed when a ticket is renewed and not stored: it is renewed again" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	rota cred add fifth "$BATS_TEST_TMPDIR/cache" --kind=krb5
	# A trigger delays the transaction that stores the renewed credential.
	superuser "create function public.stay() returns trigger language plpgsql security definer as \$\$
		begin perform pg_sleep(600); return new; end \$\$;
		create trigger stay before update on rota.credential for each row when (new.version > old.version) execute function public.stay()"
	rota cred refresh fifth
	eventually is_held_up
	kill_now "$(pid_of rota-credd)"
	end_held_up
	superuser "drop trigger stay on rota.credential; drop function public.stay()"
	[ "$(cred fifth '[.version, .renewals] | join(" ")')" = "1 0" ]
	rota up >"$BATS_TEST_TMPDIR/up.log"
	superuser "update rota.credential set renew_at = now() where name = 'fifth'"
	eventually cred_is fifth '[.version, .renewals] | join(" ")' "2 1"
	job=$(submit 'kvno host/localhost' --cred=fifth)
	rota wait --timeout=300 "$job"
	rota cred remove fifth
}

@test "a job gets the access token alone, and each renewed one; the refresh token never leaves the head" {
	jq -nc --arg refresh "$(cat "$SITE/refresh")" '{access_token: "access-old", refresh_token: $refresh, client_id: "rota",
		client_secret: "s&cret=+%", expires_in: 3600}' >"$BATS_TEST_TMPDIR/pair"
	rota cred add sixth "$BATS_TEST_TMPDIR/pair" --kind=token --refresh-url="$URL/token"
	job=$(submit 'cat "$BEARER_TOKEN_FILE"; echo; until grep -q access-[0-9] "$BEARER_TOKEN_FILE"; do sleep 0.2; done; cat "$BEARER_TOKEN_FILE"' \
		--cred=sixth)
	eventually output_has "$job" access-old
	rota cred refresh sixth
	rota wait --timeout=300 "$job"
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/$job.out")" = access-old ]
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/$job.out") == access-[0-9]* ]]
	run ! grep -E 'refresh|cret' "$BATS_TEST_TMPDIR/$job.out"
	rota cred remove sixth
}

@test "a token service that the site does not allow is refused at once, and asked for nothing" {
	printf '{"access_token": "a", "refresh_token": "b"}' >"$BATS_TEST_TMPDIR/pair"
	: >"$SITE/asked"
	refused "credentials.refresh_allowed" rota cred add seventh "$BATS_TEST_TMPDIR/pair" --kind=token --refresh-url=https://127.0.0.1/token
	refused "has to begin with https" rota cred add seventh "$BATS_TEST_TMPDIR/pair" --kind=token --refresh-url="http${URL#https}/token"
	[ "$(rota cred list --json | jq '[.credentials[] | select(.name == "seventh")] | length')" = 0 ]
	[ ! -s "$SITE/asked" ]
}

uploads() {
	superuser "select count(*) from rota.credential_upload"
}

@test "a submission takes the present ticket along, by the command line or the script; comments and errors upload nothing" {
	export KRB5CCNAME=FILE:$BATS_TEST_TMPDIR/cache
	ticket bob "$BATS_TEST_TMPDIR/cache" -l 10m
	before=$(uploads)
	# only lines that count take one along, and only a script without errors
	refused 'you have no credential "krb5"' submit $'#ROTA --cred=krb5\n# --cred=krb5:forward\n##ROTA --cred=krb5:forward\ntrue'
	refused "--no-such-option" submit $'#ROTA --cred=krb5:forward\n#ROTA --no-such-option\ntrue'
	refused "--time" submit true --cred=krb5:forward --time=never
	refused "is not a suffix of a credential's name" submit true --cred=krb5:backward
	body='{"script": "#!/bin/sh\n", "workdir": "/", "options": ["--cred=krb5:forward"]}'
	run -0 curl -s --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $(rota token POST /v1/submit -d "$body")" -d "$body" http://gate/v1/submit
	[[ $output == *'this client cannot upload credential \"krb5\" with the submission'* ]] || { echo "$output"; false; }
	refused "no present credential of kind x509" submit true --cred=x509:forward
	rota check - --cred=krb5:forward <<<$'#!/bin/sh\ntrue'
	[ "$(uploads)" = "$before" ]
	job=$(submit 'klist' --cred=krb5:forward)
	rota wait --timeout=300 "$job"
	output_has "$job" 'Default principal: bob@KIND.TEST'
	[ "$(uploads)" = $((before + 1)) ]
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 10m
	job=$(submit $'#ROTA --cred=krb5:forward\nklist')
	rota wait --timeout=300 "$job"
	output_has "$job" 'Default principal: alice@KIND.TEST'
	[ "$(uploads)" = $((before + 2)) ]
	# without a ticket nothing is submitted
	rm "$BATS_TEST_TMPDIR/cache"
	jobs=$(superuser "select count(*) from rota.job")
	refused "could not read" submit true --cred=krb5:forward
	[ "$(superuser "select count(*) from rota.job")" = "$jobs" ]
	rota cred remove krb5
}

@test "a program of the site makes a credential and renews it while a job runs" {
	program 'echo "of $USER at $(date +%s%N)"; echo "{\"subject\": \"vault\", \"expires\": $(($(date +%s) + 14))}" >&3'
	rota cred add eighth --kind=command --command=make </dev/null
	[ "$(cred eighth .subject)" = vault ]
	job=$(submit 'file=$ROTA_CREDENTIALS/eighth; first=$(cat "$file"); echo "$first"
		while [ "$(cat "$file")" = "$first" ]; do sleep 0.2; done; cat "$file"; echo again' --cred=eighth)
	# A thief of the database cannot have the next one made for somebody else.
	superuser "update rota.credential set user_name = 'nobody' where name = 'eighth' and removed_at is null"
	rota wait --timeout=300 "$job"
	superuser "update rota.credential set user_name = '$(id -un)' where name = 'eighth' and removed_at is null"
	output_has "$job" "of $(id -un) at"
	output_has "$job" again
	run ! output_has "$job" "of nobody"
	rota cred remove eighth
	printf '#!/bin/sh\ntouch %q\n' "$SITE/ran" >"$SITE/outside"
	chmod 0755 "$SITE/outside"
	refused "no program of the folder" rota cred add ninth --kind=command --command=../outside </dev/null
	refused "no program of the folder" rota cred add ninth --kind=command --command="$SITE/outside" </dev/null
	[ ! -e "$SITE/ran" ]
}

@test "rota-credential leaves nothing, whatever happened" {
	run ! pgrep -x rota-credential -P "$(pid_of rota-credd)"
	run ! grep -rlE 'access-old|s&cret' "$ROTA_HOME/log"
	audit
}
