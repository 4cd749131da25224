#!/usr/bin/env bats
# Certificates of an authority of one's own: made, used by jobmgrd and its clients, renewed while they work, expired.

load helper

setup_file() {
	PKI=$(mktemp -d "${TMPDIR:-/tmp}/rota-pki.XXXXXX")
	export PKI
	chmod 0755 "$PKI"
	rota admin pki init --to="$PKI/ca"
	rota admin pki issue gate --to="$PKI/ca" --names=localhost,127.0.0.1
	chmod 0755 "$PKI/ca"
	[ "$EUID" != 0 ] || chown rota "$PKI/ca/gate.key"
	instance_up 1 --cpus 2 --mem 1000 --set gate.listen=127.0.0.1:0 --set gate.names=localhost --set "gate.certificate=$PKI/ca/gate.pem" \
		--set "gate.private_key=$PKI/ca/gate.key"
	https_client "$PKI/remote.conf" "$PKI/ca/authority.pem"
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$PKI"
	return "$status"
}

# remote COMMAND...: as a client of HTTPS, which root is not.
remote() {
	local as=()
	[ "$EUID" != 0 ] || as=(as games)
	(cd / && ROTA_CONFIG=$PKI/remote.conf "${as[@]}" "$@")
}

# served: prints the serial number of the certificate that jobmgrd serves now.
served() {
	openssl s_client -connect "localhost:$PORT" </dev/null 2>/dev/null | openssl x509 -noout -serial
}

number_of() {
	openssl x509 -noout -serial -in "$1"
}

@test "an authority issues, renews and shows certificates" {
	local ca=$BATS_TEST_TMPDIR/ca
	[ "$(rota admin pki init "Our site" --to="$ca" --json | jq -r '.certificates[0].days_left > 3648')" = true ]
	rota admin pki issue head --to="$ca" --names=head.example.org,10.0.0.1,::1 --days=90
	rota admin pki issue rota_jobmgr --to="$ca"
	openssl verify -CAfile "$ca/authority.pem" -purpose sslserver -verify_hostname head.example.org "$ca/head.pem"
	openssl verify -CAfile "$ca/authority.pem" -purpose sslserver -verify_ip 10.0.0.1 "$ca/head.pem"
	openssl verify -CAfile "$ca/authority.pem" -purpose sslclient "$ca/rota_jobmgr.pem"
	[[ $(openssl x509 -noout -subject -in "$ca/rota_jobmgr.pem") == *"CN = rota_jobmgr" ]]
	run -2 openssl verify -CAfile "$ca/authority.pem" -purpose sslserver -verify_hostname other.example.org "$ca/head.pem"
	[ "$(stat -c %a "$ca/head.key" "$ca/authority.key" | sort -u)" = 600 ]
	before=$(number_of "$ca/head.pem")
	key=$(cat "$ca/head.key")
	rota admin pki renew head --to="$ca"
	[ "$(number_of "$ca/head.pem")" != "$before" ]
	[ "$(cat "$ca/head.key")" = "$key" ]
	openssl verify -CAfile "$ca/authority.pem" -purpose sslserver -verify_hostname head.example.org "$ca/head.pem"
	rota admin pki renew authority --to="$ca"
	openssl verify -CAfile "$ca/authority.pem" -purpose sslserver "$ca/head.pem"
	[ "$(rota admin pki show --to="$ca" --json | jq -c '[.certificates[] | [.name, .names, .days_left > 395]]')" = '[["authority","",true],["head","head.example.org,10.0.0.1,::1",true],["rota_jobmgr","rota_jobmgr",true]]' ]
}

@test "a certificate of a user is no server's, and no name of a server or role is in it" {
	local ca=$BATS_TEST_TMPDIR/ca
	rota admin pki init --to="$ca"
	rota admin pki issue laptop --user=ada --to="$ca"
	openssl verify -CAfile "$ca/authority.pem" -purpose sslclient "$ca/laptop.pem"
	run -2 openssl verify -CAfile "$ca/authority.pem" -purpose sslserver "$ca/laptop.pem"
	[[ $(openssl x509 -noout -subject -in "$ca/laptop.pem") == "subject=CN = rota-user:ada" ]]
	rota admin pki renew laptop --to="$ca"
	run -0 rota admin pki show --to="$ca"
	[[ $output == *"laptop for rota-user:ada: valid for "39[67]" days"* ]] # 397 within the first second
	refused "is not the name of a user" rota admin pki issue x --user=ada,DNS:head --to="$ca"
	refused "is not the name of a user" rota admin pki issue x --user= --to="$ca"
	refused "cannot be the name of a certificate" rota admin pki issue x --user="$(printf 'x%.0s' {1..60})" --to="$ca"
	refused "neither a host name nor an IP address" rota admin pki issue x --names=rota-user:ada --to="$ca"
	refused "leave out --names or --user" rota admin pki issue x --names=head --user=ada --to="$ca"
	[ ! -e "$ca/x.pem" ]
	[ ! -e "$ca/x.key" ]
}

