#!/usr/bin/env bats
# The memory of a job that buffered output of its sub-steps takes.

load helper

setup_file() {
	instance_up 1 --cpus 4 --mem 4000
}

teardown_file() {
	instance_down
}

@test "output that is kept does not exceed the memory of the job" {
	cd "$BATS_TEST_TMPDIR"
	cat >job.sh <<-'END'
		#!/bin/bash
		for i in $(seq 40); do rota run head -c 15000000 /dev/zero | wc -c; done | sort | uniq -c
	END
	job=$(rota submit --parsable --cpus-per-task=4 --mem=400 --output=job.out job.sh)
	run rota wait -q --timeout=300 "$job"
	[[ $(cat job.out) == *"40 15000000" ]] || { cat job.out; false; }
}
