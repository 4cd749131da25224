#!/usr/bin/env bats
# Kinds of credentials: the facts that rota-credential reads of each, and how it renews tickets at a real KDC, and tokens at a
# token service with TLS. It must not show a secret, ask a server that the site does not allow, or open files of its account.

load helper
load kdc

setup_file() {
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-kind.XXXXXX")
	export SITE
	kdc_up
	certificates localhost DNS:localhost
	printf 'refresh-0' >"$SITE/refresh"
	python3 "$BATS_TEST_DIRNAME/token_server.py" "$SITE" "$SITE/port" "$TLS/localhost.pem" "$TLS/localhost.key" >"$SITE/server.log" 2>&1 3>&- &
	SERVER=$!
	eventually test -s "$SITE/port"
	URL=https://localhost:$(cat "$SITE/port")
	export SERVER URL CURL_CA_BUNDLE=$TLS/authority.pem
	mkdir "$SITE/programs"
}

teardown_file() {
	kill "$SERVER"
	kdc_down
	rm -rf -- "$SITE" "$TLS"
}

# credential ACTION KIND [OPTION]... <SECRET: its output is in the file renewed, its facts in facts, both of the test.
credential() {
	timeout 60 rota-credential "$@" >"$BATS_TEST_TMPDIR/renewed" 3>"$BATS_TEST_TMPDIR/facts"
}

# refuses MESSAGE ACTION KIND [OPTION]... <SECRET: rota-credential fails with a one-line message that contains this text, and
# prints no answer. Its status is 1, or FINAL if another try is useless.
refuses() {
	local message=$1 status=0
	shift
	credential "$@" 2>"$BATS_TEST_TMPDIR/error" || status=$?
	[ "$status" = "${FINAL:-1}" ] || { cat "$BATS_TEST_TMPDIR/error"; false; }
	[ "$(wc -l <"$BATS_TEST_TMPDIR/error")" = 1 ]
	[[ $(cat "$BATS_TEST_TMPDIR/error") == *"$message"* ]] || { cat "$BATS_TEST_TMPDIR/error"; false; }
	[ ! -s "$BATS_TEST_TMPDIR/renewed" ] && [ ! -s "$BATS_TEST_TMPDIR/facts" ]
}

# fact EXPRESSION [OPTION OF jq]...: prints a value of the facts.
fact() {
	jq -r "$@" "$BATS_TEST_TMPDIR/facts"
}

# pair: prints a token with a refresh token of the service, as JSON.
pair() {
	jq -nc --arg refresh "$(cat "$SITE/refresh")" \
		'{access_token: "access-old", refresh_token: $refresh, client_id: "rota", client_secret: "s&cret=+%", expires_in: 30}'
}

# program TEXT: make the site's program `make` of this text.
program() {
	printf '#!/bin/bash\n%s\n' "$1" >"$SITE/programs/make"
	chmod 0755 "$SITE/programs/make"
}

@test "a ticket says whom it is of, and until when it lives" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	credential inspect krb5 <"$BATS_TEST_TMPDIR/cache"
	[ "$(fact .subject)" = alice@KIND.TEST ]
	[ "$(fact .renewable)" = true ]
	[ "$(fact '.expires - now | . > 30 and . <= 121')" = true ]
	[ "$(fact '.renew_until - now | . > 300 and . <= 601')" = true ]
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m
	credential inspect krb5 <"$BATS_TEST_TMPDIR/cache"
	[ "$(fact .renewable)" = false ]
}

@test "the KDC renews a ticket, and the new one works" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	credential inspect krb5 <"$BATS_TEST_TMPDIR/cache"
	end=$(fact .expires)
	sleep 1.1
	credential renew krb5 --user=alice <"$BATS_TEST_TMPDIR/cache"
	[ "$(fact .expires)" -gt "$end" ]
	[ "$(fact .subject)" = alice@KIND.TEST ]
	klist -c "FILE:$BATS_TEST_TMPDIR/renewed" | grep krbtgt/KIND.TEST@KIND.TEST
	kvno -c "FILE:$BATS_TEST_TMPDIR/renewed" host/localhost
	# renew again, from the last output
	cp "$BATS_TEST_TMPDIR/renewed" "$BATS_TEST_TMPDIR/cache"
	credential renew krb5 --user=alice <"$BATS_TEST_TMPDIR/cache"
	kvno -c "FILE:$BATS_TEST_TMPDIR/renewed" host/localhost
}

