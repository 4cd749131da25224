#!/usr/bin/env bats
# A node is lost while a step on several nodes has data on each of them: what is on the other nodes is not transferred again.

load helper

setup_file() {
	SITE=$(mktemp -d /tmp/rota-lost.XXXXXX)
	export SITE
	mkdir -m 1777 "$SITE/n1" "$SITE/n2" "$SITE/n3"
	instance_up 3 --cpus 2 --mem 8000 --set schedule.period=1 --set node.lease=6 --set node.lease_margin=4 --set nodemgr.period=1 \
		--set node.grace=1 --set staging.scratch="$SITE/%N/%u/%j" --set staging.shared=no
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$SITE"
	return "$status"
}

@test "after the loss of a node, data on the other node is used as it is, and only the new node fetches it" {
	cd "$BATS_TEST_TMPDIR"
	mkdir archive
	echo data >archive/a
	printf '%s\n' '#!/bin/sh' '#ROTA --nodes=2 --exclusive --run=tasks' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/ --mode=rsync' \
		'#ROTA stage-in archive/ -> $ROTA_SCRATCH/more/ --mode=copy' \
		'echo "$ROTA_ATTEMPT $ROTA_NODE $(stat -c %i:%z "$ROTA_SCRATCH/in/a" "$ROTA_SCRATCH/more/a" | tr " \n" "__")" >>ran' \
		"until [ -e $BATS_TEST_TMPDIR/enough ]; do sleep 0.3; done" >job.sh
	job=$(rota submit --parsable job.sh)
	both_run() { [ "$(grep -cs "^$1 " ran)" = 2 ]; }
	eventually both_run 1
	read -r kept lost <<<"$(awk '$1 == 1 { print $2 }' ran | sort | paste -sd' ')"
	stopped=$(pid_of procmgrd "$lost")
	kill -STOP "$stopped"
	eventually both_run 2
	kill -CONT "$stopped"
	new=$(awk -v kept="$kept" '$1 == 2 && $2 != kept { print $2 }' ran)
	[ "$new" != "$lost" ]
	touch enough
	rota wait --timeout=300 "$job"
	# On the node that was there all the time, the files are the same, and have not been written again.
	[ "$(awk -v node="$kept" '$2 == node { print $3 }' ran | uniq -c | awk '{ print $1 }')" = 2 ]
}
