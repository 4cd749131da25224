#!/usr/bin/env bats
# Steps that ask for a preparation of their nodes, with arguments: nodes are prepared, verified, and put back, by programs that really do it.

load helper
load provisioner

setup_file() {
	export ALICE=rota-prep-a$$
	site_new
	[ "$EUID" = 0 ] || return 0
	site_make
	image_make el8
	image_make el9
	prep_make
	users_add "$ALICE"
	nodes_up 3 el8 --set hooks.node_folder="$SITE/programs" --set node.image_file="$SITE/os/image"
	rota admin setting change image_idle_s --value=86400
	rota admin image create el8 --expected=20
	rota admin image create el9 --expected=20 --program=boot
	rota admin prep create mode --program=mode --verify=mode --expected=20 --timeout=60
	rota admin node reboot n3 --reason=install
	eventually serves n3 el8
	rota admin node change n3 --default-image=el8
}

teardown_file() {
	nodes_down "$ALICE"
}

setup() {
	need_root
	rm -f -- "$SITE"/now/* "$SITE"/calls/*
	rota admin setting change image_idle_s --value=86400
}

# After each test: all nodes serve without a preparation, and the preparation may be tried again.
teardown() {
	[ "$EUID" = 0 ] || return 0
	rm -f -- "$SITE"/now/*
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		rota up >/dev/null || true
		rota cancel -q --me || true
	fi
	rota admin prep change mode --failures=0 --timeout=60
	rota admin setting change image_failures --value=3
	rota admin setting change image_idle_s --value=0
	nodes_serve 3 "prep is null and image is not distinct from default_image"
	[ -z "$(ls "$SITE/prepared")" ]
}

serves() { # NODE [IMAGE [PREP]]
	[ "$(sql "select concat_ws(' ', state, image, prep) from acct.node where node = '$1' and prep_verified")" = "up${2:+ $2}${3:+ $3}" ]
}

calls() {
	cat "$SITE"/calls/* 2>/dev/null | sort | tr '\n' ' '
}

called() { # ARGUMENTS: a program was called with them.
	grep -qx "$*" "$SITE"/calls/* 2>/dev/null
}

# submit [OPTION]...: a job that writes the preparation of its nodes into $SITE/JOB.out; its number is in `job`.
submit() {
	job=$(printf '#!/bin/sh\nfor n in $(echo "$ROTA_NODELIST" | tr , " "); do cat "%s/prepared/$n" 2>/dev/null || echo none; done\n' "$SITE" |
		rota submit --parsable --output="$SITE/ask/../%j.out" --workdir=/tmp "$@" -)
}

# saw JOB PREPARED NODES: the job has completed in its first attempt, on these nodes, and has seen this preparation.
saw() {
	rota wait --timeout=300 "$1"
	[ "$(cat "$SITE/$1.out")" = "$2" ] || { cat "$SITE/$1.out"; return 1; }
	[ "$(sql "select string_agg(state || ' ' || nodes, ', ') from acct.attempt where job_id = $1")" = "completed $3" ] ||
		{ sql "select * from acct.attempt where job_id = $1"; return 1; }
}

@test "an idle node is prepared and verified, everything says so, and it is put back" {
	touch "$SITE/now/hangs"
	submit --node-prep=mode:fast --nodelist=n2
	eventually called prepare n2 mode fast
	waits() {
		rota why --json "$job" | jq -e '.steps[0].conditions | any(.kind == "prep" and (.message | test("^waits for node n2 to be prepared with mode:fast, ready about ")))' >/dev/null
	}
	eventually waits
	[ "$(rota queue --json | jq -r --argjson job "$job" '.jobs[] | select(.job_id == $job) | .reason')" = prep ]
	rota nodes --json n2 | jq -e '.nodes[0] | .state == "drain" and .reason == "change: preparation mode:fast" and .prep == "mode:fast"'
	rm "$SITE/now/hangs"
	saw "$job" 'mode fast' n2
	[ "$(calls)" = 'prepare n2 mode fast verify n2 mode fast ' ]
	[ "$(sql "select concat_ws(' ', state, prep, boots, made_by, out_s > 0) from acct.node_reboot order by reboot_id desc limit 1")" = 'done mode:fast f schedule t' ]
	# The next step finds the right preparation; a step that asks for none goes to another node; if no other will do, the
	# preparation is taken back.
	submit --node-prep=mode:fast
	saw "$job" 'mode fast' n2
	submit --nodelist=n2
	saw "$job" none n2
	called undo n2 mode
	audit
}

@test "wrong arguments fail the step, with the reason, and neither the node nor others" {
	touch "$SITE/now/nonsense.fails"
	submit --node-prep=mode:nonsense --nodelist=n1
	bad=$job
	rota wait --timeout=300 "$bad" || true
	[ "$(sql "select concat_ws(' ', state, message) from acct.step where job_id = $bad")" = \
		"failed preparation \"mode\" has failed with arguments \"nonsense\", which never worked: program of a preparation \"$SITE/programs/mode\" ended with exit code 3" ]
	[ "$(sql "select count(*) from acct.attempt where job_id = $bad")" = 0 ]
	rota admin prep show mode --json | jq -e '.row.failures == 0'
	submit --node-prep=mode:fast --nodelist=n1
	saw "$job" 'mode fast' n1
	called undo n1 mode
	audit
}

@test "a node that fails is drained with the reason, the step goes elsewhere, and after some it is held" {
	submit --node-prep=mode:fast --nodelist=n1
	saw "$job" 'mode fast' n1
	submit --nodelist=n1
	saw "$job" none n1
	touch "$SITE/now/n1.prepare.fails" "$SITE/now/n2.verify.fails"
	submit --node-prep=mode:fast
	saw "$job" 'mode fast' n3
	[ "$(rota nodes --json n1 | jq -r '.nodes[0].reason')" = "could not be prepared with mode:fast: program of a preparation \"$SITE/programs/mode\" ended with exit code 3" ]
	rota nodes --json n2 | jq -e '.nodes[0].reason | startswith("could not be prepared with mode:fast: ")'
	rota admin setting change image_failures --value=1
	touch "$SITE/now/n3.prepare.fails"
	submit --nodelist=n3
	saw "$job" none n3
	submit --node-prep=mode:fast
	is_held() { rota why "$job" | grep -q 'held by an operator: nodes could not be prepared with mode 1 times in a row'; }
	eventually is_held
	refused 'nodes could not be prepared with "mode" 1 times in a row' rota submit --node-prep=mode --wrap=true
	rota cancel "$job"
	audit
}

@test "a preparation that cannot be taken back: the node is drained and unverified, the step goes elsewhere, and a resumed node is tried again" {
	submit --node-prep=mode:fast --nodelist=n1
	saw "$job" 'mode fast' n1
	touch "$SITE/now/n1.undo.fails"
	rota admin node drain 'n[2-3]' --reason=test
	submit
	has_failed() { rota nodes --json n1 | jq -e '.nodes[0].reason | startswith("could not be cleared of preparation mode:fast: program of a preparation ")' >/dev/null; }
	eventually has_failed
	[ "$(sql "select concat_ws(' ', state, prep, prep_verified) from acct.node where node = 'n1'")" = 'drain mode:fast f' ]
	[ "$(sql "select concat_ws(' ', state, undo) from acct.node_reboot order by reboot_id desc limit 1")" = 'failed mode:fast' ]
	rota admin prep show mode --json | jq -e '.row.failures == 1'
	# After a resume, the node fits no step: neither one that asks for no preparation, nor one that asks for this one.
	rota admin node resume n1
	eventually has_failed
	[ "$(sql "select state from acct.job where job_id = $job")" = pending ]
	rota admin node resume n2
	saw "$job" none n2
	submit --node-prep=mode:fast
	saw "$job" 'mode fast' n2
	rm "$SITE/now/n1.undo.fails"
	rota admin node drain n2 --reason=test
	rota admin node resume n1
	submit --nodelist=n1
	saw "$job" none n1
	serves n1
	audit
}

@test "an image and a preparation are one change, by the program of the image, also when all daemons die in it" {
	touch "$SITE/now/hangs"
	submit --node-prep=mode:slow --image=el9
	eventually called n3 el9
	kill_now "$(pid_of runnerd)" "$(pid_of nodemgrd)" "$(pid_of jobmgrd)" "$(pid_of PostgreSQL)"
	rota up >/dev/null
	rm "$SITE/now/hangs"
	eventually called prepare n3 mode slow
	saw "$job" 'mode slow' n3
	serves n3 el9 mode:slow
	# A node that boots by itself has no verified preparation any more.
	boot() { sql "select prep_verified from acct.node where node = 'n3'" | grep -qx f; }
	rota admin node reboot n3 --reason=test
	eventually boot
	audit
}

@test "who may ask for a preparation, and how" {
	refused 'there is no preparation "gone"' rota submit --node-prep=gone --wrap=true
	refused '"" are no arguments of preparation mode' rota submit --node-prep=mode: --wrap=true
	refused '"-x" are no arguments of preparation mode' rota submit --node-prep=mode:-x --wrap=true
	refused 'you may not do this to the cluster' as "$ALICE" rota admin prep create mine --program=mode
	refused '"/bin/sh" is no value for "program"' rota admin prep create mine --program=/bin/sh
	refused 'a prep needs "program"' rota admin prep create mine
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_jobmgr -c "select api.schedule_setup(1, '{1}', '{null}', '{mode}')"
	rota admin prep change mode --users=root
	refused 'you may not use preparation "mode"' as "$ALICE" rota submit --node-prep=mode --wrap=true
	rota admin prep change mode --users=none
	script=$(printf '#!/bin/sh\n#ROTA step a --node-prep=mode:1\ntrue\n#ROTA step b --same-nodes=a --after=a\ntrue\n')
	refused 'use the same nodes with different images or preparations' rota submit - <<<"$script"
	# A waiting job can ask for another preparation.
	submit --hold --node-prep=mode:fast --nodelist=n1
	rota modify "$job" --node-prep=none
	rota release "$job"
	saw "$job" none n1
	[ "$(calls)" = '' ]
	# A job that is cancelled during the preparation of its node.
	touch "$SITE/now/hangs"
	submit --node-prep=mode:late --nodelist=n1
	eventually called prepare n1 mode late
	rota cancel "$job"
	rm "$SITE/now/hangs"
	eventually serves n1 '' mode:late
	audit
}
