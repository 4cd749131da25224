#!/usr/bin/env bats
# Permissions: two ordinary users, an operator, an administrator and an analyst, each a real user of this machine.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	local role user
	export GROUP=rgr$$
	groupadd "$GROUP"
	for role in ALICE BOB OLGA ADA ANNA; do
		user=r${role,,}$$
		useradd --no-create-home --home-dir "/tmp/$user" --shell /bin/bash "$user"
		export "$role=$user"
	done
	usermod -a -G "$GROUP" "$ALICE"
	instance_up 1 --cpus 8 --mem 4000 --set node.grace=1
	for user in "$ALICE" "$BOB"; do
		mkdir "$ROTA_TEST_DIR/$user"
		chown "$user:" "$ROTA_TEST_DIR/$user"
	done
	rota admin user create "$OLGA" --role=operator
	rota admin user create "$ADA" --role=admin
	rota admin user create "$ANNA" --analyst=true
	cat >"$ROTA_TEST_DIR/secret.sh" <<-'END'
		#!/bin/bash
		#ROTA --job-name=plain --comment=confidential
		echo "the password is swordfish"
	END
	cat >"$ROTA_TEST_DIR/sleep.sh" <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null
		sleep 600
	END
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0 user
	instance_down || status=1
	for user in "$ALICE" "$BOB" "$OLGA" "$ADA" "$ANNA"; do
		userdel "$user" || status=1
	done
	groupdel "$GROUP" || status=1
	return "$status"
}

setup() {
	need_root
}

# Clean up after a test that failed.
teardown() {
	local jobs
	[ "$EUID" = 0 ] || return 0
	jobs=$(rota queue --json | jq -r '.jobs[].job_id')
	[ -z "$jobs" ] || rota cancel $jobs >/dev/null
	rota admin setting change queue_visible --value=true >/dev/null
}

# submit USER [OPTION]... SCRIPT: as that user, from a folder of theirs; the job's id.
submit() {
	local user=$1
	shift
	(cd "$ROTA_TEST_DIR/$user" && as "$user" rota submit --parsable "$@")
}

step_is() { # JOB STATE
	[ "$(superuser "select state from rota.step where job_id = $1 and step_id = 0")" = "$2" ]
}

@test "no user can act on another user's job" {
	job=$(submit "$ALICE" --hold "$ROTA_TEST_DIR/secret.sh")
	for verb in cancel hold release suspend resume "signal USR1" "modify --time=5" "show --script"; do
		refused "job $job belongs to \"$ALICE\"" as "$BOB" rota $verb "$job"
		refused "job $job belongs to \"$ALICE\"" as "$ANNA" rota $verb "$job"
	done
	refused "private" as "$BOB" rota log "$job"
	printf '#!/bin/sh\n#ROTA --output=/dev/null\n#ROTA step a\ntrue\n#ROTA step b --array=1-2\ntrue\n' >"$ROTA_TEST_DIR/several.sh"
	several=$(submit "$ALICE" "$ROTA_TEST_DIR/several.sh")
	as "$ALICE" rota wait "$several"
	for operand in "$several" "$several.b" "-f $several" "--json $several.a"; do
		refused "private" as "$BOB" rota log $operand
	done
	refused "only operators give priority" as "$ALICE" rota modify --priority=5 "$job"
	refused "only operators give a negative value" as "$ALICE" rota modify --nice=-5 "$job"
	printf '#!/bin/sh\n#PBS -p 5\n' >"$ROTA_TEST_DIR/first.sh"
	refused "first.sh:2: -p: only operators give a negative value"*"Of #PBS lines it is -p, with the other sign" as "$ALICE" rota submit "$ROTA_TEST_DIR/first.sh"
	step_is "$job" pending
	as "$ALICE" rota cancel "$job"
	step_is "$job" cancelled
}

@test "operators and admins act on the jobs of all" {
	for user in "$OLGA" "$ADA"; do
		job=$(submit "$ALICE" --time=10 "$ROTA_TEST_DIR/sleep.sh")
		eventually step_is "$job" running
		as "$user" rota suspend "$job"
		eventually step_is "$job" suspended
		as "$user" rota resume "$job"
		eventually step_is "$job" running
		as "$user" rota modify --time=20 "$job"
		as "$user" rota signal USR1 "$job"
		run rota wait --timeout=300 "$job"
		[ "$status" -eq $((128 + 10)) ]
		job=$(submit "$ALICE" "$ROTA_TEST_DIR/sleep.sh")
		eventually step_is "$job" running
		as "$user" rota cancel "$job"
		run rota wait --timeout=300 "$job"
		step_is "$job" cancelled
	done
}

