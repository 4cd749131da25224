#!/usr/bin/env bats
# A program of the site runs beside the daemons and reaches for their keys: a controller hook, a mail program and node.sample_command
# have accounts of their own, so each attack is denied. Beside each attack, the program does its work.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export HOOK=rshk$$ NODE=rshn$$
	users_add "$HOOK" "$NODE"
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.site.XXXXXX")
	export SITE
	chmod 0755 "$SITE"
	mkdir -m 1777 "$SITE/out"
	echo 'a password' >"$SITE/hook.pass"
	chown "$HOOK" "$SITE/hook.pass"
	chmod 600 "$SITE/hook.pass"
	# A program that writes into out/ what it could read, write, enter and become. It does so once, because samples are taken all
	# the time.
	cat >"$SITE/attack" <<-'END'
		#!/bin/bash
		site=${0%/*} name=${0##*/}
		. "$site/place"
		attack() {
			for file in keys/auth.key keys/sign.key keys/node.pass etc/munge.key etc/rota.conf; do
				cat "$home/$file" >/dev/null 2>&1 && echo "reads $file"
			done
			cat "$site/hook.pass" >/dev/null 2>&1 && echo "reads hook.pass"
			for folder in keys run etc node node/n1; do
				touch "$home/$folder/evil" 2>/dev/null && echo "writes to $folder"
			done
			for pid in $daemons; do
				cat "/proc/$pid/environ" >/dev/null 2>&1 && echo "reads the environment of a daemon"
				head -c 1 "/proc/$pid/mem" 2>&1 | grep -q 'Input/output' && echo "opens the memory of a daemon"
				kill -0 "$pid" 2>/dev/null && echo "can kill a daemon"
			done
			for role in rota_jobmgr rota_jobmgr_leader rota_jobmgr_admin rota_nodemgr rota_runner rota_admin rota_owner postgres; do
				psql -X -h "$home/run" -d rota -U "$role" -Atqc 'select 1' >/dev/null 2>&1 && echo "is $role"
			done
			echo "as $(id -un)"
		}
		if [ ! -e "$site/out/$name" ]; then
			attack >"$site/out/$name.new" 2>/dev/null
			mv "$site/out/$name.new" "$site/out/$name"
		fi
		[ "$name" != sample ] || echo gpu0.util=35
	END
	chmod 755 "$SITE/attack"
	for name in hook sample mail control; do
		cp "$SITE/attack" "$SITE/$name"
	done
	echo 'home=/nowhere' >"$SITE/place"
	instance_up 1 --cpus 2 --mem 2000 --set schedule.period=1 --set controller.account="$HOOK" --set node.account="$NODE" \
		--set node.sample_command="$SITE/sample" --set node.sample_timeout=60 --set mail.program="$SITE/mail" --controller-prolog "$SITE/hook"
	rota admin setting change sample_min_s --value=1
	rota admin node change n1 --gres=gpu:1
	echo "home=$ROTA_HOME daemons='$(pid_of jobmgrd) $(pid_of nodemgrd)'" >"$SITE/place"
	printf '#!/bin/bash\nuntil [ -e "%s/go" ]; do sleep 0.3; done\n' "$SITE" >"$SITE/job.sh"
	printf '#!/bin/bash\ntrue\n' >"$SITE/true.sh"
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_down || status=1
	rm -rf -- "$SITE"
	users_remove "$HOOK" "$NODE" || status=1
	return "$status"
}

setup() {
	need_root
}

user_of() {
	ps -o user:32= -p "$1" | tr -d ' '
}

