#!/usr/bin/env bats
# A node's password of the database is stolen: whoever has it speaks for this node and for no other. Beside each attack, the
# legitimate use works.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=reve$$ VIC=rvic$$
	users_add "$EVE" "$VIC"
	instance_up 2 --cpus 8 --mem 4000 --set node.grace=1
	folders_add "$EVE" "$VIC"
	export PASSWORDS=$ROTA_HOME/keys/node.pass
}

teardown_file() {
	instance_users_down "$EVE" "$VIC"
}

setup() {
	need_root
	N1=$(superuser "select node_id from rota.node where name = 'n1'")
	N2=$(superuser "select node_id from rota.node where name = 'n2'")
}

teardown() {
	[ -z "${stopped:-}" ] || kill -CONT "$stopped"
}

# thief SQL...: run each statement by itself, with the stolen password of n1.
thief() {
	local statement words=()
	for statement in "$@"; do
		words+=(-c "$statement")
	done
	PGPASSFILE=$PASSWORDS psql -X -w -h "$ROTA_HOME/run" -d rota -U rota_node_n1 -At "${words[@]}" 2>&1
}

# denied PATTERN SQL...: every statement is refused with an error that has the pattern.
denied() {
	local pattern=$1 answer statement
	shift
	for statement in "$@"; do
		answer=$(thief "$statement") || true
		[[ $answer == *ERROR*$pattern* ]] || { echo "$statement: $answer" >&2; return 1; }
	done
}

# long NODE: a job of the victim that runs on the node until the file `end` is there; its number is in `job`.
long() {
	cat >"$ROTA_TEST_DIR/long.sh" <<-'END'
		#!/bin/bash
		echo the secret of a script >/dev/null
		echo begun
		until [ -e "$1/end" ]; do sleep 0.3; done
		echo over
	END
	chmod 755 "$ROTA_TEST_DIR/long.sh"
	rm -f "$ROTA_TEST_DIR/end"
	cd "$ROTA_TEST_DIR/$VIC"
	job=$(as "$VIC" rota submit --parsable --nodelist="$1" --output="$ROTA_TEST_DIR/$VIC/%j.out" "$ROTA_TEST_DIR/long.sh" "$ROTA_TEST_DIR")
	eventually grep -qs begun "$ROTA_TEST_DIR/$VIC/$job.out"
}

# finished: the victim's job ends as it should, after one attempt.
finished() {
	touch "$ROTA_TEST_DIR/end"
	rota wait --quiet "$job"
	[ "$(cat "$ROTA_TEST_DIR/$VIC/$job.out")" = $'begun\nover' ]
	[ "$(superuser "select count(*) from rota.attempt where job_id = $job")" = 1 ]
}

session_of() {
	superuser "select max(pid) from pg_stat_activity where usename = 'rota_node_$1'"
}

@test "another node's orders, scripts and reports are out of reach" {
	local held report
	long n2
	# A launch request for n2 that n2 cannot fetch yet, so that there is something to steal.
	stopped=$(pid_of procmgrd n2)
	kill -STOP "$stopped"
	held=$(cd "$ROTA_TEST_DIR/$VIC" && as "$VIC" rota submit --parsable --nodelist=n2 --output=/dev/null "$ROTA_TEST_DIR/long.sh" "$ROTA_TEST_DIR")
	waits() { [ "$(superuser "select count(*) from rota.node_order where node_id = $N2 and job_id = $held")" = 1 ]; }
	eventually waits
	order=$(superuser "select order_id from rota.node_order where job_id = $held")
	hash=$(superuser "select encode(script_hash, 'hex') from rota.job where job_id = $held")
	report="{\"boot_us\": 0, \"orders_done\": [], \"records\": [{\"node\": $N2, \"job\": $job, \"step\": 0, \"attempt\": 1, \"kind\": \"done\", \"at_us\": 1, \"exit\": 0, \"signal\": 0, \"cause\": \"exit\", \"outcome\": \"complete\", \"message\": \"\"}]}"
	denied "does not speak for node \"n2\"" "select * from api.node_orders(array[$N2], '{}', 10)" \
		"select * from api.node_renew(array[$N2])" "select * from api.node_report('$report', '[]', true)" "select * from api.node_sampled($N2)" \
		"select * from api.node_report('{\"boot_us\": 0, \"records\": [], \"orders_done\": [$order]}', '[]', true)" \
		"select * from api.node_sample('{\"node\": $N2, \"boot_us\": 0, \"rounds\": []}')" \
		"select * from api.node_register('{\"nodes\": [{\"name\": \"n2\", \"boot_id\": \"other\", \"version\": \"v\", \"address\": \"x\", \"attempts\": []}]}')"
	denied "is not that of" "select api.daemon_register('jobmgrd', '1', 1, 'v')"
	# The thief does not get the script by its hash either; the node of the launch request does.
	[ -z "$(thief "select * from api.node_blob(array[decode('$hash', 'hex')])")" ]
	[ "$(PGPASSFILE=$PASSWORDS psql -X -w -h "$ROTA_HOME/run" -d rota -U rota_node_n2 -At -c "select count(*) from api.node_blob(array[decode('$hash', 'hex')])")" = 1 ]
	denied "permission denied" "select * from rota.script" "select * from rota.node_order" "select * from rota.job" "select * from acct.job" "select api.job_queue(0, 'root', '{}')"
	[ "$(superuser "select state from rota.node where node_id = $N2")" = up ]
	kill -CONT "$stopped"
	stopped=
	finished
	rota wait --quiet "$held"
	audit
}

