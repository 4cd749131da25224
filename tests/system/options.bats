#!/usr/bin/env bats
# Parts of a submission: arguments, wrapped commands, options of other systems, warnings.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 2 --cpus 4 --mem 2000 --set node.grace=1
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

# After a test that failed: none of its jobs is left.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || rota cancel -q --me || true
}

# is JOB STATE: the state of the job's step.
is() {
	[ "$(sql "select state from rota.step where job_id = $1")" = "$2" ]
}

# script LINE...: run.sh, with a line each.
script() {
	printf '%s\n' '#!/bin/bash' "$@" >run.sh
}

# post ARGUMENTS: submit run.sh over HTTP with this as its "arguments"; prints answer and status.
post() {
	local body
	body=$(jq -nc --rawfile script run.sh --argjson arguments "$1" --arg workdir "$PWD" '{$script, $arguments, $workdir}')
	curl -s -w ' [%{http_code}]' --unix-socket "$ROTA_HOME/run/gate.sock" http://gate/v1/submit -d "$body" -H "Authorization: Munge $(
		printf 'rota2:%s unix:rota' "$({ printf 'POST /v1/submit\n'; printf %s "$body"; } | sha256sum | cut -d' ' -f1)" | munge --socket="$ROTA_HOME/run/munge.sock")"
}

@test "arguments of a script are \$1, \$2 in every step, preamble included" {
	script 'first=$1' '#ROTA step a' 'printf "%s|" "$first" "$@" >a.txt' '#ROTA step b' 'printf "%s|" $# "$2" "$3" >b.txt'
	job=$(rota submit --parsable --wait run.sh 'a b' '' --time=5 $'c\nd')
	[ "$(cat a.txt)" = $'a b|a b||--time=5|c\nd|' ]
	[ "$(cat b.txt)" = '4||--time=5|' ]
	run -0 rota show "$job"
	[[ $output == *"Arguments   'a b' '' --time=5 'c?d'"* ]]
	run -0 bash -c "rota show --json $job | jq -c .jobs[0].arguments"
	[ "$output" = '["a b","","--time=5","c\nd"]' ]
}

@test "arguments go to each task, to a script with its own shell, and to the next attempt" {
	script 'echo "$1" >"task$ROTA_TASK_ID$ROTA_ATTEMPT.txt"' '[ "$ROTA_ATTEMPT" = 2 ]'
	run -0 rota submit --wait --ntasks=2 --run=tasks --retry=1 --shell=/bin/bash run.sh x
	[ "$(cat task01.txt task11.txt task02.txt task12.txt)" = $'x\nx\nx\nx' ]
}

@test "a script without arguments has none, and its spec has no such field" {
	script 'echo $# >count.txt'
	job=$(rota submit --parsable --wait run.sh)
	[ "$(cat count.txt)" = 0 ]
	run -0 bash -c "rota show --json $job | jq .jobs[0].arguments"
	[ "$output" = null ]
	[ "$(superuser "select count(*) from rota.step_request where job_id = $job and spec like '%arguments=%'")" = 0 ]
}

@test "arguments are covered by the authenticator: altered in the database, the step is not run" {
	script 'echo "$1" >seen.txt'
	job=$(rota submit --parsable --hold run.sh good)
	superuser "update rota.step_request set spec = replace(spec, '1=4:good', '1=4:evil') where job_id = $job"
	rota release "$job"
	run -1 rota wait "$job"
	[ ! -e seen.txt ]
}

@test "an argument that looks like an option of submit is an argument, with a warning" {
	script 'printf "%s|" "$@" >args.txt'
	run -0 --separate-stderr rota submit --parsable --wait run.sh --hold x --time=5
	[ "$(cat args.txt)" = '--hold|x|--time=5|' ]
	[[ $stderr == 'rota: warning: "--hold" is an argument of the script'* ]]
	run -0 --separate-stderr rota submit --parsable --wait -- run.sh --hold
	[ -z "$stderr" ]
	run -0 --separate-stderr rota submit --parsable --wait run.sh -N2
	[[ $stderr == 'rota: warning: "-N2" is an argument of the script'* ]]
	for argument in -Z -v -5 -; do
		run -0 --separate-stderr rota submit --parsable --wait run.sh "$argument"
		[ -z "$stderr" ]
	done
}