@test "an operator can change where a job runs, not what it does" {
	job=$(submit "$ALICE" --hold "$ROTA_TEST_DIR/secret.sh")
	as "$OLGA" rota modify --priority=3 --time=7 "$job"
	for option in --output=/tmp/elsewhere --workdir=/tmp --prolog=/bin/true --shell=/bin/cat; do
		refused "only the owner \"$ALICE\" may change what the step runs" as "$OLGA" rota modify "$option" "$job"
	done
	as "$ALICE" rota cancel "$job"
}

@test "operators drain nodes, only admins change the cluster" {
	[ "$(rota sql -Atc "select string_agg(user_name, ' ' order by user_name) from rota.person where role = 'admin'")" = "$ADA root" ]
	for user in "$ALICE" "$OLGA" "$ANNA"; do
		refused "" as "$user" rota admin partition create mine
		refused "" as "$user" rota admin setting change queue_visible --value=true
		refused "" as "$user" rota admin user create "$user" --role=admin
	done
	refused "" as "$ALICE" rota admin node drain n1 --reason=mine
	as "$OLGA" rota admin node drain n1 --reason=cleaning
	as "$OLGA" rota admin node resume n1
	as "$ADA" rota admin partition create theirs --nodes=n1
	as "$ADA" rota admin partition delete theirs
}

@test "other users see a job in lists, without script, environment, comment, command line and paths" {
	job=$(COLOUR=ultramarine submit "$ALICE" --hold "$ROTA_TEST_DIR/secret.sh")
	for user in "$BOB" "$ANNA"; do
		for verb in queue show why acct; do
			run as "$user" rota $verb --json "$job"
			[ "$status" -eq 0 ]
			[[ $output == *"$job"* ]]
			[[ $output != *confidential* ]]
			[[ $output != *secret.sh* ]]
			[[ $output != *"$ROTA_TEST_DIR"* ]]
			[[ $output != *swordfish* ]]
			[[ $output != *ultramarine* ]]
		done
	done
	run as "$ALICE" rota show "$job"
	[[ $output == *confidential* ]]
	line="rota submit --parsable --hold $ROTA_TEST_DIR/secret.sh"
	[[ $output == *"Command     $line"* ]]
	for user in "$ALICE" "$OLGA" "$ADA"; do
		[ "$(as "$user" rota acct --csv --no-header --fields=submit_line "$job")" = "$line" ]
	done
	for user in "$ANNA" "$BOB"; do
		[ -z "$(as "$user" rota acct --csv --no-header --fields=submit_line "$job")" ]
	done
	for query in "submit_line from acct.job where job_id = $job" "submitline from acct.sacct where jobid = '$job'"; do
		[ "$(as "$ANNA" rota sql -Atc "select 'seen', $query")" = 'seen|' ]
		[ "$(rota sql -Atc "select $query")" = "$line" ]
	done
	as "$ALICE" rota cancel "$job"
	# Private rows are not shown by an error message either.
	job=$(submit "$ALICE" --output=no/such/folder "$ROTA_TEST_DIR/secret.sh")
	run rota wait --timeout=300 "$job"
	[ "$(as "$ALICE" rota why "$job" | grep -c 'no/such/folder')" = 1 ]
	[ "$(as "$ALICE" rota show --json "$job" | grep -c 'no/such/folder')" = 1 ]
	for verb in why show acct queue; do
		run as "$BOB" rota $verb --json "$job"
		[ "$status" -eq 0 ]
		[[ $output != *no/such/folder* ]]
	done
}