@test "it ends no session of others, and changes nobody's password or settings" {
	local other
	long n2
	other=$(session_of n2)
	denied "must be" "select pg_terminate_backend($other)" "select pg_cancel_backend($other)"
	denied "" "alter role rota_node_n2 password 'x'" "alter role rota_node_n2 set statement_timeout = 1" "alter role rota_nodes set statement_timeout = 1"
	denied "permission denied" "set role rota_node_n2" "set role rota_owner" "create role eve" "alter role rota_node_n1 createrole" "select login.node_set('n2', null)" \
		"create table public.x (i int)" "create temporary table x (i int)"
	# Changes of the thief to its own login affect only its own node.
	thief "alter role rota_node_n1 set statement_timeout = 1" >/dev/null
	[ "$(session_of n2)" = "$other" ]
	finished
	superuser "alter role rota_node_n1 reset statement_timeout"
	audit
}

@test "a login has few sessions: others get theirs" {
	local i thieves=()
	for i in {1..30}; do
		thief "select pg_sleep(600)" >"$BATS_TEST_TMPDIR/$i" &
		thieves+=($!)
	done
	full() { grep -qs "too many connections for role" "$BATS_TEST_TMPDIR"/*; }
	eventually full
	[ "$(superuser "select count(*) from pg_stat_activity where usename = 'rota_node_n1'")" -le 20 ]
	long n2
	finished
	ended() { # again, since one may only now have got its session
		superuser "select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(600)' and usename = 'rota_node_n1'" >/dev/null
		! kill -0 "${thieves[@]}" 2>/dev/null
	}
	eventually ended
	wait
}

@test "without its password nobody is a node" {
	local role
	for role in rota_node_n1 rota_node_n2; do
		refused "password" as "$EVE" psql -X -w -h "$ROTA_HOME/run" -d rota -U "$role" -c 'select 1'
		refused "password" psql -X -w -h "$ROTA_HOME/run" -d rota -U "$role" -c 'select 1'
		PGPASSWORD=wrong refused "password authentication failed" psql -X -w -h "$ROTA_HOME/run" -d rota -U "$role" -c 'select 1'
	done
	refused "ermission denied" as "$EVE" cat "$PASSWORDS"
	refused "" as "$EVE" psql -X -w -h "$ROTA_HOME/run" -d rota -U rota_node -c 'select 1'
	[ "$(stat -c %a "$PASSWORDS")" = 600 ]
	# The server's stored form of the password cannot be used to log in.
	superuser "select rolpassword from pg_authid where rolname = 'rota_node_n1'" | grep -q '^SCRAM-SHA-256\$'
	run ! grep -rqF "$(sed -n 's/.*:rota_node_n1://p' "$PASSWORDS")" "$ROTA_HOME/log"
	refused "you may not do this" as "$EVE" rota admin node enroll n1 --file="$ROTA_TEST_DIR/$EVE/pass"
	[ "$(thief "select session_user")" = rota_node_n1 ]
}

@test "a revoked login is out at once, and in again when it is enrolled" {
	long n2
	rota admin node revoke n1
	[[ $(thief "select 1") == *FATAL* ]]
	out() { [ "$(superuser "select count(*) from pg_stat_activity where usename = 'rota_node_n1'")" = 0 ]; }
	eventually out
	finished
	[ "$(rota admin node enroll n1 --json | jq -r '.logins[0]')" = n1 ]
	long n1
	finished
	audit
}

@test "a login for several nodes, and one for each: the file has what was there before" {
	local file=$BATS_TEST_TMPDIR/pass
	echo "db:5432:x:y:z" >"$file"
	rota admin node create 'm[1-3]' --cpus=1 --mem=100M
	[ "$(rota admin node enroll 'm[1-3]' --file="$file" | grep -c "password is in $file")" = 3 ]
	[ "$(cut -d: -f4 "$file" | sort | paste -sd,)" = rota_node_m1,rota_node_m2,rota_node_m3,y ]
	[ "$(cut -d: -f5 "$file" | sort -u | wc -l)" = 4 ]
	[ "$(stat -c %a "$file")" = 600 ]
	rota admin node enroll 'm[1-2]' --login=relay --file="$file"
	[ "$(rota admin node show 'm[1-3]' --json | jq -c '[.rows[] | .login_next]')" = '["relay","relay",null]' ]
	refused "there is no node" rota admin node enroll nix --file="$file"
	refused "could not find the folder" rota admin node enroll m1 --file=/nowhere/pass
	ln -s /etc/passwd "$BATS_TEST_TMPDIR/link"
	refused "could not open" rota admin node enroll m1 --file="$BATS_TEST_TMPDIR/link"
	for name in m1 m2 m3; do
		rota admin node delete "$name"
	done
	[ -z "$(superuser "select rolname from pg_roles where rolcanlogin and rolname ~ 'rota_node_(m.|relay)'")" ]
}

@test "an instance that had one login for all nodes: each gets its own, and nothing is lost" {
	local before
	long n1
	before=$(pid_of launcher n1)
	superuser "update rota.node set login = null; alter role rota_node_n1 nologin password null; alter role rota_node_n2 nologin password null"
	rm "$PASSWORDS"
	sed -i '/rota_node/d' "$ROTA_HOME/pg/data/pg_hba.conf"
	superuser "select pg_reload_conf()" >/dev/null
	for node in n1 n2; do
		kill "$(pid_of procmgrd "$node")"
	done
	rota up >/dev/null
	[ "$(pid_of launcher n1)" = "$before" ]
	own() { [ "$(superuser "select string_agg(login, ' ' order by name) from rota.node where login_next is null")" = "n1 n2" ]; }
	eventually own
	finished
	long n2
	finished
	audit
}
