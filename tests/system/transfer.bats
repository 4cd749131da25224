#!/usr/bin/env bats
# Transfers of data: lines stage-in and stage-out with a scratch folder that all nodes share.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	export EVE=rbte$$ ANN=rbta$$
	[ "$EUID" != 0 ] || users_add "$EVE" "$ANN"
	SITE=$(mktemp -d /tmp/rota-transfer.XXXXXX)
	export SITE
	chmod 1777 "$SITE"
	mkdir -m 1777 "$SITE/scratch"
	# A store that only this program reaches: it copies, or fails where the file fail is there.
	cat >"$SITE/store" <<-END
		#!/bin/sh
		[ ! -e $SITE/fail ] || { echo "the store is closed" >&2; exit 3; }
		case \$1 in
		in) mkdir -p "\$3" && cp "$SITE/store.d/\${2#store:}" "\$3" ;;
		out) mkdir -p $SITE/store.d && cp -r "\$2" "$SITE/store.d/\${3#store:}" ;;
		esac
	END
	cat >"$SITE/slow" <<-END
		#!/bin/sh
		until [ -e $SITE/go ]; do sleep 0.3; done
		mkdir -p "\$3"
	END
	chmod 755 "$SITE/store"
	instance_up 2 --cpus 4 --mem 8000 --set schedule.period=1 --set staging.scratch="$SITE/scratch/%u/%j" \
		--set staging.command="$SITE/store"
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ "$EUID" != 0 ] || users_remove "$EVE" "$ANN" || status=1
	rm -rf -- "$SITE"
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 777 .
	mkdir -m 777 archive
	printf 'one\n' >archive/a
	mkdir archive/sub
	head -c 300000 /dev/urandom >archive/sub/b
	chmod -R a+rX archive
}

teardown() {
	local job
	! mountpoint -q small || umount small
	rm -f "$SITE/fail"
	[ ! -e "$SITE/store.kept" ] || { # the test has failed
		touch "$SITE/go"
		for job in $(rota queue --json | jq -r '.jobs[].job_id'); do rota cancel -q "$job" || true; done
		eventually is_idle || true
		store
	}
}

# script LINES...: write a script job.sh of these lines.
script() {
	printf '%s\n' '#!/bin/sh' "$@" >job.sh
}

# state_of TRANSFER: prints the state of a transfer, which is named like 812.1.
state_of() {
	rota stage show --json "${1%.*}" | jq -r ".transfers[] | select(.transfer == ${1#*.}) | .state"
}

# is_state TRANSFER STATE, is_tried TRANSFER TIMES: for eventually.
is_state() {
	[ "$(state_of "$1")" = "$2" ]
}