@test "too many arguments are refused before anything is written" {
	script true
	run -1 rota submit run.sh $(seq 1001)
	[[ $output == *"1001 arguments"*"at most 1000"* ]]
	run -1 rota submit run.sh "$(head -c 40000 /dev/zero | tr '\0' x)"
	[[ $output == *"have 40001 bytes"* ]]
	run -1 rota check run.sh $(seq 1001)
	[[ $output == *"1001 arguments"* ]]
	run -0 rota check run.sh a b
}

@test "arguments over HTTP: a list of strings, and nothing else" {
	script '[ "$*" = "a b" ]'
	run -0 post '["a","b"]'
	[[ $output == *'"job_id"'*'[200]' ]]
	rota wait "$(grep -o '"job_id": *[0-9]*' <<<"$output" | grep -o '[0-9]*$')"
	for wrong in '"a"' '[1]' '{"a":"b"}' '[null]'; do
		run -0 post "$wrong"
		[[ $output == *'\"arguments\" must be a list of strings'*'[422]' ]]
	done
}

@test "a wrapped command is a job named wrap" {
	run -0 rota submit --wait --wrap 'echo "$0" is wrapped; exit 0' --output=wrap.txt
	grep -q 'is wrapped' wrap.txt
	job=$(rota submit --parsable --wrap='false || true' --hold)
	run -0 bash -c "rota show --json $job | jq -r '.jobs[0].name'"
	[ "$output" = wrap ]
	run -0 rota show --script "$job"
	[ "${lines[0]}" = '#!/bin/sh' ]
	[[ $output == *"false || true"* ]]
	rota cancel "$job"
	run -2 rota submit --wrap=true run.sh
	[[ $output == *"a command of --wrap has no arguments"* ]]
	run -2 rota submit
	[[ $output == *"--wrap"* ]]
}

@test "options of other systems without a counterpart are ignored with a warning, and refused with --strict" {
	script '#SBATCH --oversubscribe --hint=nomultithread' '#SBATCH --get-user-env --tmp=1G --ntasks-per-core=1' '#PBS -k oe -l vmem=1gb,cput=1:00' true
	run -0 --separate-stderr rota submit --parsable --wait run.sh
	[[ $output =~ ^[0-9]+$ ]]
	[ "$(grep -c '^rota: warning: run.sh:[234]: ' <<<"$stderr")" = 8 ]
	[[ $stderr == *"run.sh:4: -l vmem: ignored"* ]]
	run -0 --separate-stderr rota submit --json run.sh
	[ "$(jq -r '.warnings | length' <<<"$output")" = 8 ]
	run -1 rota submit --strict run.sh
	[[ $output == *"run.sh:2: --oversubscribe: "* ]]
	run -0 --separate-stderr rota check run.sh
	[[ $stderr == *"warning: run.sh:2: --hint"* ]]
	run -1 rota check --strict run.sh
	# A line below the first command is a comment, but not without a word.
	script true '#SBATCH -n 2' 'cat >/dev/null <<END' '#SBATCH -c 2' END
	for verb in submit check; do
		run -0 --separate-stderr rota $verb run.sh
		[ "$(grep warning <<<"$stderr")" = 'rota: warning: run.sh:3: this #SBATCH line is ignored: it is below the first command (line 2); move it up' ]
		run -1 rota $verb --strict run.sh
		[[ $output == *"run.sh:3: this #SBATCH line is ignored"* ]]
	done
	script true
	run -0 --separate-stderr rota submit -s --each run.sh run.sh
	[ "$(grep -c warning <<<"$stderr")" = 1 ]
	for option in '-B 2:8' -S1 '-m cyclic' -v -Q --x11 --contiguous --propagate --profile=task; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr rota check $option run.sh
		[[ $stderr == "rota: warning: --"*": ignored: "* ]] || { echo "$option: $stderr"; false; }
	done
	while IFS='|' read -r option advice; do
		run -2 rota submit "$option" run.sh
		[[ $output == *"there is no option \"${option%=*}\"; "*"$advice"* ]] || { echo "$option: $output"; false; }
	done <<-'END'
		--walltime=10|--time=TIME
		--queue=q|--partition=NAME
		--name=x|--job-name=NAME
		--ppn=2|--ntasks-per-node=N
		--pty|rota shell
		--test-only|rota check
		--ignore-pbs|#PBS lines
	END
	run -2 rota submit -l walltime=10 run.sh
	[[ $output == *'there is no option "-l"; write --time'* ]]
	run -1 rota modify --hint=x "$(rota submit --parsable --hold run.sh)"
	[[ $output == *"--hint"* ]]
}