@test "script and environment are their owner's and admins'" {
	job=$(COLOUR=ultramarine submit "$ALICE" --hold "$ROTA_TEST_DIR/secret.sh")
	for user in "$ALICE" "$ADA"; do
		run as "$user" rota show --script "$job"
		[[ $output == *swordfish* ]]
		run as "$user" curl -s --unix-socket "$ROTA_HOME/run/gate.sock" \
			-H "Authorization: Munge $(as "$user" rota token GET "/v1/script?jobs=$job")" "http://gate/v1/script?jobs=$job"
		[[ $output == *COLOUR=ultramarine* ]]
	done
	refused "private" as "$OLGA" rota show --script "$job"
	refused "belongs to" as "$BOB" rota show --script "$job"
	as "$ALICE" rota cancel "$job"
}

@test "with queue_visible=false other people's jobs are not there" {
	held=$(submit "$ALICE" --hold "$ROTA_TEST_DIR/secret.sh")
	gone=$(submit "$ALICE" --output=/dev/null "$ROTA_TEST_DIR/secret.sh")
	own=$(submit "$BOB" --output=/dev/null "$ROTA_TEST_DIR/secret.sh")
	run rota wait --timeout=300 "$gone" "$own"
	rota admin setting change queue_visible --value=false
	for job in "$held" "$gone"; do
		for verb in queue show why acct wait watch log; do
			refused "job $job belongs to somebody else" as "$BOB" rota $verb "$job"
			[[ $output != *"$ALICE"* ]]
		done
		refused "belongs to somebody else" as "$BOB" rota cancel "$job"
		for kind in after same-nodes; do
			printf '#!/bin/sh\n#ROTA --hold\n#ROTA step a --%s=%s.script\ntrue\n' $kind "$job" >"$ROTA_TEST_DIR/peer.sh"
			refused "--$kind: job $job belongs to somebody else" submit "$BOB" "$ROTA_TEST_DIR/peer.sh"
		done
	done
	for list in "queue --all" "queue --all --limit=1" "acct" "acct --user=$ALICE" "queue --user=$ALICE"; do
		run as "$BOB" rota $list --json
		[ "$status" -eq 0 ]
		[[ $output != *"$ALICE"* ]]
		[[ $output != *"\"job_id\":$held"[^0-9]* ]]
	done
	# A limit of rows counts visible rows.
	[ "$(as "$BOB" rota queue --all --limit=1 --json | jq '.jobs[].job_id')" = "$own" ]
	for user in "$ALICE" "$OLGA" "$ADA"; do
		[ "$(as "$user" rota queue --json "$held" | jq '.jobs[].job_id')" = "$held" ]
	done
	as "$ALICE" rota cancel "$held"
	rota admin setting change queue_visible --value=true
}

@test "with queue_visible=false, why names no other user's job" {
	rota admin setting change queue_visible --value=false
	printf '#!/bin/sh\n#ROTA --output=/dev/null\n#ROTA step telling --ntasks=8\nsleep 600\n' >"$ROTA_TEST_DIR/full.sh"
	printf '#!/bin/sh\n#ROTA --output=/dev/null --ntasks=8\ntrue\n' >"$ROTA_TEST_DIR/blocked.sh"
	full=$(submit "$ALICE" "$ROTA_TEST_DIR/full.sh")
	eventually step_is "$full" running
	blocked=$(submit "$BOB" "$ROTA_TEST_DIR/blocked.sh")
	eventually why_says "$BOB" "$blocked" "another job"
	run as "$BOB" rota why --json "$blocked"
	[[ $output != *telling* ]]
	[[ $output != *"$full."* ]]
	run as "$OLGA" rota why "$blocked"
	[[ $output == *"$full.telling"* ]]
	rota admin setting change queue_visible --value=true
	run as "$BOB" rota why "$blocked"
	[[ $output == *"$full.telling"* ]]
	as "$ALICE" rota cancel "$full"
	as "$BOB" rota cancel "$blocked"
	run rota wait --timeout=300 "$full"
}

why_says() { # USER JOB TEXT
	as "$1" rota why "$2" | grep -q "$3"
}

@test "nodes are reserved for the owner's own steps only" {
	job=$(submit "$ALICE" "$ROTA_TEST_DIR/sleep.sh")
	printf '#!/bin/sh\n#ROTA --output=/dev/null\n#ROTA step next --same-nodes=%s.script\ntrue\n' "$job" >"$ROTA_TEST_DIR/next.sh"
	refused "--same-nodes: job $job belongs to \"$ALICE\"" submit "$BOB" "$ROTA_TEST_DIR/next.sh"
	next=$(submit "$ALICE" --hold "$ROTA_TEST_DIR/next.sh")
	as "$ALICE" rota cancel "$next" "$job"
	run rota wait --timeout=300 "$job"
}