is_tried() {
	[ "$(rota stage show --json "${1%.*}" | jq ".transfers[] | select(.transfer == ${1#*.}) | .tries")" = "$2" ]
}

# store PROGRAM: have the store be this program until it is called without one.
store() {
	if [ $# -gt 0 ]; then
		mv "$SITE/store" "$SITE/store.kept"
		install -m 755 "$1" "$SITE/store"
	else
		mv "$SITE/store.kept" "$SITE/store"
		rm -f "$SITE/go"
	fi
}

scratch_of() {
	printf '%s/scratch/%s/%s' "$SITE" "$(id -un)" "$1"
}

@test "rota check shows the steps that make transfers" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA stage-out $ROTA_SCRATCH/out/ -> results/' true
	run -0 rota check job.sh
	[[ $output == *"4 steps"* && $output == *stage-in-1* && $output == *stage-out-1* && $output == *stage-drop-1* ]]
	rota check --json job.sh | jq -e '(.steps | map({key: .name, value: .step_id}) | from_entries) as $id
		| any(.edges[]; .step_id == $id.script and .peer_step == $id."stage-in-1" and .condition == "ok")
			and any(.edges[]; .step_id == $id."stage-out-1" and .peer_step == $id.script)'
	script true
	run -0 rota check job.sh
	[[ $output == *"1 step, 0 edges"* ]]
}

@test "the steps that make transfers have no checkpoints" {
	script '#ROTA --checkpoint=app --hold' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' true
	job=$(rota submit --parsable job.sh)
	[ "$(rota show --json "$job" | jq -c '[.jobs[0].steps[] | select(.checkpoint) | .name]')" = '["script"]' ]
	rota cancel "$job"
}

@test "data comes before the steps, goes after them, and the folder of the job is dropped" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/ --mode=rsync --checksum' \
		'#ROTA stage-out $ROTA_SCRATCH/out/ -> results/' \
		'set -e; [ -d "$ROTA_SCRATCH" ]; mkdir "$ROTA_SCRATCH/out"; cat "$ROTA_SCRATCH/in/a" "$ROTA_SCRATCH/in/sub/b" >"$ROTA_SCRATCH/out/all"'
	run -0 rota submit --parsable --wait job.sh
	job=${lines[0]}
	cat archive/a archive/sub/b | cmp - results/all
	[ ! -e "$(scratch_of "$job")" ]
	rota show --json "$job" | jq -e '.jobs[0].steps | map(.name) | sort == ["script", "stage-drop-1", "stage-in-1", "stage-out-1"]'
	[ "$(rota show --json "$job" | jq -r '[.jobs[0].steps[].state] | unique | join(" ")')" = completed ]
	rota stage show --json "$job" | jq -e '.transfers
		| (.[0] | .direction == "in" and .state == "done" and .files == 2 and .bytes == 300004 and (.checksum | length) == 64
			and .tries == 1 and .bytes_per_s > 0 and .mode == "rsync")
		and (.[1] | .direction == "out" and .state == "done" and .bytes == 300004 and .checksum == null)
		and (.[2] | .direction == "drop" and .state == "dropped")'
	[ "$(superuser "select count(*) from acct.transfer where job_id = $job and state in ('done', 'dropped')")" = 3 ]
	run -0 rota stage
	[[ $output != *"$job.1"* ]]
	run -0 rota stage --all
	[[ $output == *"$job.1"*"in"*"done"*"$BATS_TEST_TMPDIR/archive/"* ]]
	run -0 rota show --wide "$job"
	[[ $output == *"$job.1"*" in "*done*" 2 "*"$BATS_TEST_TMPDIR/archive/"*"$job.2"*" out "*done*"$BATS_TEST_TMPDIR/results/"* ]]
	rota show --json "$job" | jq -e '.jobs[0].transfers | map(.state) == ["done", "done", "dropped"]'
}

@test "a job that fails keeps its data: retry transfers it, drop removes it" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA stage-out $ROTA_SCRATCH/out/ -> kept/ --checksum' \
		'mkdir "$ROTA_SCRATCH/out"; echo half >"$ROTA_SCRATCH/out/result"; exit 3'
	run -3 rota submit --parsable --wait job.sh
	job=${lines[0]}
	[ "$(state_of "$job.1") $(state_of "$job.2") $(state_of "$job.3")" = "done kept kept" ]
	[ ! -e kept ]
	run -0 rota stage
	[[ $output == *"$job.2"*kept* && $output != *"$job.1 "* ]]
	run -0 rota stage retry "$job"
	[[ $output =~ ^job\ ([0-9]+)\ transfers ]]
	rota wait "${BASH_REMATCH[1]}"
	[ "$(cat kept/result)" = half ]
	rota stage show --json "$job" | jq -e ".transfers[1] | .state == \"done\" and .by_job == ${BASH_REMATCH[1]}"
	[ -e "$(scratch_of "$job")/out/result" ]
	run -1 rota stage retry "$job"
	[[ $output == *"no transfer that failed or was left out"* ]]
	run -0 rota stage drop "$job"
	[[ $output =~ ^job\ ([0-9]+)\ drops ]]
	rota wait "${BASH_REMATCH[1]}"
	[ "$(state_of "$job.3")" = dropped ]
	[ ! -e "$(scratch_of "$job")" ]
	run -1 rota stage drop "$job"
	[[ $output == *"no data that is still there"* ]]
	[ "$(ls "$SITE/scratch/$(id -un)" | grep -c "^${BASH_REMATCH[1]}")" = 0 ] # the jobs of retry and drop leave no folder of their own
}

@test "rota continue goes on with the data that is staged" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA stage-out $ROTA_SCRATCH/out/ -> continued/' \
		'mkdir -p "$ROTA_SCRATCH/out"; cp "$ROTA_SCRATCH/in/a" "$ROTA_SCRATCH/out/"; [ -e healed ]'
	run -1 rota submit --parsable --wait job.sh
	job=${lines[0]}
	touch healed
	rota continue "$job"
	rota wait "$job"
	cmp archive/a continued/a
	rota stage show --json "$job" | jq -e '.transfers | (.[0] | .state == "done" and .tries == 1) and .[1].state == "done" and .[2].state == "dropped"'
}