@test "a job that needs a GPU does not run without one" {
	script true
	run -1 rota submit --gpus=1 run.sh
	[[ $output == *'--gpus: 1 gpu on a node requested, but partition "main" has at most 0'* ]]
	run -0 rota submit --wait --gres=gpu:0 run.sh
	run -0 rota submit --wait --gpus=0 run.sh
}

@test "all memory of a node: nothing else that asks for memory runs there meanwhile" {
	script 'sleep 300'
	all=$(rota submit --parsable --mem=0 --nodelist=n1 run.sh)
	eventually is "$all" running
	[ "$(rota show --json "$all" | jq '.jobs[0].steps[0].mem_mb')" = 2000 ]
	other=$(rota submit --parsable --mem=1 --nodelist=n1 run.sh)
	again=$(rota submit --parsable --mem=0 --nodelist=n1 run.sh)
	free=$(rota submit --parsable --nodelist=n1 run.sh)
	eventually is "$free" running
	is "$other" pending
	why() { rota why "$again" | grep -q 'all memory of a node'; }
	eventually why
	rota cancel "$all"
	eventually is "$other" running
	is "$again" pending
	rota cancel "$other" "$again" "$free"
}

@test "a singleton starts when all live jobs of its name have ended, one at a time" {
	script 'sleep 300'
	first=$(rota submit --parsable --job-name=one run.sh)
	script true
	second=$(rota submit --parsable --job-name=one -d singleton --hold run.sh)
	third=$(rota submit --parsable --job-name=one --dependency=singleton run.sh)
	other=$(rota submit --parsable --job-name=two -d singleton run.sh)
	rota wait "$other"
	run -0 rota why "$third"
	[[ $output == *"waits for job $first, which has its name, to end"*"waits for job $second, which has its name, to end"* ]]
	rota cancel "$first"
	run rota wait "$first"
	run -0 rota why "$third"
	[[ $output != *"job $first"* && $output == *"job $second"* ]]
	rota release "$second"
	rota wait "$third"
	[ "$(superuser "select a.started_at >= b.ended_at from rota.job a, rota.job b where a.job_id = $third and b.job_id = $second")" = t ]
	run -1 rota submit -d singleton,singleton run.sh
	[[ $output == *"singleton is named twice"* ]]
}

