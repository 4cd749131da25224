#!/usr/bin/env bats
# Pools of the site's burst_buffer.lua: how they are shown, requests of submissions, the order in which jobs get space, and that
# no space is taken twice or lost when daemons die.

ROTA_TEST_CLIENT=sanitizers
load helper
load staging

setup_file() {
	# pools answers what is in the file pools. setup makes a file has.JOB of the size, and teardown removes it: when both are right, no
	# has.JOB is made twice, and their sum is never above that of the pool.
	site_make <<-'END'
		function slurm_bb_pools()
			local text = read(site .. "/pools")
			if text:find("^fail") then return slurm.ERROR, "no storage" end
			return slurm.SUCCESS, text
		end
		function slurm_bb_setup(job, uid, gid, pool, size, script)
			record("setup", job, {})
			write(site .. "/order", job .. " " .. pool .. " " .. size .. "\n", "a")
			if read(site .. "/has." .. job) then write(site .. "/twice", job .. "\n", "a") end
			write(site .. "/has." .. job, size .. "\n")
			return behave("setup", job, script)
		end
		function slurm_bb_data_in(job, script)
			record("data_in", job, {})
			return behave("data_in", job, script)
		end
		function slurm_bb_real_size(job)
			local text = read(site .. "/size." .. job)
			if text == "fail\n" then return slurm.ERROR, "no size" end
			return slurm.SUCCESS, text
		end
		function slurm_bb_data_out(job, script)
			record("data_out", job, {})
			return behave("data_out", job, script)
		end
		function slurm_bb_job_teardown(job, script, hurry)
			record("job_teardown", job, {})
			os.remove(site .. "/has." .. job)
			return behave("job_teardown", job, script)
		end
	END
	pools 10
	instance_up 1 "${SITE_OPTIONS[@]}" --set hooks.other_timeout=20 --set hooks.pool_interval=1
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	local status=0
	instance_down || status=1
	site_remove
	return "$status"
}

# answer TEXT: the Lua function pools answers this from now on, and never a part of it: an empty text says that there are no pools.
answer() {
	printf '%s\n' "$1" >"$SITE/pools.new"
	chmod 0644 "$SITE/pools.new"
	mv "$SITE/pools.new" "$SITE/pools"
}

# pools QUANTITY: the pool scratch has so many GiB.
pools() {
	answer "{\"pools\": [{\"id\": \"scratch\", \"quantity\": $1, \"granularity\": 1073741824}]}"
}

has_total() {
	[ "$(sql "select total >> 30 from acct.pool where pool = 'scratch'")" = "$1" ]
}

setup() {
	pools 10
	eventually has_total 10
	rm -f "$SITE/order" "$SITE/twice"
}

# After a test that failed: no job holds space.
teardown() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	pools 10
	rota up >/dev/null || true
	rota cancel -q --hurry --me || true
	for job in $(sql "select job_id from rota.staging where ended_at is null"); do touch "$SITE/go.$job"; done
	eventually is_used 0 || true
}

is_used() {
	local used
	used=$(sql "select used >> 30 from acct.pool where pool = 'scratch'")
	[ "$used" = "$1" ] || { echo "used: $used GiB"; return 1; }
}

@test "the pool is listed, and what no pool has is refused with line and pool" {
	run rota admin pool list
	[[ "${lines[1]}" == scratch*"10 GiB"*"0 B"*"10 GiB"*"1 GiB"* ]]
	run rota admin pool list --json
	[ "$(jq -r '.pools[0] | "\(.name) \(.total) \(.used) \(.free)"' <<<"$output")" = "scratch 10737418240 0 10737418240" ]
	refused 'script:2: there is no pool "other"' submit "pool=other capacity=1G"
	refused 'script:2: 11 GiB of pool "scratch" are asked for, which has 10 GiB in all' submit "pool=scratch capacity=11G"
	refused 'names no pool' submit "capacity=1G"
	refused 'capacity=0 of pool "scratch" is no size' submit "pool=scratch capacity=0"
	printf '#!/bin/bash\ntrue\n' >"$BATS_TEST_TMPDIR/plain"
	cd "$BATS_TEST_TMPDIR"
	refused '--bb: there is no pool "other"' rota submit --bb="#BB_LUA pool=other capacity=1" plain
	refused 'there is no pool "other"' rota check --bb="#BB_LUA pool=other capacity=1" plain
	[ "$(sql "select count(*) from rota.staging")" = 0 ]
}

@test "setup gets pool and size; what is larger than asked for counts; all is given back" {
	printf '#!/bin/bash\n#BB_LUA pool=x capacity=1\n#BB_LUA wait=data_in pool=scratch capacity=1500M\ntrue\n' >"$BATS_TEST_TMPDIR/two"
	job=$(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null two)
	eventually runs "$job" data_in
	is_used 2
	[ "$(cat "$SITE/order")" = "$job scratch 2147483648" ]
	run rota admin pool list
	[[ "${lines[1]}" == scratch*"10 GiB"*"2 GiB"*"8 GiB"* ]]
	printf '3000000000\n' >"$SITE/size.$job"
	touch "$SITE/go.$job"
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	is_used 0
	[ "$(sql "select count(*) from rota.staging_call where job_id = $job and function = 'real_size' and rc = 0")" = 1 ]
	job=$(submit "wait=data_out pool=scratch capacity=1" --hold)
	printf '3000000000\n' >"$SITE/size.$job"
	rota release "$job"
	eventually runs "$job" data_out
	is_used 3
	touch "$SITE/go.$job"
	eventually is_staging "$job" complete
	is_used 0
	# real_size fails as other functions of the stage-in do: the job is held, and keeps its space until its teardown.
	job=$(submit "pool=scratch capacity=1G" --hold)
	echo fail >"$SITE/size.$job"
	rota release "$job"
	eventually is_staging "$job" failed
	[ "$(sql "select message from rota.staging where job_id = $job")" = "burst_buffer.lua: real_size: no size" ]
	is_used 1
	rota cancel "$job"
	eventually is_staging "$job" complete
	is_used 0
	# A submission with a pool and no capacity requests no space.
	job=$(submit "pool=scratch")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(tail -n 1 "$SITE/order")" = "$job (null) 0" ]
}

