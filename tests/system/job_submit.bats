#!/usr/bin/env bats
# The site's script job_submit.lua: its changes of submissions and modifications, refusals and messages; jobs while the script is
# broken; hostile values.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	SITE=$(mktemp -d /tmp/rota-site.XXXXXX) # a folder that the daemons' account can enter
	export SITE
	chmod 0755 "$SITE"
	echo 'function slurm_job_submit() return 0 end' >"$SITE/job_submit.lua"
	chmod 0644 "$SITE/job_submit.lua"
	instance_up 2 --cpus 4 --mem 20000 --set node.grace=1 --set hooks.job_submit="$SITE/job_submit.lua" --set hooks.call_seconds=60
	rota admin partition create side --nodes=n1,n2 --max-time=2:00:00
	rota admin node change n1 --features=fast,new
	rota admin account create open
	if [ "$EUID" = 0 ]; then
		export ALICE=rjsa$$ BOB=rjsb$$ OLGA=rjso$$
		users_add "$ALICE" "$BOB" "$OLGA"
		folders_add "$ALICE" "$BOB" "$OLGA"
		rota admin user create "$OLGA" --role=operator
		rota admin account create closed --users="$BOB"
	fi
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ -z "${ALICE:-}" ] || users_remove "$ALICE" "$BOB" "$OLGA" || status=1
	rm -rf -- "$SITE"
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/sh\n:\n' >plain.sh
}

# site: install the site's script from standard input. A new file replaces the old one at once.
site() {
	cat >"$SITE/new"
	chmod 0644 "$SITE/new"
	mv "$SITE/new" "$SITE/job_submit.lua"
}

# sets: install a script that makes a change in each submission, in Lua from standard input.
sets() {
	{
		echo 'function slurm_job_submit(desc, parts, uid)'
		cat
		printf 'return slurm.SUCCESS\nend\n'
	} | site
}

# submit [OPTION]...: submit a job that is held; its number is in `job`.
submit() {
	job=$(rota submit --parsable --hold --output=/dev/null "$@")
}

# asked COLUMNS: prints these columns of the request of the job's first step.
asked() {
	sql "select concat_ws(' ', $1) from rota.step_request where job_id = $job and step_id = ${2:-0}"
}

# jobs: prints the number of jobs, and the highest job number.
jobs() {
	sql "select count(*) || ' ' || coalesce(max(job_id), 0) from rota.job"
}

# busy RUNNERD: a process of this runnerd runs the script.
busy() {
	ps -o stat= -p "$(pgrep -d, -x rota-lua -P "$1")" | grep -q ^R
}

# seen_asking NAME: submit a job of this name by the process `client`; true as soon as a process of `runnerd` runs the script, false if the
# script has ended before that was seen.
seen_asking() {
	rota submit --parsable --hold --job-name="$1" plain.sh >asked 2>/dev/null 3>&- &
	client=$!
	until busy "$runnerd"; do
		kill -0 "$client" 2>/dev/null || return 1
		sleep 0.05
	done
}

# short_job: a job of user ALICE that the example sends to the partition short.
short_job() {
	job=$(as "$ALICE" rota submit --parsable --hold --time=30 --mem-per-cpu=9000 rules.sh 2>said)
	[ "$(asked 'partition, mem_per_cpu_mb')" = "short 8192" ]
}

