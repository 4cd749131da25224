# credential.bash - an instance with credentials, and its users ANNA and EVE. A file of tests does `load helper` and `load credential`, then
# credentials_up in setup_file. Each test runs in a folder that all users can enter, and ends with an audit.

# credentials_up ANNA EVE NODES [OPTION OF rota up]...: users of these names, and an instance whose keys are in ROTA_TEST_KEYS.
credentials_up() {
	[ "$EUID" = 0 ] || skip "needs root, for users"
	local nodes=$3
	ANNA=$1 EVE=$2
	export ANNA EVE
	shift 3
	users_add "$ANNA" "$EVE"
	export ROTA_TEST_KEYS
	ROTA_TEST_KEYS=$(mktemp -d "${TMPDIR:-/tmp}/rota-keys.XXXXXX")
	chmod 0711 "$ROTA_TEST_KEYS"
	instance_up "$nodes" --set node.grace=1 --set credentials.keys="$ROTA_TEST_KEYS/cred" --set credentials.period=1 "$@"
}

teardown_file() {
	instance_users_down "$ANNA" "$EVE"
	rm -rf "$ROTA_TEST_KEYS"
}

setup() {
	mkdir "$ROTA_TEST_DIR/$BATS_TEST_NUMBER" # a folder that all users can enter
	cd "$ROTA_TEST_DIR/$BATS_TEST_NUMBER"
	chmod 0777 .
}

teardown() {
	local user
	for user in "$ANNA" "$EVE"; do
		as "$user" rota cancel -q --me >/dev/null 2>&1 || true
	done
	rota wait -q --timeout=60 || true
	audit
}

# secret: the secret of this test, which is like no other text.
secret() {
	echo "s3cret-$BATS_TEST_NUMBER-$$-of-anna"
}
