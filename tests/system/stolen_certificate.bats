#!/usr/bin/env bats
# Administrators over HTTPS: their rights take a munge credential and a certificate of the same user, from a host of
# gate.admin_hosts. Root of a node can make the credential; here it has, or steals, everything else but one. It never gets the
# rights.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rsce$$ ADA=rsca$$ BOB=rscb$$
	users_add "$EVE" "$ADA" "$BOB"
	certificates gate DNS:localhost,IP:127.0.0.1
	rota admin pki init --to="$TLS/ca"
	rota admin pki init --to="$TLS/foreign"
	rota admin pki issue head --to="$TLS/ca" --names="localhost,$ADA"
	rota admin pki issue "$ADA" --to="$TLS/foreign" --user="$ADA"
	rota admin pki issue server --to="$TLS/ca" --names="$ADA"
	mkdir "$TLS/users"
	for user in "$EVE" "$ADA" "$BOB"; do
		rota admin pki issue "$user" --to="$TLS/ca" --user="$user"
		install -m 0644 "$TLS/ca/$user.pem" "$TLS/users"
		install -m 0600 -o "$user" "$TLS/ca/$user.key" "$TLS/users"
	done
	chmod 0755 "$TLS/users"
	cp "$TLS/ca/authority.pem" "$TLS/users.pem"
	instance_up 1 --cpus 4 --mem 4000 --set gate.listen=127.0.0.1:0 --set gate.names=localhost --set "gate.certificate=$TLS/gate.pem" \
		--set "gate.private_key=$TLS/gate.key" --set "gate.user_authority=$TLS/users.pem" \
		--set "gate.admin_hosts=192.0.2.1, 127.0.0.0/31 2001:db8::/32" --set "gate.user_certificates=$TLS/users"
	https_client "$TLS/remote.conf" "$TLS/authority.pem"
	sed "s,^user_certificates *=.*,user_certificates =," "$TLS/remote.conf" >"$TLS/bare.conf"
	rota admin user create "$ADA" --role=admin
	rota admin user create "$BOB" --role=operator
	folders_add "$EVE" "$ADA" "$BOB"
	printf '#!/bin/sh\n#ROTA --output=/dev/null --hold\n' >"$ROTA_TEST_DIR/job.sh"
	JOB=$(as "$EVE" rota submit --parsable "$ROTA_TEST_DIR/job.sh")
	export JOB
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_users_down "$EVE" "$ADA" "$BOB" || status=1
	rm -rf -- "$TLS"
	return "$status"
}

setup() {
	need_root
	NAMES_ADA="subjectAltName=URI:rota-user:$ADA\nextendedKeyUsage=clientAuth"
}

# remote USER COMMAND...: run it as a client of HTTPS that shows the user's certificate. bare: the same without a certificate.
remote() {
	local user=$1
	shift
	(cd / && ROTA_CONFIG=${CLIENT:-$TLS/remote.conf} as "$user" "$@")
}

bare() {
	CLIENT=$TLS/bare.conf remote "$@"
}

ATTACK='{"object":"user","action":"create","name":"stolen","values":{"role":"admin"}}'

# attack USER [OPTION]...: root of a node sends, with a credential of that user and these options of curl, the request that makes an
# administrator. Prints what it reached for.
attack() {
	local user=$1 credential
	shift
	credential=$(printf 'rota2:%s localhost' "$(printf 'POST /v1/admin\n%s' "$ATTACK" | sha256sum | cut -d' ' -f1)" |
		as "$user" munge --socket="$ROTA_HOME/run/munge.sock")
	curl -sS -w ' [%{http_code}]' --cacert "$TLS/authority.pem" "$@" -H "Authorization: Munge $credential" -d "$ATTACK" \
		"https://localhost:$PORT/v1/admin"
}

# denied REASON USER [OPTION]...: the attack is refused for that reason, and nothing was changed.
denied() {
	local reason=$1
	shift
	run attack "$@"
	echo "reached for an administrator with: $*; got: $output"
	[[ $output == *"you may not do this to the cluster"*"need their certificate: $reason."*'[403]' ]]
	nothing_changed
}

nothing_changed() {
	[ "$(superuser "select count(*) from rota.person where user_name = 'stolen'")" = 0 ]
}

with() { # FOLDER NAME: options of curl for a certificate
	CERTIFICATE=(--cert "$1/$2.pem" --key "$1/$2.key")
}