@test "on-fail=out transfers the results of a job that fails, on-fail=drop drops them" {
	script '#ROTA stage-out $ROTA_SCRATCH/ -> anyway/ --on-fail=out' 'echo x >"$ROTA_SCRATCH/x"; exit 3'
	sed -i '2i #ROTA stage-in archive/ -> $ROTA_SCRATCH/ --on-fail=out' job.sh
	run -3 rota submit --parsable --wait job.sh
	[ "$(cat anyway/x)" = x ]
	cmp archive/a anyway/a
	[ ! -e "$(scratch_of "${lines[0]}")" ]
	sed -i 's/on-fail=out/on-fail=drop/; s/anyway/never/' job.sh
	run -3 rota submit --parsable --wait job.sh
	[ ! -e never ]
	[ ! -e "$(scratch_of "${lines[0]}")" ]
	[ "$(state_of "${lines[0]}.3")" = dropped ]
}

@test "a stage-out that fails keeps the data, whatever on-fail says" {
	script '#ROTA stage-out $ROTA_SCRATCH/r -> store:shut --mode=command --on-fail=drop' 'mkdir -p "$ROTA_SCRATCH"; echo r >"$ROTA_SCRATCH/r"'
	touch "$SITE/fail"
	run -1 rota submit --parsable --wait job.sh
	rm "$SITE/fail"
	job=${lines[0]}
	rota stage show --json "$job" | jq -e '.transfers[0] | .state == "failed" and .message == "the store is closed" and .tries == 4'
	run rota why "$job"
	[[ $output == *"the store is closed"* ]]
	[ "$(state_of "$job.2")" = kept ]
	[ "$(cat "$(scratch_of "$job")/r")" = r ]
	rota continue "$job"
	rota wait "$job"
	[ "$(cat "$SITE/store.d/shut")" = r ]
	[ ! -e "$(scratch_of "$job")" ]
}

@test "reuse: what an earlier job brought is not transferred again until it changes" {
	script '#ROTA stage-in archive -> pool --reuse --mode=rsync' 'cat pool/archive/a'
	run -0 rota submit --parsable --wait job.sh
	[ "$(state_of "${lines[0]}.1")" = 'done' ]
	ls -i pool/archive/a >inode
	run -0 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e '.transfers[0] | .state == "reused" and .files == 2 and .bytes == 300004'
	ls -i pool/archive/a | cmp - inode
	printf 'two, longer\n' >archive/a
	run -0 rota submit --parsable --wait job.sh
	[ "$(state_of "${lines[0]}.1")" = 'done' ]
	cmp archive/a pool/archive/a
	rm -r pool
	run -0 rota submit --parsable --wait job.sh
	[ "$(state_of "${lines[0]}.1")" = 'done' ]
	cmp archive/a pool/archive/a
}

