# staging.bash - an instance with a burst_buffer.lua that records its calls. A file of tests does `load helper` and `load staging`, then
# site_make and instance_up with "${SITE_OPTIONS[@]}" in setup_file, and site_remove in teardown_file.

# site_make <<END: in the new folder SITE, a burst_buffer.lua of these lines. Before them it has the functions
#   exists(PATH), read(PATH), write(PATH, TEXT[, MODE]): of a file; a text that cannot be read is nil
#   record(FUNCTION, JOB, ARGUMENTS): add a line to log.JOB, and a line with user, groups, folder and environment to process.JOB
#   behave(FUNCTION, JOB, SCRIPT): copy the script to script.JOB.FUNCTION, and do what directives and files ask. Directives: fail=F: it fails, until there is a file
#   healed.JOB; hang=F: it does not end, and sleeper.JOB has the process that it waits for; wait=F: it waits for a file go.JOB; busy=F: it is polled until there is a file go.JOB; late=F:
#   when it is killed, it says that it has succeeded. Files: fail.F and wait.F, while they are there.
site_make() {
	SITE=$(mktemp -d /tmp/rota-site.XXXXXX) # where the daemons' account can go
	export SITE
	chmod 1777 "$SITE"
	export SITE_MARK=$$
	{
		printf 'local site, mark = "%s", " 0.0%s"\n' "$SITE" "$SITE_MARK"
		cat <<-'END'
			local function read(path)
				local f = io.open(path)
				if not f then return nil end
				local text = f:read("a")
				f:close()
				return text
			end
			local function exists(path)
				return read(path) ~= nil
			end
			local function write(path, text, mode)
				local f = assert(io.open(path, mode or "w"))
				f:write(text)
				f:close()
			end
			local function record(name, job, arguments)
				local status = read("/proc/self/status")
				local p = io.popen("pwd")
				write(site .. "/process." .. job, table.concat({name, status:match("\nUid:%s*(%d+)"), status:match("\nGid:%s*(%d+)"),
					p:read("l"), (read("/proc/self/environ"):gsub("%z", " "))}, " ") .. "\n", "a")
				p:close()
				write(site .. "/log." .. job, name .. " " .. table.concat(arguments, " ") .. "\n", "a")
				print(name .. " of job " .. job)
			end
			local function behave(name, job, script)
				local text = read(script)
				write(site .. "/script." .. job .. "." .. name, text)
				local asked = function(word) return text:find("\n#[A-Z_]+[^\n]* " .. word .. "=" .. name .. "%f[%s]") end
				if asked("hang") or asked("late") then
					os.execute("echo $$ >" .. site .. "/sleeper." .. job .. "; exec sleep 1000.0" .. job .. mark)
				end
				-- One shell waits, for a process with sanitizers takes long to fork.
				if asked("wait") then os.execute("until [ -e " .. site .. "/go." .. job .. " ]; do sleep 0.2; done") end
				if exists(site .. "/wait." .. name) then os.execute("while [ -e " .. site .. "/wait." .. name .. " ]; do sleep 0.2; done") end
				if asked("fail") and not exists(site .. "/healed." .. job) or exists(site .. "/fail." .. name) then
					return slurm.ERROR, name .. " says no"
				end
				if asked("busy") and not exists(site .. "/go." .. job) then return slurm.SUCCESS, "BUSY" end
				return slurm.SUCCESS
			end
		END
		cat
	} >"$SITE/burst_buffer.lua"
	chmod 0644 "$SITE/burst_buffer.lua"
	SITE_OPTIONS=(--cpus 8 --mem 8000 --set node.grace=1 --set schedule.period=1 --set hooks.burst_buffer="$SITE/burst_buffer.lua"
		--set hooks.call_seconds=60 --set hooks.poll_interval=1)
}

site_remove() {
	rm -rf -- "$SITE"
}

