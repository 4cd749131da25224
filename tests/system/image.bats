#!/usr/bin/env bats
# Steps that ask for an image of their nodes. Nodes with another image are torn down and made anew with the requested one, boot id
# and root file system included; a node with a wrong image is found.

load helper
load provisioner

setup_file() {
	export ALICE=rota-img-a$$ BOB=rota-img-b$$
	site_new
	[ "$EUID" = 0 ] || return 0
	site_make
	image_make el8
	image_make el9
	image_make deb
	users_add "$ALICE" "$BOB"
	nodes_up 3 el8 --set node.image_file="$SITE/os/image"
	rota admin setting change image_idle_s --value=86400
	# All nodes begin with image el8, and may then get others.
	for image in el8 el9 deb; do
		rota admin image create "$image" --expected=20
	done
	rota admin node reboot 'n[1-3]' --reason=install
	eventually has n1 el8
	eventually has n2 el8
	eventually has n3 el8
	rota admin node change 'n[1-3]' --default-image=el8
}

teardown_file() {
	nodes_down "$ALICE" "$BOB"
}

setup() {
	need_root
	rm -f -- "$SITE"/now/* "$SITE"/calls/*
}

# After each test: have all nodes serve with the default image, and forget failures of images.
teardown() {
	[ "$EUID" = 0 ] || return 0
	rm -f -- "$SITE"/now/*
	rota admin setting change reboot_timeout_s --value=1800
	rota admin setting change image_failures --value=3
	rota admin image change el9 --failures=0
	rota admin image change deb --failures=0
	rota admin setting change image_idle_s --value=0
	nodes_serve 3 "image = 'el8'"
	rota admin setting change image_idle_s --value=86400
}

has() { # NODE IMAGE: the node serves with the image.
	[ "$(sql "select state || ' ' || image from acct.node where node = '$1'")" = "up $2" ]
}

# change_is NODE STATE: the last change of the node's image is in this state.
change_is() {
	[ "$(sql "select state from acct.node_reboot where node = '$1' order by reboot_id desc limit 1")" = "$2" ]
}

calls() {
	cat "$SITE"/calls/* 2>/dev/null | sort | tr '\n' ' '
}

called() { # ARGUMENTS: the program was called with them.
	grep -qx "$*" "$SITE"/calls/* 2>/dev/null
}

# submit [OPTION]...: a job that writes the image that it sees into $SITE/calls/../out.JOB and sleeps for SLEEP seconds; its number is in `job`.
submit() {
	job=$(printf '#!/bin/sh\ncat "%s/os/image" "%s/os/release" 2>/dev/null\nexec sleep %s\n' "$SITE" "$SITE" "${SLEEP:-0}" |
		rota submit --parsable --output="$SITE/ask/../%j.out" --workdir=/tmp "$@" -)
}

runs() {
	[ "$(sql "select state from rota.step where job_id = $1")" = running ]
}

# saw JOB IMAGE NODES: the job has completed in its first attempt, on these nodes, and has seen the image.
saw() {
	rota wait --timeout=300 "$1"
	[ "$(cat "$SITE/$1.out")" = "$2" ] || { cat "$SITE/$1.out"; return 1; }
	[ "$(sql "select string_agg(state || ' ' || nodes, ', ') from acct.attempt where job_id = $1")" = "completed $3" ] ||
		{ sql "select * from acct.attempt where job_id = $1"; return 1; }
}

@test "users find the images that they may ask for" {
	run -0 as "$ALICE" rota nodes --images
	[[ $output == *"OPTION"*"NAME"*"NODES"*"--image"*"deb"*"0"*"--image"*"el8"*"3"* ]]
	[ "$(as "$BOB" rota nodes --images --json | jq -c '.setups | map([.kind, .name, .nodes])')" = \
		'[["image","deb",0],["image","el8",3],["image","el9",0]]' ]
	run -1 as "$ALICE" rota submit --image=el99 --wrap=true
	[[ $output == *'there is no image "el99"'*'Did you mean "el9"?'*'rota nodes --images'* ]]
}

@test "an idle node is booted with the image, and everything says so" {
	touch "$SITE/now/hangs"
	submit --image=el9 --nodelist=n2
	eventually called n2 el9
	waits() {
		rota why --json "$job" | jq -e '.steps[0].conditions | any(.kind == "image" and (.message | test("^waits for node n2 to be booted with image el9, ready about ")))' >/dev/null
	}
	eventually waits
	[ "$(rota queue --json | jq -r --argjson job "$job" '.jobs[] | select(.job_id == $job) | .reason')" = image ]
	rota nodes --json n2 | jq -e '.nodes[0] | .state == "drain" and .reason == "reboot: image el9" and .image == "el8"'
	sleep 1.5 # shorter waits are not kept
	rm "$SITE/now/hangs"
	saw "$job" el9 n2
	has n2 el9
	[ "$(calls)" = 'n2 el9 ' ]
	[ "$(sql "select count(*) from acct.wait_reason where job_id = $job and reason = 'image'")" = 1 ]
	[ "$(sql "select concat_ws(' ', state, image, made_by, out_s > 0) from acct.node_reboot order by reboot_id desc limit 1")" = 'done el9 schedule t' ]
	# The next step finds the right image.
	submit --image=el9
	saw "$job" el9 n2
	[ "$(calls)" = 'n2 el9 ' ]
	audit
}

@test "what asks for no image runs on the default one, and leaves the node alone" {
	submit --image=el9 --nodelist=n1
	saw "$job" el9 n1
	submit --nodes=2 --exclusive
	saw "$job" el8 n2,n3
	[ "$(calls)" = 'n1 el9 ' ]
	# The node gets its default image back if no other node will do.
	submit --nodelist=n1
	saw "$job" el8 n1
	[ "$(calls)" = 'n1 el8 n1 el9 ' ]
	audit
}

@test "two jobs that want different images of one node have it one after the other" {
	SLEEP=2 submit --image=el9 --nodelist=n1
	first=$job
	submit --image=deb --nodelist=n1
	saw "$first" el9 n1
	saw "$job" deb n1
	[ "$(calls)" = 'n1 deb n1 el9 ' ]
	[ "$(sql "select string_agg(image, ' ' order by reboot_id) from (select * from acct.node_reboot order by reboot_id desc limit 2) x")" = 'el9 deb' ]
	audit
}

@test "wishes for one image share a node that is changed once; one that is in use is not" {
	SLEEP=300 submit --nodelist=n1
	busy=$job
	eventually runs "$busy"
	submit --image=el9
	first=$job
	submit --image=el9
	rota wait --timeout=300 "$first" "$job"
	saw "$first" el9 n2
	saw "$job" el9 n2
	[ "$(calls)" = 'n2 el9 ' ]
	runs "$busy"
	submit --image=el9 --nodes=2 --exclusive
	saw "$job" el9 n2,n3
	[ "$(calls)" = 'n2 el9 n3 el9 ' ]
	runs "$busy"
	rota cancel "$busy"
	audit
}

@test "a node goes back to its default image when no step waits for the other" {
	submit --image=el9 --nodelist=n3
	saw "$job" el9 n3
	rota admin setting change image_idle_s --value=1
	eventually has n3 el8
	[ "$(sql "select made_by from acct.node_reboot order by reboot_id desc limit 1")" = nodemgrd ]
	audit
}

@test "a job that is cancelled meanwhile" {
	touch "$SITE/now/hangs"
	submit --image=el9 --nodelist=n2
	eventually called n2 el9
	rota cancel "$job"
	rm "$SITE/now/hangs"
	eventually has n2 el9
	[ "$(sql "select state from acct.job where job_id = $job")" = cancelled ]
	submit --nodelist=n2
	saw "$job" el8 n2
	audit
}

@test "a program that fails, a node that does not come, one with the wrong image: drained with the reason, and the step goes elsewhere" {
	rota admin setting change image_failures --value=4
	touch "$SITE/now/n1.fails"
	echo deb >"$SITE/now/n2.image"
	submit --image=el9
	saw "$job" el9 n3
	[ "$(rota nodes --json n1 | jq -r '.nodes[0].reason')" = "could not be rebooted with image el9: reboot program \"$SITE/programs/reboot\" ended with exit code 3" ]
	[ "$(rota nodes --json n2 | jq -r '.nodes[0].reason')" = 'could not be rebooted with image el9: came back with image deb' ]
	# The last change succeeded, so the failures before it do not count.
	rota admin image show el9 --json | jq -e '.row.failures == 0'
	rota admin setting change reboot_timeout_s --value=8
	touch "$SITE/now/n3.dead"
	submit --image=deb --nodelist=n3
	eventually change_is n3 failed
	[ "$(rota nodes --json n3 | jq -r '.nodes[0].reason')" = 'could not be rebooted with image deb: did not register with another boot within 8 s' ]
	rota cancel "$job"
	node_start n3 el8
	eventually node_has_come n3
	audit
}

@test "an image that fails too often drains no more nodes, and its steps are held" {
	rota admin setting change image_failures --value=2
	echo deb >"$SITE/now/n1.image"
	echo none >"$SITE/now/n2.image"
	submit --image=el9
	is_held() { rota why "$job" | grep -q 'held by an operator: nodes could not be booted with image el9 2 times in a row'; }
	eventually is_held
	[ "$(rota nodes --json n2 | jq -r '.nodes[0].reason')" = 'could not be rebooted with image el9: came back with no image' ]
	has n3 el8
	refused 'nodes could not be booted with image "el9" 2 times in a row' rota submit --image=el9 --wrap=true
	# The machine is repaired.
	rm "$SITE"/now/*.image
	rota admin image change el9 --failures=0
	rota release "$job"
	saw "$job" el9 n3
	# A node that reports no image is not booted with another one, until an operator has resumed it.
	rota admin node resume n2
	refused '3 nodes asked for; of partition "main", 2 have image "el9" or may be booted with it' rota submit --image=el9 --nodes=3 --wrap=true
	rota admin node reboot n2 --reason=install
	eventually has n2 el8
	audit
}

@test "jobmgrd, nodemgrd, runnerd and PostgreSQL killed while a node is changed" {
	touch "$SITE/now/hangs"
	submit --image=el9 --nodelist=n2
	eventually called n2 el9
	kill_now "$(pid_of runnerd)" "$(pid_of nodemgrd)" "$(pid_of jobmgrd)" "$(pid_of PostgreSQL)"
	rota up >/dev/null
	rm "$SITE/now/hangs"
	saw "$job" el9 n2
	audit
}

@test "who may ask for an image, and make one" {
	refused 'there is no image "el7"' rota submit --image=el7 --wrap=true
	rota admin node change n3 --default-image=none
	refused '3 nodes asked for; of partition "main", 2 have image "el9" or may be booted with it' rota submit --image=el9 --nodes=3 --wrap=true
	rota admin node change n3 --default-image=el8
	rota admin image change deb --users="$ALICE"
	refused 'you may not use image "deb"' as "$BOB" rota submit --image=deb --wrap=true
	held=$(as "$BOB" rota submit --parsable --hold --workdir=/tmp --output=/dev/null --wrap=true)
	refused 'you may not use image "deb"' as "$BOB" rota modify "$held" --image=deb
	as "$BOB" rota cancel "$held"
	refused 'you may not do this to the cluster' as "$BOB" rota admin image create mine
	refused 'you may not do this to the cluster' as "$BOB" rota admin node change n1 --default-image=el9
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_jobmgr -c "select api.schedule_setup(1, '{1}', '{el9}', '{null}')"
	refused 'no image can have the name' rota admin image create ../el8
	refused 'there is no image "el7"' rota admin node change n1 --default-image=el7
	refused 'image "el8" is named in history or by other objects' rota admin image delete el8
	has n1 el8
	job=$(as "$ALICE" rota submit --parsable --workdir=/tmp --output=/dev/null --image=deb --nodelist=n1 --wrap="grep -qx deb $SITE/os/image")
	rota wait --timeout=300 "$job"
	rota admin image change deb --users=none
	audit
}

@test "an image can be changed while the job waits" {
	job=$(printf '#!/bin/sh\ncat "%s/os/image"\n' "$SITE" | rota submit --parsable --hold --output="$SITE/ask/../%j.out" --workdir=/tmp --image=el9 --nodelist=n1 -)
	rota show --json "$job" | jq -e '.. | .image? // empty | select(. == "el9")' >/dev/null
	rota modify "$job" --image=none
	rota release "$job"
	saw "$job" el8 n1
	[ "$(calls)" = '' ]
	audit
}
