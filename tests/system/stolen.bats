#!/usr/bin/env bats
# A stolen credential, account or key gives only its own rights: each test takes what an attacker may have, attempts more, and is
# denied. Beside each attack, the legitimate use works.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rsto$$
	users_add "$EVE"
	instance_up 1 --cpus 4 --mem 4000 --set launcher.min_uid=1000
	folders_add "$EVE"
}

teardown_file() {
	instance_users_down "$EVE"
}

setup() {
	need_root
	printf '#!/bin/bash\nid -u\n' >"$ROTA_TEST_DIR/id.sh"
	chmod 755 "$ROTA_TEST_DIR/id.sh"
}

# submit_as USER: submit the script from the user's folder; the number is in `job`.
submit_as() {
	cd "$ROTA_TEST_DIR/$EVE"
	job=$(as "$1" rota submit --parsable --output="$ROTA_TEST_DIR/$EVE/%j.out" "$ROTA_TEST_DIR/id.sh")
}

@test "an account of the system submits nothing: jobmgrd refuses" {
	for who in root daemon; do
		refused "jobs of uid $(id -u "$who") do not run here" as "$who" rota submit "$ROTA_TEST_DIR/id.sh"
		refused "launcher.min_uid" as "$who" rota check "$ROTA_TEST_DIR/id.sh"
	done
	[ "$(superuser 'select count(*) from rota.job')" = 0 ]
	submit_as "$EVE"
	rota wait "$job"
	[ "$(cat "$ROTA_TEST_DIR/$EVE/$job.out")" = "$(id -u "$EVE")" ]
}

@test "a jobmgrd that lets root in: the launcher of the node refuses by its own configuration" {
	sed -i 's/^min_uid *=.*/min_uid = 0/' "$ROTA_HOME/etc/rota.conf"
	kill "$(pid_of jobmgrd)"
	gone() { [ -z "$(pid_of jobmgrd)" ]; }
	eventually gone
	rota up >/dev/null
	cd "$ROTA_TEST_DIR"
	job=$(rota submit --parsable --output="$ROTA_TEST_DIR/root.out" "$ROTA_TEST_DIR/id.sh")
	run rota wait "$job"
	[ "$status" -ne 0 ]
	[ ! -e "$ROTA_TEST_DIR/root.out" ]
	[[ "$(superuser "select message from rota.attempt where job_id = $job")" == *"uid 0, and launcher.min_uid of this node is 1000"* ]]
	[ "$(superuser "select state from rota.node")" = up ]
	submit_as "$EVE"
	rota wait "$job"
	[ "$(cat "$ROTA_TEST_DIR/$EVE/$job.out")" = "$(id -u "$EVE")" ]
	audit
}
