#!/usr/bin/env bats
# Large jobs: a thousand-step DAG, an array of ten thousand, ten thousand edges, scripts that are too large.

load helper

setup_file() {
	instance_up 4 --cpus 16 --mem 8000 --set node.grace=1
}

teardown_file() {
	instance_down
}

@test "a thousand steps in twenty layers with random edges run in right order" {
	cd "$BATS_TEST_TMPDIR"
	awk 'BEGIN {
		srand(7)
		print "#!/bin/sh"
		print "#ROTA --job-name=layers --output=/dev/null --time=10:00"
		for (layer = 0; layer < 20; layer++)
			for (i = 0; i < 50; i++) {
				printf "#ROTA step s%d_%d", layer, i
				if (layer > 0) {
					n = 1 + int(rand() * 3); after = ""; split("", seen)
					for (k = 0; k < n; k++) {
						peer = "s" (layer - 1) "_" int(rand() * 50)
						if (!(peer in seen)) after = after (after == "" ? "" : ",") peer
						seen[peer] = 1
					}
					printf " --after=%s", after
				} else printf " --after=none"
				print "\ntrue"
			}
	}' >layers.sh
	job=$(rota submit --parsable layers.sh)
	rota wait "$job"
	run sql "select count(*) from rota.step where job_id = $job and state = 'completed'"
	[ "$output" = 1000 ]
	run sql "select count(*) from rota.step_edge e
		join rota.event f on f.job_id = e.job_id and f.step_id = e.step_id and f.event = 'start'
		join rota.event p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id and p.to_state = 'completed'
		where e.job_id = $job and f.event_id < p.event_id"
	[ "$output" = 0 ]
}

@test "an array of ten thousand ends with ten thousand completed and nothing left" {
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/sh\n#ROTA --output=/dev/null --array=0-9999\ntrue\n' >many.sh
	job=$(rota submit --parsable many.sh)
	rota wait "$job"
	run sql "select completed || ' ' || failed || ' ' || running from rota.step_array where job_id = $job"
	[ "$output" = "10000 0 0" ]
	run sql "select count(*) filter (where state = 'completed') || ' ' || count(distinct array_index) from rota.step where job_id = $job and array_index is not null"
	[ "$output" = "10000 10000" ]
	nothing() { [ "$(sql "select (select count(*) from rota.allocation where ended_at is null) + (select sum(cpus_used) from rota.node_used) + (select count(*) from rota.node_order)")" = 0 ]; }
	eventually nothing
}

@test "a pending array of a million is one row" {
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/sh\n#ROTA --array=0-999999 --hold\ntrue\n' >million.sh
	job=$(rota submit --parsable million.sh)
	run sql "select count(*) from rota.step where job_id = $job"
	[ "$output" = 1 ]
	rota cancel "$job"
	run sql "select state from rota.job where job_id = $job"
	[ "$output" = cancelled ]
}

@test "ten thousand edges are stored, and a cycle among them is refused and named" {
	cd "$BATS_TEST_TMPDIR"
	awk 'BEGIN {
		print "#!/bin/sh\n#ROTA --hold"
		for (i = 0; i < 200; i++) {
			printf "#ROTA step s%d", i
			if (i == 0) printf " --after=none"
			for (k = 0; k < i && k < 100; k++) printf "%s%s", k == 0 ? " --after=" : ",", "s" (i - 1 - k)
			print "\ntrue"
		}
	}' >edges.sh
	job=$(rota submit --parsable edges.sh)
	run sql "select count(*) > 10000 from rota.step_edge where job_id = $job"
	[ "$output" = t ]
	rota cancel "$job"
	printf '#!/bin/sh\n#ROTA step a --after=c\ntrue\n#ROTA step b --after=a\ntrue\n#ROTA step c --after=b\ntrue\n' >cycle.sh
	run rota submit cycle.sh
	[ "$status" -ne 0 ]
	[[ "$output" == *"->"* ]]
}

@test "a script of ten megabytes is refused with the limit, and changes nothing" {
	cd "$BATS_TEST_TMPDIR"
	before=$(sql "select count(*) from rota.job")
	{ printf '#!/bin/sh\n'; head -c 10485760 /dev/zero | tr '\0' '#'; } >big.sh
	run rota submit big.sh
	[ "$status" -ne 0 ]
	[[ "$output" == *"big.sh"* ]]
	[ "$(sql "select count(*) from rota.job")" = "$before" ]
}