# recorder: a burst_buffer.lua with all functions, each of which records its arguments and behaves. pools names the pool space, and does not end while there is
# a file hang.pools. real_size does what the script of data_in asks. paths writes three variables, or, if there is a file bad.JOB, what is none. get_status answers with its arguments, or does what the first word says.
recorder() {
	cat <<-'END'
		for _, name in ipairs{"data_in", "test_data_in", "pre_run", "post_run", "data_out", "test_data_out"} do
			_G["slurm_bb_" .. name] = function(job, script, uid, gid, info)
				record(name, job, {uid, gid, info.user_name, tostring(info.job_state)})
				return behave(name, job, script)
			end
		end
		function slurm_bb_setup(job, uid, gid, pool, size, script, info)
			record("setup", job, {uid, gid, pool, size, tostring(info.no_such_field)})
			return behave("setup", job, script)
		end
		function slurm_bb_pools()
			if exists(site .. "/hang.pools") then os.execute("exec sleep 1000.0" .. mark) end
			return slurm.SUCCESS, '{"pools": [{"id": "space", "quantity": 100, "granularity": 1}]}'
		end
		function slurm_bb_real_size(job, uid, gid, info)
			record("real_size", job, {uid, gid, info.user_name, tostring(info.job_state)})
			return behave("real_size", job, site .. "/script." .. job .. ".data_in")
		end
		function slurm_bb_paths(job, script, path, uid, gid, info)
			record("paths", job, {uid, gid})
			write(path, exists(site .. "/bad." .. job) and "1=2\n" or "BB_PATH=/fast/" .. job .. "\nBB_EMPTY=\nBB_SIGN=a=b\n")
			return behave("paths", job, script)
		end
		function slurm_bb_job_teardown(job, script, hurry, uid, gid)
			record("job_teardown", job, {hurry, uid, gid})
			return behave("job_teardown", job, script)
		end
		function slurm_bb_get_status(uid, gid, first, ...)
			if first == "fail" then return slurm.ERROR, ... end
			if first == "bytes" then return slurm.SUCCESS, "a\tb\0c\27\nd\n" end
			if first == "break" then error("broken") end
			if first == "size" then return slurm.SUCCESS, string.rep("x", tonumber((...))) end
			if first == "hang" then write(site .. "/asked." .. (...), ""); os.execute("sleep 1000.0" .. mark) end
			return slurm.SUCCESS, table.concat({uid, gid, tostring(first), ...}, "|")
		end
	END
}

# The functions of the recorder, in the order in which a plain job has them called.
ALL="setup data_in test_data_in paths pre_run post_run data_out test_data_out job_teardown"

# submit DIRECTIVE [OPTION]...: a job with this directive, which prints what its environment has of burst_buffer.lua.
submit() {
	printf '#!/bin/bash\n#BB_LUA %s\nenv | grep ^BB_ | sort >%s/environment.$ROTA_JOB_ID\n' "$1" "$SITE" >"$BATS_TEST_TMPDIR/script"
	shift
	(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null "$@" script)
}

staging() {
	sql "select state from rota.staging where job_id = $1"
}

is_staging() {
	[ "$(staging "$1")" = "$2" ]
}

# runs JOB FUNCTION: this function of the job's is under way, and has been recorded.
runs() {
	[ "$(sql "select function from rota.staging_call where job_id = $1 and began_at is not null and ended_at is null")" = "$2" ] &&
		grep -q "^$2 " "$SITE/log.$1"
}

# called JOB: the functions that were called, in order.
called() {
	sed 's/ .*//' "$SITE/log.$1" | paste -sd' '
}

# sleeps [JOB]: a function of the job's, or get_status, sleeps for ever.
sleeps() {
	pgrep -fx "sleep 1000\.0${1:-} 0\.0$SITE_MARK" >/dev/null
}

# functions_are_called: jobmgrd serves, and runnerd calls functions for it.
functions_are_called() {
	rota admin hook status >/dev/null
}

# daemon_kill NAME: SIGKILL for jobmgrd, runnerd or postgres, and then the ordinary start, which would take a daemon that still holds its lock
# for one that runs.
daemon_kill() {
	if [ "$1" = postgres ]; then
		kill_now "$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")"
	else
		kill_now "$(pid_of "$1")"
	fi
	rota up >/dev/null
	eventually functions_are_called
}
