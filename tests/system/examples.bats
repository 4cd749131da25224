#!/usr/bin/env bats
# The examples give the same result by Rota and by plain bash, and remove their working files.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 2 --cpus 4 --mem 2000
	export HEAT_SIZE=60x40 HEAT_STEPS=2000 BUILD_SOURCES=$ROTA_SOURCE/examples/build
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# both NAME: run examples/NAME.sh by bash and by Rota; leaves the results in by-bash and by-rota, and the job's number in $job.
both() {
	local out=${1^^}_OUT
	env "$out=$PWD/by-bash" bash "$ROTA_SOURCE/examples/$1.sh"
	job=$(env "$out=$PWD/by-rota" rota submit --parsable "$ROTA_SOURCE/examples/$1.sh")
	rota wait --timeout=300 "$job" || {
		rota show --elements "$job"
		tail -n 5 rota-"$job".*.out
		return 1
	}
}

@test "licenses: the same report by Rota and by bash" {
	both licenses
	diff -r by-bash by-rota
	grep -q ' license$' by-rota/report.txt
	[ "$(sql "select count(*) from acct.step where job_id = $job and step = 'count' and array_index is not null and state = 'completed'")" = 8 ]
}

@test "licenses: merge and report run on the node of split, after all counts" {
	both licenses
	[ "$(sql "select count(distinct nodes) from acct.step where job_id = $job and step in ('split', 'merge', 'report')")" = 1 ]
	[ "$(sql "select m.started_at >= max(c.ended_at) from acct.step m, acct.step c
		where m.job_id = $job and m.step = 'merge' and c.job_id = $job and c.step = 'count' group by m.started_at")" = t ]
}

@test "licenses: any folder will do" {
	mkdir texts
	printf 'apple Banana banana\n' >texts/one
	printf 'banana cherry pear\n' >"texts/two words"
	export LICENSES_DIR=$PWD/texts
	both licenses
	diff -r by-bash by-rota
	grep -Eq '^ +3 +2 +banana$' by-rota/report.txt
}

@test "licenses: without texts the job fails, and tidy runs all the same" {
	mkdir texts
	job=$(LICENSES_DIR=$PWD/texts LICENSES_OUT=$PWD/out rota submit --parsable "$ROTA_SOURCE/examples/licenses.sh")
	run -1 rota wait --timeout=300 "$job"
	[ "$(sql "select string_agg(step || ' ' || state, ', ' order by step_id) from acct.step where job_id = $job")" = \
		"split failed, count dependency_failed, merge dependency_failed, report dependency_failed, tidy completed" ]
	grep -q 'there are no texts' rota-"$job".split.out
	[ ! -e out/work ]
}

@test "build: the same package, bit for bit" {
	both build
	diff -r by-bash by-rota
	(cd by-rota && sha256sum --quiet -c SHA256SUMS)
	tar xzf by-rota/tally-1.0.tar.gz
	[ "$(printf 'b\na\nb\n' | tally-1.0/tally -n 1)" = "      2 b" ]
}

@test "heat: the same pictures" {
	both heat
	diff -r by-bash by-rota
	[ "$(head -c 8 by-rota/heat-5.png | od -An -tx1)" = " 89 50 4e 47 0d 0a 1a 0a" ]
	# Width and height follow the header of the first chunk.
	[ "$(head -c 24 by-rota/heat-5.png | tail -c 8 | od -An -tx1)" = " 00 00 00 3c 00 00 00 28" ]
	[ "$(wc -l <by-rota/report.txt)" = 9 ]
}

@test "heat: runs from any folder, and writes only into its output folder" {
	mkdir elsewhere
	cd elsewhere
	run -0 rota submit --wait "$ROTA_SOURCE/examples/heat.sh"
	[ -s heat-out/heat-5.png ]
	[ ! -e heat-out/work ]
	cmp heat-out/report.txt rota-*.report.out
	# In the tree, git ignores the results.
	if git -C "$ROTA_SOURCE" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		run -0 git -C "$ROTA_SOURCE" check-ignore heat-out/report.txt rota-2.mesh.out licenses-out/report.txt build-out/SHA256SUMS
		[ "${#lines[@]}" = 4 ]
	fi
}

@test "rota check draws each example" {
	for example in licenses build heat staging; do
		run -0 rota check "$ROTA_SOURCE/examples/$example.sh"
		run -0 rota check --dot "$ROTA_SOURCE/examples/$example.sh"
		[[ $output == digraph* ]]
	done
}

@test "staging: input comes, results go, and the counts are right" {
	mkdir staging-in
	printf 'one two two\n' >staging-in/a
	printf 'two\nThree\n' >staging-in/b
	run -0 rota submit --parsable --wait "$ROTA_SOURCE/examples/staging.sh"
	[ "$(sort staging-out/all)" = $'1 one\n1 three\n3 two' ]
	[ "$(cat staging-out/a)" = "$(printf '      2 two\n      1 one')" ]
	rota stage show --json "${lines[0]}" | jq -e '[.transfers[].state] == ["done", "done", "dropped"]'
	rota show --json "${lines[0]}" | jq -e '.jobs[0].steps | map(.state) | unique == ["completed"]'
}