@test "it sees what was asked for, in Slurm's units" {
	sets <<-'END'
		local step = desc.steps and desc.steps[2]
		desc.comment = table.concat({desc.name, desc.time_limit, desc.min_nodes, desc.num_tasks, desc.cpus_per_task,
			desc.pn_min_memory, desc.features, desc.partition, tostring(desc.account), desc.user_name == os.user and 1 or 2,
			uid == desc.user_id and "same" or "other", desc.argv[1], desc.environment.SEEN, step and step.name or "no step",
			step and step.time_limit or "-", tostring(desc.qos), desc.nice == slurm.NO_VAL and "unset" or desc.nice}, " ")
	END
	printf '#!/bin/sh\n#SBATCH -n 3 -C new\n#PBS -l walltime=1:30\n' >seen.sh
	SEEN=yes submit -N1 --mem=2G -c1 -p main seen.sh word
	[ "$(sql "select comment from rota.job where job_id = $job")" = \
		"seen.sh 2 1 3 1 2048 new main nil 2 same word yes no step - nil unset" ]
	printf '#!/bin/sh\n#ROTA -p side -n1 -N1 --mem=1 -C new -t 9 -c1\n#ROTA step one\n#ROTA step two -t 4\n' >two.sh
	SEEN=yes submit two.sh word
	[ "$(sql "select comment from rota.job where job_id = $job")" = \
		"two.sh 9 1 1 1 1 new side nil 2 same word yes two 4 nil unset" ]
}