@test "an operator's hold is not the owner's to lift" {
	job=$(submit "$ALICE" --hold "$ROTA_TEST_DIR/sleep.sh")
	as "$OLGA" rota hold "$job"
	refused "held by an operator" as "$ALICE" rota release "$job"
	as "$OLGA" rota release "$job"
	eventually step_is "$job" running
	as "$ALICE" rota cancel "$job"
	# A user who holds an own job can release it, whatever the role.
	mkdir "$ROTA_TEST_DIR/$OLGA"
	chown "$OLGA:" "$ROTA_TEST_DIR/$OLGA"
	job=$(submit "$OLGA" --hold "$ROTA_TEST_DIR/sleep.sh")
	as "$OLGA" rota hold "$job"
	run rota why "$job"
	[[ $output == *"held by its owner"* ]]
	as "$OLGA" rota cancel "$job"
}

@test "the same client key of two users makes two jobs" {
	one=$(submit "$ALICE" --client-key=monday --hold "$ROTA_TEST_DIR/secret.sh")
	two=$(submit "$BOB" --client-key=monday --hold "$ROTA_TEST_DIR/secret.sh")
	[ "$one" != "$two" ]
	[ "$(submit "$ALICE" --client-key=monday --hold "$ROTA_TEST_DIR/secret.sh")" = "$one" ]
	rota cancel "$one" "$two"
}

# post VERB BODY: as Bob.
post() {
	run as "$BOB" curl -s --unix-socket "$ROTA_HOME/run/gate.sock" -d "$2" \
		-H "Authorization: Munge $(as "$BOB" rota token -d "$2" POST "/v1/$1")" "http://gate/v1/$1"
}

@test "a request names neither its user nor its groups" {
	rota admin partition create members --nodes=n1 --allow_groups="$GROUP"
	eventually partition_known members
	job=$(as "$BOB" rota submit --parsable --hold "$ROTA_TEST_DIR/secret.sh")
	for named in '"uid":0' '"gid":0' '"user":"root"' '"groups":["'$GROUP'"]'; do
		post submit '{"script":"#!/bin/sh\ntrue\n","workdir":"/tmp",'"$named"'}'
		[[ $output == *'unknown member \"'*'\" of the request'* ]]
	done
	for named in '"uid":0' '"gid":0' '"groups":["'$GROUP'"]'; do
		post modify '{"jobs":["'$job'"],"options":["--partition=members"],'"$named"'}'
		[[ $output == *'unknown member \"'*'\" of the request'* ]]
	done
	# A selection of another user's jobs, from Bob's own: none.
	post modify '{"jobs":["'$job'"],"options":["--partition=members"],"user":"root"}'
	[[ $output == *'"steps": []'* ]]
	post modify '{"jobs":["'$job'"],"options":["--partition=members"]}'
	[[ $output == *"you may not use partition"* ]]
	as "$BOB" rota cancel "$job"
	rota admin partition delete members
}

# The translator has a new partition within a second.
partition_known() {
	run submit "$ALICE" --hold -p "$1" "$ROTA_TEST_DIR/secret.sh"
	[ "$status" -ne 0 ] || as "$ALICE" rota cancel "$output"
	[[ $output != *"unknown partition"* ]]
}