@test "a parameter list: a job of each line, {} and {1} in options, environment and arguments" {
	printf '%s\n' 'alpha 1' '' 'beta  2' >params.txt
	script 'echo "$V|$*" >"$1.txt"'
	run -0 rota submit --each -a params.txt --wait --job-name='job-{1}' --export='ALL,V={2}{2}' run.sh '{1}' 'all {}' '$(false)'
	[[ $output == *": alpha 1"*": beta  2"* ]]
	[ "$(cat alpha.txt)" = '11|alpha all alpha 1 $(false)' ]
	[ "$(cat beta.txt)" = '22|beta all beta  2 $(false)' ]
	[ "$(rota queue --all --json | jq -r '[.jobs[].name | select(startswith("job-"))] | sort | join(" ")')" = 'job-alpha job-beta' ]
	rm alpha.txt
	run -0 rota submit --each --arg-file=params.txt --wait run.sh x
	[ "$(cat x.txt)" = '|x alpha 1' ] || [ "$(cat x.txt)" = '|x beta 2' ]
	before=$(rota queue --all --json | jq '.jobs | length')
	run -1 rota submit --each -a params.txt run.sh '{3}'
	[[ $output == *'{3}: the line "alpha 1" has fewer words'* ]]
	run -1 rota submit --each -a params.txt --time='{1}' run.sh
	[[ $output == *--time* ]]
	# All jobs have the same script, so nothing is replaced in its lines of options.
	script '#ROTA --time=5' '#ROTA step a -o out.{1}' 'echo {1}'
	run -1 rota submit --each -a params.txt run.sh
	[[ $output == *"run.sh:3: {1} is replaced in options and arguments of the command line only"*"hint: "* ]]
	script '#SBATCH --comment={}' true
	run -1 rota submit --each -a params.txt run.sh
	[[ $output == *"run.sh:2: {} is replaced in options"* ]]
	script true
	run -1 rota submit --each -a /dev/null run.sh
	[[ $output == *"has only blank lines"* ]]
	printf 'a\0b\n' >zero.txt
	run -1 rota submit --each -a zero.txt run.sh
	[[ $output == *"has a NUL byte"* ]]
	run -2 rota submit --each -a - -
	[[ $output == *"standard input"* ]]
	run -2 rota submit --arg-file=params.txt run.sh
	[ "$(rota queue --all --json | jq '.jobs | length')" = "$before" ]
	script 'echo "{1} $1" # {}'
	run -0 rota submit --each -a params.txt run.sh
	run -0 rota submit --each -a 0-1 run.sh
}

# reason JOB STEP: prints state, cause and message of a step.
reason() {
	rota show --json "$1" | jq -r --arg name "$2" '.jobs[0].steps[] | select(.name == $name) | [.state, .cause, .message] | map(. // "") | join("|")'
}

@test "--if-changed: as by make, a step that is up to date is skipped, and a changed one runs" {
	echo text >book.txt
	touch -d '2 days ago' book.txt
	script '#ROTA step parts --if-changed=parts.out:book.txt,run.sh' 'echo parts >>ran; cp book.txt parts.out' \
		'#ROTA step index --if-changed=index.out:parts.out' 'echo index >>ran; cp parts.out index.out'
	touch -d '1 day ago' run.sh
	run -0 rota submit --wait run.sh
	[ "$(cat ran)" = $'parts\nindex' ]
	job=$(rota submit --parsable run.sh)
	run -0 rota wait "$job"
	[ "$(cat ran)" = $'parts\nindex' ]
	[ "$(reason "$job" parts)" = 'skipped|up_to_date|up to date: parts.out is newer than run.sh' ]
	[ "$(reason "$job" index)" = 'skipped|up_to_date|up to date: index.out is newer than parts.out' ]
	[ "$(rota show --json "$job" | jq -r '.jobs[0] | .state + "|" + .cause')" = 'skipped|up_to_date' ]
	run -0 rota show "$job.parts"
	[[ $output == *"If changed"*"parts.out:book.txt,run.sh"* ]]
	touch book.txt
	run -0 rota submit --wait run.sh
	[ "$(cat ran)" = $'parts\nindex\nparts\nindex' ]
	rm index.out
	job=$(rota submit --parsable run.sh)
	run -0 rota wait "$job"
	[ "$(cat ran)" = $'parts\nindex\nparts\nindex\nindex' ]
	[ "$(rota show --json "$job" | jq -r '.jobs[0].state')" = completed ]
}