@test "what cannot be issued is refused, and leaves nothing" {
	local ca=$BATS_TEST_TMPDIR/ca before
	refused "Make an authority first" rota admin pki issue head --to="$ca"
	rota admin pki init --to="$ca"
	before=$(cd "$ca" && sha256sum -- *)
	refused "has an authority already" rota admin pki init --to="$ca"
	refused "neither a host name nor an IP address" rota admin pki issue head --names="a b" --to="$ca"
	refused "neither a host name" rota admin pki issue head --names="DNS:x" --to="$ca"
	refused "neither a host name" rota admin pki issue head --names="a,,b" --to="$ca"
	refused "cannot be the name of a file" rota admin pki issue ../head --to="$ca"
	refused "cannot be the name of a certificate" rota admin pki issue "$(printf 'x%.0s' {1..65})" --to="$ca"
	refused "could not open" rota admin pki renew nix --to="$ca"
	refused "--days needs a number" rota admin pki issue head --to="$ca" --days=0
	refused "name the certificate" rota admin pki issue --to="$ca"
	refused "name the folder" rota admin pki show
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other -keyout /dev/null -out "$BATS_TEST_TMPDIR/other.pem" 2>/dev/null
	cp "$BATS_TEST_TMPDIR/other.pem" "$ca/other.pem"
	refused "another authority than authority.pem" rota admin pki renew other --to="$ca"
	rm "$ca/other.pem"
	[ "$(cd "$ca" && sha256sum -- *)" = "$before" ]
}

@test "a certificate is renewed while clients work: none is refused, and jobmgrd serves the new one" {
	local jobmgrd i
	jobmgrd=$(pid_of jobmgrd)
	for i in {1..3}; do
		rota admin pki renew gate --to="$PKI/ca"
		renewed() { { remote rota queue || touch "$BATS_TEST_TMPDIR/refused"; } && [ "$(served)" = "$(number_of "$PKI/ca/gate.pem")" ]; }
		eventually renewed
		[ ! -e "$BATS_TEST_TMPDIR/refused" ]
	done
	[ "$(pid_of jobmgrd)" = "$jobmgrd" ]
}

@test "files that cannot be used are not, and jobmgrd serves on" {
	local before
	before=$(served)
	mv "$PKI/ca/gate.pem" "$PKI/ca/gate.kept"
	rota admin pki issue gate2 --to="$PKI/ca" --names=localhost
	cp "$PKI/ca/gate2.pem" "$PKI/ca/gate.pem"
	said() { grep -q "HTTPS keeps its previous certificate" "$ROTA_HOME/log/jobmgrd.log"; }
	eventually said
	[ "$(served)" = "$before" ]
	remote rota queue
	mv "$PKI/ca/gate.kept" "$PKI/ca/gate.pem"
	remote rota queue
}

@test "an expired certificate is announced in time, refused by clients, and renewed" {
	! sanitized || skip "libfaketime hangs in programs of the address sanitizer"
	rota admin pki issue soon --to="$PKI/ca" --names=localhost --days=5
	install -m 0644 "$PKI/ca/soon.pem" "$PKI/ca/gate.pem"
	cat "$PKI/ca/soon.key" >"$PKI/ca/gate.key"
	warned() { grep -q "is valid for [45] days; renew it" "$ROTA_HOME/log/jobmgrd.log"; }
	eventually warned
	status_says() { rota status | grep -q "^HTTPS: the certificate of jobmgrd \".*\" $1"; }
	eventually status_says "is valid for [45] days; renew it$"
	[ "$(rota status --json | jq -c '[.processes[] | select(.role == "jobmgrd") | .certificate_days_left | . == 4 or . == 5]')" = '[true]' ]
	remote rota queue
	faketime -f -10d rota admin pki issue old --to="$PKI/ca" --names=localhost --days=5
	[[ $(rota admin pki show --to="$PKI/ca") == *"old for localhost: expired since "[56]" days; renew it"* ]]
	cat "$PKI/ca/old.key" >"$PKI/ca/gate.key"
	install -m 0644 "$PKI/ca/old.pem" "$PKI/ca/gate.pem"
	expired() { grep -q "has expired; clients refuse it" "$ROTA_HOME/log/jobmgrd.log"; }
	eventually expired
	eventually status_says "has expired; clients refuse it$"
	refused "certificate has expired" remote rota queue
	rota queue # the Unix socket needs no certificate
	rota admin pki renew old --to="$PKI/ca"
	install -m 0644 "$PKI/ca/old.pem" "$PKI/ca/gate.pem"
	eventually remote rota queue
	eventually status_says "is valid for 39[67] days$"
}