@test "partitions are open to whom their lists name" {
	rota admin account create ours --users="$ALICE"
	rota admin account create everybodys
	rota admin partition create by_user --nodes=n1 --allow_users="$ALICE"
	rota admin partition create by_group --nodes=n1 --allow_groups="$GROUP,root"
	rota admin partition create by_account --nodes=n1 --allow_accounts=ours
	eventually partition_known by_account
	for where in "-p by_user" "-p by_group" "-p by_account --account=ours"; do
		job=$(submit "$ALICE" --output=/dev/null $where "$ROTA_TEST_DIR/secret.sh")
		rota wait --timeout=300 "$job"
		refused "may not use" submit "$BOB" $where "$ROTA_TEST_DIR/secret.sh"
	done
	refused 'may not use partition "by_account"' submit "$ALICE" -p by_account "$ROTA_TEST_DIR/secret.sh"
	refused 'may not use partition "by_account"' submit "$ALICE" -p by_account --account=everybodys "$ROTA_TEST_DIR/secret.sh"
	# The same permissions for a job that exists already.
	job=$(submit "$ALICE" --hold "$ROTA_TEST_DIR/secret.sh")
	as "$ALICE" rota modify -p by_user "$job"
	as "$ALICE" rota modify -p by_group "$job"
	refused "may not use" as "$ALICE" rota modify -p by_account "$job"
	as "$ALICE" rota modify -p by_account --account=ours "$job"
	refused "may not use" as "$ALICE" rota modify --account=everybodys "$job"
	as "$ALICE" rota cancel "$job"
	job=$(submit "$BOB" --hold "$ROTA_TEST_DIR/secret.sh")
	for where in "-p by_user" "-p by_group" "-p by_account" "--account=ours"; do
		refused "may not use" as "$BOB" rota modify $where "$job"
	done
	as "$BOB" rota cancel "$job"
}

@test "a job runs as its user, from where and as it was submitted" {
	cat >"$ROTA_TEST_DIR/self.sh" <<-'END'
		#!/bin/bash
		#ROTA --output=self.%j.out
		id -u; id -g; id -G; umask; pwd -P; echo "$HOME $USER $LOGNAME"; ulimit -Sn; ulimit -Sc; echo "$COLOUR"
		grep -E '^(CapEff|CapPrm)' /proc/self/status
		ls /proc/self/fd | wc -l
	END
	for user in "$ALICE" "$BOB"; do
		job=$(umask 027; ulimit -Sn 321; ulimit -Sc 0; COLOUR=ultramarine submit "$user" "$ROTA_TEST_DIR/self.sh")
		rota wait --timeout=300 "$job"
		out=$ROTA_TEST_DIR/$user/self.$job.out
		[ "$(stat -c '%U:%G %a' "$out")" = "$user:$user 640" ]
		run cat "$out"
		[ "${lines[0]}" = "$(id -u "$user")" ]
		[ "${lines[1]}" = "$(id -g "$user")" ]
		[ "$(tr ' ' '\n' <<<"${lines[2]}" | sort)" = "$(id -G "$user" | tr ' ' '\n' | sort)" ]
		[ "${lines[3]}" = 0027 ]
		[ "${lines[4]}" = "$ROTA_TEST_DIR/$user" ]
		[ "${lines[5]}" = "/tmp/$user $user $user" ]
		[ "${lines[6]}" = 321 ]
		[ "${lines[7]}" = 0 ]
		[ "${lines[8]}" = ultramarine ]
		[[ ${lines[9]} == *0000000000000000 ]]
		[[ ${lines[10]} == *0000000000000000 ]]
		[ "${lines[11]}" = 4 ]
	done
	[[ " $(id -G "$ALICE") " == *" $(getent group "$GROUP" | cut -d: -f3) "* ]]
}

@test "a job runs in the group it was submitted in, if the user is in it" {
	printf '#!/bin/sh\n#ROTA --output=gid.out\nid -gn; id -Gn\n' >"$ROTA_TEST_DIR/gid.sh"
	job=$(cd "$ROTA_TEST_DIR/$ALICE" && setpriv --reuid "$ALICE" --regid "$GROUP" --init-groups \
		rota submit --parsable "$ROTA_TEST_DIR/gid.sh")
	rota wait --timeout=300 "$job"
	run cat "$ROTA_TEST_DIR/$ALICE/gid.out"
	[ "${lines[0]}" = "$GROUP" ]
	[[ " ${lines[1]} " == *" $ALICE "* ]]
}