# openssl_user FILE EXTENSIONS [OPTION]...: a certificate of the right authority with these extensions.
openssl_user() {
	local file=$1 extensions=$2
	shift 2
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$file.key" -subj "/CN=rota-user:$ADA" -out "$file.request" 2>/dev/null
	openssl x509 -req -in "$file.request" -CA "$TLS/ca/authority.pem" -CAkey "$TLS/ca/authority.key" -CAcreateserial -days 2 "$@" \
		-extfile <(printf '%b' "$extensions") -out "$file.pem" 2>/dev/null
}

@test "control: an administrator with both does everything over HTTPS, an operator what operators do, a user what users do" {
	remote "$ADA" rota admin partition create honest --nodes=n1
	remote "$ADA" rota admin partition delete honest
	[ "$(superuser "select count(*) from rota.admin_event where actor = '$ADA' and name = 'honest'")" = 2 ]
	remote "$ADA" rota show --script "$JOB"
	remote "$BOB" rota admin node drain n1 --reason=honest
	remote "$BOB" rota admin node resume n1
	refused "you may not do this" remote "$BOB" rota admin partition create x --nodes=n1
	[[ $output != *"need their certificate"* ]]
	refused "you may not do this" remote "$EVE" rota admin node drain n1 --reason=stolen
	job=$(remote "$EVE" rota submit --parsable "$ROTA_TEST_DIR/job.sh")
	remote "$ADA" rota cancel "$job"
	# Without a certificate, each of them has a user's rights over HTTPS.
	for user in "$EVE" "$ADA" "$BOB"; do
		bare "$user" rota queue
		refused "need their certificate: no certificate was shown." bare "$user" rota admin partition create x --nodes=n1
	done
	refused "belongs to" bare "$ADA" rota show --script "$JOB"
	# The rights of a command with the certificate depend on the present role of its user.
	rota admin user change "$ADA" --role=user
	refused "you may not do this" remote "$ADA" rota admin partition create x --nodes=n1
	rota admin user change "$ADA" --role=admin
	with "$TLS/ca" "$ADA"
	run attack "$ADA" "${CERTIFICATE[@]}"
	[[ $output == *'[200]' ]]
	rota admin user delete stolen
}

@test "a credential without a certificate, and a certificate without a credential" {
	denied "no certificate was shown" "$ADA"
	with "$TLS/ca" "$ADA"
	run curl -sS -w ' [%{http_code}]' --cacert "$TLS/authority.pem" "${CERTIFICATE[@]}" -d "$ATTACK" "https://localhost:$PORT/v1/admin"
	[[ $output == *"has no credential"*'[401]' ]]
	run curl -sS -w ' [%{http_code}]' --cacert "$TLS/authority.pem" "${CERTIFICATE[@]}" -H "Authorization: Munge x" -d "$ATTACK" "https://localhost:$PORT/v1/admin"
	[[ $output == *'[401]' ]]
	nothing_changed
}

@test "the credential of one user with the certificate of another one" {
	for user in "$EVE" "$BOB"; do
		with "$TLS/ca" "$user"
		denied "the certificate shown does not name the user" "$ADA" "${CERTIFICATE[@]}"
	done
	with "$TLS/ca" "$ADA"
	denied "the certificate shown does not name the user" "$EVE" "${CERTIFICATE[@]}"
}

@test "root is not served over HTTPS, whatever it shows" {
	rota admin pki issue root --to="$TLS/ca" --user=root
	with "$TLS/ca" root
	run attack root "${CERTIFICATE[@]}"
	[[ $output == *"root is not served over HTTPS"*'[403]' ]]
	nothing_changed
}

@test "a server's certificate, also one with the user's name; one without a purpose, and one with two names" {
	for name in head server; do
		with "$TLS/ca" "$name"
		denied "the certificate shown is not a user's" "$ADA" "${CERTIFICATE[@]}"
	done
	openssl_user "$TLS/both" "subjectAltName=URI:rota-user:$ADA\nextendedKeyUsage=clientAuth,serverAuth"
	openssl_user "$TLS/none" "subjectAltName=URI:rota-user:$ADA"
	for name in both none; do
		with "$TLS" "$name"
		denied "the certificate shown is not a user's" "$ADA" "${CERTIFICATE[@]}"
	done
	openssl_user "$TLS/mail" "subjectAltName=URI:rota-user:$ADA\nextendedKeyUsage=emailProtection"
	with "$TLS" mail
	denied "unsuitable certificate purpose" "$ADA" "${CERTIFICATE[@]}"
	openssl_user "$TLS/two" "subjectAltName=URI:rota-user:$EVE,URI:rota-user:$ADA\nextendedKeyUsage=clientAuth"
	openssl_user "$TLS/dns" "subjectAltName=DNS:$ADA\nextendedKeyUsage=clientAuth"
	openssl_user "$TLS/longer" "subjectAltName=URI:rota-user:${ADA}x\nextendedKeyUsage=clientAuth"
	openssl_user "$TLS/common" "extendedKeyUsage=clientAuth"
	for name in two dns longer common; do
		with "$TLS" "$name"
		denied "the certificate shown does not name the user" "$ADA" "${CERTIFICATE[@]}"
	done
	# The same by OpenSSL, as it must be.
	openssl_user "$TLS/good" "$NAMES_ADA"
	with "$TLS" good
	run attack "$ADA" "${CERTIFICATE[@]}"
	[[ $output == *'[200]' ]]
	rota admin user delete stolen
}

