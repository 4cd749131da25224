#!/usr/bin/env bats
# Transfers of data where each node has a scratch folder of its own: before and after the tasks, on each node of the step.

load helper

setup_file() {
	SITE=$(mktemp -d /tmp/rota-transfer.XXXXXX)
	export SITE
	mkdir -m 1777 "$SITE/n1" "$SITE/n2" "$SITE/n3"
	instance_up 3 --cpus 4 --mem 8000 --set schedule.period=1 --set staging.scratch="$SITE/%N/%u/%j" --set staging.shared=no \
		--set staging.command="$SITE/store" --set node.hook_timeout=5
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$SITE"
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir archive
	echo data >archive/a
}

script() {
	printf '%s\n' '#!/bin/sh' "$@" >job.sh
}

states_of() {
	rota stage show --json "$1" | jq -r '[.transfers[] | "\(.direction) \(.place) \(.state)"] | sort | join(", ")'
}

@test "each node of a step gets the data, and sends its results" {
	script '#ROTA --nodes=2 --run=tasks' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA stage-out $ROTA_SCRATCH/out/ -> results/' \
		'mkdir "$ROTA_SCRATCH/out"; cp "$ROTA_SCRATCH/in/a" "$ROTA_SCRATCH/out/$ROTA_NODE"'
	run -0 rota submit --parsable --wait --nodelist=n1,n2 job.sh
	job=${lines[0]}
	is_over() { [ "$(states_of "$job")" = "drop n1 dropped, drop n2 dropped, in n1 done, in n2 done, out n1 done, out n2 done" ]; }
	eventually is_over || { rota stage show --json "$job"; superuser "select * from rota.allocation where job_id = $job"; false; }
	[ "$(echo results/*)" = "results/n1 results/n2" ]
	[ "$(cat results/n1 results/n2)" = "$(printf 'data\ndata')" ]
	[ ! -e "$SITE/n1/$(id -un)/$job" ]
	[ ! -e "$SITE/n2/$(id -un)/$job" ]
	rota show --json "$job" | jq -e '.jobs[0].steps | map(.name) == ["script"]'
}

@test "nodes and steps that copy to one folder at the same time leave each other's parts alone" {
	cat >fill <<-'END'
		mkdir -p "$ROTA_SCRATCH/out"
		if [ "$ROTA_NODE" = n2 ]; then seq 3000 | (cd "$ROTA_SCRATCH/out" && xargs touch) && touch filled && exit; fi
		until [ -e filled ]; do sleep 0.3; done
		sleep 0.2
		touch "$ROTA_SCRATCH/out/one"
	END
	script '#ROTA --nodes=2 --run=tasks' '#ROTA stage-out $ROTA_SCRATCH/out/ -> results/' 'sh fill'
	run -0 rota submit --parsable --wait --nodelist=n1,n2 job.sh
	job=${lines[0]}
	is_over() { [ "$(states_of "$job")" = "drop n1 dropped, drop n2 dropped, out n1 done, out n2 done" ]; }
	eventually is_over || { rota stage show --json "$job"; false; }
	[ "$(find results | wc -l)" = 3002 ]
}

@test "data that is on a node is not copied again when the job goes on" {
	script '#ROTA --nodes=2' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/ --mode=rsync' \
		'stat -c %i "$ROTA_SCRATCH/in/a" >>inodes; [ -e healed ]'
	run -1 rota submit --parsable --wait --nodelist=n1,n2 job.sh
	job=${lines[0]}
	is_kept() { [ "$(states_of "$job")" = "drop n1 kept, drop n2 kept, in n1 done, in n2 done" ]; }
	eventually is_kept
	touch healed
	rota continue "$job"
	rota wait "$job"
	rota stage show --json "$job" | jq -e '[.transfers[] | select(.direction == "in") | .tries] == [2, 2]'
	[ "$(wc -l <inodes) $(uniq inodes | wc -l)" = "2 1" ]
}