@test "on the node no user can read another user's files" {
	cat >"$ROTA_TEST_DIR/long.sh" <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null
		# the password is swordfish
		sleep 600
	END
	job=$(COLOUR=ultramarine submit "$ALICE" "$ROTA_TEST_DIR/long.sh")
	eventually step_is "$job" running
	spool=$ROTA_HOME/node/n1/spool/$job.0.1
	[ -s "$spool/script" ]
	[ "$(stat -c '%U %a' "$spool/script")" = "root 550" ]
	hash=$(rota sql -Atc "select encode(script_hash, 'hex') from rota.job where job_id = $job")
	[ -s "$ROTA_HOME/node/n1/cache/$hash" ]
	# As a user at a shell, and from a job of that user.
	cat >"$ROTA_TEST_DIR/snoop.sh" <<-END
		#!/bin/bash
		#ROTA --output=snoop.out
		for file in '$spool/script' '$spool/pid' '$spool/ctl' '$ROTA_HOME/node/n1/cache/$hash' '$ROTA_HOME/node/n1/journal' \\
			'$ROTA_HOME/node/n1/launcher.pid' '$ROTA_HOME/keys/auth.key' '$ROTA_HOME/keys/sign.key' '$ROTA_HOME/etc/munge.key' \\
			'$ROTA_HOME/pg/data/PG_VERSION' '$ROTA_HOME/log/postgres.log' '$ROTA_HOME/log/jobmgrd.log' '$ROTA_HOME/log/launcher.n1.log' \\
			'$ROTA_HOME/run/jobmgrd-1.pid' '$ROTA_HOME/run/gate.sock.lock'; do
			cat "\$file" >/dev/null 2>&1 && echo "reads \$file"
			{ true >>"\$file"; } 2>/dev/null && echo "writes \$file"
		done
		for folder in '$ROTA_HOME' '$ROTA_HOME/node/n1' '$ROTA_HOME/node/n1/spool' '$spool' '$ROTA_HOME/node/n1/cache' '$ROTA_HOME/keys' \\
			'$ROTA_HOME/log' '$ROTA_HOME/pg'; do
			ls "\$folder" >/dev/null 2>&1 && echo "lists \$folder"
			touch "\$folder/new" 2>/dev/null && echo "writes to \$folder"
		done
		for pid in \$(pgrep -u '$ALICE'); do
			cat /proc/\$pid/environ >/dev/null 2>&1 && echo "sees the environment of \$pid"
		done
		echo finished
	END
	chmod 755 "$ROTA_TEST_DIR/snoop.sh"
	[ "$(as "$BOB" bash "$ROTA_TEST_DIR/snoop.sh")" = finished ]
	[ "$(as "$ANNA" bash "$ROTA_TEST_DIR/snoop.sh")" = finished ]
	snoop=$(submit "$BOB" "$ROTA_TEST_DIR/snoop.sh")
	rota wait --timeout=300 "$snoop"
	[ "$(cat "$ROTA_TEST_DIR/$BOB/snoop.out")" = finished ]
	refused "" as "$BOB" kill "$(rota sql -Atc "select session_id from rota.attempt where job_id = $job")"
	as "$ALICE" rota cancel "$job"
	run rota wait --timeout=300 "$job"
}

@test "a user reaches the database as nobody else" {
	for role in postgres rota_owner rota_admin rota_jobmgr rota_jobmgr_leader rota_jobmgr_admin rota_node rota_nodemgr rota_runner rota_analyst rota_login "$ALICE" "$ANNA"; do
		refused "" as "$BOB" psql -X -h "$ROTA_HOME/run" -d rota -U "$role" -c 'select 1'
		if [ "$role" != "$ANNA" ]; then
			refused "" as "$ANNA" psql -X -h "$ROTA_HOME/run" -d rota -U "$role" -c 'select 1'
		fi
	done
	for database in postgres template1; do
		refused "" as "$ANNA" psql -X -h "$ROTA_HOME/run" -d "$database" -U "$ANNA" -c 'select 1'
	done
}

@test "rota sql: an ordinary user has no login, and the error says how to get one" {
	for user in "$ALICE" "$OLGA" "$ADA"; do
		refused "\"$user\" has no login in the database" as "$user" rota sql -Atc 'select 1'
		[[ $output == *"rota admin user create $user --analyst=true"*"rota admin user change $user --analyst=true"* ]]
	done
	refused 'Use "change"' rota admin user create "$OLGA" --analyst=true
}

