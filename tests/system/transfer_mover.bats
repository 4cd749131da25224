#!/usr/bin/env bats
# Nodes for moving data (staging.partition): transfers run there, and the steps of the job do not.

load helper

setup_file() {
	SITE=$(mktemp -d /tmp/rota-mover.XXXXXX)
	export SITE
	mkdir -m 1777 "$SITE/scratch"
	# A store that says on which node it is called, and waits for the file go.
	cat >"$SITE/store" <<-END
		#!/bin/sh
		echo "\$1 \$ROTA_NODE" >>$SITE/moved
		until [ -e $SITE/go ]; do sleep 0.3; done
		mkdir -p "\$3"
	END
	chmod 755 "$SITE/store"
	instance_up 2 --cpus 4 --mem 8000 --set schedule.period=1 --set staging.scratch="$SITE/scratch/%u/%j" \
		--set staging.command="$SITE/store" --set staging.partition=movers
	rota admin partition create movers --nodes=n2
	rota admin partition create work --nodes=n1
}

teardown_file() {
	local status=0
	touch "$SITE/go"
	instance_down || status=1
	rm -rf -- "$SITE"
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

has_state() {
	[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[] | select(.name == \"$1\") | .state")" = "$2" ]
}

@test "transfers run on the nodes of the partition, while the job waits and its own nodes are free" {
	printf '%s\n' '#!/bin/sh' '#ROTA --partition=work' '#ROTA stage-in store:a -> $ROTA_SCRATCH/in/ --mode=command' \
		'#ROTA stage-out $ROTA_SCRATCH/out/ -> store:b --mode=command' 'mkdir "$ROTA_SCRATCH/out"; echo "$ROTA_NODE" >ran' >job.sh
	job=$(rota submit --parsable job.sh)
	eventually has_state stage-in-1 running
	has_state script pending
	[ "$(rota sql -Atc "select count(*) from rota.allocation a join rota.node n using (node_id) where n.name = 'n1' and a.ended_at is null")" = 0 ]
	other=$(rota submit --parsable --wait --partition=work --exclusive --wrap=true)
	touch "$SITE/go"
	rota wait --timeout=300 "$job"
	[ "$(cat ran)" = n1 ]
	[ "$(cat "$SITE/moved")" = $'in n2\nout n2' ]
	[ "$(rota show --json "$job" | jq -r '[.jobs[0].steps[] | "\(.name) \(.partition)"] | sort | join(", ")')" = \
		"script work, stage-drop-1 movers, stage-in-1 movers, stage-out-1 movers" ]
	[ ! -e "$SITE/scratch/$(id -un)/$job" ]
}

@test "a partition of movers that is not there is refused with its name" {
	rota admin partition delete movers
	is_refused() { run rota submit job.sh; [[ "$status" != 0 && "$output" == *movers* ]]; }
	printf '%s\n' '#!/bin/sh' '#ROTA --partition=work' '#ROTA stage-in store:a -> $ROTA_SCRATCH/in/ --mode=command' true >job.sh
	eventually is_refused # jobmgrd reads the partitions once a second
	rota submit --parsable --partition=work --wrap=true
}