@test "the account of the daemons could do it: the attack works" {
	as rota "$SITE/control"
	for line in "reads keys/auth.key" "reads keys/sign.key" "reads etc/munge.key" "writes to keys" "can kill a daemon" "is rota_jobmgr" "as rota"; do
		grep -qx "$line" "$SITE/out/control"
	done
	rm -f "$ROTA_HOME"/*/evil
}

@test "a hook, a mail program and a sample command do their work, and get nothing of the daemons" {
	cd "$SITE"
	job=$(rota submit --parsable --output=/dev/null --gres=gpu:1 --sample=1 --mail-type=BEGIN --mail-user=root "$SITE/job.sh")
	sampled() { [ "$(rota sql -Atc "select count(*) > 0 from acct.sample where job_id = $job and gauges::text = '{\"gpu0.util\": 35}'")" = t ]; }
	eventually sampled
	mailed() { [ "$(superuser "select count(*) from rota.mail where job_id = $job and sent_at is not null")" = 1 ]; }
	eventually mailed
	touch "$SITE/go"
	rota wait --timeout=300 "$job"
	[ "$(superuser "select exit_code from rota.controller_hook where job_id = $job and hook = 'controller_prolog'")" = 0 ]
	for name in hook mail; do
		[ "$(cat "$SITE/out/$name")" = "$(printf 'reads etc/rota.conf\nreads hook.pass\nis rota_runner\nas %s' "$HOOK")" ] || { cat "$SITE/out/$name"; false; }
	done
	[ "$(cat "$SITE/out/sample")" = "$(printf 'reads keys/node.pass\nreads etc/rota.conf\nas %s' "$NODE")" ] || { cat "$SITE/out/sample"; false; }
}

@test "the daemons have the accounts that the configuration gives them" {
	[ "$(user_of "$(pid_of runnerd)")" = "$HOOK" ]
	[ "$(user_of "$(pid_of jobmgrd)")" = rota ]
	[ "$(user_of "$(pid_of nodemgrd)")" = rota ]
	[ "$(user_of "$(pid_of procmgrd)")" = "$NODE" ]
	[ "$(superuser "select string_agg(distinct usename, ' ') from pg_stat_activity where application_name like 'runnerd%'")" = rota_runner ]
}

@test "the role of runnerd takes hooks and mail, and neither leads, nor administers, nor is another daemon" {
	runner() {
		as "$HOOK" psql -X -h "$ROTA_HOME/run" -d rota -U rota_runner -v ON_ERROR_STOP=1 -Atqc "$1"
	}
	[ "$(runner "select count(*) from api.mail_take(0, 1)")" = 0 ]
	refused 'does not lead "schedule"' runner "select api.leader_claim('schedule', 3)"
	refused "is not that of procmgrd" runner "select api.daemon_register('procmgrd', 'n1', 1, '')"
	for call in "job_submit(0, 0, 'root', '{}', '', '')" "admin_change(0, 'root', '{}')" "job_script(0, 'root', '{}')" "schedule_tick(1)" \
		"node_orders('{1}', '{}', 1)" "node_judge(1, 1)" "session_judge(1)"; do
		refused "permission denied" runner "select api.$call"
	done
	refused "permission denied" runner "select * from rota.script"
}

@test "sign.pub that the account of procmgrd could replace is refused" {
	rota down >/dev/null
	chown "$NODE" "$ROTA_HOME/keys/sign.pub"
	refused "sign.pub" rota-launcher --config "$ROTA_HOME/etc/rota.conf" --node n1
	chown rota "$ROTA_HOME/keys/sign.pub"
	rota up >/dev/null
	job=$(cd "$SITE" && rota submit --parsable --output=/dev/null "$SITE/true.sh")
	rota wait --timeout=300 "$job"
}

@test "an instance gets the role, the accounts and back, with the journal and the password of its node" {
	rota down >/dev/null
	refused "is not a file of its folder's owner" rota up --set controller.account= --set node.account=
	rm "$ROTA_HOME/keys/node.pass" # an account that is not configured may own no passwords
	rota up >/dev/null
	[ "$(user_of "$(pid_of runnerd)")" = rota ]
	[ "$(stat -c '%U %a' "$ROTA_HOME/keys/node.pass" "$ROTA_HOME/keys")" = "$(printf 'rota 600\nrota 700')" ]
	# As an older version left the instance, without this role.
	superuser "drop owned by rota_runner; update rota.schema_api set sha256 = ''"
	rota down >/dev/null
	sed -i '/rota_runner/d' "$ROTA_HOME/pg/data/pg_ident.conf"
	rota up --set controller.account="$HOOK" --set node.account="$NODE" >/dev/null
	[ "$(stat -c '%U %a' "$ROTA_HOME/keys/node.pass" "$ROTA_HOME/keys")" = "$(printf '%s 600\nrota 711' "$NODE")" ]
	job=$(cd "$SITE" && rota submit --parsable --output=/dev/null "$SITE/true.sh")
	rota wait --timeout=300 "$job"
	[ "$(superuser "select exit_code from rota.controller_hook where job_id = $job and hook = 'controller_prolog'")" = 0 ]
	[ "$(user_of "$(pid_of runnerd)")" = "$HOOK" ]
	refused 'there is no account "rsh-nobody"' rota up --set controller.account=rsh-nobody
	rota up --set controller.account="$HOOK" >/dev/null
	audit
}