@test "what is there already is not read again: neither files nor the beginning of a large one" {
	for mode in copy rsync; do
		mkdir -p "part-$mode/sub"
		cp -p archive/a "part-$mode/a"
		head -c 200000 archive/sub/b >"part-$mode/sub/b"
		script "#ROTA stage-in archive/ -> part-$mode/ --mode=$mode --checksum" true
		run -0 rota submit --parsable --wait job.sh
		cmp archive/sub/b "part-$mode/sub/b"
		sed -n 's/^Matched data: \([0-9,]*\) bytes/\1/p' "rota-${lines[0]}.stage-in-1.out" | tr -d , >"matched-$mode"
		grep -q 'Number of regular files transferred: 1$' "rota-${lines[0]}.stage-in-1.out"
	done
	[ "$(cat matched-copy)" -gt 150000 ]
	[ "$(cat matched-rsync)" -gt 150000 ]
}

@test "copy: a file that could not be ended goes on from its part, also from what a killed rsync leaves" {
	need_root
	mkdir small
	mount -t tmpfs -o size=8m,mode=1777 small "$PWD/small"
	head -c 9000000 /dev/urandom >archive/large
	script "#ROTA stage-in archive/large -> $PWD/small/in/ --mem=1G" true
	run -1 rota submit --parsable --wait job.sh
	job=${lines[0]}
	is_state "$job.1" failed
	[ ! -e small/in/large ]
	mv "small/in/.rota-part-$job.1/large" "small/in/.rota-part-$job.1/.large.Ab1Cd2"
	mount -o remount,size=64m "$PWD/small"
	rota continue "$job"
	rota wait --timeout=300 "$job"
	cmp archive/large small/in/large
	[ "$(ls -A small/in)" = large ]
	matched=$(rota log "$job.stage-in-1" | sed -n 's/^Matched data: \([0-9,]*\) bytes/\1/p' | tail -n 1 | tr -d ,)
	[ "$matched" -gt 4000000 ]
	rota show --json "$job.stage-in-1" | jq -e '[.. | .mem_mb? // empty] | index(1024)'
}

@test "link and command: a link to the source, and the site's program" {
	mkdir -p "$SITE/store.d"
	echo far >"$SITE/store.d/object"
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/linked --mode=link' '#ROTA stage-in store:object -> $ROTA_SCRATCH/o --mode=command' \
		'[ "$(readlink "$ROTA_SCRATCH/linked")" = "$PWD/archive" ] && cat "$ROTA_SCRATCH/linked/a" && [ "$(cat "$ROTA_SCRATCH/o/object")" = far ]'
	run -0 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e '.transfers | .[0].state == "done" and (.[1] | .state == "done" and .bytes == 4)'
	[ -e archive/a ]
}

@test "checksum: a folder may have other files besides, and a copy that differs is found" {
	mkdir pool results
	echo other | tee pool/z results/z >/dev/null
	script '#ROTA stage-in archive/a -> pool/ --checksum' '#ROTA stage-in archive -> pool --checksum' \
		'#ROTA stage-out archive/ -> results/ --checksum' true
	run -0 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e 'all(.transfers[]; .state == "done" and (.checksum | length) == 64)'
	cmp archive/a pool/a && cmp archive/sub/b pool/archive/sub/b && cmp archive/sub/b results/sub/b
	printf 'two\n' >pool/a
	touch -r archive/a pool/a # rsync takes it for the same
	run -1 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e '.transfers[0] | .state == "failed" and .message == "the copy differs from the source"'
}

@test "a source that is a symbolic link stands for what it points to" {
	ln -s archive folder
	ln -s archive/a file
	script '#ROTA stage-in folder -> $ROTA_SCRATCH/ --checksum' '#ROTA stage-in file -> $ROTA_SCRATCH/ --checksum' \
		'#ROTA stage-in folder -> $ROTA_SCRATCH/linked --mode=link' \
		'set -e; cmp "$ROTA_SCRATCH/file" archive/a; cmp "$ROTA_SCRATCH/folder/sub/b" archive/sub/b; [ ! -L "$ROTA_SCRATCH/file" ]'
	run -0 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e '[.transfers[] | .files // 0 | . > 0] == [true, true, true, false]'
}