@test "a ticket that cannot be renewed is refused with the reason" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m
	FINAL=3 refuses "the ticket of alice@KIND.TEST cannot be renewed any more" renew krb5 <"$BATS_TEST_TMPDIR/cache"
	ticket bob "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	kadmin.local -q "modprinc -allow_tix krbtgt/KIND.TEST" >/dev/null
	refuses "the KDC said: " renew krb5 <"$BATS_TEST_TMPDIR/cache"
	kadmin.local -q "modprinc +allow_tix krbtgt/KIND.TEST" >/dev/null
	credential renew krb5 <"$BATS_TEST_TMPDIR/cache"
	# without its ticket-granting ticket, a cache is of no use
	kvno -c "FILE:$BATS_TEST_TMPDIR/cache" --out-cache "FILE:$BATS_TEST_TMPDIR/service" host/localhost
	refuses "has no ticket-granting ticket of bob@KIND.TEST" inspect krb5 <"$BATS_TEST_TMPDIR/service"
}

@test "an expired ticket is refused" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2s -r 10m
	is_expired() { refuses "the ticket of alice@KIND.TEST expired at" inspect krb5 <"$BATS_TEST_TMPDIR/cache"; }
	eventually is_expired
	refuses "expired at" renew krb5 <"$BATS_TEST_TMPDIR/cache"
}

@test "where clocks differ, a ticket lives no longer than by the KDC's clock, or is refused with what to do" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	credential inspect krb5 <"$BATS_TEST_TMPDIR/cache"
	end=$(fact .expires)
	# The database's clock, given by --now, is behind: by less than krb5.conf allows, and by more.
	credential inspect krb5 --now=$((end - 123)) <"$BATS_TEST_TMPDIR/cache"
	[ "$(fact .expires)" = $((end - 3)) ]
	refuses "the clock of the database is behind that of the KDC: set both by NTP" inspect krb5 --now=$((end - 720)) <"$BATS_TEST_TMPDIR/cache"
	refuses "the clock of the database is behind that of the KDC: set both by NTP" renew krb5 --now=$((end - 720)) <"$BATS_TEST_TMPDIR/cache"
	# The database's clock is ahead.
	refuses "by the clock of the database, and not by that of the host of rota-credd: set both by NTP" inspect krb5 --now=$((end + 300)) \
		<"$BATS_TEST_TMPDIR/cache"
	# The clock of the host of rota-credd is wrong.
	[ -z "${ASAN_OPTIONS:-}" ] || skip "libfaketime does not work with sanitizers"
	now=$(date +%s)
	export LD_PRELOAD FAKETIME=-600 FAKETIME_DONT_FAKE_MONOTONIC=1
	LD_PRELOAD=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
	refuses "the clocks of the KDC and of the host of rota-credd differ: set both by NTP" renew krb5 --now="$now" <"$BATS_TEST_TMPDIR/cache"
}

@test "while the KDC is away, a renewal fails and says so; then it works" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	kdc_stop
	refuses "no KDC answers" renew krb5 <"$BATS_TEST_TMPDIR/cache"
	kdc_start
	credential renew krb5 <"$BATS_TEST_TMPDIR/cache"
}

@test "nothing of a ticket is written to a file that has a name" {
	[ -z "${ASAN_OPTIONS:-}" ] || skip "sanitizers open files of their own"
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m -r 10m
	strace -f -e trace=openat,open,creat,mkdir,mkdirat,rename,link,symlink -o "$BATS_TEST_TMPDIR/trace" rota-credential renew krb5 \
		<"$BATS_TEST_TMPDIR/cache" >"$BATS_TEST_TMPDIR/renewed" 3>/dev/null
	[ -s "$BATS_TEST_TMPDIR/renewed" ]
	run ! grep -E 'O_WRONLY|O_RDWR|O_CREAT|mkdir|rename|creat\(' "$BATS_TEST_TMPDIR/trace"
}