@test "--if-changed: nanoseconds count, the same time is up to date, and folders, patterns and home are found" {
	mkdir sub
	touch -d '2030-01-01 00:00:00.000000001' sub/in.0 sub/in.1 sub/in.2
	touch -d '2030-01-01 00:00:00.000000001' out.0
	touch -d '2030-01-01 00:00:00' out.1
	script 'echo "$ROTA_ARRAY_INDEX" >>ran'
	job=$(rota submit --parsable --workdir="$PWD/sub" --array=0-2 --if-changed='../out.%a:in.%a' --output="$PWD/o.%a" run.sh)
	run -0 rota wait "$job"
	[ "$(sort sub/ran)" = $'1\n2' ]
	[[ "$(rota show --json "$job[0]" | jq -r '.jobs[0].steps[].message')" == *"up to date: ../out.0 is as new as in.0"* ]]
	run -1 rota submit --wait --if-changed='run.sh:~/rota-no-such-file' run.sh
	[[ $output == *'--if-changed: input "~/rota-no-such-file": No such file or directory'* ]]
}

@test "--if-changed: the step's prolog runs before, and a failed attempt does not count as up to date" {
	echo text >in
	printf '%s\n' '#!/bin/bash' 'echo prolog >>ran' >prolog
	chmod +x prolog
	script 'echo ran >>ran; touch out; [ "$ROTA_ATTEMPT" = 2 ]'
	run -0 rota submit --wait --retry=1 --prolog=prolog --if-changed=out:in run.sh
	[ "$(cat ran)" = $'prolog\nran\nprolog\nran' ]
	run -0 rota submit --wait --retry=1 --prolog=prolog --if-changed=out:in run.sh
	[ "$(cat ran)" = $'prolog\nran\nprolog\nran\nprolog' ]
}

@test "--if-changed: several nodes and a group leave no process; dependents run, error handlers are skipped" {
	touch -d '1 day ago' in
	touch out
	script '#ROTA step wide --nodes=2 --if-changed=out:in --group=g' 'echo wide >>ran' '#ROTA step tasks --nodes=2 --run=tasks --if-changed=out:in --group=g' \
		'echo tasks >>ran' '#ROTA step next --after=wide,tasks' 'echo next >>ran' '#ROTA step handler --after=wide:fail' 'echo handler >>ran'
	job=$(rota submit --parsable run.sh)
	run -0 rota wait --timeout=300 "$job"
	[ "$(cat ran)" = next ]
	[ "$(reason "$job" wide)" = 'skipped|up_to_date|up to date: out is newer than in' ]
	[ "$(reason "$job" tasks)" = 'skipped|up_to_date|up to date: out is newer than in' ]
	[[ "$(reason "$job" handler)" == 'skipped|not_needed|'* ]]
	[ "$(superuser "select count(*) from rota.allocation where job_id = $job and ended_at is null")" = 0 ]
}

@test "--if-changed: a wrong value is refused, an altered one is not run, and the owner compares, not root" {
	script true
	for wrong in out out: :in a:b:c a,:b 'a%q:b'; do
		run -1 rota submit --if-changed="$wrong" run.sh
		[[ $output == *--if-changed* ]]
	done
	touch in out
	job=$(rota submit --parsable --hold --if-changed=out:in run.sh)
	superuser "update rota.step_request set spec = replace(spec, 'if_changed=6:out:in', 'if_changed=6:out:ou') where job_id = $job"
	rota release "$job"
	run -1 rota wait --timeout=300 "$job"
	[[ "$(reason "$job" script)" != *up_to_date* ]]
	need_root
	mkdir -m 700 "$ROTA_TEST_DIR/closed"
	mkdir -m 777 "$ROTA_TEST_DIR/open"
	touch "$ROTA_TEST_DIR/closed/in" "$ROTA_TEST_DIR/open/out"
	cp run.sh "$ROTA_TEST_DIR/open"
	cd "$ROTA_TEST_DIR/open"
	run -1 as nobody rota submit --wait --if-changed=out:../closed/in run.sh
	[[ $output == *'input "../closed/in": Permission denied'* ]]
}