@test "a user's certificate is no server's" {
	install -m 0644 "$TLS/ca/$EVE.pem" "$TLS/fake.pem"
	openssl s_server -accept 0 -cert "$TLS/fake.pem" -key "$TLS/ca/$EVE.key" -www >"$TLS/fake.log" 2>&1 3>&- &
	pid=$!
	accepts() { grep -q '^ACCEPT' "$TLS/fake.log"; }
	eventually accepts
	port=$(sed -n 's/^ACCEPT.*:\([0-9]*\).*/\1/p' "$TLS/fake.log")
	sed -e "s,^url *=.*,url = https://localhost:$port," -e "s,^authority *=.*,authority = $TLS/users.pem," "$TLS/remote.conf" >"$TLS/fake.conf"
	CLIENT=$TLS/fake.conf refused "TLS with jobmgrd failed" remote "$ADA" rota queue
	kill "$pid"
	wait "$pid" || true
}

@test "certificates of another authority, by its own hand, or signed by a user" {
	with "$TLS/foreign" "$ADA"
	denied "unable to verify the first certificate" "$ADA" "${CERTIFICATE[@]}"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=rota-user:$ADA" -keyout "$TLS/self.key" \
		-addext "subjectAltName=URI:rota-user:$ADA" -addext extendedKeyUsage=clientAuth -out "$TLS/self.pem" 2>/dev/null
	with "$TLS" self
	denied "self-signed certificate" "$ADA" "${CERTIFICATE[@]}"
	# The other authority has the same name, so only its key tells them apart.
	cat "$TLS/foreign/$ADA.pem" "$TLS/foreign/authority.pem" >"$TLS/chain.pem"
	denied "self-signed certificate in certificate chain" "$ADA" --cert "$TLS/chain.pem" --key "$TLS/foreign/$ADA.key"
	# Eve signs a certificate for Ada with her own, which is of the right authority.
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$TLS/sub.key" -subj "/CN=rota-user:$ADA" -out "$TLS/sub.request" 2>/dev/null
	openssl x509 -req -in "$TLS/sub.request" -CA "$TLS/ca/$EVE.pem" -CAkey "$TLS/ca/$EVE.key" -set_serial 7 -days 2 \
		-extfile <(printf 'subjectAltName=URI:rota-user:%s\nextendedKeyUsage=clientAuth' "$ADA") -out "$TLS/sub.pem" 2>/dev/null
	cat "$TLS/ca/$EVE.pem" >>"$TLS/sub.pem"
	with "$TLS" sub
	denied "key usage does not include certificate signing" "$ADA" "${CERTIFICATE[@]}"
}

@test "a certificate that has expired, or whose time has not come" {
	openssl_user "$TLS/old" "$NAMES_ADA" -days -1
	with "$TLS" old
	denied "certificate has expired" "$ADA" "${CERTIFICATE[@]}"
	remote "$ADA" rota admin node resume n1 # the same user with a valid one
	cp "$TLS/old.request" "$TLS/early.request"
	cp "$TLS/old.key" "$TLS/early.key"
	: >"$TLS/index"
	openssl ca -batch -config <(printf '%s\n' '[ca]' default_ca=x '[x]' "database=$TLS/index" "new_certs_dir=$TLS" default_md=sha256 policy=p rand_serial=yes '[p]' commonName=supplied) \
		-cert "$TLS/ca/authority.pem" -keyfile "$TLS/ca/authority.key" -in "$TLS/early.request" -startdate 20900101000000Z \
		-enddate 20910101000000Z -extfile <(printf '%b' "$NAMES_ADA") -notext -out "$TLS/early.pem" 2>/dev/null
	with "$TLS" early
	denied "certificate is not yet valid" "$ADA" "${CERTIFICATE[@]}"
	cp "$TLS/old.pem" "$TLS/ca/old.pem"
	cp "$TLS/old.key" "$TLS/ca/old.key"
	rota admin pki renew old --to="$TLS/ca"
	with "$TLS/ca" old
	run attack "$ADA" "${CERTIFICATE[@]}"
	[[ $output == *'[200]' ]]
	rota admin user delete stolen
}

