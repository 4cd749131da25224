#!/usr/bin/env bats
# rota run --file: the steps of a script as sub-steps of an allocation.

ROTA_TEST_CLIENT=sanitizers
load helper
load inside

INSIDE=(--cpus-per-task=2)

setup_file() {
	instance_up 3 --cpus 2 --mem 1000 --set node.grace=1
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# ended NAME STATE: does the database know that the sub-step of this name ended so?
ended() {
	[[ $(rota sql -Atc "select state from acct.substep where job_id = $job and name = '$1'") == "$2" ]]
}

@test "a diamond runs in the order of its dependencies, without a job for each step" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		say() { echo "$1 $ROTA_SUBSTEP_NAME $ROTA_CPUS $2" | tee -a order; }
		#ROTA step top
		say 1 "$1"
		#ROTA step left --after=top --cpus-per-task=2
		say 2 "$1"
		#ROTA step right --after=top --ntasks=2
		say 2 "$1"
		#ROTA step bottom --after=left,right
		say 3 "$1"
		exit_here=$LINENO
		[ "$exit_here" = 11 ]
	END
	inside <<-'END'
		rota run --file dag.sh word
		echo "exit $?"
		ls -A
	END
	[ "$(sort order)" = "$(printf '%s\n' '1 top 1 word' '2 left 2 word' '2 right 2 word' '3 bottom 1 word')" ]
	[ "$(head -n 1 order)" = '1 top 1 word' ] && [ "$(tail -n 1 order)" = '3 bottom 1 word' ]
	[[ $output == *$'\nexit 0\ndag.sh\njob.out\njob.sh\norder' ]]
	[ "$(rota sql -Atc "select count(*) from rota.step where job_id = $job")" = 1 ]
	eventually ended bottom completed
}

@test "a failing branch: what waits for it never starts, its handler runs, and the summary names both" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA step good
		echo good
		#ROTA step bad --after=none
		echo bad; exit 3
		#ROTA step join --after=good,bad
		touch joined
		#ROTA step after --after=join
		touch joined
		#ROTA step handler --after=bad:fail
		echo handled
		#ROTA step calm --after=good:fail
		touch calm
		#ROTA step last --after=calm:any,bad:any
		echo last
	END
	inside <<-'END'
		rota run --label --file dag.sh
		echo "exit $?"
	END
	[ "$(sort <<<"$output")" = "$(sort <<-'END'
		good: good
		bad: bad
		handler: handled
		last: last
		rota run: 3 of 7 steps failed
		  step bad (line 4): failed (exit code 3)
		  step join (line 6): dependency_failed (bad)
		  step after (line 8): dependency_failed (join)
		exit 1
	END
	)" ]
	[ ! -e joined ] && [ ! -e calm ]
}

@test "arrays run element by element, at most so many at a time, each after the one that it corresponds to" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA step draw --array=1-4%1 --output=draw.%2a
		mkdir lock || exit 1
		echo "$ROTA_ARRAY_INDEX of $ROTA_ARRAY_SIZE $SLURM_ARRAY_TASK_MAX"
		echo to stderr >&2
		rmdir lock
		[ "$ROTA_ARRAY_INDEX" != 2 ]
		#ROTA step fit --array=1-4 --after=draw:corr
		echo "fit $ROTA_ARRAY_INDEX"
		#ROTA step sum --after=fit:any
		cat draw.0?
	END
	inside <<-'END'
		rota run --file dag.sh >out 2>err
		echo "exit $?"
		cat out err
	END
	[[ $output == 'exit 1'* ]]
	[ "$(grep '^fit' out | sort)" = $'fit 1\nfit 3\nfit 4' ]
	[ "$(tail -n 8 out)" = "$(for i in 1 2 3 4; do printf '%s of 4 4\nto stderr\n' $i; done)" ]
	[ "$(cat err)" = $'rota run: 2 of 9 steps failed\n  step draw[2] (line 2): failed (exit code 1)\n  step fit[2] (line 8): dependency_failed (draw)' ]
	eventually ended 'fit[4]' completed
}

@test "options of steps: retry, time limit, environment, working directory, shell, standard input" {
	mkdir sub
	cat >dag.sh <<-'END'
		#!/bin/sh
		#ROTA --export=WORD=set --priority=3
		#ROTA step again --retry=2
		echo x >>runs; [ "$(wc -l <runs)" = 3 ]
		#ROTA step slow --time=0:01 --after=none
		read never <slow.fifo
		#ROTA step where --workdir=sub --shell=/bin/bash --input=in
		echo "${PWD##*/} $WORD ${FOREIGN-unset} $BASH $(cat)" 
	END
	mkfifo slow.fifo
	echo text >sub/in
	inside <<-'END'
		export FOREIGN=yes
		rota run --file dag.sh
		echo "exit $?"
	END
	[ "$(wc -l <runs)" = 3 ]
	[[ $output == *"sub set unset /bin/bash text"* ]]
	[[ $output == *"1 of 3 steps failed"*"step slow (line 5): timeout"*"exit 1" ]]
}