@test "it sees the partitions that are open to the user" {
	sets <<-'END'
		local names = {}
		for name, part in pairs(parts) do
			names[#names + 1] = name .. ":" .. part.name .. ":" .. part.max_time .. ":" .. part.flag_default
		end
		table.sort(names)
		desc.comment = table.concat(names, " ")
	END
	submit plain.sh
	[ "$(sql "select comment from rota.job where job_id = $job")" = "main:main:4294967295:1 side:side:120:0" ]
}

@test "what it sets counts as options of the user" {
	sets <<-'END'
		desc.partition = "side"
		desc.time_limit = 90
		desc.min_nodes = 2
		desc.max_nodes = 2
		desc.num_tasks = 4
		desc.cpus_per_task = 2
		desc.pn_min_memory = 700
		desc.comment = "from the site"
		desc.name = "renamed"
		desc.account = "open"
		desc.requeue = 0
		desc.nice = 50
		desc.std_out = "/dev/full"
		desc.mail_type = slurm.MAIL_JOB_FAIL
	END
	submit --partition=main --time=5 --mem-per-cpu=10 plain.sh
	[ "$(asked 'partition, time_limit_s, nodes_min, nodes_max, ntasks, cpus_per_task, mem_mb, mem_per_cpu_mb, requeue')" = \
		"side 5400 2 2 4 2 700 f" ]
	[[ $(asked spec) == *"/dev/full"* ]]
	[ "$(sql "select concat_ws('|', name, account, comment, nice, mail_type) from rota.job where job_id = $job")" = \
		"renamed|open|from the site|50|FAIL" ]
	sets <<<'desc.features = "fast"; desc.req_nodes = "n1"; desc.licenses = nil; desc.min_mem_per_cpu = 20'
	submit --mem=10 plain.sh
	[ "$(asked 'nodelist, "constraint", mem_mb, mem_per_cpu_mb')" = "{n1} fast 20" ]
	sets <<<'desc.partition = nil; desc.time_limit = slurm.NO_VAL; desc.comment = nil'
	submit --partition=side --time=7 --comment=mine plain.sh
	[ "$(asked 'partition, time_limit_s')" = "main" ]
	[ "$(sql "select comment from rota.job where job_id = $job")" = "" ]
}

@test "a job that it changed runs, with the environment that it added" {
	sets <<-'END'
		desc.environment.SITE = "two words; $(id)"
		desc.environment.GONE = nil
		desc.partition = "side"
	END
	printf '#!/bin/sh\necho "$SITE|${GONE-gone}|$KEPT|$ROTA_PARTITION"\n' >run.sh
	job=$(GONE=1 KEPT=kept rota submit --parsable --output=out run.sh)
	rota wait "$job"
	[ "$(cat out)" = 'two words; $(id)|gone|kept|side' ]
	job=$(rota submit --parsable --export=NONE --output=out run.sh)
	rota wait "$job"
	[[ $(cat out) == 'two words; $(id)|gone||side' ]]
}

@test "rota run outside of a job is asked for, too" {
	sets <<<'slurm.log_user("hello"); desc.comment = "from the site"; desc.time_limit = 9'
	run -0 --separate-stderr rota run -n 1 sh -c 'echo "$ROTA_JOB_ID"'
	[[ $stderr == *"rota: hello"* ]]
	job=$output
	[ "$(sql "select comment from rota.job where job_id = $job")" = "from the site" ]
	[ "$(asked time_limit_s)" = 540 ]
	site <<<'function slurm_job_submit() return slurm.ERROR, "no sessions today" end'
	refused "refused by the site's script: no sessions today" rota run -n 1 true
}

@test "its changes are kept and shown to the owner" {
	sets <<<'desc.time_limit = 9; desc.admin_comment = "checked"; desc.environment.MARK = "x"'
	submit --time=5 plain.sh
	run -0 rota show "$job"
	[[ $output == *"Site set    time_limit = 9, before: 5"* ]]
	[[ $output == *"Site set    admin_comment = checked"* ]]
	[ "$(rota show --json "$job" | jq -r '.jobs[0].changes[] | [.by, .field, .before, .after] | join(" ")')" = \
		$'job_submit time_limit 5 9\njob_submit admin_comment  checked\njob_submit environment.MARK  x' ]
	[ "$(rota sql -Atc "select field || '=' || after from acct.job_change where job_id = $job order by change")" = \
		$'time_limit=9\nadmin_comment=checked\nenvironment.MARK=x' ]
	site <<<'function slurm_job_submit() end'
	submit plain.sh
	[ "$(rota show --json "$job" | jq -c '.jobs[0].changes')" = "[]" ]
}

@test "others do not see the changes of a job" {
	need_root
	sets <<<'desc.comment = "from the site"'
	cp plain.sh "$ROTA_TEST_DIR/$ALICE/"
	cd "$ROTA_TEST_DIR/$ALICE"
	job=$(as "$ALICE" rota submit --parsable --hold plain.sh)
	[ "$(as "$ALICE" rota show --json "$job" | jq -r '.jobs[0].changes[0].after')" = "from the site" ]
	[ "$(as "$BOB" rota show --json "$job" | jq '.jobs[0].changes')" = null ]
	[ "$(as "$OLGA" rota show --json "$job" | jq -r '.jobs[0].changes[0].after')" = "from the site" ]
	[[ $(as "$BOB" rota show "$job") != *"from the site"* ]]
}

@test "what the user may not have is refused as if the user had asked for it" {
	need_root
	sets <<<'desc.account = "closed"'
	before=$(jobs)
	cp plain.sh "$ROTA_TEST_DIR/$ALICE/"
	cd "$ROTA_TEST_DIR/$ALICE"
	refused "--account: set by the site's script: \"$ALICE\" may not use account \"closed\"" as "$ALICE" rota submit plain.sh
	[[ $output == *"The site's script set: account."* ]]
	[ "$(jobs)" = "$before" ]
	cp plain.sh "$ROTA_TEST_DIR/$BOB/"
	cd "$ROTA_TEST_DIR/$BOB"
	job=$(as "$BOB" rota submit --parsable --hold plain.sh)
	[ "$(sql "select account from rota.job where job_id = $job")" = closed ]
	sets <<<'desc.priority = 9'
	refused "only operators give priority" as "$BOB" rota submit plain.sh
}

@test "accounts by group" {
	need_root
	sets <<-END
		local of_group = {[$(id -g "$BOB")] = "closed", [$(id -g "$ALICE")] = "open"}
		desc.account = desc.account or of_group[desc.group_id]
	END
	for user in "$ALICE open" "$BOB closed"; do
		cp plain.sh "$ROTA_TEST_DIR/${user% *}/"
		cd "$ROTA_TEST_DIR/${user% *}"
		job=$(as "${user% *}" rota submit --parsable --hold plain.sh)
		[ "$(sql "select account from rota.job where job_id = $job")" = "${user#* }" ]
	done
}

@test "a refusal says why, and leaves nothing" {
	before=$(jobs)
	site <<<'function slurm_job_submit() slurm.log_user("read the rules, %d of them", 3); return slurm.ESLURM_INVALID_QOS end'
	run -1 rota submit plain.sh
	[ "$output" = $'rota: read the rules, 3 of them\nrota: refused by the site\'s script: Invalid qos specification' ]
	run -1 --separate-stderr rota submit --json plain.sh
	[ "$(jq -r '.error.message' <<<"$output")" = "refused by the site's script: Invalid qos specification" ]
	[[ $stderr == *"read the rules"* ]]
	site <<<'function slurm_job_submit() return slurm.ERROR, "not on Fridays" end'
	refused "refused by the site's script: not on Fridays" rota submit plain.sh
	site <<<'function slurm_job_submit() return slurm.ERROR end'
	refused "refused by the site's script: Unspecified error" rota submit plain.sh
	refused "refused by the site's script" rota submit --each plain.sh plain.sh
	site <<<'function slurm_job_submit() slurm.log_user(("ü"):rep(2000)); return slurm.ERROR, ("ä"):rep(2000) end'
	run -1 rota submit plain.sh
	[[ ${lines[0]} == "rota: üüü"*"..." && ${lines[1]} == "rota: refused by the site's script: äää"*"..." ]]
	[ "$(jobs)" = "$before" ]
}

@test "texts for the user come before the number of the job" {
	site <<<'function slurm_job_submit() slurm.log_user("hello\nand \27[31mmore"); slurm.user_msg("bye"); return 0 end'
	run -0 rota submit --hold plain.sh
	[[ $output == $'rota: hello\nrota: and ?[31mmore\nrota: bye\njob '* ]]
	run -0 --separate-stderr rota submit --hold --json plain.sh
	[ "$(jq -c '.messages' <<<"$output")" = '["hello","and ?[31mmore","bye"]' ]
	[[ $stderr == *"rota: hello"* ]]
	run -0 --separate-stderr rota submit --hold --parsable plain.sh
	[[ $output =~ ^[0-9]+$ ]]
}

@test "its log is that of jobmgrd" {
	sets <<<'slurm.log_info("saw %s of %d", desc.name, uid)'
	submit plain.sh
	eventually grep -q "info jobmgrd: job_submit: saw plain.sh of $(id -u)" "$ROTA_HOME/log/jobmgrd.log"
}

@test "another script is translated, kept and run instead of the user's" {
	sets <<-'END'
		if desc.name == "plain.sh" then
			desc.script = desc.script:gsub("\n:\n", "\n#ROTA step a --time=7\necho from the site\n#ROTA step b --output=/dev/null\ntrue\n")
		end
	END
	job=$(rota submit --parsable --output=out plain.sh)
	rota wait --timeout=300 "$job"
	[ "$(cat out)" = "from the site" ]
	[ "$(asked time_limit_s)" = 420 ]
	[ "$(sql "select count(*) from rota.step where job_id = $job")" = 2 ]
	rota show --script "$job" | grep -q "from the site"
	# The record has digests instead of scripts.
	before="2 lines, SHA-256 $(sha256sum <plain.sh | cut -d ' ' -f 1)"
	after="5 lines, SHA-256 $(rota show --script "$job" | sha256sum | cut -d ' ' -f 1)"
	rota show "$job" | grep -q "Site set *script = $after, before: $before$"
	[ "$(rota show --json "$job" | jq -r '.jobs[0].changes[0] | .before, .after')" = "$before"$'\n'"$after" ]
	[ "$(sql "select before from rota.job_change where job_id = $job")" = "$before" ]
	# Lines in errors are those of the new script, so they are not named as the user's.
	sets <<<'desc.script = "#!/bin/sh\n#ROTA --tme=5\n"'
	refused "plain.sh (changed by the site's script):2: --tme: unknown option" rota submit plain.sh
	refused "plain.sh (changed by the site's script):2: --tme" rota check plain.sh
	sets <<<'desc.script = "#!/bin/sh\n" .. string.rep("#\n", 600000)'
	refused "answer is too long" rota submit plain.sh
	# Of several jobs in a submission, each has a record of its own.
	cp plain.sh other.sh
	sets <<<'if desc.name == "other.sh" then desc.script = "#!/bin/sh\necho changed\n" end'
	rota submit --parsable --hold --each plain.sh other.sh plain.sh >each
	sed -n 2p each | grep -q '^[0-9]*$'
	for i in 1 2 3; do
		rota show --script "$(sed -n ${i}p each)" >"script.$i"
	done
	! grep -q changed script.1 script.3 || false
	grep -q changed script.2
	# A job that is modified keeps its script.
	submit plain.sh
	site <<-'END'
		function slurm_job_submit() return 0 end
		function slurm_job_modify(desc) desc.script = "#!/bin/sh" return 0 end
	END
	refused "a job that was submitted keeps its script" rota modify --time=5 "$job"
}

@test "priorities of qualities of service" {
	rota admin qos create fast --priority=77
	site <<-'END'
		function slurm_job_submit(desc)
			slurm.log_user("%s %s", slurm.get_qos_priority("fast"), slurm.get_qos_priority("nowhere"))
			return 0
		end
	END
	said() { rota submit --hold plain.sh 2>&1 | grep -q "rota: 77 nil"; }
	eventually said # jobmgrd reads the setting once a second
}

@test "what cannot be changed, or is malformed, is refused by its field" {
	before=$(jobs)
	while read -r field change; do
		sets <<<"$change"
		refused "set by the site's script" rota submit plain.sh
		[[ $output == *"($field)"* ]] || { echo "$change: $output"; false; }
	done <<-'END'
		script desc.script = ""
		script desc.script = nil
		script desc.script = 7
		script desc.script = "#!/bin/sh\0"
		burst_buffer desc.burst_buffer = "#BB_LUA one"
		threads_per_core desc.threads_per_core = 1
		time_limit desc.time_limit = "soon"
		time_limit desc.time_limit = -5
		time_limit desc.time_limit = {}
		partition desc.partition = "a b"
		partition desc.partition = "side --account=closed"
		min_nodes desc.min_nodes = -1
		requeue desc.requeue = 7
		features desc.features = "a&&b"
		dependency desc.dependency = "afterok:nothing"
		mail_type desc.mail_type = 2^20
		environment desc.environment = 7
		environment.A=B desc.environment["A=B"] = "x"
		argv desc.argv = {"x"}
	END
	sets <<<'desc.partition = "nowhere"'
	refused 'set by the site' rota submit plain.sh
	[[ $output == *nowhere* ]]
	sets <<<'desc.min_nodes = 9'
	refused 'nodes' rota submit plain.sh
	[ "$(jobs)" = "$before" ]
}

@test "hostile values stay values" {
	before=$(jobs)
	sets <<<'desc.comment = "a\n#ROTA --account=closed\n"'
	refused "(comment)" rota submit plain.sh
	sets <<<'desc.comment = ("x"):rep(100000)'
	refused "(comment)" rota submit plain.sh
	sets <<<'desc.comment = "a\0b"'
	refused "" rota submit plain.sh
	sets <<<'desc.environment.A = "a\0b"'
	refused "" rota submit plain.sh
	sets <<<'desc.environment.A = ("x"):rep(200000)'
	refused "(environment.A)" rota submit plain.sh
	[ "$(jobs)" = "$before" ]
	sets <<<'desc.comment = "--account=closed \"; drop table rota.job; $(id)"; desc.name = "-p side"'
	submit plain.sh
	[ "$(sql "select name || '|' || comment || '|' || coalesce(account, '') from rota.job where job_id = $job")" = \
		'-p side|--account=closed "; drop table rota.job; $(id)|' ]
	sets <<<'desc.environment.A = "a\nB=c"'
	printf '#!/bin/sh\nprintf "%%s|%%s" "$A" "${B-none}"\n' >env.sh
	job=$(rota submit --parsable --output=out env.sh)
	rota wait "$job"
	[ "$(cat out)" = $'a\nB=c|none' ]
}

@test "it cannot make a job somebody else's" {
	need_root
	sets <<<'desc.user_id = 0; desc.uid = 0; desc.group_id = 0; desc.user_name = "root"; desc.no_such_field = 1'
	cp plain.sh "$ROTA_TEST_DIR/$ALICE/"
	cd "$ROTA_TEST_DIR/$ALICE"
	job=$(as "$ALICE" rota submit --parsable --hold plain.sh)
	[ "$(sql "select user_name || uid from rota.job where job_id = $job")" = "$ALICE$(id -u "$ALICE")" ]
	eventually grep -q 'set the field "user_id" of the user, which is ignored' "$ROTA_HOME/log/jobmgrd.log"
	eventually grep -q 'set the field "no_such_field", which is ignored' "$ROTA_HOME/log/jobmgrd.log"
}

@test "errors of the user's script keep their lines" {
	sets <<<'desc.partition = "side"'
	printf '#!/bin/sh\n#ROTA --time=5\n#ROTA step one\n:\n#ROTA step two --tme=5\n:\n' >wrong.sh
	refused 'wrong.sh:5: --tme: unknown option' rota submit wrong.sh
	printf '#!/bin/sh\n#ROTA --time=5\n#ROTA step one\n:\n#ROTA step two --partition=nowhere\n:\n' >wrong.sh
	refused 'wrong.sh:5: --partition' rota submit wrong.sh
	printf '#!/bin/sh\n#ROTA --time=5\n#ROTA step one\n:\n#ROTA step two --partition=main\n:\n' >right.sh
	submit right.sh
	[ "$(asked partition) $(asked partition 1)" = "side main" ]
}

@test "a partition that is chosen in time saves a job that the default one refuses" {
	rota admin partition change main --max-time=10
	sets <<<'if desc.partition == nil and desc.time_limit > parts.main.max_time then desc.partition = "side" end'
	eventually submit --time=60 plain.sh # jobmgrd reads the limits of partitions once a second
	[ "$(asked partition)" = side ]
	rota admin partition change main --max-time=0
}

@test "arrays, and many jobs of one request" {
	sets <<<'if desc.array_inx then desc.array_inx = "0-3%2" end; desc.comment = desc.name .. " " .. tostring(desc.array_inx)'
	submit --array=0-9 plain.sh
	[ "$(sql "select size || ' ' || max_running from rota.step_array where job_id = $job")" = "4 2" ]
	cp plain.sh other.sh
	run -0 rota submit --each --parsable --hold plain.sh other.sh
	[ "$(sql "select string_agg(comment, ' ' order by job_id) from rota.job where job_id = any ('{${output//$'\n'/,}}')")" = \
		"plain.sh nil other.sh nil" ]
	sets <<<'if desc.name == "other.sh" then return slurm.ERROR, "not this one" end; desc.environment.N = desc.name'
	before=$(jobs)
	refused "other.sh" rota submit --each --hold plain.sh other.sh
	[ "$(jobs)" = "$before" ]
	sets <<<'desc.environment.N = desc.name'
	printf '#!/bin/sh\necho "$N"\n' | tee one.sh two.sh >/dev/null
	rota submit --each --wait --output=%x.out one.sh two.sh
	[ "$(cat one.sh.out two.sh.out)" = $'one.sh\ntwo.sh' ]
}

@test "ten submissions at once" {
	sets <<<'local n = 0; for i = 1, 1e5 do n = n + i end; desc.comment = "seen " .. desc.name'
	for i in {1..10}; do
		rota submit --parsable --hold --job-name="at-once-$i" plain.sh >"once.$i" 3>&- &
	done
	wait
	[ "$(cat once.* | sort -u | wc -l)" = 10 ]
	[ "$(sql "select count(*) from rota.job where name like 'at-once-%' and comment = 'seen ' || name")" = 10 ]
}

@test "a submission that is repeated asks again and makes no second job" {
	sets <<<'desc.comment = "first"'
	one=$(rota submit --parsable --hold --client-key=again plain.sh)
	sets <<<'slurm.log_user("asked again"); desc.comment = "second"'
	run -0 rota submit --hold --client-key=again plain.sh
	[[ $output == *"asked again"*"job $one "*"submitted before with this key"* ]]
	[ "$(sql "select string_agg(after, ' ') from rota.job_change where job_id = $one")" = first ]
	site <<<'function slurm_job_submit() return slurm.ERROR end'
	refused "refused by the site's script" rota submit --hold --client-key=again plain.sh
}

@test "rota check asks it, too" {
	site <<<'function slurm_job_submit() return slurm.ERROR, "no" end'
	refused "refused by the site's script: no" rota check plain.sh
	sets <<<'desc.time_limit = 5'
	rota check plain.sh
}

@test "a job that is too large to be judged is refused" {
	sets <<<'desc.comment = "seen"'
	{
		printf '#!/bin/sh\n: '
		head -c 1100000 /dev/zero | tr '\0' x
		echo
	} >large.sh
	refused "larger than the site's script may read" rota submit --hold large.sh
}

@test "modifications are asked for, and changed" {
	site <<-'END'
		function slurm_job_submit() return 0 end
		function slurm_job_modify(desc, rec, parts, uid)
			if desc.partition and desc.partition ~= rec.partition then
				return slurm.ERROR, "stay in " .. rec.partition
			end
			if desc.time_limit ~= slurm.NO_VAL then
				slurm.log_user("was %d", rec.time_limit)
				desc.comment = desc.time_limit .. " after " .. rec.time_limit .. " of " .. rec.name
				desc.time_limit = desc.time_limit + 1
			end
			return 0
		end
	END
	submit --time=5 plain.sh
	run -0 rota modify --time=7 "$job"
	[[ $output == *"rota: was 5"* ]]
	[ "$(asked time_limit_s)" = 480 ]
	[ "$(sql "select comment from rota.job where job_id = $job")" = "7 after 5 of plain.sh" ]
	[ "$(sql "select string_agg(made_by || ' ' || field || ' ' || after, ',' order by change) from rota.job_change where job_id = $job")" = \
		"job_modify comment 7 after 5 of plain.sh,job_modify time_limit 8" ]
	refused "refused by the site's script: stay in main" rota modify --partition=side "$job"
	[ "$(asked partition)" = main ]
	one=$job
	submit --time=20 --job-name=other plain.sh
	rota modify --time=9 "$one" "$job"
	[ "$(sql "select string_agg(comment, ',' order by job_id) from rota.job where job_id in ($one, $job)")" = \
		"9 after 8 of plain.sh,9 after 20 of other" ]
}

@test "modifications by operators are asked for, and give them no other rights" {
	need_root
	site <<-'END'
		function slurm_job_submit() return 0 end
		function slurm_job_modify(desc, rec, parts, uid)
			if desc.nice ~= slurm.NO_VAL then desc.std_out = "/dev/full" end
			desc.comment = "by " .. (uid == rec.user_id and "owner" or "other")
			return 0
		end
	END
	cp plain.sh "$ROTA_TEST_DIR/$ALICE/"
	cd "$ROTA_TEST_DIR/$ALICE"
	job=$(as "$ALICE" rota submit --parsable --hold plain.sh)
	as "$ALICE" rota modify --time=7 "$job"
	[ "$(sql "select comment from rota.job where job_id = $job")" = "by owner" ]
	as "$OLGA" rota modify --time=8 "$job"
	[ "$(sql "select comment from rota.job where job_id = $job")" = "by other" ]
	refused "only the owner" as "$OLGA" rota modify --nice=5 "$job"
	refused "" as "$BOB" rota modify --time=9 "$job"
}

@test "without slurm_job_modify, modifications are as they were asked for" {
	site <<<'function slurm_job_submit() return 0 end'
	submit --time=5 plain.sh
	rota modify --time=7 "$job"
	[ "$(asked time_limit_s)" = 420 ]
}

@test "a script that is broken refuses, and a good one heals at once" {
	before=$(jobs)
	while IFS= read -r text; do
		site <<<"$text"
		refused "the site's script job_submit could not be asked" rota submit --hold plain.sh
	done <<-'END'
		function slurm_job_submit( return 0 end
		function slurm_job_submit() return nothing.at_all end
		function slurm_job_submit() error("on purpose") end
		function slurm_job_submit() return "yes" end
		x = 1
		function slurm_job_submit() while true do end end
	END
	rm "$SITE/job_submit.lua"
	refused "the site's script job_submit could not be asked" rota submit --hold plain.sh
	[ "$(jobs)" = "$before" ]
	site <<<'function slurm_job_submit() return 0 end'
	submit plain.sh
}

@test "without runnerd nothing is submitted; with the next one it is" {
	site <<<'function slurm_job_submit() return 0 end'
	before=$(jobs)
	kill_now "$(pid_of runnerd)"
	refused "the site's script job_submit could not be asked" rota submit --hold plain.sh
	[ "$(jobs)" = "$before" ]
	rota up >/dev/null
	submit plain.sh
	daemon_again runnerd
	submit plain.sh
}

@test "clients that leave, and a jobmgrd that ends, while the script is asked" {
	# This search takes about a second.
	slow='function slurm_job_submit(desc) ("x"):rep(2e4):find("x-y"); desc.comment = "slow" return 0 end'
	runnerd=$(pid_of runnerd)
	site <<<"$slow"
	for i in {1..4}; do
		eventually seen_asking left
		kill -KILL "$client" || true # the call may have its answer already
		wait "$client" || true
	done
	site <<<'function slurm_job_submit() return 0 end'
	submit plain.sh
	site <<<"$slow"
	tries=0
	again() { tries=$((tries + 1)) && seen_asking "restarted-$tries"; }
	eventually again
	# The client is stopped meanwhile: it tries again for three seconds, and starting jobmgrd may take longer.
	kill -STOP "$client"
	kill -TERM "$(pid_of jobmgrd)"
	rota up >/dev/null
	kill -CONT "$client"
	wait "$client"
	[ "$(sql "select string_agg(comment, ' ') from rota.job where name = 'restarted-$tries' and job_id = $(cat asked)")" = slow ]
	[ "$(sql "select count(*) from rota.job where name = 'restarted-$tries'")" = 1 ]
}

@test "the example of the documentation" {
	need_root
	rota admin partition create short --nodes=n1 --max-time=1:00:00
	rota admin account create physics
	sed "s/\[2000\]/[$(id -g "$ALICE")]/" "$ROTA_SOURCE/examples/hooks/job_submit.lua" | site
	cp plain.sh "$ROTA_TEST_DIR/$ALICE/"
	cd "$ROTA_TEST_DIR/$ALICE"
	refused "needs a time limit" as "$ALICE" rota submit plain.sh
	printf '#!/bin/sh\necho "$SITE_RULES"\n' >rules.sh
	eventually short_job # jobmgrd reads the partitions once a second
	[ "$(cat said)" = "rota: memory was lowered from 9000 to 8192 MiB for each CPU" ]
	[ "$(sql "select account from rota.job where job_id = $job")" = physics ]
	refused "submit it to partition main instead" as "$ALICE" rota modify --partition=main "$job"
	rota modify --partition=main "$job"
	job=$(as "$ALICE" rota submit --parsable --time=30 --output=rules.out rules.sh)
	rota wait "$job"
	[ "$(cat rules.out)" = 1 ]
}

@test "hooks.broken = accept: jobs pass without the script while it is broken" {
	rota down
	sed -i 's/^broken *=.*/broken = accept/' "$ROTA_HOME/etc/rota.conf"
	rota up >/dev/null
	site <<<'function slurm_job_submit() error("on purpose") end'
	submit --time=5 plain.sh
	[ "$(asked time_limit_s)" = 300 ]
	eventually grep -q "accepted a job of uid $(id -u) without the site's script job_submit" "$ROTA_HOME/log/jobmgrd.log"
	rota modify --time=7 "$job"
	site <<<'function slurm_job_submit() return slurm.ERROR end'
	refused "refused by the site's script" rota submit --hold plain.sh
	sets <<<'desc.time_limit = "soon"'
	refused "(time_limit)" rota submit --hold plain.sh
	kill_now "$(pid_of runnerd)"
	submit plain.sh
	rota up >/dev/null
}
