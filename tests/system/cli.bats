#!/usr/bin/env bats
# The command line: help, misuse, suggestions, formats. First without an instance, then with one.

ROTA_TEST_CLIENT=leaks
load helper
load terminal

setup_file() {
	instance_up 2 --cpus 4 --mem 2000 --set node.grace=1
	superuser 'alter system set log_min_duration_statement = 0' # for waits
	superuser 'select pg_reload_conf()'
}

teardown_file() {
	instance_down
}

write() {
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
}

submit() {
	write "$1"
	shift
	(cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh)
}

# Every verb that `rota help` lists.
verbs() {
	rota completion verb
}

@test "help lists every verb, and each verb describes itself" {
	run -0 rota help
	for verb in $(verbs); do
		grep -qE "^  $verb  +[A-Z]" <<<"$output" || { echo "$verb: $output"; false; }
	done
	for verb in $(verbs); do
		run -0 rota "$verb" --help
		[[ ${lines[0]} == "Usage: rota $verb"* ]]
		[[ $output == *"Options:"* ]]
		run -0 rota help "$verb"
		[[ ${lines[0]} == "Usage: rota $verb"* ]]
	done
}

@test "help fits 80 columns" {
	rota --help | awk 'length > 80 { print; bad = 1 } END { exit bad }'
	for verb in $(verbs); do
		rota "$verb" --help | awk -v verb="$verb" 'length > 80 { print verb ": " $0; bad = 1 } END { exit bad }'
	done
}

@test "without a verb, help and status 2" {
	run -2 rota
	[[ $output == *"Usage: rota VERB"* ]]
}

@test "a wrong verb or option names the right one, with status 2" {
	run -2 rota sumbit
	[[ $output == *'did you mean "submit"?'* ]]
	run -2 rota queue --patition=x
	[[ $output == *'did you mean "--partition"?'* ]]
	run -2 rota submit --tiem=5 x.sh
	[[ $output == *'did you mean "--time"?'* ]]
	run -2 rota admin nod drain n1
	[[ $output == *'did you mean "node"?'* ]]
	run -2 rota admin node drian n1 --reason=x
	[[ $output == *'did you mean "drain"?'* ]]
	run -2 rota acct --fields=lable
	[[ $output == *'did you mean "label"?'* ]]
	run -2 rota signal USR7 1
	[[ $output == *'did you mean "USR1"?'* ]]
	run -2 rota help qeue
	[[ $output == *'did you mean "queue"?'* ]]
	# Option names of other systems.
	run -2 rota sbatch run.sh
	[[ $output == *'did you mean "submit"?'* ]]
	run -2 rota help qdel
	[[ $output == *'did you mean "cancel"?'* ]]
	run -2 rota stop 812
	[[ $output == *'did you mean "cancel"?'* ]]
	for option in '-j 812' -j812 --job=812 '--jobs 812' --jobid=812; do
		run -2 rota acct $option
		[[ $output == *"there is no option \"${option:0:2}"*'; name jobs without an option: rota acct 812'* ]]
	done
	for words in '812 USR1' '9 sigusr1' '812 813 KILL'; do
		run -2 rota signal $words
		[[ $output == *"the signal stands before the jobs: rota signal ${words##* } "* ]]
	done
	while read -r word verb; do
		run -2 rota "$word"
		[[ $output == *"did you mean \"$verb\"?"* ]] || { echo "$word: $output"; false; }
	done <<-'END'
		kill cancel
		delete cancel
		ls queue
		ps queue
		list queue
		jobs queue
		info show
		start submit
		tail log
	END
	printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/run.sh"
	run -2 rota "$BATS_TEST_TMPDIR/run.sh"
	[[ $output == *"\`rota submit $BATS_TEST_TMPDIR/run.sh\` submits this file"* ]]
}

@test "missing, superfluous and malformed words are misuse" {
	run -2 rota hold
	[[ $output == "rota hold: name a job: rota hold JOB"* ]]
	run -2 rota signal USR1
	[[ $output == "rota signal: name a job: rota signal SIGNAL JOB"* ]]
	run -2 rota log
	[[ $output == "rota log: name a job: rota log JOB"* ]]
	run -2 rota submit
	run -2 rota submit --wrap
	run -2 rota queue --limit=many
	run -2 rota queue --limit
	[[ $output == 'rota queue: option "--limit" needs a value: --limit=N'* ]]
	run -2 rota queue -u
	[[ $output == 'rota queue: option "-u" needs a value: -u LIST'* ]]
	run -2 rota queue --config
	[[ $output == 'rota queue: option "--config" needs a value: --config=FILE'* ]]
	run -2 rota queue --json=yes
	run -2 rota queue -z
	run -2 rota admin node drain n1
	[[ $output == *"--reason"* ]]
	run -2 rota admin node
	[[ $output == *"change-all, changes, cancel-change or health"* ]]
	run -1 rota admin node change-all --reboot --at-most=10% --reason=x
	[[ $output == *"hooks.reboot in rota.conf"* ]]
	run -2 rota admin account
	[[ $output == *"show or delete"* ]]
	run -2 rota nodes 'n[1-'
	run -2 rota up --nodes=0
	run -2 rota up --mem=lots
	run -2 rota token GET
	run -2 rota completion zsh
}

@test "admin shows all objects of a kind when none is named" {
	rota admin account create club
	rota admin account create team
	run -0 rota admin account show
	rota admin account delete club
	rota admin account delete team
	[ "$(grep -E '^account ' <<<"$output" | tr -s ' ')" = 'account club'$'\n''account team' ]
	run -0 --separate-stderr rota admin license show
	[[ -z $output && $stderr == "rota: there is no license" ]]
	run -2 rota admin node show
	[[ $output == *"name the node"* ]]
}

@test "output that cannot be written is a failure, and goes nowhere else" {
	local verb
	for verb in 'queue' 'nodes --json' 'version' 'help'; do
		run -1 bash -c "rota $verb >&-"
		[ "$output" = "rota: could not write the output: Bad file descriptor" ]
		run -1 bash -c "rota $verb >/dev/full"
		[ "$output" = "rota: could not write the output: No space left on device" ]
	done
	run -1 bash -c 'rota submit - <&-'
	[ "$output" = 'rota: could not read "-": Bad file descriptor' ]
}