@test "a token is renewed at the token service, as often as wanted" {
	pair >"$BATS_TEST_TMPDIR/pair"
	credential inspect token --refresh-url="$URL/token" --refresh-allowed="$URL" <"$BATS_TEST_TMPDIR/pair"
	[ "$(fact '.expires - now | . > 5 and . <= 31')" = true ]
	[ "$(fact .renewable)" = true ]
	# the token for jobs is on a line of its own
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/renewed")" = access-old ]
	cp "$BATS_TEST_TMPDIR/renewed" "$BATS_TEST_TMPDIR/stored"
	credential renew token --refresh-url="$URL/token" --refresh-allowed="$URL" <"$BATS_TEST_TMPDIR/stored"
	object() { tail -n 1 "$BATS_TEST_TMPDIR/renewed" | jq "$@"; }
	[[ $(head -n 1 "$BATS_TEST_TMPDIR/renewed") == access-[0-9]* ]]
	[ "$(object -r .access_token)" = "$(head -n 1 "$BATS_TEST_TMPDIR/renewed")" ]
	[ "$(object -r .refresh_token)" = "$(cat "$SITE/refresh")" ]
	[ "$(object -c '[has("expires_in"), .client_id, .expires_at > now]')" = '[false,"rota",true]' ]
	[ "$(fact '.expires - now | . > 30 and . <= 61')" = true ]
	cp "$BATS_TEST_TMPDIR/renewed" "$BATS_TEST_TMPDIR/next"
	credential renew token --refresh-url="$URL/token" --refresh-allowed="$URL" <"$BATS_TEST_TMPDIR/next"
	# the service takes each refresh token once
	FINAL=3 refuses "the token service said: invalid_grant (no such refresh token)" renew token --refresh-url="$URL/token" \
		--refresh-allowed="$URL" <"$BATS_TEST_TMPDIR/next"
}

@test "what a token service does wrong is said, without the secret" {
	pair >"$BATS_TEST_TMPDIR/pair"
	ask() {
		refuses "$2" renew token --refresh-url="$URL$1" --refresh-allowed="$URL/" <"$BATS_TEST_TMPDIR/pair"
		run ! grep -E 'access-old|refresh-|cret' "$BATS_TEST_TMPDIR/error"
	}
	ask /refuse "the token service said: invalid_client"
	FINAL=3 ask /echo "the token service said: invalid_grant"
	ask /html "no JSON object"
	ask /empty "no JSON object"
	ask /redirect "HTTP status 307"
	ask /large "curl wrote more than 1 MiB"
	ask /close "the token service could not be asked"
	ask /expired "the token expired at"
	[ "$(tail -n 1 "$SITE/asked")" = /expired ]
	run ! grep -x /token <(tail -n 8 "$SITE/asked")
}

@test "a token service without a certificate that this host trusts gets nothing" {
	pair >"$BATS_TEST_TMPDIR/pair"
	: >"$SITE/asked"
	CURL_CA_BUNDLE=$TLS/other.pem refuses "could not be asked: SSL certificate problem" renew token --refresh-url="$URL/token" \
		--refresh-allowed="$URL" <"$BATS_TEST_TMPDIR/pair"
	[ ! -s "$SITE/asked" ]
}

@test "only token services that the site allows are asked" {
	pair >"$BATS_TEST_TMPDIR/pair"
	: >"$SITE/asked"
	for action in inspect renew; do
		refuses "credentials.refresh_allowed" "$action" token --refresh-url="$URL/token" <"$BATS_TEST_TMPDIR/pair"
		refuses "credentials.refresh_allowed" "$action" token --refresh-url="$URL/token" --refresh-allowed="$URL/other,https://b/" \
			<"$BATS_TEST_TMPDIR/pair"
		refuses "https://" "$action" token --refresh-url="http://${URL#*//}/token" --refresh-allowed="http://" <"$BATS_TEST_TMPDIR/pair"
		refuses "malformed" "$action" token --refresh-url="$URL/token@x#y" --refresh-allowed="$URL/" <"$BATS_TEST_TMPDIR/pair"
		refuses "https://" "$action" token --refresh-url="file://$SITE/refresh" --refresh-allowed="file://" <"$BATS_TEST_TMPDIR/pair"
	done
	[ ! -s "$SITE/asked" ]
}