@test "a link to nothing, or in place of a folder, is a failure with its reason, and so is a message that is not UTF-8" {
	script '#ROTA stage-in nothing -> $ROTA_SCRATCH/x --mode=link' true
	run -1 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e '.transfers[0] | .state == "failed" and (.message | endswith("nothing: no such file or folder"))'
	mkdir there
	script '#ROTA stage-in archive -> there --mode=link' true
	run -1 rota submit --parsable --wait job.sh
	rota stage show --json "${lines[0]}" | jq -e '.transfers[0] | .state == "failed" and (.message | contains("cannot overwrite directory"))'
	[ -z "$(ls there)" ]
	printf '#!/bin/sh\nprintf "no \\377room\\n" >&2\nexit 3\n' >odd
	store odd
	script '#ROTA stage-in store:x -> $ROTA_SCRATCH/x --mode=command' true
	run -1 rota submit --parsable --wait job.sh
	store
	rota stage show --json "${lines[0]}" | jq -e '.transfers[0] | .state == "failed" and .message == "no room"'
}

@test "the job's own step counts again after a retry by another job failed" {
	script '#ROTA stage-out archive/ -> store:again --mode=command' true
	touch "$SITE/fail"
	run -1 rota submit --parsable --wait job.sh
	job=${lines[0]}
	run -0 rota stage retry "$job"
	[[ $output =~ ^job\ ([0-9]+)\ transfers ]]
	run -1 rota wait "${BASH_REMATCH[1]}"
	rm "$SITE/fail"
	rota continue "$job"
	rota wait "$job"
	[ "$(state_of "$job.1")" = 'done' ]
}

@test "nobody drops the data of a job that is not over" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' 'until [ -e go ]; do sleep 0.3; done; cat "$ROTA_SCRATCH/in/a"'
	job=$(rota submit --parsable job.sh)
	eventually is_state "$job.1" 'done'
	run -1 rota stage drop "$job"
	[[ $output == *"no data that is still there"* ]]
	touch go
	rota wait "$job"
}

@test "nothing of a line reaches a shell: names with blanks, quotes and commands" {
	odd='x $(touch hacked) `touch hacked` ;touch hacked'"'"'q"'
	mkdir "$odd"
	echo odd >"$odd/f"
	script "#ROTA stage-in \"./x \$(touch hacked) \`touch hacked\` ;touch hacked'q\\\"/\" -> '\$ROTA_SCRATCH/a b/'" \
		"#ROTA stage-out '\$ROTA_SCRATCH/a b/' -> './-r e;s/'" 'cat "$ROTA_SCRATCH/a b/f"'
	run -0 rota submit --parsable --wait job.sh
	[ "$(cat './-r e;s/f')" = odd ]
	[ ! -e hacked ]
	[ ! -e "$HOME/hacked" ] && [ ! -e /hacked ]
}