@test "the completion is bash, and offers verbs, options, jobs and nodes" {
	rota completion >"$BATS_TEST_TMPDIR/completion"
	rota completion bash | cmp - "$BATS_TEST_TMPDIR/completion"
	bash -n "$BATS_TEST_TMPDIR/completion"
	run -0 bash -c 'source <(rota completion) && complete -p rota'
	[ "$output" = "complete -F _rota rota" ]
	cat >"$BATS_TEST_TMPDIR/try" <<-'END'
		source "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_rota 2>/dev/null
		echo "${COMPREPLY[@]}"
	END
	run -0 bash "$BATS_TEST_TMPDIR/try" "$BATS_TEST_TMPDIR/completion" rota sub
	[ "$output" = submit ]
	run -0 bash "$BATS_TEST_TMPDIR/try" "$BATS_TEST_TMPDIR/completion" rota submit --job-n
	[ "$output" = --job-name= ]
	run -0 bash "$BATS_TEST_TMPDIR/try" "$BATS_TEST_TMPDIR/completion" rota nodes n
	[ "$output" = "n1 n2" ]
	while IFS='|' read -r line offered; do
		IFS=' ' read -ra words <<<"$line"
		[[ $line != *' ' ]] || words+=('')
		run -0 bash "$BATS_TEST_TMPDIR/try" "$BATS_TEST_TMPDIR/completion" "${words[@]}"
		[ "$output" = "$offered" ] || { echo "$line: $output"; false; }
	done <<-'END'
		rota admin no|node
		rota admin node d|delete drain dead
		rota admin node drain n|n1 n2
		rota admin account d|delete
		rota admin range |list drop
		rota admin db u|upgrade
		rota admin partition create n|
	END
	while read -r object; do
		run -2 rota admin "$object" cheese
		[[ $output == *'there is no action "cheese"; name '* ]] || [[ $object == export && $output == *'--to=DIR'* ]]
	done < <(rota completion object)
	run -2 rota admin partition drain p
	[[ $output == *'there is no action "drain"; name one of create, change, show or delete'* ]]
	job=$(submit '#!/bin/sh
sleep 600')
	run -0 bash "$BATS_TEST_TMPDIR/try" "$BATS_TEST_TMPDIR/completion" rota show "$job"
	[ "$output" = "$job" ]
	rota cancel "$job"
	# Steps of a job, also of an ended one; values of options, which a shell passes in three words or in one.
	rota admin account create physics
	rota admin license create matlab --total=2
	rota admin license create abaqus --total=2
	rota admin reservation create far-away --start=2040-01-01 --duration=1:00:00 --nodes=n1 --users="$(id -un)"
	job=$(submit '#!/bin/sh
#ROTA step first
true
#ROTA step second --after=first --array=0-2
true')
	rota wait "$job"
	while IFS='|' read -r line offered; do
		IFS=' ' read -ra words <<<"$line"
		[[ $line != *' ' ]] || words+=('')
		run -0 bash "$BATS_TEST_TMPDIR/try" "$BATS_TEST_TMPDIR/completion" "${words[@]}"
		[ "$output" = "$offered" ] || { echo "$line: $output"; false; }
	done <<-END
		rota log $job|$job
		rota log $job.|$job.first $job.second
		rota show $job.s|$job.second
		rota show 0.|
		rota show \$(touch x).|
		rota queue --states = ti|timeout
		rota queue --states = failed,ti|failed,timeout
		rota queue --states=ti|--states=timeout
		rota acct -t node|node_fail
		rota submit --partition = |main
		rota submit -p |main
		rota submit --nodelist = n1,n|n1,n1 n1,n2
		rota submit --mem = |
		rota submit --open-mode = |append truncate
		rota submit --mail-type = BEGIN,TIME_LIMIT_9|BEGIN,TIME_LIMIT_90
		rota submit --run=t|--run=tasks
		rota submit --signal = USR|USR1 USR2
		rota signal USR|USR1 USR2
		rota requeue $job|$job
		rota continue $job|$job
		rota restart $job|$job
		rota top --node n|n1 n2
		rota submit --qos = n|normal
		rota submit -q n|normal
		rota submit --account = ph|physics
		rota acct -A ph|physics
		rota submit --licenses=mat|--licenses=matlab
		rota submit --licenses = matlab:2,ab|matlab:2,abaqus
		rota submit --reservation = far|far-away
	END
	[ ! -e x ]
	# Other users are offered the accounts that they may charge.
	if [ "$EUID" = 0 ]; then
		run -0 as games rota completion account
		[ "$output" = physics ]
		rota admin association create physics/root
		run -0 as games rota completion account
		[ -z "$output" ]
	fi
	rota admin reservation delete far-away
	rota admin license delete matlab
	rota admin license delete abaqus
	rota admin account delete physics
}

@test "states may be written as Slurm writes them" {
	local job held
	job=$(submit '#!/bin/sh
true')
	rota wait "$job"
	eventually is_idle # a job that was cancelled before may still run
	held=$(rota submit --parsable --hold --wrap=true)
	while read -r states shown; do
		run -0 rota queue --json -t "$states"
		[ "$(jq -c '[.jobs[].state] | unique' <<<"$output")" = "[\"$shown\"]" ] || { echo "$states: $output"; false; }
	done <<-'END'
		PD pending
		pending pending
		R,PENDING pending
		CD completed
		Completed completed
	END
	run -0 rota acct --json -t CD
	[[ $output == *'"completed"'* && $output != *'"pending"'* ]]
	run -0 rota cancel -y --me --state=PD
	[ "$(rota show --json "$held" | jq -r '.jobs[0].state')" = cancelled ]
	run -1 rota queue -t XX
	[[ $output == *'there is no state "xx"'* ]]
}

@test "names that are not ASCII are aligned in any locale" {
	local job plain
	job=$(submit '#!/bin/sh
#ROTA --job-name=größe仕事
true')
	rota wait "$job"
	plain=$(rota queue --all "$job")
	[ "$(LC_ALL=C rota queue --all "$job")" = "$plain" ]
	[ "$(LC_ALL=xx_XX rota queue --all "$job")" = "$plain" ]
}

@test "a command in place of a script, and a list in place of jobs, are refused with advice" {
	run -1 rota submit /bin/true
	[[ $output == *'"/bin/true" is a program, not a script'*"rota submit --wrap='/bin/true'"* ]]
	run -1 rota submit 'echo hello'
	[[ $output == *'could not read "echo hello"'*"rota submit --wrap='echo hello'"* ]]
	run -1 rota submit -a params.txt --wrap=true
	[[ $output == *'"params.txt" is not an index'*"rota submit --each -a FILE SCRIPT"* ]]
	for list in 1,2 1-3; do
		run rota cancel "$list"
		[[ $status -ne 0 && $output == *"\"$list\" does not name a job"*"Separate jobs by blanks"* ]]
	done
}

@test "an impossible script is refused with its line" {
	printf '#!/bin/sh\ntrue\0\n' >"$BATS_TEST_TMPDIR/nul.sh"
	run -1 rota submit "$BATS_TEST_TMPDIR/nul.sh"
	[[ $output == *"nul.sh:2: the script has a NUL byte"* ]]
	printf '#!/bin/sh\n\n\377\n' >"$BATS_TEST_TMPDIR/latin.sh"
	run -1 rota submit "$BATS_TEST_TMPDIR/latin.sh"
	[[ $output == *"latin.sh:3: "* ]]
	run -1 rota submit "$BATS_TEST_TMPDIR/missing.sh"
	[[ $output == *"No such file"* ]]
	write '#!/bin/sh
#ROTA --tiem=5
true'
	run -1 rota submit "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *"job.sh:2: --tiem: "* ]]
}

@test "submit refuses to run in a deleted folder, unless another one is named" {
	write '#!/bin/sh
pwd'
	mkdir "$BATS_TEST_TMPDIR/gone"
	cd "$BATS_TEST_TMPDIR/gone"
	rmdir "$BATS_TEST_TMPDIR/gone"
	for verb in submit check "submit --workdir=sub"; do
		run -1 rota $verb "$BATS_TEST_TMPDIR/job.sh"
		[[ $output == *"could not find the path of the working directory"*--workdir* ]]
	done
	run -0 rota check --workdir="$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/job.sh"
	job=$(rota submit --parsable -D "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/job.sh")
	run -0 rota wait "$job"
	[ "$(cat "$BATS_TEST_TMPDIR/rota-$job.out")" = "$BATS_TEST_TMPDIR" ]
}

@test "without an instance: an error with the next step, status 3" {
	ROTA_HOME=$BATS_TEST_TMPDIR/none run -3 rota queue
	[[ $output == *"rota up"* ]]
}

@test "submit prints the job; --parsable the id; --json the answer; - reads standard input" {
	write '#!/bin/sh
true'
	cd "$BATS_TEST_TMPDIR"
	run -0 rota submit job.sh
	[[ $output =~ ^job\ [0-9]+\ \(1\ step\)$ ]]
	run -0 rota submit --parsable job.sh
	[[ $output =~ ^[0-9]+$ ]]
	run -0 rota submit --json job.sh
	[ "$(jq -r .steps <<<"$output")" = 1 ]
	run -0 rota submit --parsable - <job.sh
	[[ $output =~ ^[0-9]+$ ]]
	run -0 rota wait -q "$output"
}

@test "the same client key is the same job" {
	write '#!/bin/sh
true'
	cd "$BATS_TEST_TMPDIR"
	first=$(rota submit --parsable --client-key=once job.sh)
	run -0 rota submit --client-key=once job.sh
	[[ $output == "job $first (1 step), submitted before with this key" ]]
}

@test "each of several scripts becomes a job, or none of them" {
	cd "$BATS_TEST_TMPDIR"
	for i in 1 2 3; do
		printf '#!/bin/sh\nexit %s\n' "$i" >"$i.sh"
	done
	run -0 rota submit --each --job-name=each 1.sh 2.sh
	[[ ${lines[0]} =~ ^"job "[0-9]+" (1 step): 1.sh"$ && ${lines[1]} =~ ^"job "[0-9]+" (1 step): 2.sh"$ ]]
	run -0 rota submit --each --parsable 1.sh
	[[ $output =~ ^[0-9]+$ ]]
	run -0 rota submit --each --json 3.sh - <1.sh
	[ "$(jq -c '[.jobs[] | [.steps, .known]]' <<<"$output")" = '[[1,false],[1,false]]' ]
	run -3 rota submit --each --wait 1.sh 3.sh 2.sh
	before=$(rota queue -a --json | jq '.jobs | length')
	printf '#!/bin/sh\n#ROTA --tme=5\ntrue\n' >wrong.sh
	run -1 rota submit --each 1.sh wrong.sh 2.sh
	[[ $output == *"wrong.sh:2: "*"--tme"* ]]
	run -1 rota submit --each 1.sh missing.sh
	[[ $output == *'could not read "missing.sh"'* ]]
	[ "$(rota queue -a --json | jq '.jobs | length')" = "$before" ]
	first=$(rota submit --each --parsable --client-key=all 1.sh 2.sh)
	run -0 rota submit --each --json --client-key=all 3.sh 2.sh
	[ "$(jq -c '[.jobs[].known]' <<<"$output")" = '[false,true]' ]
	[ "$(jq -c '.jobs[1].job_id' <<<"$output")" = "$(tail -n 1 <<<"$first")" ]
}

@test "each of several scripts has the environment that it asks for" {
	cd "$BATS_TEST_TMPDIR"
	local scripts=()
	for export in NONE ALL WHAT ALL NONE OTHER=1; do
		scripts+=("${#scripts[@]}.sh")
		printf '#!/bin/sh\n#ROTA --export=%s --output=%s.out\necho "$WHAT${OTHER:+ other}"\n' "$export" "${#scripts[@]}" >"${scripts[-1]}"
	done
	WHAT=seen run -0 rota submit --each --wait "${scripts[@]}"
	run cat {1..6}.out
	[ "$output" = "$(printf '%s\n' '' seen seen seen '' ' other')" ]
}

# Submit with these words; jobmgrd does not answer, dies, and starts again. The client is stopped until then, because it tries
# again only for three seconds, and starting jobmgrd may take longer.
submit_unanswered() {
	local pid submission
	pid=$(pid_of jobmgrd)
	kill -STOP "$pid"
	rota submit --parsable "$@" >answer 2>&1 &
	submission=$!
	eventually sh -c "ls -l /proc/$submission/fd | grep -q socket:"
	sleep 0.3
	kill -STOP "$submission"
	kill -KILL "$pid"
	rota up --quiet
	kill -CONT "$submission"
	wait "$submission"
}

@test "a submission whose answer is lost is repeated and makes one job, or as many as there are scripts" {
	write '#!/bin/sh
true'
	cd "$BATS_TEST_TMPDIR"
	before=$(rota queue -a --json | jq '.jobs | length')
	submit_unanswered job.sh
	[[ $(cat answer) =~ ^[0-9]+$ ]]
	[ "$(rota queue -a --json | jq '.jobs | length')" = $((before + 1)) ]
	submit_unanswered --each job.sh job.sh
	[ "$(sort -u answer | wc -l)" = 2 ]
	[ "$(rota queue -a --json | jq '.jobs | length')" = $((before + 3)) ]
}

@test "a jobmgrd that hangs takes nothing of a large request: the client gives up after 10 seconds" {
	{ printf '#!/bin/sh\ntrue\n'; head -c 4000000 /dev/zero | tr '\0' '#'; } >"$BATS_TEST_TMPDIR/large.sh"
	pid=$(pid_of jobmgrd)
	kill -STOP "$pid"
	run --separate-stderr timeout 120 rota submit --config="$(patience 0)" "$BATS_TEST_TMPDIR/large.sh"
	kill -CONT "$pid"
	[ "$status" = 3 ]
	[[ $stderr == *"could not send the request to jobmgrd: jobmgrd has read nothing for 10 seconds"* ]]
}

@test "check prints steps and edges, the plan, a graph, or the errors" {
	write '#!/bin/bash
#ROTA step one
true
#ROTA step two --after=one
true'
	run -0 rota check "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *one*two* ]]
	run -0 rota check --json "$BATS_TEST_TMPDIR/job.sh"
	[ "$(jq '.steps | length' <<<"$output")" = 2 ]
	run -0 rota check --dot "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == digraph* ]]
	run -1 rota check --time=never "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *"--time"* ]]
	# A check with the nodes and partitions of the instance; without an instance, a message says that they are unknown.
	run -1 rota check --nodes=500 "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *"--nodes"*500* ]]
	run -1 rota check --partition=nosuch "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *nosuch* ]]
	# Errors that only the database finds; a check leaves no rows.
	run -1 rota check --account=nosuch "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *"--account: there is no account"* ]]
	run -1 rota check --nodelist=nosuch "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *nosuch* ]]
	run -1 rota check --after=999999999 "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *999999999* ]]
	before=$(rota queue -a --json | jq '.jobs | length')
	last=$(rota submit --parsable --hold "$BATS_TEST_TMPDIR/job.sh")
	run -0 rota check "$BATS_TEST_TMPDIR/job.sh"
	run -1 rota check --after=999999999 "$BATS_TEST_TMPDIR/job.sh"
	[ "$(rota queue -a --json | jq '.jobs | length')" = $((before + 1)) ]
	[ "$(rota submit --parsable --hold "$BATS_TEST_TMPDIR/job.sh")" = $((last + 1)) ]
	rota cancel "$last" $((last + 1))
	ROTA_HOME=$BATS_TEST_TMPDIR/none run -0 rota check --nodes=500 "$BATS_TEST_TMPDIR/job.sh"
	[[ $output == *"no instance answers"* ]]
}

@test "with --json a refusal is JSON on standard output, as HTTP gives it, and words on standard error" {
	printf '%s\n' '#!/bin/bash' '#ROTA --mem=lots' '#ROTA --tiem=3' 'true' >"$BATS_TEST_TMPDIR/broken.sh"
	cd "$BATS_TEST_TMPDIR"
	for verb in submit check; do
		run -1 --separate-stderr rota $verb --json broken.sh
		[ "$(jq -c '.error | .code, (.problems | map([.file, .line, .option]))' <<<"$output" | xargs -d '\n')" = \
			'"RT422" [["broken.sh",2,"--mem"],["broken.sh",3,"--tiem"]]' ]
		[[ $stderr == *'broken.sh:3: --tiem: unknown option'* ]]
		refusals+=("$(jq -S . <<<"$output")")
		run -1 --separate-stderr rota $verb broken.sh
		[ -z "$output" ]
	done
	[ "${refusals[0]}" = "${refusals[1]}" ]
	printf '#!/bin/sh\n\377\n' >latin.sh
	for command in "submit nosuch.sh" "check nosuch.sh" "submit latin.sh" "check latin.sh" "submit --each broken.sh nosuch.sh"; do
		run -1 --separate-stderr rota ${command%% *} --json ${command#* }
		[ "$(jq -r '.error.code' <<<"$output")" = RT422 ] || { echo "$command: $output"; false; }
		[[ $stderr == *"$(jq -r .error.message <<<"$output")"* ]]
	done
	for command in "show 999999" "queue 999999" "log 999999" "wait 999999" "watch 999999" "cancel 999999" "admin node show none" "queue --user=no.such.user"; do
		run -1 --separate-stderr rota $command --json
		[ "$(jq -r '.error | .code' <<<"$output")" = RT404 ] || { echo "$command: $output"; false; }
		[[ $stderr == "rota: $(jq -r .error.message <<<"$output")"* ]]
	done
}

@test "an array's elements are printed one below the other, or the one that is named" {
	job=$(submit '#!/bin/bash
#ROTA step many --array=3-5
echo "$ROTA_ARRAY_INDEX"')
	rota wait -q "$job"
	for operand in "$job" "$job.many" "$job.many[3-5]"; do
		run -0 rota log "$operand"
		[ "$output" = "many[3] | 3"$'\n'"many[4] | 4"$'\n'"many[5] | 5" ]
	done
	run -0 rota log "$job.many[4]"
	[ "$output" = 4 ]
	run -0 rota show -e "$job"
	[[ $output == *"many[5]"* ]]
}

@test "wait and watch without a number mean the caller's jobs" {
	rota cancel -q --me
	run rota wait -q
	run -0 --separate-stderr rota wait
	[ "$stderr" = "rota: none of your jobs waits or runs" ]
	run -0 rota watch
	[[ $output == *"none of your jobs"* ]]
	# Jobs end when the test lets them, so that each job is watched while it runs.
	job=$(submit '#!/bin/sh
until [ -e one ]; do sleep 0.3; done')
	rota watch >"$BATS_TEST_TMPDIR/watched" 3>&- &
	eventually grep -q "$job.script running" "$BATS_TEST_TMPDIR/watched"
	touch "$BATS_TEST_TMPDIR/one"
	wait $!
	[[ $(cat "$BATS_TEST_TMPDIR/watched") == *"job $job completed" ]]
	rm "$BATS_TEST_TMPDIR/one"
	job=$(submit '#!/bin/sh
until [ -e one ]; do sleep 0.3; done')
	other=$(submit '#!/bin/sh
until [ -e two ]; do sleep 0.3; done; exit 3')
	rota watch >"$BATS_TEST_TMPDIR/watched" 3>&- &
	eventually grep -q " job $other running on n" "$BATS_TEST_TMPDIR/watched"
	touch "$BATS_TEST_TMPDIR/one"
	eventually grep -q " job $job completed" "$BATS_TEST_TMPDIR/watched"
	touch "$BATS_TEST_TMPDIR/two"
	status=0
	wait $! || status=$?
	[ "$status" = 3 ]
	[[ $(cat "$BATS_TEST_TMPDIR/watched") == *"job $job completed"$'\n'"job $other failed (exit code 3)" ]]
	other=$(submit '#!/bin/sh
until [ -e three ]; do sleep 0.3; done; exit 3')
	job=$(submit '#!/bin/sh
until [ -e three ]; do sleep 0.3; done')
	before=$(waits)
	rota wait >"$BATS_TEST_TMPDIR/waited" 3>&- &
	eventually has_waits_after "$before"
	touch "$BATS_TEST_TMPDIR/three"
	status=0
	wait $! || status=$?
	[ "$status" = 3 ]
	[ "$(cat "$BATS_TEST_TMPDIR/waited")" = "$other: failed (exit code 3)"$'\n'"$job: completed" ]
}

# patience SECONDS: write a configuration with this client.patience.
patience() {
	sed "s/^patience = .*/patience = $1/" "$ROTA_HOME/etc/rota.conf" >"$BATS_TEST_TMPDIR/patience.conf"
	echo "$BATS_TEST_TMPDIR/patience.conf"
}

# The number of answers of the database about waiting clients. pg_stat_activity would show a statement only until the next one, and
# statistics of functions may come seconds later.
waits() {
	grep -c 'execute job_wait:' "$ROTA_HOME/log/postgres.log" || true
}

has_waits_after() {
	[ "$(waits)" -gt "$1" ]
}

@test "watch of several jobs redraws a line a job, prints JSON, and is ended by q" {
	job=$(submit '#!/bin/sh
until [ -e drawn ]; do sleep 0.3; done')
	other=$(submit '#!/bin/sh
#ROTA step a
until [ -e drawn ]; do sleep 0.3; done
#ROTA step b --after=a
exit 4')
	rm -f "$BATS_TEST_TMPDIR/drawn"
	script -qec "stty rows 24 cols 120; rota watch $job $other" /dev/null >"$BATS_TEST_TMPDIR/screen" 3>&- </dev/null &
	eventually grep -q "$other" "$BATS_TEST_TMPDIR/screen"
	touch "$BATS_TEST_TMPDIR/drawn"
	status=0
	wait $! || status=$?
	[ "$status" = 4 ]
	output=$(<"$BATS_TEST_TMPDIR/screen")
	[[ $output == *"JOB"*"STATE"*"NODES/REASON"*$'\033['*A*"$job"*completed*"$other"*failed*2/2* ]]
	run -4 --separate-stderr rota watch --json "$job" "$other"
	[ "$(jq -sc 'map([.job_id, .state])' <<<"$output")" = "[[$job,\"completed\"],[$other,\"failed\"]]" ]
	for i in 1 2 3 4 5 6 7 8; do
		held+=("$(submit '#!/bin/sh' --hold)")
	done
	typescript "stty rows 8 cols 100; rota watch $job $other ${held[*]}; stty -a"
	eventually grep -q 'and 5 more jobs' "$BATS_TEST_TMPDIR/typescript"
	typescript_end q
	[[ $output == *"${held[0]}"*pending*"... and 5 more jobs"*" icanon"* && $output != *completed* ]]
	rota cancel -q "${held[@]}"
	run -2 rota watch "$job" "$other.a"
	[[ $output == *"$other.a\" is a step; name its job"* ]]
	run -1 rota watch "$job" 999999999
	[[ $output == *"there is no job"* ]]
}

@test "watch keeps its columns with long names and states" {
	local long=a_step_with_quite_a_long_name_indeed_of_50_letters_
	job=$(submit "#!/bin/bash
#ROTA step $long
false
#ROTA step b --after=$long
true
#ROTA step c
true" --job-name=a_job_with_quite_a_long_name_of_46_letters____)
	rota wait -q "$job" || true
	for columns in 80 120; do
		script -qec "stty rows 24 cols $columns; rota watch $job" /dev/null </dev/null >"$BATS_TEST_TMPDIR/screen" || true
		sed -E $'s/\r//g; s/\033\\[[0-9;?]*[A-Za-z]//g' "$BATS_TEST_TMPDIR/screen" >"$BATS_TEST_TMPDIR/picture"
		cat "$BATS_TEST_TMPDIR/picture"
		grep -q "^job $job a_job_with_quite_a_long_na~  failed" "$BATS_TEST_TMPDIR/picture"
		# Each state begins in the same column, and each time ends in the same.
		[ "$(grep -oE '^.*(failed|completed) +[0-9:-]+ ' "$BATS_TEST_TMPDIR/picture" | grep -vc '^job')" = 3 ]
		[ "$(grep -v ^job "$BATS_TEST_TMPDIR/picture" | grep -oE '^.* (dependency_failed|failed|completed) +[0-9:-]+ ' | awk '{ print length($0) }' | sort -u | wc -l)" = 1 ]
		run ! grep -E "^.{$((columns + 1))}" "$BATS_TEST_TMPDIR/picture"
	done
	grep -q " $long " "$BATS_TEST_TMPDIR/picture"
}

@test "an element of a one-step job is named without the step, and has its own file" {
	job=$(submit '#!/bin/bash
echo "element $ROTA_ARRAY_INDEX"; [ "$ROTA_ARRAY_INDEX" != 5 ]' --array=3-5)
	rota wait -q "$job" || true
	for name in "$job[4]" "${job}_4" "${job}_[4]" "$job.script[4]"; do
		run -0 rota log "$name"
		[ "$output" = "element 4" ]
		run -0 rota log -f "$name"
		[ "$output" = "element 4" ]
		run -0 rota show "$name"
		[[ $output == *"$job.script[4]"* ]]
		run -0 rota wait "$name"
		[ "$output" = "$job.script[4]: completed" ]
		for verb in cancel why top acct "show --stats"; do
			run -0 rota $verb "$name"
		done
	done
	run -1 rota wait "${job}_5"
	run -2 rota watch "${job}_5"
	[[ $output == *"name its job"* ]]
	# The options of docs/submitting.md.
	[ "$(cat "$BATS_TEST_TMPDIR/rota-$job.script.4.out")" = "element 4" ]
	two=$(submit '#!/bin/bash
#ROTA step many --array=0-1 --output=%A_%a.%4a.%S.%r
echo "element $ROTA_ARRAY_INDEX"
#ROTA step other --output=other-%a.out
echo plain')
	rota wait -q "$two"
	[ "$(cat "$BATS_TEST_TMPDIR/${two}_1.0001.many.0")" = "element 1" ]
	[ "$(cat "$BATS_TEST_TMPDIR/other-%a.out")" = plain ]
	run -1 rota log "${two}_0"
	[[ $output == *"names no step, and job $two has several"*"$two.many[0]"* ]]
}

@test "submit --wait, wait and watch exit as the job did" {
	write '#!/bin/sh
exit 7'
	cd "$BATS_TEST_TMPDIR"
	run -7 rota submit --wait job.sh
	[[ ${lines[0]} =~ ^"job "([0-9]+)" (1 step)"$ ]]
	[ "${lines[1]}" = "${BASH_REMATCH[1]}: failed (exit code 7)" ]
	run -7 --separate-stderr rota submit --wait --parsable job.sh
	[ "${#lines[@]}" = 1 ]
	[ "$stderr" = "$output: failed (exit code 7)" ]
	printf '#!/bin/sh\n#ROTA step good\ntrue\n#ROTA step bad --time=0:01\nsleep 60\n' >two.sh
	run --separate-stderr rota submit --wait two.sh
	[ "$status" = 143 ]
	[[ ${lines[1]} == *": timeout (SIGTERM)" ]]
	[[ $stderr == *".bad: timeout"* && $stderr != *.good* ]]
	run -0 rota submit --wait --job-name=fine - <<<$'#!/bin/sh\ntrue'
	[[ ${lines[1]} == *": completed" ]]
	job=$(submit '#!/bin/sh
kill -TERM $$')
	run -143 rota wait "$job"
	[[ $output == "$job: failed (SIGTERM)" ]]
	run -143 rota watch "$job"
	job=$(submit '#!/bin/sh
sleep 60')
	run -124 rota wait --timeout=0 "$job"
	rota cancel "$job"
	run rota wait "$job"
	[ "$status" -ne 0 ]
	[[ $output == *cancelled* ]]
}

@test "queue, show, nodes, partitions and status fit 80 columns" {
	name=$(printf 'long-%.0s' {1..12})
	job=$(submit '#!/bin/bash
#ROTA step first
sleep 1000
#ROTA step second-with-quite-a-long-name --after=first
true' --job-name="$name")
	for command in "queue" "queue --start" "show $job" "show $job.first" "nodes" "reservations" "partitions" "status" "acct $job" "acct --steps $job"; do
		COLUMNS=80 rota $command | awk -v command="$command" 'length > 80 { print command ": " $0; bad = 1 } END { exit bad }'
	done
	run -0 rota queue --wide
	[[ $output == *"$name"* ]]
	for verb in queue nodes reservations partitions status; do
		rota $verb --json | jq -e . >/dev/null
	done
	rota show --json "$job" | jq -e '.jobs[0].steps | length == 2' >/dev/null
	rota cancel -q "$job"
}

@test "output to a file or pipe is never cut" {
	# Without live jobs, two lists are the same.
	rota cancel -q --me
	eventually is_idle
	name=$(printf 'long-%.0s' {1..20})
	job=$(submit '#!/bin/bash
#ROTA step first
sleep 1000
#ROTA step second-with-quite-a-long-name --after=first
true' --job-name="$name" --time=300-00:00:00 --hold)
	rota admin reservation create maintenance-of-the-cooling-towers --start="now+400days" --duration=1:00:00 --nodes=all
	for command in queue "show $job" "acct $job" "acct --steps $job" reservations partitions nodes; do
		env -u COLUMNS rota $command >"$BATS_TEST_TMPDIR/piped"
		COLUMNS=80 rota $command --wide >"$BATS_TEST_TMPDIR/wide"
		run -1 grep '~' "$BATS_TEST_TMPDIR/piped"
		diff "$BATS_TEST_TMPDIR/piped" "$BATS_TEST_TMPDIR/wide" || { echo "$command"; cut=1; }
	done
	[[ $(env -u COLUMNS rota queue) == *"$name"*300-00:00:00* ]]
	rota admin reservation delete maintenance-of-the-cooling-towers
	[ -z "${cut:-}" ]
	rota cancel -q "$job"
}

@test "watch into a pipe prints a line for each change and ends with the job" {
	job=$(submit "#!/bin/bash
#ROTA step one
until [ -e $BATS_TEST_TMPDIR/seen ]; do sleep 0.3; done
#ROTA step two --after=one
true")
	rota watch "$job" >"$BATS_TEST_TMPDIR/watch" 3>&- &
	eventually grep -q "$job.one running" "$BATS_TEST_TMPDIR/watch"
	touch "$BATS_TEST_TMPDIR/seen"
	wait $!
	output=$(cat "$BATS_TEST_TMPDIR/watch")
	[[ $output == *"$job.one completed"* ]]
	[[ $output == *"$job.two completed"* ]]
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/watch")" = "job $job completed" ]
}

@test "watch --json prints the job at each change; show prints what a step asks for; a limit is a reason" {
	rota admin qos create one --max_running_per_user=1
	job=$(submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/go ]; do sleep 0.3; done" --qos=one)
	eventually eval 'rota queue --json "$job" | jq -e ".jobs[0].state == \"running\"" >/dev/null'
	second=$(submit $'#!/bin/bash\n#ROTA --deadline=now+2hours --nodes=1-2 --exclusive\ntrue' --qos=one)
	limited() { rota queue "$second" | grep -q limit; }
	eventually limited
	run -0 rota show "$second.script"
	[[ $output == *"Wants nodes 1-2, for itself alone"* && $output == *Deadline* ]]
	rota watch --json "$second" >"$BATS_TEST_TMPDIR/watch" 3>&- &
	eventually test -s "$BATS_TEST_TMPDIR/watch"
	touch "$BATS_TEST_TMPDIR/go"
	wait $!
	jq -es 'length > 1 and .[-1].state == "completed"' "$BATS_TEST_TMPDIR/watch"
	rota wait "$job"
}

@test "watch on a terminal redraws" {
	job=$(submit '#!/bin/bash
#ROTA step one
until [ -e drawn ]; do sleep 0.3; done
#ROTA step two --after=one
true')
	script -qec "rota watch $job" /dev/null >"$BATS_TEST_TMPDIR/screen" 3>&- </dev/null &
	eventually grep -q one "$BATS_TEST_TMPDIR/screen"
	touch "$BATS_TEST_TMPDIR/drawn"
	wait $!
	[[ $(<"$BATS_TEST_TMPDIR/screen") == *$'\033['*"one"*"two"* ]]
}

# Does rota log, as process $1, wait for the file to appear?
is_followed() {
	find "/proc/$1/fd" -lname '*inotify*' 2>/dev/null | grep -q .
}

@test "log prints a step's output, follows it to its end, and reports why it cannot" {
	job=$(submit '#!/bin/bash
for i in 1 2 3; do echo line $i; sleep 0.2; done
echo problem >&2')
	run -0 rota log -f "$job"
	[[ $output == "line 1"$'\n'"line 2"$'\n'"line 3"* ]]
	run -0 rota log -n 1 "$job"
	[ "${#lines[@]}" -eq 1 ]
	run -0 rota log -n 0 "$job"
	[ -z "$output" ]
	run -0 rota log -f -n 0 "$job"
	[ -z "$output" ]
	waiting=$(submit '#!/bin/bash
echo later' --hold)
	rota log -f -n 0 "$waiting" >"$BATS_TEST_TMPDIR/log" 3>&- &
	eventually is_followed $!
	rota release "$waiting"
	wait $!
	[ "$(<"$BATS_TEST_TMPDIR/log")" = later ]
	run -0 rota log --json -n 2 "$job"
	[ "$output" = '{"line":"line 3"}'$'\n''{"line":"problem"}' ]
	run -1 rota log 999999999
	[[ $output == *"there is no job"* ]]
}

@test "log follows a step that is run again through all its attempts" {
	job=$(submit '#!/bin/sh
#ROTA --retry=1
echo "attempt $ROTA_ATTEMPT"
until [ -e followed ]; do sleep 0.3; done
[ "$ROTA_ATTEMPT" = 2 ]')
	rm -f "$BATS_TEST_TMPDIR/followed"
	rota log -f "$job" >"$BATS_TEST_TMPDIR/log" 3>&- &
	eventually is_followed $!
	touch "$BATS_TEST_TMPDIR/followed"
	wait $!
	output=$(<"$BATS_TEST_TMPDIR/log")
	[ "$output" = "attempt 1"$'\n'"attempt 2" ]
}

@test "log of a job prints the output of its steps, step by step, each line after the step's name" {
	job=$(submit '#!/bin/bash
#ROTA step solve
echo one; printf "no end"; echo problem >&2
#ROTA step many --array=9-10 --after=solve --error=many-%a.err
echo "element $ROTA_ARRAY_INDEX"; echo "last $ROTA_ARRAY_INDEX"; echo "bad $ROTA_ARRAY_INDEX" >&2
#ROTA step spare --after=solve:fail
echo never')
	rota wait -q "$job"
	run -0 rota log "$job"
	[ "$output" = "solve    | one
solve    | no endproblem
many[9]  | element 9
many[9]  | last 9
many[10] | element 10
many[10] | last 10" ]
	run -0 rota log -f -n 1 "$job"
	[ "$(sort <<<"$output")" = "many[10] | last 10
many[9]  | last 9
solve    | no endproblem" ]
	run -0 rota log --error "$job.many"
	[ "$output" = "many[9]  | bad 9"$'\n'"many[10] | bad 10" ]
	run -0 rota log --json -n 1 "$job"
	[ "$(jq -sc 'map([.label, .line])' <<<"$output")" = "[[\"$job.solve\",\"no endproblem\"],[\"$job.many[9]\",\"last 9\"],[\"$job.many[10]\",\"last 10\"]]" ]
	run -0 script -qec "rota log $job" /dev/null
	[[ $output == $'\033['*"solve    |"$'\033[0m one'* ]]
	run -0 script -qec "NO_COLOR=1 rota log $job" /dev/null
	[[ $output != *$'\033'* && $output == "solve    | one"* ]]
	rm "$BATS_TEST_TMPDIR/rota-$job.solve.out"
	run -1 --separate-stderr rota log "$job"
	[[ $output == "many[9]  | element 9"* && $stderr == *"could not read"*"rota-$job.solve.out"* ]]
	run -1 rota log --attempt=2 "$job"
	[[ $output == *"no step of $job has had an attempt 2"* ]]
}

@test "log follows all steps of a job, those that start later too, until it has ended" {
	job=$(submit '#!/bin/bash
#ROTA step a
echo first; printf "with"; until [ -e half ]; do sleep 0.3; done; echo "out end"; until [ -e whole ]; do sleep 0.3; done
#ROTA step b --retry=1 --after=a
echo "attempt $ROTA_ATTEMPT"; [ "$ROTA_ATTEMPT" = 2 ]
#ROTA step many --array=1-3%1 --after=a
echo "element $ROTA_ARRAY_INDEX"
#ROTA step gone --after=a:fail
echo never')
	rota log -f "$job" >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
	follower=$!
	eventually grep -q "^a  *| first$" "$BATS_TEST_TMPDIR/log"
	[ "$(cat "$BATS_TEST_TMPDIR/log")" = "a       | first" ]
	touch "$BATS_TEST_TMPDIR/half"
	eventually grep -q "^a  *| without end$" "$BATS_TEST_TMPDIR/log"
	kill -0 "$follower"
	touch "$BATS_TEST_TMPDIR/whole"
	wait "$follower"
	rota show --json "$job" | jq -e '.jobs[0].state == "completed"'
	[ "$(sort "$BATS_TEST_TMPDIR/log")" = "a       | first
a       | without end
b       | attempt 1
b       | attempt 2
many[1] | element 1
many[2] | element 2
many[3] | element 3" ]
}

@test "log of steps that write one file prints each line once" {
	job=$(submit '#!/bin/bash
#ROTA --output=all-%j.out --open-mode=append
#ROTA step a
echo from a
#ROTA step b --after=a
echo from b
#ROTA step many --array=1-3%1 --after=b
echo "from $ROTA_ARRAY_INDEX"')
	run -0 rota log -f "$job"
	[ "$(sed 's/.*| //' <<<"$output")" = "from a"$'\n'"from b"$'\n'"from 1"$'\n'"from 2"$'\n'"from 3" ]
	run -0 rota log "$job"
	[ "$(sed 's/.*| //' <<<"$output")" = "from a"$'\n'"from b"$'\n'"from 1"$'\n'"from 2"$'\n'"from 3" ]
	job=$(submit '#!/bin/bash
#ROTA --output=same.out
#ROTA step a
echo from a
#ROTA step b --after=a
echo from b')
	run -0 rota wait "$job"
	run -0 rota log "$job"
	[ "$output" = "b | from b" ]
	run -0 rota log -f "$job"
	[ "$output" = "b | from b" ]
	run -0 rota log "$job.b"
	[ "$output" = "from b" ]
	run -1 --separate-stderr rota log "$job.a"
	[[ -z $output && $stderr == "rota: what $job.a wrote is gone: $job.b overwrote \"$BATS_TEST_TMPDIR/same.out\""*"%x in --output"* ]]
	# A follower that has read lines of the first step must read all lines of the second one, though both have as many.
	job=$(submit '#!/bin/bash
#ROTA --output=live.out
#ROTA step a
echo from a; until [ -e over ]; do sleep 0.3; done
#ROTA step b --after=a
until [ -e begun ]; do sleep 0.3; done; echo from b')
	rota log -f "$job" >"$BATS_TEST_TMPDIR/live" 2>&1 3>&- &
	follower=$!
	eventually grep -q "^a | from a$" "$BATS_TEST_TMPDIR/live"
	touch "$BATS_TEST_TMPDIR/over"
	eventually sh -c "rota show --json '$job' | jq -e '.jobs[0].steps[1].state == \"running\"'"
	touch "$BATS_TEST_TMPDIR/begun"
	wait "$follower"
	[ "$(sed 's/.*| //' "$BATS_TEST_TMPDIR/live")" = "from a"$'\n'"from b" ]
	job=$(submit '#!/bin/bash
#ROTA --output=old.out
#ROTA step a --hold
echo from a
#ROTA step b --hold
echo from b')
	echo another job >"$BATS_TEST_TMPDIR/old.out"
	run -1 --separate-stderr rota log "$job"
	[[ -z $output && $stderr == "rota: no step of $job has started: pending"*"rota log -f\` waits"* ]]
	rota cancel -q "$job"
	run -1 --separate-stderr rota log -f "$job"
	[[ -z $output && $stderr == "rota: no step of $job ever started: cancelled" ]]
}

@test "log of a step that did not start says so, and why" {
	job=$(submit '#!/bin/bash
#ROTA step a
false
#ROTA step b --after=a
true
#ROTA step many --after=a --array=0-2
true
#ROTA step c --hold
true')
	eventually sh -c "rota show '$job.b' | grep -q dependency_failed"
	says() { # STEP TEXT
		run -1 --separate-stderr rota log "$job.$1"
		[[ -z $output && $stderr == "$2" ]] || { echo "$stderr"; return 1; }
	}
	says b "rota: $job.b never started: dependency_failed (can no longer be met: $job.a ended failed)"
	says many "rota: $job.many never started: dependency_failed (can no longer be met: $job.a ended failed)"
	says many[1] "rota: $job.many[1] never started: dependency_failed (can no longer be met: $job.a ended failed)"
	says c "rota: $job.c has not started: pending (held)"$'\n'"hint: \`rota why $job.c\` tells more, and \`rota log -f\` waits for it."
	rota cancel -q "$job.c"
	says c "rota: $job.c never started: cancelled (cancelled by $(id -un))"
	run -0 rota log "$job.a"
}

@test "log of a step that wrote nothing says how it ended, if not by its own exit" {
	explained() { # STATUS TEXT SCRIPT OPTION...: what `rota log` says of a step that ends
		local code=$1 text=$2 job
		shift 2
		job=$(submit "$@")
		run rota wait "$job"
		run "-$code" --separate-stderr rota log "$job"
		[[ -z $output && $stderr == ${text/JOB/"$job"} ]] || { echo "$stderr"; return 1; }
		run "-$code" --separate-stderr rota log -f "$job"
		[[ -z $output && $stderr == ${text/JOB/"$job"} ]] || { echo "$stderr"; return 1; }
	}
	explained 0 'rota: JOB.script wrote nothing: failed (interpreter "/no/shell" not found on node n*)' '#!/no/shell'
	explained 0 'rota: JOB.script wrote nothing: timeout (time limit of 1 second reached)' $'#!/bin/sh\nsleep 60' --time=0:01
	explained 0 '' $'#!/bin/sh\nexit 3'
	# What the step could not open is not its output.
	mkdir "$BATS_TEST_TMPDIR/folder"
	explained 1 'rota: JOB.script never started: failed (could not open output file "*/folder": Is a directory)' '#!/bin/sh' --output=folder
}

@test "show prints the signal that ended a step, with and without --signal" {
	for options in "" "--signal=USR1@60"; do
		job=$(submit '#!/bin/sh
kill -TERM $$' $options)
		run rota wait "$job"
		[ "$(rota show --json "$job" | jq '.jobs[0].steps[0].signal')" = 15 ]
		rota show "$job" | grep -qE '^script +failed .* SIGTERM '
	done
}

@test "the number of steps that could not be changed is printed, also with --quiet" {
	job=$(submit '#!/bin/sh
#ROTA step many --array=0-29
true')
	rota wait -q "$job"
	run -1 --separate-stderr rota signal -q USR1 "$job.many[0-29]"
	[ -z "$output" ]
	[ "$stderr" = "rota: 30 steps: not changed: it has already ended (completed)" ]
}

@test "log and show find the files of a job that was renamed" {
	job=$(submit '#!/bin/sh
#ROTA --job-name=old --output=%x-%S.out
echo "$ROTA_STEP"
#ROTA step a
#ROTA step b --after=a
until [ -e go ]; do sleep 0.3; done
#ROTA step c --after=b')
	eventually sh -c "rota show $job.b | grep -q running"
	rota modify --job-name=new "$job"
	touch "$BATS_TEST_TMPDIR/go"
	run -0 rota wait "$job"
	for step in a:old b:old c:new; do
		run -0 rota log "$job.${step%:*}"
		[ "$output" = "${step%:*}" ]
		run -0 rota show "$job.${step%:*}"
		[[ $output == *"Output"*"/${step#*:}-${step%:*}.out"* ]]
	done
}

@test "output goes to a name of the step, in a folder too" {
	mkdir "$BATS_TEST_TMPDIR/logs"
	job=$(submit '#!/bin/sh
#ROTA step script
echo one
#ROTA step two --output=logs/ --error=logs/
echo two
echo bad >&2')
	run -0 rota wait "$job"
	[ "$(cd "$BATS_TEST_TMPDIR" && head rota-* logs/*)" = "==> rota-$job.script.out <==
one

==> logs/rota-$job.two.err <==
bad

==> logs/rota-$job.two.out <==
two" ]
	[ "$(rota log "$job.script") $(rota log "$job.two") $(rota log --error "$job.two")" = "one two bad" ]
}

@test "an element that has not begun is reported under its own name" {
	job=$(submit '#!/bin/sh
#ROTA step many --array=0-9:3%1
sleep 600')
	eventually sh -c "rota show '$job.many[0]' | grep -q running"
	run -0 rota why "$job.many[6]"
	[[ $output == "$job.many[6]: pending"*"1 of at most 1 element"* ]]
	run -0 rota show "$job.many[6]"
	[[ $output == "step $job.many[6]: pending"*"Output"*".6.out"* && $output != *Started* ]]
	run -1 rota log "$job.many[6]"
	[[ $output == *"has not started"* ]]
	rota cancel "$job"
	rota wait -q "$job" || true
	run -0 rota show "$job.many[6]"
	[[ $output == "step $job.many[6]: cancelled"* ]]
}

@test "show prints everything that a step asks for" {
	job=$(submit '#!/bin/sh
true' --hold --nodelist=n2 --exclude=n1 --time=60 --time-min=10 --keep=mem,gres --sample=5 --input=/dev/null --open-mode=append \
		--no-requeue --prolog=/bin/true --epilog=/bin/false)
	run -0 rota show "$job.script"
	for line in "On nodes *n2" "Not on *n1" "Least time *10:00" "Requeue *no" "Keeps *mem,gres" "Samples *0:05" "Prolog */bin/true" \
		"Epilog */bin/false" "Input */dev/null" "Open mode *append"; do
		grep -q "^  $line\$" <<<"$output"
	done
	rota modify --nodelist=n1 --exclude=none "$job"
	run -0 rota show "$job.script"
	grep -q "On nodes *n1$" <<<"$output"
	[[ $output != *"Not on"* ]]
	rota cancel "$job"
}

@test "cancel, hold and release report on each step" {
	job=$(submit '#!/bin/sh
true' --hold)
	run -0 rota why "$job"
	[[ $output == *hold* ]]
	run -0 rota release "$job"
	[ "$output" = "$job.script: released" ]
	run -0 rota wait "$job"
	# A job may end before it is cancelled, so cancelling an ended job is no error for scripts.
	run -0 rota cancel "$job"
	[ "$output" = "$job.script: not changed: it has already ended (completed)" ]
}

@test "a verb that cannot apply to an ended job fails and says so" {
	job=$(submit '#!/bin/sh
sleep 60')
	rota cancel -q "$job"
	run rota wait -q "$job"
	run -0 rota cancel "$job"
	[ "$output" = "$job.script: not changed: it has already ended (cancelled)" ]
	for verb in hold release suspend resume "signal USR1"; do
		run -1 --separate-stderr rota $verb "$job"
		[ -z "$output" ]
		[ "$stderr" = "rota: $job.script: not changed: it has already ended (cancelled)" ]
		run -1 rota $verb -q "$job"
		[[ $output == *"already ended"* ]]
		run -1 rota $verb --json "$job"
		jq -e '.steps[0] | .failed and (.changed | not)' <<<"$output"
	done
	job=$(submit '#!/bin/sh
true' --hold)
	run -0 rota hold "$job"
	[ "$output" = "$job.script: held" ]
	run -1 rota suspend "$job"
	[[ $output == *"not changed: it has not started (pending)" ]]
	rota cancel "$job"
}

@test "a script for PBS finds its variables, and the file with the node of each task" {
	printf '#!/bin/bash\n#PBS -N heat\n#PBS -l nodes=2:ppn=2\n#PBS -J 3-4\ncd $PBS_O_WORKDIR && echo "$PWD $PBS_JOBID $PBS_ARRAY_INDEX $PBS_NP $(sort "$PBS_NODEFILE" | uniq -c | xargs)"\n' >"$BATS_TEST_TMPDIR/heat.sh"
	job=$(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --wait --output=heat.%a heat.sh)
	[ "$(cat "$BATS_TEST_TMPDIR"/heat.[34])" = "$BATS_TEST_TMPDIR $job[3] 3 4 2 n1 2 n2
$BATS_TEST_TMPDIR $job[4] 4 4 2 n1 2 n2" ]
	none_left() { [ -z "$(find "$ROTA_HOME"/node/n[12]/spool -name nodes)" ]; }
	eventually none_left
	job=$(submit '#!/bin/bash
echo "${PBS_NODEFILE-none}" >pbs.none')
	rota wait "$job"
	[ "$(cat "$(rota show --json "$job" | jq -r .jobs[0].workdir)/pbs.none")" = none ]
}

@test "mpirun does not look for srun, unless the user has it do so" {
	cd "$BATS_TEST_TMPDIR"
	started() { # OPTION...: prints what mpirun finds
		rota submit --wait --parsable --output=launcher "$@" --wrap='echo "$HYDRA_BOOTSTRAP ${I_MPI_HYDRA_BOOTSTRAP-none}"' >/dev/null
		cat launcher
	}
	[ "$(started)" = 'fork fork' ]
	[ "$(started --nodes=2)" = 'ssh ssh' ]
	[ "$(HYDRA_BOOTSTRAP=rsh started)" = 'rsh fork' ]
	[ "$(HYDRA_LAUNCHER=slurm started)" = ' none' ]
	if command -v mpiexec.hydra >/dev/null; then
		rota submit --wait --parsable --output=out --time=1 --ntasks=2 --wrap='mpiexec.hydra echo begun' >/dev/null
		[ "$(grep -cx begun out)" = 2 ]
	fi
}

@test "a script for Slurm finds where it runs and where it was submitted" {
	mkdir -p "$BATS_TEST_TMPDIR/from" "$BATS_TEST_TMPDIR/to"
	local names='ROTA_PARTITION SLURM_JOB_PARTITION PBS_QUEUE SLURM_SUBMIT_DIR PBS_O_WORKDIR ROTA_WORKDIR SLURM_SUBMIT_HOST PBS_O_HOST
		SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE SLURM_JOB_CPUS_PER_NODE SLURM_STEP_ID SLURM_ARRAY_TASK_MIN SLURM_ARRAY_TASK_MAX SLURM_ARRAY_TASK_STEP'
	printf '#!/bin/bash\nfor name in %s; do echo "$name=${!name-none}"; done >>"$ROTA_WORKDIR/$ROTA_JOB_ID"\n' \
		"$(xargs <<<"$names")" >"$BATS_TEST_TMPDIR/from/env.sh"
	for export in ALL NONE; do
		job=$(cd "$BATS_TEST_TMPDIR/from" && rota submit --parsable --wait --export=$export --workdir="$BATS_TEST_TMPDIR/to" --nodes=2 --ntasks=3 env.sh)
		[ "$(cat "$BATS_TEST_TMPDIR/to/$job")" = "ROTA_PARTITION=main
SLURM_JOB_PARTITION=main
PBS_QUEUE=main
SLURM_SUBMIT_DIR=$BATS_TEST_TMPDIR/from
PBS_O_WORKDIR=$BATS_TEST_TMPDIR/from
ROTA_WORKDIR=$BATS_TEST_TMPDIR/to
SLURM_SUBMIT_HOST=$(hostname)
PBS_O_HOST=$(hostname)
SLURM_JOB_NODELIST=n[1-2]
SLURM_TASKS_PER_NODE=2,1
SLURM_JOB_CPUS_PER_NODE=2,1
SLURM_STEP_ID=none
SLURM_ARRAY_TASK_MIN=none
SLURM_ARRAY_TASK_MAX=none
SLURM_ARRAY_TASK_STEP=none" ]
	done
	job=$(cd "$BATS_TEST_TMPDIR/from" && rota submit --parsable --wait --run=tasks --array=4-8:4 env.sh)
	[ "$(grep -cx -e SLURM_ARRAY_TASK_MIN=4 -e SLURM_ARRAY_TASK_MAX=8 -e SLURM_ARRAY_TASK_STEP=4 "$BATS_TEST_TMPDIR/from/$job")" = 6 ]
	! grep -qx SLURM_STEP_ID=none "$BATS_TEST_TMPDIR/from/$job"
}

@test "a step is warned before its time limit, and the signal moves with the limit" {
	cat >"$BATS_TEST_TMPDIR/warned.sh" <<-'END'
		#!/bin/bash
		#SBATCH --time=20:00 --signal=B:USR1@600
		trap 'echo warned; exit 0' USR1
		echo waiting
		while :; do sleep 0.1; done
	END
	job=$(rota submit --parsable --output="$BATS_TEST_TMPDIR/warned.out" "$BATS_TEST_TMPDIR/warned.sh")
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].limit_signal')" = B:10@600 ]
	# Before that, no process handles the signal.
	eventually grep -qs waiting "$BATS_TEST_TMPDIR/warned.out"
	rota modify --time=10:00 "$job"
	run -0 rota wait "$job"
	[ "$(cat "$BATS_TEST_TMPDIR/warned.out")" = $'waiting\nwarned' ]
	run rota submit --signal=KILL@60 "$BATS_TEST_TMPDIR/warned.sh"
	[ "$status" -ne 0 ]
	[[ $output == *'--signal: "KILL@60" is a signal that no program can catch'* ]]
	run rota submit --signal=B:FOO "$BATS_TEST_TMPDIR/warned.sh"
	[[ $output == *'--signal: "B:FOO" is not a signal'* ]]
}

@test "the shell's word on a script is a warning, with the line of the script; nothing of it is run" {
	cat >"$BATS_TEST_TMPDIR/wrong.sh" <<-END
		#!/bin/bash
		#ROTA --hold
		touch "$BATS_TEST_TMPDIR/was-run"
		#ROTA step good
		true
		#ROTA step bad
		if true; then
		  echo \$(
		fi
		#ROTA step worse
		done
	END
	printf 'touch "%s/was-run"\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/env"
	export BASH_ENV="$BATS_TEST_TMPDIR/env" ENV="$BATS_TEST_TMPDIR/env"
	run -0 --separate-stderr rota check "$BATS_TEST_TMPDIR/wrong.sh"
	[ "${#stderr_lines[@]}" = 2 ]
	[[ ${stderr_lines[0]} == "$BATS_TEST_TMPDIR/wrong.sh:"[89]': warning: step "bad": syntax error'* ||
		${stderr_lines[0]} == "$BATS_TEST_TMPDIR/wrong.sh:"*': warning: step "bad": unexpected EOF'* ]]
	[[ ${stderr_lines[1]} == "$BATS_TEST_TMPDIR/wrong.sh:11: warning: step \"worse\": syntax error near unexpected token"* ]]
	# The same at a submission from a terminal.
	run -0 env -u BASH_ENV -u ENV script -qec "rota submit '$BATS_TEST_TMPDIR/wrong.sh'" /dev/null
	[[ $output == *"/wrong.sh:11: warning: step"* && $output =~ job\ ([0-9]+) ]]
	rota cancel -q "${BASH_REMATCH[1]}"
	run -0 --separate-stderr rota submit --parsable "$BATS_TEST_TMPDIR/wrong.sh"
	[ -z "$stderr" ]
	rota cancel -q "$output"
	printf '#!/bin/sh\ntrue\nfi\n' >"$BATS_TEST_TMPDIR/wrong.sh"
	run -0 --separate-stderr rota check "$BATS_TEST_TMPDIR/wrong.sh"
	[[ $stderr == "$BATS_TEST_TMPDIR/wrong.sh:3: warning: step \"script\": Syntax error: "* ]]
	# A script for no shell, or for a shell that is not installed, is not checked.
	for first in '#!/usr/bin/python3' '#!/nonexistent/bash'; do
		printf '%s\nfi\n' "$first" >"$BATS_TEST_TMPDIR/wrong.sh"
		run -0 --separate-stderr rota check "$BATS_TEST_TMPDIR/wrong.sh"
		[ -z "$stderr" ]
	done
	[ ! -e "$BATS_TEST_TMPDIR/was-run" ]
}

@test "wait and submit --wait name the elements of an array that failed" {
	run -1 --separate-stderr rota submit --wait --array=0-3 --wrap='[ $ROTA_ARRAY_INDEX != 2 ]'
	job=$(sed -nE 's/^job ([0-9]+) .*/\1/p' <<<"$output")
	[[ $output == *"$job: failed (exit code 1)" && $stderr == "$job[2]: failed (exit code 1)" ]]
	run -1 rota wait "$job"
	[ "$output" = "$job: failed (exit code 1)"$'\n'"$job[2]: failed (exit code 1)" ]
	run -1 rota wait "$job[1-2]"
	[ "$(grep -c '' <<<"$output")" = 2 ]
	run -1 rota wait --quiet "$job"
	[ -z "$output" ]
	# An array of a job with several steps: by the step's name, and at most ten lines.
	run -3 --separate-stderr rota submit --wait - <<-'END'
		#!/bin/bash
		#ROTA step many --array=0-15
		exit 3
		#ROTA step other --after=none
		true
	END
	job=$(sed -nE 's/^job ([0-9]+) .*/\1/p' <<<"$output")
	[[ $stderr == *"$job.many: failed (exit code 3)"*"$job.many[0]: failed (exit code 3)"*"... and 7 more" ]]
}

@test "a missing interpreter is named" {
	printf '#!/usr/bin/nope\ntrue\n' >"$BATS_TEST_TMPDIR/nope.sh"
	run rota submit --wait "$BATS_TEST_TMPDIR/nope.sh"
	[ "$status" -ne 0 ]
	[[ $output == *'interpreter "/usr/bin/nope" not found on node n'* ]]
	# env looks in the PATH of the job; with more words than a name, env itself must find the interpreter.
	printf '#!/usr/bin/env mine\n' >"$BATS_TEST_TMPDIR/nope.sh"
	run rota submit --wait --export=PATH=/usr/bin:/bin "$BATS_TEST_TMPDIR/nope.sh"
	[ "$status" -ne 0 ]
	[[ $output == *'interpreter "mine" not found in PATH on node n'* ]]
	mkdir -p "$BATS_TEST_TMPDIR/path"
	printf '#!/bin/sh\necho "mine: $1"\n' >"$BATS_TEST_TMPDIR/path/mine"
	chmod +x "$BATS_TEST_TMPDIR/path/mine"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/path"
	run -0 rota submit --wait --export="PATH=/usr/bin:/bin:$BATS_TEST_TMPDIR/path" "$BATS_TEST_TMPDIR/nope.sh"
	printf '#!/usr/bin/env -S sh -e\ntrue\n' >"$BATS_TEST_TMPDIR/nope.sh"
	run -0 rota submit --wait "$BATS_TEST_TMPDIR/nope.sh"
}

@test "modify changes pending steps" {
	job=$(submit '#!/bin/sh
true' --hold)
	rota modify --time=1:23:00 "$job"
	[ "$(rota show --json "$job" | jq '.jobs[0].time_limit_s')" = 4980 ]
	rota cancel -q "$job"
}

@test "acct: fields, titles, parsable" {
	job=$(submit '#!/bin/sh
true')
	rota wait -q "$job"
	run -0 rota acct -P -o label,state,exit_code "$job"
	[ "${lines[0]}" = "label|state|exit_code" ]
	[ "${lines[1]}" = "$job|completed|0" ]
	run -0 rota acct -n -P -o state "$job"
	[ "$output" = completed ]
	run -0 rota acct -n -o label,state "$job"
	[[ $output == "$job"*completed ]]
	run -0 rota acct --fields=help
	[[ $output == *"max_rss_kb"* ]]
	rota acct --json --fields=help | jq -e '.fields[] | select(.name == "nodes") | .help' >/dev/null
	run -0 rota acct -n -P --format=JobID,STATE,qos "$job"
	[[ $output == "$job|"*"|normal" ]]
	run -0 rota acct -n -P -o label --since=now-2hours --qos=normal --name=nobodys-job
	[ -z "$output" ]
	run -0 rota acct -n -P -o label --since=now-2hours --nodelist="$(rota acct -n -P -o nodes "$job")"
	[[ $'\n'$output$'\n' == *$'\n'"$job"$'\n'* ]]
	run -1 rota acct --since=now-2moons
	[[ $output == *now-2hours* ]]
}

@test "sql passes psql's options on" {
	run -0 rota sql -Atc 'select 6 * 7'
	[ "$output" = 42 ]
	run -0 rota sql -Atc 'select current_user'
	[ "$output" = rota_admin ]
	run -0 rota sql -v n=6 -At -f <(echo 'select 7 * :n;')
	[ "$output" = 42 ]
}

@test "sql runs a query that is its operand" {
	run -0 rota sql 'select 6 * 7 as answer' </dev/null
	[[ $output == *answer*42* ]]
	run -0 rota sql -X -At 'select 6 * 7' </dev/null
	[ "$output" = 42 ]
	run -0 rota sql --csv 'select 6 * 7 as answer' </dev/null
	[ "$output" = "answer"$'\n'42 ]
	run -1 rota sql 'select nothing' </dev/null
	[[ $output == *'"nothing" does not exist'* ]]
}

@test "a token serves one request by curl" {
	token=$(rota token GET /v1/nodes)
	run -0 curl -sf --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $token" http://gate/v1/nodes
	[ "$(jq '.nodes | length' <<<"$output")" = 2 ]
	run -22 curl -sf --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $token" http://gate/v1/nodes
}

@test "admin creates, changes and deletes; nodes are drained in ranges" {
	run -0 rota admin partition create night --priority=5
	[ "$output" = "partition night: created" ]
	run -0 rota admin partition change night --state=down
	run -0 rota admin partition delete night
	run -0 rota admin node drain 'n[1-2]' --reason='new memory'
	[ "$output" = "node n[1-2]: draining" ]
	run -0 rota nodes
	[[ $output == *"new memory"* ]]
	run -0 rota admin node show 'n[1-2]'
	[ "$(grep -c '^state  *drain$' <<<"$output")" = 2 ]
	[ "$(grep -c '^$' <<<"$output")" = 1 ]
	rota admin node show n2 --json | jq -e '.row.name == "n2" and .rows == [.row]'
	rota admin node show 'n[1-2]' --json | jq -e '[.rows[].name] == ["n1", "n2"]'
	refused 'there is no node "n3"' rota admin node show 'n[1-3]'
	run -0 rota admin node resume 'n[1-2]'
	run -1 rota admin node drain n77 --reason=x
}

@test "an unknown name is an error, with a suggestion" {
	local request
	refused 'Did you mean "n1"?' rota nodes n11
	refused 'there is no reservation "nope"' rota reservations nope
	for request in queue acct "queue --json" "acct --csv" "acct --json" "report usage --by=account"; do
		refused 'there is no partition "maim"' rota $request --partition=maim
		[[ $output == *'Did you mean "main"?'* ]]
		refused 'there is no user "roott"' rota $request --user=roott
		[[ $output == *'Did you mean "root"?'* ]]
	done
	refused 'there is no account "nope"' rota acct --account=nope
	refused 'there is no qos "normale"' rota acct --qos=normale
	refused 'there is no node "n7"' rota acct --nodelist=n7
	run -0 rota queue --partition=main --user=daemon
	run -0 rota acct --partition=main --qos=normal --user=daemon --nodelist=n1
}

@test "new objects of admin can be used at once; a refusal of the database has its line" {
	printf '#!/bin/bash\ntrue\n' >"$BATS_TEST_TMPDIR/s.sh"
	for name in soon1 soon2 soon3; do
		rota submit --output=/dev/null "$BATS_TEST_TMPDIR/s.sh" # jobmgrd has just read the partitions
		rota admin partition create "$name" --nodes=all
		run -0 rota submit --parsable --hold --partition="$name" "$BATS_TEST_TMPDIR/s.sh"
		rota cancel -q "$output"
		rota admin partition delete "$name"
	done
	printf '#!/bin/bash\n#ROTA --mem=1\n#ROTA --account=nobodys\n' >"$BATS_TEST_TMPDIR/s.sh"
	run -1 rota submit "$BATS_TEST_TMPDIR/s.sh"
	[[ $output == *'s.sh:3: --account: there is no account "nobodys"'* ]]
	printf '#!/bin/bash\n#ROTA --constraint=nosuch\n' >"$BATS_TEST_TMPDIR/s.sh"
	run -1 rota submit "$BATS_TEST_TMPDIR/s.sh"
	[[ $output == *'s.sh:2: --constraint: "nosuch" is met by 0 nodes'* ]]
}

@test "status shows every process and the leader" {
	run -0 rota status
	for part in jobmgrd nodemgrd procmgrd launcher PostgreSQL munged leader; do
		[[ $output == *"$part"* ]]
	done
	[[ $output != *"not running"* ]]
	run -0 --separate-stderr rota status --json
	jq -e 'all(.processes[]; .pid and .version) and any(.processes[]; .role == "procmgrd" and .node == "n1") and
		any(.processes[]; .role == "launcher" and .node == "n2")' <<<"$output"
}

@test "--json of verbs that do not use the API" {
	run -0 --separate-stderr rota token --json GET /v1/queue
	jq -e '.credential | startswith("MUNGE:")' <<<"$output"
	run -0 --separate-stderr rota up --json
	jq -e --arg home "$ROTA_HOME" '.home == $home and any(.processes[]; .role == "launcher") and
		(.limits | map(.nodes + " " + .memory + " " + .cpus + " " + .processes) | length == 1 and (.[0] | test("^n.* (cgroup|sampling) (cgroup|affinity) (cgroup|none)$")))' \
		<<<"$output"
	run -0 rota up
	[[ $output == *"limits on n"*": memory by "*", CPUs by "*", processes "*", time by the keeper"* ]]
	ROTA_HOME=$BATS_TEST_TMPDIR/none run -0 --separate-stderr rota down --json
	jq -e '.ended == [] and .removed == false' <<<"$output"
}

@test "db upgrade does nothing where there is nothing to do" {
	run -0 rota admin db upgrade
	[[ $output == "nothing to do: the database is at "* ]]
}

@test "while jobmgrd is away, waiting commands say so, outlive it, or report how long they tried" {
	job=$(submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/back ]; do sleep 0.3; done")
	before=$(waits)
	for verb in wait watch; do
		rota $verb "$job" >"$BATS_TEST_TMPDIR/$verb" 2>"$BATS_TEST_TMPDIR/$verb.errors" 3>&- &
	done
	eventually has_waits_after "$before"
	eventually test -s "$BATS_TEST_TMPDIR/watch"
	gone() { [ -z "$(pid_of jobmgrd)" ]; }
	kill "$(pid_of jobmgrd)"
	eventually gone
	run -3 --separate-stderr rota submit --config="$(patience 3)" "$BATS_TEST_TMPDIR/job.sh"
	[ "${stderr_lines[0]}" = "rota: jobmgrd does not answer; trying again" ]
	[[ ${stderr_lines[1]} =~ \(tried\ for\ ([2-9]|[1-5][0-9])\ s\)$ ]] # a minute is the time of other clients
	run -3 --separate-stderr rota submit --config="$(patience 0)" "$BATS_TEST_TMPDIR/job.sh"
	[[ $stderr != *"trying again"* && $stderr != *"tried for"* ]]
	run -3 --separate-stderr rota queue
	[[ $stderr != *"trying again"* && $stderr != *"tried for"* ]]
	for verb in wait watch; do
		eventually grep -qx "rota: jobmgrd does not answer; trying again" "$BATS_TEST_TMPDIR/$verb.errors"
	done
	rota up
	touch "$BATS_TEST_TMPDIR/back"
	wait
	[ "$(cat "$BATS_TEST_TMPDIR/wait")" = "$job: completed" ]
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/watch")" = "job $job completed" ]
	for verb in wait watch; do
		[ "$(wc -l <"$BATS_TEST_TMPDIR/$verb.errors")" = 1 ]
	done
}

@test "while the database is away, submit tries as long, names what is away, and exits with 3" {
	job=$(submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/back ]; do sleep 0.3; done")
	before=$(waits)
	rota wait "$job" >"$BATS_TEST_TMPDIR/wait" 3>&- &
	eventually has_waits_after "$before"
	gone() { [ -z "$(pid_of PostgreSQL)" ]; }
	kill -INT "$(pid_of PostgreSQL)"
	eventually gone
	run -3 --separate-stderr rota submit --config="$(patience 3)" "$BATS_TEST_TMPDIR/job.sh"
	[ "${stderr_lines[0]}" = "rota: the database cannot be reached; trying again" ]
	[[ ${stderr_lines[1]} == "rota: the database cannot be reached (tried for "*" s)" ]]
	[ "${stderr_lines[2]}" = "hint: Nothing was done; jobmgrd keeps trying. \`rota status\` shows whether PostgreSQL runs; in a private instance, \`rota up\` starts it." ]
	run -3 --separate-stderr rota queue
	[ "${stderr_lines[0]}" = "rota: the database cannot be reached" ]
	run -3 --separate-stderr rota queue --json
	[[ $(jq -r .error.code <<<"$output") == 08* ]]
	# Programs that connect to the database themselves report the same.
	run -3 --separate-stderr rota sql -c 'select 1'
	[[ $stderr == "rota: the database cannot be reached: "*$'\n'"hint: "*"rota status"* ]]
	run -1 --separate-stderr rota admin db check
	[[ ${stderr_lines[0]} == "rota: the database cannot be reached: "* && ${stderr_lines[1]} == "hint: "*"rota status"* ]]
	rota up
	touch "$BATS_TEST_TMPDIR/back"
	wait
	[ "$(cat "$BATS_TEST_TMPDIR/wait")" = "$job: completed" ]
}

@test "up again changes nothing" {
	before=$(rota status --json | jq -c '[.processes[] | {role, name, pid}]')
	run -0 rota up
	[[ $output != *started* ]]
	[ "$before" = "$(rota status --json | jq -c '[.processes[] | {role, name, pid}]')" ]
	run -1 rota up --cpus 3
	[[ $output == *"the instance has nodes already"*--nodes=* ]]
}