@test "a token that hangs at its service is ended with all of its processes" {
	pair >"$BATS_TEST_TMPDIR/pair"
	rota-credential renew token --refresh-url="$URL/hang" --refresh-allowed="$URL" <"$BATS_TEST_TMPDIR/pair" >/dev/null 2>&1 3>/dev/null &
	pid=$!
	has_curl() { curl=$(pgrep -P "$pid" curl); }
	eventually has_curl
	# neither arguments nor environment of curl have a secret
	run ! grep -aE 'cret|refresh-|localhost' "/proc/$curl/cmdline" "/proc/$curl/environ"
	kill -9 "$pid"
	curl_is_gone() { ! kill -0 "$curl" 2>/dev/null; }
	eventually curl_is_gone
}

@test "a bearer token is one line, and a JWT says when it expires" {
	part() { printf '%s' "$1" | basenc --base64url -w0 | tr -d =; }
	end=$(($(date +%s) + 500))
	printf '%s.%s.c2ln\n' "$(part '{"alg":"none"}')" "$(part "{\"sub\":\"alice\",\"exp\":$end}")" >"$BATS_TEST_TMPDIR/jwt"
	credential inspect token <"$BATS_TEST_TMPDIR/jwt"
	[ "$(fact -c '[.subject, .expires, .renewable]')" = "[\"alice\",$end,false]" ]
	credential inspect token --expires=$((end - 100)) <"$BATS_TEST_TMPDIR/jwt"
	[ "$(fact .expires)" = $((end - 100)) ]
	refuses "it, as --expires says, expired" inspect token --expires=5 <"$BATS_TEST_TMPDIR/jwt"
	refuses "one line" inspect token <<<"two words"
	refuses "no refresh URL" renew token <"$BATS_TEST_TMPDIR/jwt"
}

@test "an SSH key is known by its fingerprint; one with a passphrase is refused" {
	for type in ed25519 rsa ecdsa; do
		ssh-keygen -q -t "$type" -N '' -f "$BATS_TEST_TMPDIR/$type"
		credential inspect ssh-key <"$BATS_TEST_TMPDIR/$type"
		[ "$(fact .subject)" = "$(ssh-keygen -l -f "$BATS_TEST_TMPDIR/$type" | awk '{ print $2 }')" ]
		[ "$(fact -c '[.expires, .renewable]')" = '[null,false]' ]
	done
	ssh-keygen -q -t rsa -m PEM -N '' -f "$BATS_TEST_TMPDIR/pem"
	credential inspect ssh-key <"$BATS_TEST_TMPDIR/pem"
	ssh-keygen -q -t ed25519 -N 'a phrase' -f "$BATS_TEST_TMPDIR/locked"
	refuses "has a passphrase" inspect ssh-key <"$BATS_TEST_TMPDIR/locked"
	refuses "no private key of SSH: Load key" inspect ssh-key <"$BATS_TEST_TMPDIR/ed25519.pub"
	refuses "no private key" inspect ssh-key </dev/null
	head -c 5000 "$BATS_TEST_TMPDIR/rsa" | head -c -300 >"$BATS_TEST_TMPDIR/cut"
	refuses "no private key" inspect ssh-key <"$BATS_TEST_TMPDIR/cut"
	refuses "cannot be renewed; add it anew" renew ssh-key <"$BATS_TEST_TMPDIR/ed25519"
}

@test "a proxy stands for its owner, and ends with the first certificate that does" {
	cd "$BATS_TEST_TMPDIR"
	openssl req -x509 -newkey rsa:2048 -nodes -keyout user.key -out user.pem -days 9 -subj '/DC=org/CN=Alice A' 2>/dev/null
	openssl req -new -newkey rsa:2048 -nodes -keyout proxy.key -out proxy.request -subj '/DC=org/CN=Alice A/CN=4711' 2>/dev/null
	printf '%s\n' 'proxyCertInfo=critical,@info' '[info]' 'language=id-ppl-inheritAll' >info
	openssl x509 -req -in proxy.request -CA user.pem -CAkey user.key -CAcreateserial -days 2 -extfile info -out proxy.pem 2>/dev/null
	cat proxy.pem proxy.key user.pem >proxy
	credential inspect x509 <proxy
	[ "$(fact .subject)" = "CN=Alice A,DC=org" ]
	[ "$(fact '.expires - now | . > 170000 and . <= 172801')" = true ]
	[ "$(fact .renewable)" = false ]
	cat proxy.pem user.pem >no-key
	refuses "no private key" inspect x509 <no-key
	cat proxy.pem user.key >foreign-key
	refuses "not that of the first certificate" inspect x509 <foreign-key
	refuses "no certificate" inspect x509 </dev/null
}