@test "rota sql: an analyst reads schema acct and nothing else" {
	job=$(COLOUR=ultramarine submit "$ALICE" --output=/dev/null "$ROTA_TEST_DIR/secret.sh")
	rota wait --timeout=300 "$job"
	run as "$ANNA" rota sql -Atc "select current_user"
	[ "$output" = "$ANNA" ]
	run as "$ANNA" rota sql -Atc "select job_id, user_name, state from acct.job where job_id = $job"
	[ "$output" = "$job|$ALICE|completed" ]
	rota sql -Atc "select format('select * from acct.%I;', relname) from pg_class where relnamespace = 'acct'::regnamespace" >"$BATS_TEST_TMPDIR/views"
	run -0 as "$ANNA" rota sql -v ON_ERROR_STOP=1 -At <"$BATS_TEST_TMPDIR/views"
	[[ $output == *"$ALICE"* ]]
	[[ $output != *swordfish* ]]
	[[ $output != *ultramarine* ]]
	[[ $output != *confidential* ]]
	rota sql -Atc "select format('select * from rota.%I;', relname) from pg_class
		where relnamespace = 'rota'::regnamespace and relkind in ('r', 'p', 'S')" >"$BATS_TEST_TMPDIR/tables"
	run as "$ANNA" rota sql -At <"$BATS_TEST_TMPDIR/tables"
	[ "$(grep -c 'permission denied' <<<"$output")" = "$(wc -l <"$BATS_TEST_TMPDIR/tables")" ]
	[ "$(grep -vcE 'permission denied|^LINE |^ *\^$' <<<"$output")" = 0 ]
	run -0 as "$ANNA" rota sql -Atc "select string_agg(proname, ' ') from pg_proc where pronamespace in ('api'::regnamespace, 'internal'::regnamespace) and has_function_privilege(oid, 'execute')"
	[ "$output" = "" ]
}

@test "rota sql: an analyst cannot change anything or block others" {
	sql() {
		as "$ANNA" rota sql -Atc "set default_transaction_read_only = off" -c "$1"
	}
	for statement in "create table x (i int)" "create temp table x (i int)" "create schema x" "create role x" "select lo_creat(-1)" \
		"select lo_from_bytea(0, 'x')" "select pg_advisory_lock(hashtext('rota leader schedule'))" "select pg_try_advisory_lock(1)" \
		"select login.person_set('x', 'rota_analyst')" "set role rota_owner" "set role rota_jobmgr" "set session authorization postgres" \
		"update acct.job set state = 'failed'" "delete from acct.event" "copy acct.job to program 'id'" "copy acct.job to '/tmp/x'" \
		"select pg_read_file('PG_VERSION')" "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rota_jobmgr'" \
		"select api.job_cancel(0, 'root', '{}')" "lock table rota.job"; do
		refused "" sql "$statement"
	done
	run sql "select count(*) from pg_stat_activity where query like '%api.%' and usename <> current_user"
	[ "${lines[-1]}" = 0 ]
}

@test "rota sql: processes of analysts have lower CPU priority, other server processes do not" {
	as "$ANNA" rota sql -Atc "select pg_sleep(600)" >/dev/null 2>&1 3>&- &
	class_of() { superuser "select pid from pg_stat_activity where $1" | xargs -r ps -o cls= -p | sort -u | xargs; }
	yields() { [ "$(class_of "usename = '$ANNA'")" = IDL ]; }
	eventually yields
	[ "$(class_of "usename is distinct from '$ANNA'")" = TS ]
	session=/proc/$(superuser "select pid from pg_stat_activity where usename = '$ANNA'")/autogroup
	[ ! -e "$session" ] || [[ $(cat "$session") == *"nice 19" ]]
	superuser "select pg_terminate_backend(pid) from pg_stat_activity where usename = '$ANNA'" >/dev/null
	wait $! || true
}

@test "rota sql: the instance's administrator reads everything but private and replayable columns" {
	job=$(COLOUR=ultramarine submit "$ALICE" --output=/dev/null --hold "$ROTA_TEST_DIR/secret.sh")
	run rota sql -Atc "select current_user"
	[ "$output" = rota_admin ]
	run rota sql -Atc "select comment from rota.job where job_id = $job"
	[ "$output" = confidential ]
	for query in "select body from rota.script" "select body from rota.environment" "select * from rota.client_key" \
		"select spec from rota.step_request" "select auth from rota.step_request" "select body from rota.node_order" \
		"select signature from rota.node_order" "update rota.job set uid = 0" "delete from rota.node_order" \
		"select api.job_cancel(0, 'root', '{}')"; do
		refused "permission denied" rota sql -Atc "$query"
	done
	as "$ALICE" rota cancel "$job"
}