@test "a bad line is refused with its number, and nothing is submitted" {
	before=$(rota queue --all --json | jq '.jobs | length')
	while IFS='|' read -r line message; do
		script '# a comment' "$line" true
		run -1 rota submit job.sh
		[[ $output == *"job.sh:3"*"$message"* ]] || { echo "$line: $output"; false; }
	done <<-'END'
		#ROTA stage-in archive|does not name its paths
		#ROTA stage-in a b c|does not name its paths
		#ROTA stage-in a -> b --mode=fast|the value is not copy, rsync, link or command
		#ROTA stage-in a -> b --on-fail=maybe|the value is not keep, out or drop
		#ROTA stage-in a -> b --speed=9|is no option of a transfer
		#ROTA stage-in a -> b --time=x|--time
		#ROTA stage-in a -> $OTHER/b|a variable other than $ROTA_SCRATCH
		#ROTA stage-in a -> '${HOME}/b'|a variable other than $ROTA_SCRATCH
		#ROTA stage-in a -> ${ROTA_SCRATCH}b|a variable other than $ROTA_SCRATCH
		#ROTA stage-in a -> '$ROTA_SCRATCHb'|a variable other than $ROTA_SCRATCH
		#ROTA stage-in a$1/$OTHER -> b|a variable other than $ROTA_SCRATCH
		#ROTA stage-in $HOME/a/$USER -> b|a variable other than $ROTA_SCRATCH
		#ROTA stage-in a -> $ROTA_SCRATCH/in/$ROTA_ARRAY_INDEX/|a variable of an element, but data is moved once for all elements
		#ROTA stage-out $ROTA_SCRATCH/out -> '/x/${SLURM_ARRAY_TASK_ID}'|a variable of an element, but data is moved once for all elements
		#ROTA stage-in host:/a -> b|only rsync and command reach another host
		#ROTA stage-in a -> host:/b --mode=rsync|the job's side of the transfer is on another host
		#ROTA stage-out a -> b --mode=link|link is for stage-in
		#ROTA stage-in a -> b --mode=link --checksum|the option is for the modes copy and rsync
		#ROTA stage-in a -> $ROTA_SCRATCH/b --reuse|the option is for a stage-in to a folder that stays
		#ROTA stage-in "" -> b|a path is empty
		#ROTA stage-in a -> b --for=9|the value is not JOB.NUMBER
		#ROTA stage-drop /x|stage-drop needs --for
	END
	script "#ROTA stage-in $(head -c 5000 /dev/zero | tr '\0' a) -> b" true
	run -1 rota submit job.sh
	[[ $output == *"too long"* ]]
	script '#ROTA stage-in a -> b --for=999.1' true
	run -1 rota submit job.sh
	[[ $output == *"job 999 has no such transfer of yours"* ]]
	{ echo '#!/bin/sh'; for i in $(seq 101); do echo "#ROTA stage-in a$i -> b$i"; done; } >job.sh
	run -1 rota submit job.sh
	[[ $output == *"job.sh:102"*"more than 100 transfers"* ]]
	{ echo '#!/bin/sh'; for i in $(seq 20); do echo "#ROTA stage-in $(head -c 2000 /dev/zero | tr '\0' a) -> b$i"; done; } >job.sh
	run -1 rota submit job.sh
	[[ $output == *"more than 32768 bytes"* ]]
	printf '#!/bin/sh\n#ROTA stage-in a\0b -> c\n' >job.sh
	run -1 rota submit job.sh
	[[ $output == *NUL* ]]
	script '#ROTA stage-in a -> b' '#ROTA step stage-in-1' true
	run -1 rota submit job.sh
	[[ $output == *"is the name of a step that transfers data"* ]]
	[ "$(rota queue --all --json | jq '.jobs | length')" = "$before" ]
}

@test "where the transfers stand in the graph of a job" {
	cat >job.sh <<-'END'
		#!/bin/sh
		#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/
		#ROTA stage-out $ROTA_SCRATCH/in/ -> graph/
		#ROTA step prepare --after=none
		true
		#ROTA step solve --after=prepare
		#ROTA stage-in archive/a -> $ROTA_SCRATCH/solve
		true
		#ROTA step repair --after=solve:fail
		true
		#ROTA step other --after=none
		true
		#ROTA step away --after=none --other-nodes=other
		true
	END
	rota submit --parsable --hold job.sh >id
	rota show --json "$(cat id)" >show
	jq -r '.jobs[0] | (.steps | map({(.step_id | tostring): .name}) | add) as $n | .edges[]
		| "\($n[.to | tostring]) \($n[.from | tostring]) \(.condition)"' show | sort >edges
	diff edges - <<-'END'
		away other ok
		away stage-in-1 ok
		other stage-in-1 ok
		prepare stage-in-1 ok
		repair solve fail
		solve prepare ok
		solve stage-in-2 ok
		stage-drop-1 away ok
		stage-drop-1 other ok
		stage-drop-1 repair any
		stage-drop-1 solve ok
		stage-drop-1 stage-out-1 ok
		stage-out-1 away ok
		stage-out-1 other ok
		stage-out-1 repair any
		stage-out-1 solve ok
	END
	rota release "$(cat id)"
	rota wait "$(cat id)"
	cmp archive/a graph/a
}