@test "a full pool: in the order of priority, nobody passes, and why and queue say what is waited for" {
	first=$(submit "wait=data_in pool=scratch capacity=8G")
	eventually runs "$first" data_in
	low=$(submit "pool=scratch capacity=2G" --nice=1000)
	has_space() { [ "$(staging "$low")" != pending ]; }
	eventually has_space
	large=$(submit "pool=scratch capacity=9G")
	none=$(submit "x")
	rota wait --timeout=300 "$none"
	eventually is_staging "$low" complete
	low=$(submit "pool=scratch capacity=2G" --nice=1000)
	run rota why "$large"
	[[ "$output" == *"waits for 9 GiB of pool scratch: 2 GiB are free; job $first gives back 8 GiB"* ]]
	run rota why "$low"
	[[ "$output" == *"waits for 2 GiB of pool scratch: 2 GiB are free; job $large, which waits for 9 GiB, comes first"* ]]
	run rota queue
	[[ "$output" == *"$large"*staging_pool* ]]
	is_staging "$low" pending
	touch "$SITE/go.$first"
	rota wait --timeout=300 "$first" "$large" "$low"
	eventually is_staging "$low" complete
	[ "$(grep -E "^($large|$low) " "$SITE/order" | head -n 1)" = "$large scratch 9663676416" ]
	eventually is_used 0
	[ ! -e "$SITE/twice" ]
}

@test "why says when the space is expected back, if the job that has it runs and has a time limit" {
	printf '#!/bin/bash\n#BB_LUA pool=scratch capacity=8G\nuntil [ -e "%s/end" ]; do sleep 0.3; done\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/holds"
	first=$(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null --time=2:00:00 holds)
	is_running() { [ "$(sql "select state from rota.step where job_id = $first")" = running ]; }
	eventually is_running
	waiting=$(submit "pool=scratch capacity=9G")
	expected=$(sql "select to_char(coalesce(started_at, ordered_at) + interval '2 h', 'YYYY-MM-DD HH24:MI TZ') from rota.attempt where job_id = $first")
	run rota why "$waiting"
	[[ "$output" == *"waits for 9 GiB of pool scratch: 2 GiB are free; job $first gives back 8 GiB about $expected" ]]
	touch "$BATS_TEST_TMPDIR/end"
	rota wait --timeout=300 "$first" "$waiting"
	eventually is_staging "$waiting" complete
	is_used 0
}

@test "the pool vanishes and comes back; while pools fails, what was known stays, and the failure is shown" {
	job=$(submit "wait=data_in pool=scratch capacity=4G")
	eventually runs "$job" data_in
	waiting=$(submit "pool=scratch capacity=8G")
	answer '{"pools": []}'
	eventually has_total 0
	is_used 4
	refused "which has 0 B in all" submit "pool=scratch capacity=1"
	run rota why "$waiting"
	[[ "$output" == *"waits for 8 GiB of pool scratch, which has 0 B in all"* ]]
	touch "$SITE/go.$job"
	rota wait --timeout=300 "$job"
	eventually is_used 0
	is_staging "$waiting" pending
	pools 8
	rota wait --timeout=300 "$waiting"
	for bad in fail 'no json' '{"pools": [{"id": "scratch", "quantity": 99}]}'; do
		answer "$bad"
		shown() { rota admin pool list | grep -q "pools of burst_buffer.lua has failed since .*$1"; }
		case $bad in
		fail) eventually shown "no storage" ;;
		no*) eventually shown "not JSON" ;;
		*) eventually shown granularity ;;
		esac
		has_total 8
	done
	pools 10
	eventually has_total 10
	run -0 rota admin pool list
	[[ $output != *"has failed"* ]]
}

@test "runnerd and PostgreSQL die while jobs have and want space: nothing is taken twice, nothing is lost" {
	jobs=()
	for function in setup data_in data_out job_teardown; do
		jobs+=("$(submit "wait=$function pool=scratch capacity=3G")")
	done
	held() { [ "$(sql "select count(*) from rota.staging_call where began_at is not null and ended_at is null")" = 3 ] && [ "$(sql "select string_agg(function, ' ' order by job_id) from rota.staging_call where began_at is not null and ended_at is null")" = "setup data_in data_out" ]; }
	eventually held
	for victim in runnerd postgres; do
		daemon_kill "$victim"
		again() { [ "$(sql "select count(*) from rota.staging_call where began_at is not null and ended_at is null and function in ('setup', 'data_in', 'data_out')")" = 3 ]; }
		eventually again
		eventually is_used 9 # just after the restart, a query may find no database
		is_staging "${jobs[3]}" pending
	done
	touch "$SITE/go.${jobs[0]}" "$SITE/go.${jobs[1]}" "$SITE/go.${jobs[2]}"
	rota wait --timeout=300 "${jobs[@]}"
	eventually runs "${jobs[3]}" job_teardown
	eventually is_used 3 # the others are torn down
	daemon_kill runnerd
	is_used 3
	touch "$SITE/go.${jobs[3]}"
	for job in "${jobs[@]}"; do
		eventually is_staging "$job" complete
	done
	is_used 0
	[ ! -e "$SITE/twice" ]
	run compgen -G "$SITE/has.*"
	[ -z "$output" ]
}