@test "a step that goes on from a checkpoint on another node has its data there" {
	cat >saves <<-'END'
		trap 'asked=1' USR1
		echo "$ROTA_NODE ${ROTA_RESTART:-0} $(cat "$ROTA_SCRATCH/in/a")" >>ran
		[ -z "$ROTA_RESTART" ] || exit 0
		while :; do
			[ -z "$asked" ] || { asked= && touch "$ROTA_CHECKPOINT_DIR/state" && rota checkpoint --done; }
			sleep 0.05
		done
	END
	script '#ROTA --checkpoint=app --checkpoint-signal=B:USR1' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' 'exec bash saves'
	job=$(rota submit --parsable job.sh)
	has_run() { [ -s ran ] && [ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]; }
	eventually has_run
	read -r from _ <ran
	to=n$((${from#n} % 3 + 1))
	rota migrate "$job" --to "$to"
	rota wait "$job"
	[ "$(cat ran)" = "$from 0 data
$to 1 data" ]
	eventually eval '[[ $(states_of "$job") = *"in '"$to"' done"* ]]'
}

@test "a scratch folder that cannot be made is said in the row" {
	[ "$EUID" = 0 ] || skip "needs root, whose steps make folders anywhere but here"
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' 'touch ran'
	mv "$SITE/n2" "$SITE/away"
	run ! rota submit --parsable --wait --nodelist=n2 job.sh
	job=${lines[0]}
	mv "$SITE/away" "$SITE/n2"
	[ ! -e ran ]
	is_kept() { [ "$(states_of "$job")" = "drop n2 kept, in n2 failed" ]; }
	eventually is_kept || { rota stage show --json "$job"; false; }
	run -0 rota stage show "$job"
	[[ $output == *"$SITE/n2"*"No such file"* ]]
}

@test "a stage-in that fails fails the step before its tasks, a stage-out that fails keeps the data on its node" {
	script '#ROTA stage-in nothing/ -> $ROTA_SCRATCH/in/' 'touch ran'
	run ! rota submit --parsable --wait job.sh
	[ ! -e ran ]
	run -0 rota stage show "${lines[0]}"
	[[ $output == *failed*"No such file"* ]]
	touch results
	script '#ROTA stage-out $ROTA_SCRATCH/out/ -> results/' 'mkdir -p "$ROTA_SCRATCH/out"; echo late >"$ROTA_SCRATCH/out/x"'
	run rota submit --parsable --wait --nodelist=n3 job.sh
	job=${lines[0]}
	is_failed() { [[ $(states_of "$job") == *"out n3 failed"* ]]; }
	eventually is_failed
	[ "$(cat "$SITE/n3/$(id -un)/$job/out/x")" = late ]
	rm results
	run -0 rota stage retry "$job"
	[[ $output =~ ^job\ ([0-9]+)\ transfers ]]
	rota wait "${BASH_REMATCH[1]}"
	is_done() { [[ $(states_of "$job") == *"out n3 done"* ]]; }
	eventually is_done
	[ "$(cat results/x)" = late ]
	run -0 rota stage drop "$job"
	is_dropped() { [[ $(states_of "$job") == *"drop n3 dropped"* ]]; }
	eventually is_dropped
	[ ! -e "$SITE/n3/$(id -un)/$job" ]
}

@test "a job goes to the node that has its data, if that is free; --no-prefer-data: to any" {
	script '#ROTA stage-in archive/ -> /tmp/rota-pool-'"${SITE##*.}"'/ --reuse' 'echo "$ROTA_NODE" >node'
	run -0 rota submit --parsable --wait --nodelist=n3 job.sh
	eventually has_left "${lines[0]}"
	run -0 rota submit --parsable --wait job.sh
	[ "$(cat node)" = n3 ]
	[ "$(states_of "${lines[0]}")" = "in n3 reused" ]
	eventually is_idle # else a node that is less free comes first
	run -0 rota submit --parsable --wait --no-prefer-data job.sh
	[ "$(cat node)" = n1 ]
	run -0 rota submit --parsable --wrap='sleep 300' --exclusive --nodelist=n3
	busy=$output
	is_running() { [ "$(rota show --json "$busy" | jq -r '.jobs[0].steps[0].state')" = running ]; }
	eventually is_running
	run -0 rota submit --parsable --wait job.sh
	[ "$(cat node)" != n3 ]
	rota cancel "$busy"
	rm -r "/tmp/rota-pool-${SITE##*.}"
}

@test "the last step on a node drops the data, others leave it; elements and parallel steps are not robbed" {
	script '#ROTA --array=0-1 --nodelist=n1' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' \
		'touch "$PWD/started.$ROTA_ARRAY_INDEX"; until [ -e started.0 ] && [ -e started.1 ]; do sleep 0.1; done' \
		'[ "$ROTA_ARRAY_INDEX" = 0 ] || { until [ -e over ]; do sleep 0.3; done; cat "$ROTA_SCRATCH/in/a"; }'
	run -0 rota submit --parsable job.sh
	job=$output
	is_left() { [ "$(rota stage show --json "$job" | jq -r '.transfers[1] | "\(.state) \(.message)"')" = "kept other steps of the job need it" ]; }
	eventually is_left || { rota stage show --json "$job"; false; }
	touch over
	rota wait "$job"
	is_dropped() { [[ $(states_of "$job") == *"drop n1 dropped"* ]]; }
	eventually is_dropped
	[ -z "$(ls -d "$SITE/n1/$(id -un)/$job"* 2>/dev/null)" ]
	script '#ROTA --nodelist=n1' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA step a --after=none' true \
		'#ROTA step b --after=none' 'until [ -e later ]; do sleep 0.3; done' '#ROTA step c --after=b' 'cat "$ROTA_SCRATCH/in/a"'
	rm -f later
	run -0 rota submit --parsable job.sh
	job=$output
	eventually is_left || { rota stage show --json "$job"; false; }
	touch later
	rota wait "$job"
	eventually is_dropped
	[ -z "$(ls -d "$SITE/n1/$(id -un)/$job"* 2>/dev/null)" ]
}

@test "an element that failed keeps its data, though others drop theirs; on-fail=drop drops it" {
	script '#ROTA --array=0-1%1 --nodelist=n2' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' \
		'echo "$ROTA_ARRAY_INDEX" >"$ROTA_SCRATCH/result"; exit "$((1 - ROTA_ARRAY_INDEX))"'
	run ! rota submit --parsable --wait job.sh
	job=${lines[0]}
	is_kept() { [ "$(states_of "$job")" = "drop n2 kept, in n2 done" ]; }
	eventually is_idle
	is_kept
	[ -e "$SITE/n2/$(id -un)/$job/result" ]
	script '#ROTA --nodelist=n2' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/ --on-fail=drop' 'exit 3'
	run -3 rota submit --parsable --wait job.sh
	job=${lines[0]}
	is_dropped() { [ "$(states_of "$job")" = "drop n2 dropped, in n2 done" ]; }
	eventually is_dropped
	[ ! -e "$SITE/n2/$(id -un)/$job" ]
}

@test "a stage-out ends with the time limit of the step" {
	printf '#!/bin/sh\nexec sleep 500\n' >"$SITE/store"
	chmod 755 "$SITE/store"
	script '#ROTA --nodelist=n3 --time=0:05' '#ROTA stage-out $ROTA_SCRATCH/out/ -> store:x --mode=command' 'mkdir -p "$ROTA_SCRATCH/out"'
	run -0 rota submit --parsable job.sh
	job=$output
	is_ended() { [[ $(states_of "$job") == *"out n3 interrupted"* ]]; }
	eventually is_ended
	eventually is_idle
	[ -d "$SITE/n3/$(id -un)/$job/out" ]
}

@test "nobody drops data of a job that is not over; cancel ends a stage-out after the tasks, whose data is kept; retry makes it" {
	printf '#!/bin/sh\n[ ! -e "%s/go" ] || exit 0\necho $$ >"%s/pid"\nexec sleep 500\n' "$SITE" "$SITE" >"$SITE/store"
	chmod 755 "$SITE/store"
	script '#ROTA --nodelist=n3' '#ROTA stage-out $ROTA_SCRATCH/out/ -> store:x --mode=command' \
		'mkdir -p "$ROTA_SCRATCH/out"; echo 5 >"$ROTA_SCRATCH/out/result"'
	run -0 rota submit --parsable job.sh
	job=$output
	eventually test -s "$SITE/pid"
	run -1 rota stage drop "$job"
	[[ $output == *"no data that is still there"* ]]
	[ -d "$SITE/n3/$(id -un)/$job/out" ]
	run -0 rota cancel "$job"
	is_cancelled() { [ "$(states_of "$job")" = "drop  kept, out n3 cancelled" ]; }
	eventually is_cancelled
	eventually are_dead "$(cat "$SITE/pid")"
	eventually has_left "$job"
	rota show --json "$job" | jq -e '.jobs[0].steps[0] | .state == "completed" and (.hooks | map(select(.hook == "stage_out" and .signal != null)) | length) == 1'
	[ "$(cat "$SITE/n3/$(id -un)/$job/out/result")" = 5 ]
	run -0 rota stage
	[[ $output == *"$job.1"*cancelled* ]]
	touch "$SITE/go"
	run -0 rota stage retry "$job"
	run -0 rota wait --timeout=300 "${output//[^0-9]/}"
	[[ $(states_of "$job") == *"out n3 done"* ]]
}

@test "retry takes the parts that the node has left, and nothing of them stays" {
	script '#ROTA --nodelist=n3' '#ROTA stage-out $ROTA_SCRATCH/out/ -> results/' 'mkdir -p "$ROTA_SCRATCH/out"; echo whole >"$ROTA_SCRATCH/out/x"'
	touch results
	run -0 rota submit --parsable job.sh
	job=$output
	is_failed() { [[ $(states_of "$job") == *"out n3 failed"* ]]; }
	eventually is_failed
	eventually has_left "$job" # else the job is not over
	rm results
	left=results/.rota-part-$job.1.$(rota show --json "$job" | jq '.jobs[0].steps[0].step_id').n3
	mkdir -p "$left"
	echo who >"$left/x"
	mkdir results/.rota-part-"$job".1.99.n3 # of a transfer that still goes on
	(flock 6 && exec sleep 120) 6>results/.rota-part-"$job".1.99.n3/.rota-lock 3>&- &
	goes_on() { ! flock -n results/.rota-part-"$job".1.99.n3/.rota-lock true; }
	eventually goes_on
	run -0 rota stage retry "$job"
	run -0 rota wait --timeout=300 "${output//[^0-9]/}"
	[[ $(states_of "$job") == *"out n3 done"* ]]
	kill $!
	[ "$(ls -A results)" = "$(printf '.rota-part-%s.1.99.n3\nx' "$job")" ]
	[ "$(cat results/x)" = whole ]
}

@test "a step of a job group does not transfer data" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA step a --group=g' true '#ROTA step b --group=g' true
	run -1 rota submit job.sh
	[[ $output == *'"a" is in a job group, and its nodes transfer data'* ]]
	sed -i 's/--group=g//' job.sh
	run -0 rota submit --parsable --wait job.sh
}