@test "whatever becomes of steps, their data is not dropped while one runs" {
	script '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/ --on-fail=drop' '#ROTA stage-out $ROTA_SCRATCH/in/ -> out/ --on-fail=out' \
		'#ROTA step bad --after=none' 'exit 1' \
		'#ROTA step slow --after=none' 'until [ -e go ]; do sleep 0.3; done; cat "$ROTA_SCRATCH/in/a"' \
		'#ROTA step both --after=bad,slow' true
	job=$(rota submit --parsable job.sh)
	is_over() { rota show --json "$job" | jq -e '.jobs[0].steps[] | select(.name == "both") | .state == "dependency_failed"'; }
	eventually is_over
	rota show --json "$job" | jq -e '.jobs[0].steps[] | select(.name == "stage-out-1") | .state == "pending"'
	touch go
	rota wait "$job" || true
	rota show --json "$job" | jq -e '.jobs[0].steps[] | select(.name == "slow") | .state == "completed"'
	[ "$(state_of "$job.2") $(state_of "$job.3")" = "done dropped" ]
}

@test "a step that waits for any of several jobs does so in spite of a stage-in, or is refused" {
	one=$(rota submit --parsable --hold --wrap true)
	two=$(rota submit --parsable --hold --wrap true)
	script '#ROTA --hold' '#ROTA stage-in archive/ -> $ROTA_SCRATCH/in/' '#ROTA step a --after=none' true \
		"#ROTA step b --after=$one?$two" true
	run -1 rota submit job.sh
	[[ $output == *'"b" waits for any of several steps or jobs'* ]]
	sed -i "s/--after=none/--after=$one?$two/" job.sh
	job=$(rota submit --parsable job.sh)
	[ "$(superuser "select count(*) from rota.step_edge e join rota.step_request r using (job_id, step_id)
		where job_id = $job and peer_job_id in ($one, $two) and r.name = 'stage-in-1' and r.deps_any")" = 2 ]
	rota cancel "$job" "$one" "$two"
}

@test "the reason of waiting is staging_in, and why names the transfer" {
	script '#ROTA stage-in store:slow -> $ROTA_SCRATCH/o --mode=command' true
	store "$SITE/slow"
	job=$(rota submit --parsable job.sh)
	eventually is_state "$job.1" running
	is_reason() { [ "$(rota queue --json | jq -r ".jobs[] | select(.job_id == $job) | .reason")" = staging_in ]; }
	eventually is_reason
	run -0 rota why "$job"
	[[ $output == *stage-in-1* ]]
	touch "$SITE/go"
	rota wait "$job"
	store
}

@test "cancel ends a stage-out that is under way, and its data is kept" {
	script '#ROTA stage-out $ROTA_SCRATCH/out/ -> store:slow --mode=command' 'mkdir -p "$ROTA_SCRATCH/out"'
	store "$SITE/slow"
	job=$(rota submit --parsable job.sh)
	eventually is_state "$job.1" running
	rota cancel "$job"
	run ! rota wait --quiet --timeout=300 "$job"
	[ "$(state_of "$job.1") $(state_of "$job.2")" = "cancelled kept" ]
	[ -d "$(scratch_of "$job")/out" ]
	store
	run -0 rota stage
	[[ $output == *"$job.1 "* ]]
	run -0 rota stage drop "$job"
	[[ $output =~ ^job\ ([0-9]+)\ drops ]]
	rota wait "${BASH_REMATCH[1]}"
	run -0 rota stage
	[[ $output != *"$job.1 "* ]]
}

@test "a mover that is killed goes on, and one waits for a jobmgrd that is away" {
	script '#ROTA stage-in store:slow -> $ROTA_SCRATCH/o --mode=command' true
	store "$SITE/slow"
	job=$(rota submit --parsable job.sh)
	eventually is_state "$job.1" running
	pid=$(pgrep -f "rota-mover.*$SITE/store .*store:slow" | head -n 1)
	[ -n "$pid" ]
	kill -9 "$pid"
	eventually is_tried "$job.1" 2
	pid=$(pid_of jobmgrd)
	kill "$pid"
	eventually are_dead "$pid"
	touch "$SITE/go"
	eventually [ -d "$(scratch_of "$job")/o" ] # the transfer is made and cannot be reported
	rota up >/dev/null
	rota wait "$job"
	rota stage show --json "$job" | jq -e '.transfers[0] | .state == "done" and .tries == 2'
	store
}