@test "a file can be anything, and ends when its owner says" {
	head -c 1048576 /dev/urandom >"$BATS_TEST_TMPDIR/file"
	credential inspect file <"$BATS_TEST_TMPDIR/file"
	[ "$(fact -c .)" = '{"subject":null,"expires":null,"renewable":false,"renew_until":null}' ]
	credential inspect file --expires=9999999999 <"$BATS_TEST_TMPDIR/file"
	[ "$(fact .expires)" = 9999999999 ]
	printf x >>"$BATS_TEST_TMPDIR/file"
	refuses "larger than 1 MiB" inspect file <"$BATS_TEST_TMPDIR/file"
	refuses "empty" inspect file </dev/null
	refuses "only a token has a refresh URL" inspect file --refresh-url=https://a/ <<<x
}

@test "a program of the site makes a credential for a user" {
	program 'echo "for $USER of $KIND with $# arguments"; echo "{\"subject\": \"vault:$USER\", \"expires\": 9999999999}" >&3'
	credential renew command --user=alice --command=make --command-folder="$SITE/programs" </dev/null
	[ "$(cat "$BATS_TEST_TMPDIR/renewed")" = "for alice of command with 0 arguments" ]
	[ "$(fact -c .)" = '{"subject":"vault:alice","expires":9999999999,"renewable":true,"renew_until":null}' ]
	credential inspect command --user=alice --command=make --command-folder="$SITE/programs" </dev/null
	program 'echo made; env; ls -l /proc/self/fd'
	SECRET=hidden credential renew command --user=alice --command="$SITE/programs/make" --command-folder="$SITE/programs" </dev/null
	run ! grep hidden "$BATS_TEST_TMPDIR/renewed"
	[ "$(fact .expires)" = null ]
}

@test "a program of the site that fails, and one that is not the site's" {
	make() {
		refuses "$1" renew command --user=alice --command=make --command-folder="$SITE/programs" </dev/null
	}
	program 'echo secret; echo "vault is sealed" >&2; exit 3'
	make "exited with status 3: vault is sealed"
	program 'kill -9 $$'
	make "was ended by signal 9"
	program 'exit 0'
	make "wrote no secret"
	program 'exec head -c 1048577 /dev/zero'
	make "than 1 MiB"
	program 'echo secret; echo "{\"expires\": \"soon\"}" >&3'
	make "no facts of a credential"
	program 'echo secret; echo "{\"expires\": 5}" >&3'
	make "what the program made expired at"
	printf 'no program' >"$SITE/programs/make"
	make "could not be started"
	printf '#!/bin/sh\ntouch %q\necho ran\n' "$SITE/ran" >"$SITE/outside"
	chmod 0755 "$SITE/outside"
	for command in ../outside "$SITE/outside" "$SITE/programs/../outside" /bin/echo .. . .hidden ""; do
		for action in inspect renew; do
			refuses "no program of the folder" "$action" command --user=alice --command="$command" \
				--command-folder="$SITE/programs" </dev/null
		done
	done
	[ ! -e "$SITE/ran" ]
	refuses "command_folder is not set" renew command --user=alice --command=make </dev/null
	refuses "--user" renew command --command=make --command-folder="$SITE/programs" </dev/null
}

@test "misuse is said, with status 2" {
	run -2 rota-credential
	run -2 rota-credential inspect
	run -2 rota-credential inspect x <<<x
	run -2 rota-credential read file <<<x
	run -2 rota-credential inspect file --wrong <<<x
	run -2 rota-credential inspect file --expires=soon <<<x
	run -0 rota-credential --help
	[[ $output == *"usage: rota-credential inspect KIND"* ]]
	run -0 rota-credential --version
}

@test "rota-credential links no SQL and no HTTP" {
	run ! grep -E 'libpq|libssl|libevent|libmunge' <(ldd "$ROTA_BIN/rota-credential")
}