@test "what a sub-step cannot have is refused with its lines, all at once, before anything starts" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA --partition=all --time=5
		touch started
		#ROTA step a --licenses=matlab --gpus=x
		#ROTA step b --after=812 --constraint=fast
		#ROTA step c --after=missing --nodes=2
	END
	inside <<-'END'
		rota run --file dag.sh
		echo "exit $?"
		rota run --file missing.sh
		echo "exit $?"
		rota run --file dag.sh --ntasks=2
		rota run --resume true
	END
	[ ! -e started ]
	[[ $output == *"dag.sh:2: --partition: a step inside an allocation cannot have this option"*"dag.sh:4: --gpus: "*"dag.sh:4: --licenses: "* ]]
	[[ $output == *"dag.sh:5: --after: a step inside an allocation waits only for steps of its file"*"dag.sh:6: --after: unknown step"*"exit 1"* ]]
	[[ $output == *"dag.sh:5: --constraint: "*"missing.sh"*"exit 1"*"--file cannot be combined with --ntasks"*"--resume needs --each or --file"* ]]
	run -2 rota run --file dag.sh
	[[ $output == *"rota run needs an allocation"* ]]
}

@test "resume skips steps that completed before the client was killed, unless their text or what they wait for has changed" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA step a
		echo a >>ran
		#ROTA step b --array=1-3 --after=a
		echo "b$ROTA_ARRAY_INDEX" >>ran
		#ROTA step c --after=b
		echo c >>ran
		until [ -e go ]; do sleep 0.3; done
		#ROTA step d --after=c
		echo d >>ran
	END
	inside <<-'END'
		rota run --file dag.sh --resume=log &
		until grep -q c ran 2>/dev/null; do sleep 0.1; done
		kill -KILL $!
		wait
		touch go
		rota run --file dag.sh --resume=log
		sort ran | tr '\n' ' '
		: >ran
		rota run --file dag.sh --resume=log
		cat ran
		sed -i 's/^echo "b/: ; &/' dag.sh
		rota run --file dag.sh --resume=log
		sort ran | tr '\n' ' '
	END
	[[ $output == *"4 steps had completed before"$'\n'"a b1 b2 b3 c c d "* ]]
	[[ $output == *"6 steps had completed before"$'\n'"rota run: 1 step had completed before"$'\n'"b1 b2 b3 c d "* ]]
	[ -z "$(find . -maxdepth 1 -name '.rota-*' -newer log)" ]
}

@test "Ctrl-C twice cancels what runs and starts nothing more" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA step a
		touch there
		until [ -e never ]; do sleep 0.3; done
		#ROTA step b --after=a:any
		touch b
	END
	inside <<-'END'
		set -m
		rota run --file dag.sh &
		until [ -e there ]; do sleep 0.3; done
		kill -INT $!
		until grep -q "press Ctrl-C again" job.out; do sleep 0.05; done
		# On a slow machine, more than a second may have passed since the first one.
		until grep -q "cancelling 1 sub-step" job.out; do kill -INT $!; sleep 0.3; done
		wait $!
		echo "exit $?"
		ls -A
	END
	[[ $output == *"0 of 2 steps ended, 0 of them failed, 1 are under way; press Ctrl-C again"*"cancelling 1 sub-step"*"exit 130"* ]]
	[[ $output != *.rota-* ]]
	[ ! -e b ]
}

@test "steps use several nodes of the allocation" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA --after=none
		#ROTA step wide --nodes=3 --run=tasks
		echo "wide $ROTA_NODE $ROTA_TASK_ID"
		#ROTA step there --nodelist=n3
		echo "there $ROTA_NODE"
		#ROTA step each --array=1-6 --cpus-per-task=2 --after=wide
		echo "each $ROTA_NODE" >"each.$ROTA_ARRAY_INDEX"
		until [ "$(cat each.* | sort -u | wc -l)" = 3 ]; do sleep 0.1; done
	END
	inside --nodes=3 --ntasks=3 <<-'END'
		rota run --file dag.sh
		echo "exit $?"
	END
	[[ $output == *"exit 0" ]]
	[ "$(sort <<<"$output")" = "$(printf '%s\n' 'exit 0' 'there n3' 'wide n1 0' 'wide n2 1' 'wide n3 2')" ]
	[ "$(cat each.* | sort -u)" = "$(printf 'each n%s\n' 1 2 3)" ]
}

@test "a terminal shows how far the steps are" {
	cat >dag.sh <<-'END'
		#!/bin/bash
		#ROTA step a --array=1-3
		exit $((ROTA_ARRAY_INDEX == 2))
		#ROTA step b --after=a
		true
	END
	inside <<-'END'
		NO_COLOR=1 script -qec "rota run --file dag.sh" /dev/null </dev/null
	END
	[[ $output == *"[########################] 4/4, 0 running, 2 failed"*"2 of 4 steps failed"* ]]
}
