#!/usr/bin/env bats
# A stolen account of a user or of the database reaches for what root does on a node: each attack is denied. Beside each attack, the
# legitimate use works.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rsus$$ CLUB=rclub$$ OTHERS=rothers$$
	users_add "$EVE"
	groupadd "$CLUB"
	groupadd "$OTHERS"
	usermod -a -G "$CLUB" "$EVE"
	HOOKS=$(mktemp -d /tmp/rota-hooks.XXXXXX)
	export HOOKS
	printf '#!/bin/bash\ntouch "$0.$ROTA_JOB_ID"\n' >"$HOOKS/epilog"
	chmod 755 "$HOOKS" "$HOOKS/epilog"
	export SERVICE=rota-test$$
	echo 'account required pam_unix.so' >"/etc/pam.d/$SERVICE"
	instance_up 1 --cpus 4 --mem 4000 --set launcher.min_uid=1000 --set "launcher.pam_service=$SERVICE" --site-epilog "$HOOKS/epilog"
	export FOLDER=$ROTA_TEST_DIR/$EVE
	folders_add "$EVE"
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_users_down "$EVE" || status=1
	groupdel "$CLUB" || status=1
	groupdel "$OTHERS" || status=1
	rm -rf -- "$HOOKS" "/etc/pam.d/$SERVICE"
	return "$status"
}

setup() {
	need_root
}

# submit GROUP: a job of Eve under the group, which prints its group; the number is in `job`.
submit() {
	printf '#!/bin/bash\nid -gn\n' >"$FOLDER/group.sh"
	cd "$FOLDER"
	job=$(setpriv --reuid "$EVE" --regid "$1" --init-groups env HOME=/tmp USER="$EVE" LOGNAME="$EVE" \
		rota submit --parsable --output="$FOLDER/%j.out" group.sh)
}

@test "a job runs under a group of its user only" {
	for group in "$EVE" "$CLUB"; do
		submit "$group"
		rota wait "$job"
		[ "$(cat "$FOLDER/$job.out")" = "$group" ]
	done
	rota admin setting change requeue_max --value=0
	submit "$OTHERS"
	is_held() { [ "$(superuser "select held from rota.step where job_id = $job")" = system ]; }
	eventually is_held
	[ ! -e "$FOLDER/$job.out" ]
	[[ "$(superuser "select message from rota.attempt where job_id = $job")" == *"user \"$EVE\" is not a member of group $(getent group "$OTHERS" | cut -d: -f3) on node \"n1\""* ]]
	rota cancel "$job"
	rota admin setting change requeue_max --value=5
}

@test "a record in the database does not keep root's epilog from running" {
	printf '#!/bin/bash\nuntil [ -e go ]; do sleep 0.3; done\n' >"$FOLDER/wait.sh"
	cd "$FOLDER"
	job=$(as "$EVE" rota submit --parsable --output=/dev/null wait.sh)
	runs() { [ "$(superuser "select state from rota.step where job_id = $job")" = running ]; }
	eventually runs
	superuser "select internal.order_put(jsonb_build_array(jsonb_build_object('node_id', 1, 'kind', 'end', 'job_id', $job, 'step_id', 0,
		'attempt', 1, 'args', '{\"epilog\": 0, \"cause\": \"\"}'::jsonb)))"
	taken() { [ "$(superuser "select count(*) from rota.node_order")" = 0 ]; }
	eventually taken
	touch go
	rota wait "$job"
	eventually test -e "$HOOKS/epilog.$job"
	audit
}

@test "PAM says who may run a job on the node" {
	submit "$EVE"
	rota wait "$job"
	chage -E 0 "$EVE"
	submit "$EVE"
	run rota wait "$job"
	[ "$status" -ne 0 ]
	[ ! -e "$FOLDER/$job.out" ]
	[[ "$(superuser "select state || ': ' || message from rota.attempt where job_id = $job")" == "failed: PAM does not let user \"$EVE\" use node \"n1\": "*expired* ]]
	[ "$(superuser "select state from rota.node")" = up ]
	chage -E -1 "$EVE"
	submit "$EVE"
	rota wait "$job"
	[ "$(cat "$FOLDER/$job.out")" = "$EVE" ]
}

# refuses PATTERN: a launcher with the configuration of the instance does not start.
refuses() {
	refused "$1" timeout 60 rota-launcher --config "$FOLDER/../other.conf" --node other
}

@test "a launcher starts only with a key and hooks that nobody else can change" {
	mkdir "$ROTA_TEST_DIR/other" "$ROTA_TEST_DIR/other/keys" "$ROTA_TEST_DIR/other/hooks"
	cp "$ROTA_HOME/keys/sign.pub" "$ROTA_TEST_DIR/other/keys"
	cp "$HOOKS/epilog" "$ROTA_TEST_DIR/other/hooks"
	sed -e "s,^state *=.*node,state = $ROTA_TEST_DIR/other/node," -e "s,^dir *=.*,dir = $ROTA_TEST_DIR/other/keys," \
		-e "s,^site_epilog *=.*,site_epilog = $ROTA_TEST_DIR/other/hooks/epilog," "$ROTA_HOME/etc/rota.conf" >"$ROTA_TEST_DIR/other.conf"
	cd "$ROTA_TEST_DIR/other"
	chmod 666 keys/sign.pub
	refuses "sign.pub\" can be changed by others: file \"$PWD/keys/sign.pub\" has mode 0666"
	chmod 644 keys/sign.pub
	chown "$EVE" keys
	refuses "can be changed by others: folder \"$PWD/keys\" belongs to uid $(id -u "$EVE")"
	chown root keys
	chmod 775 hooks/epilog
	refuses "hooks/epilog\" can be changed by others: file"
	chmod 755 hooks/epilog
	chmod 777 hooks
	refuses "hooks/epilog\" can be changed by others: folder \"$PWD/hooks\" has mode 0777"
	chmod 755 hooks
	rota-launcher --config "$ROTA_TEST_DIR/other.conf" --node other 2>log 3>&- &
	launcher=$!
	serves() { grep -q 'serving node "other"' log; }
	eventually serves
	kill "$launcher"
	wait "$launcher" || true
}