@test "all is done as the user, and strangers see, report and repeat nothing" {
	need_root
	install -m 600 archive/a "$SITE/private"
	script "#ROTA stage-in $SITE/private -> \$ROTA_SCRATCH/p" true
	EVES=$SITE/eve
	mkdir -p -m 777 "$EVES"
	cp job.sh "$EVES/"
	run -1 as "$EVE" env -C "$EVES" "$ROTA_BIN/rota" submit --parsable --wait job.sh
	job=${lines[0]}
	run -0 as "$EVE" "$ROTA_BIN/rota" stage show "$job"
	[[ $output == *failed*"Permission denied"* ]]
	run -1 as "$ANN" "$ROTA_BIN/rota" stage show "$job"
	[[ $output == *"there is no job $job of yours"* ]]
	run -1 as "$ANN" "$ROTA_BIN/rota" stage retry "$job"
	run -1 as "$ANN" "$ROTA_BIN/rota" stage report "job=$job" step_id=1 attempt=1 node=n1 transfer=1 for= state=done
	[[ $output == *"no such transfer of yours"* ]]
	printf '#!/bin/sh\n#ROTA stage-in /etc/hostname -> x --for=%s.1\n' "$job" >"$EVES/ann.sh"
	run -1 as "$ANN" env -C "$EVES" "$ROTA_BIN/rota" submit ann.sh
	[[ $output == *"has no such transfer of yours"* ]]
	run -1 as "$EVE" "$ROTA_BIN/rota" stage report "job=$job" step_id=1 attempt=99 node=n1 transfer=1 for= state=done files=1 bytes=-5
	run -1 as "$EVE" "$ROTA_BIN/rota" stage report "job=$job" step_id=1 attempt=99 node=nowhere transfer=1 for= state=done
	[ "$(state_of "$job.1")" = failed ]
	rm -rf "$EVES"
}

@test "results go into a folder of somebody else in which the user may write, as of a group" {
	need_root
	mkdir -m 777 "$SITE/group" "$SITE/eve"
	script '#ROTA stage-in /etc/hostname -> $ROTA_SCRATCH/out/sub/' "#ROTA stage-out \$ROTA_SCRATCH/out/ -> $SITE/group/ --mode=" \
		'cp /bin/true "$ROTA_SCRATCH/out/tool"; chmod 700 "$ROTA_SCRATCH/out"'
	for mode in copy rsync; do
		sed "s/--mode=/--mode=$mode/" job.sh >"$SITE/eve/job.sh"
		run -0 as "$EVE" env -C "$SITE/eve" "$ROTA_BIN/rota" submit --parsable --wait job.sh
		[ -x "$SITE/group/tool" ]
		[ -e "$SITE/group/sub/hostname" ]
		[ "$(stat -c %a "$SITE/group")" = 777 ]
		rm -r "$SITE/group"/*
	done
	rm -rf "$SITE/group" "$SITE/eve"
}

@test "a folder of the job that somebody else has made is not used" {
	need_root
	script "#ROTA stage-in /etc/hostname -> \$ROTA_SCRATCH/h" true
	EVES=$SITE/eve
	mkdir -p -m 777 "$EVES"
	cp job.sh "$EVES/"
	run -0 as "$EVE" env -C "$EVES" "$ROTA_BIN/rota" submit --parsable --hold job.sh
	job=$output
	rm -rf "$SITE/scratch/$EVE"
	as "$ANN" mkdir "$SITE/scratch/$EVE"
	chmod 777 "$SITE/scratch/$EVE"
	as "$EVE" "$ROTA_BIN/rota" release "$job"
	run -1 as "$EVE" "$ROTA_BIN/rota" wait "$job"
	run -0 cat "$EVES/rota-$job.stage-in-1.out"
	[[ $output == *"somebody else has made it"* ]]
	rm -rf "$SITE/scratch/$EVE" "$EVES"
}