@test "everything that is needed, from an address that is not in the list" {
	with "$TLS/ca" "$ADA"
	for address in 127.0.0.2 127.0.0.9; do
		denied "this host is not in gate.admin_hosts" "$ADA" "${CERTIFICATE[@]}" --interface "$address"
	done
	run attack "$ADA" "${CERTIFICATE[@]}" --interface 127.0.0.1
	[[ $output == *'[200]' ]]
	rota admin user delete stolen
	# Other addresses are not asked for a certificate at all.
	run openssl s_client -connect "localhost:$PORT" -bind 127.0.0.2:0 <<<Q
	[[ $output != *"Acceptable client certificate"* && $output == *"No client certificate CA names sent"* ]]
}

@test "no session is resumed, so none brings an earlier certificate along" {
	for version in -tls1_2 -tls1_3; do
		rm -f "$TLS/session"
		# An answer is waited for, since tickets of TLS 1.3 come after the handshake.
		request='GET /v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
		run bash -c "printf '$request' | openssl s_client $version -ign_eof -connect localhost:$PORT -cert $TLS/ca/$ADA.pem -key $TLS/ca/$ADA.key -sess_out $TLS/session"
		[[ $output == *'"ok":true'* && $output == *New,* ]]
		[ -e "$TLS/session" ] || continue
		run bash -c "printf '$request' | openssl s_client $version -ign_eof -connect localhost:$PORT -sess_in $TLS/session"
		[[ $output == *New,* && $output != *Reused,* ]]
	done
}

@test "a client's certificate that cannot be used is an error that names the file" {
	chmod 0640 "$TLS/users/$BOB.key"
	refused "users/$BOB.key\" can be read by others" remote "$BOB" rota queue
	chmod 0600 "$TLS/users/$BOB.key"
	mv "$TLS/users/$BOB.key" "$TLS/users/kept"
	refused "could not read the key" remote "$BOB" rota queue
	install -m 0600 -o "$BOB" "$TLS/ca/$EVE.key" "$TLS/users/$BOB.key"
	refused "could not use the key of your certificate" remote "$BOB" rota queue
	mv "$TLS/users/kept" "$TLS/users/$BOB.key"
	remote "$BOB" rota queue
}

@test "with another authority, certificates of the one before are worth nothing" {
	cp "$TLS/foreign/authority.pem" "$TLS/new.pem"
	mv "$TLS/new.pem" "$TLS/users.pem"
	lost() { [[ $(remote "$ADA" rota admin node drain n1 --reason=stolen 2>&1) == *"need their certificate"* ]]; }
	eventually lost
	with "$TLS/ca" "$ADA"
	denied "unable to verify the first certificate" "$ADA" "${CERTIFICATE[@]}"
	with "$TLS/foreign" "$ADA"
	run attack "$ADA" "${CERTIFICATE[@]}"
	[[ $output == *'[200]' ]]
	rota admin user delete stolen
}

@test "an error of the settings names the key" {
	local key value words
	while IFS=';' read -r key value words; do
		sed -E "s|^admin_hosts *=.*|admin_hosts = 127.0.0.1|; s|^$key *=.*|$key = $value|" "$ROTA_HOME/etc/rota.conf" >"$TLS/wrong.conf"
		run -1 timeout 60 jobmgrd --config "$TLS/wrong.conf" --name wrong 3>&-
		[[ $output == *"\"$key\" in section \"gate\""*"$words"* ]] || { echo "$key $value: $output"; false; }
	done <<-END
		admin_hosts;10.0.0.256;"10.0.0.256" is neither an address nor a network
		admin_hosts;10.0.0.0/33;"10.0.0.0/33" is neither an address nor a network
		admin_hosts;fd00::/129;is neither an address nor a network
		admin_hosts;10.0.0.1, head;"head" is neither an address nor a network
		admin_hosts;10.0.0.0/;is neither an address nor a network
		user_authority;$TLS/absent.pem;could not read a certificate from
		user_authority;$TLS/gate.key;could not read a certificate from
	END
	sed -E "s|^user_authority *=.*|user_authority =|" "$ROTA_HOME/etc/rota.conf" >"$TLS/wrong.conf"
	run -1 timeout 60 jobmgrd --config "$TLS/wrong.conf" --name wrong 3>&-
	[[ $output == *'"admin_hosts" in section "gate" needs "user_authority"'* ]]
}
