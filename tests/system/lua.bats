#!/usr/bin/env bats
# Functions of the site's Lua scripts: rota-lua, which runs them, and the hook socket of runnerd, by which jobmgrd asks for them.

load helper

setup_file() {
	export LUA_HOOK=rslh$$ EVE=rsle$$
	[ "$EUID" != 0 ] || users_add "$LUA_HOOK" "$EVE"
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.lua.XXXXXX")
	export SITE
	chmod 0755 "$SITE"
	install_script 'desc.comment = desc.name'
	cat >"$SITE/burst_buffer.lua" <<-'END'
		function slurm_bb_job_process(job_script, uid, gid, job_info)
			if uid == "0" then return slurm.ERROR, "not root" end
			return slurm.SUCCESS, job_script .. " " .. job_info.account
		end
	END
	instance_up 1 --cpus 2 --mem 2000 --set mail.program=/nowhere --set hooks.job_submit="$SITE/job_submit.lua" \
		--set hooks.burst_buffer="$SITE/burst_buffer.lua" --set hooks.call_seconds=6 $([ "$EUID" != 0 ] || echo "--set controller.account=$LUA_HOOK")
	export SOCKET=$ROTA_HOME/run/hook/hook.sock
	CLIENT=$(dirname "$BATS_TEST_FILENAME")/hook_client.py
	export CLIENT
	eventually test -S "$SOCKET"
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$SITE"
	[ "$EUID" != 0 ] || users_remove "$LUA_HOOK" "$EVE" || status=1
	return "$status"
}

# install_script BODY: the site's slurm_job_submit has this body.
install_script() {
	printf 'function slurm_job_submit(desc, parts, uid)\n%s\nreturn slurm.SUCCESS\nend\n' "$1" >"$SITE/job_submit.new"
	mv "$SITE/job_submit.new" "$SITE/job_submit.lua"
}

# submit_request ID [NAME]: prints a request of job_submit.
submit_request() {
	printf '%s job_submit slurm_job_submit {"desc":{"name":"%s"},"parts":[],"uid":1000}\n' "$1" "${2:-a}"
}

# ask [USER]: send the lines of standard input to runnerd, as this user, and print the answers.
ask() {
	${1:+as "$1"} python3 "$CLIENT" "$SOCKET" lines
}

# Prints the processes of this instance that run scripts.
workers() {
	pgrep -P "$(pid_of runnerd)" -x rota-lua || true
}

# serve NAME [OPTION]...: let rota-lua answer one call of a script, standard input.
serve() {
	local name=$1
	shift
	cat >"$BATS_TEST_TMPDIR/$name.lua"
	timeout 60 rota-lua serve --job-submit "$BATS_TEST_TMPDIR/$name.lua" "$@" \
		<<<'job_submit slurm_job_submit {"desc":{"name":"x","environment":{"A":"b"}},"parts":[{"name":"p"}],"uid":5}'
}

# call FUNCTION [REQUEST]: let rota-lua call a function of the script bb.lua. The answer is in `answer`, the output in `output`.
call() {
	run timeout 60 rota-lua call "$BATS_TEST_TMPDIR/bb.lua" "$1" 3>"$BATS_TEST_TMPDIR/answer" <<<"${2:-{\}}"
	answer=$(cat "$BATS_TEST_TMPDIR/answer")
}

bb() {
	cat >"$BATS_TEST_TMPDIR/bb.lua"
}

@test "rota up warns of no account where scripts have one of their own" {
	run ! grep warning "$ROTA_TEST_DIR/up.log"
}

@test "call: arguments, job_info, output and return values" {
	bb <<-'END'
		function slurm_bb_setup(job_id, uid, gid, pool, size, script, info)
			print("printed", job_id, pool)
			slurm.log_info("info %s", size)
			slurm.log_error("broken %d", 5)
			io.write(os.getenv("ROTA_CLUSTER") or "none", "\n")
			assert(next(info) == nil and info.nothing == nil)
			return slurm.SUCCESS, info.account
		end
		function slurm_bb_real_size() return "0", 5 end
		function slurm_bb_data_in() return slurm.ERROR, "no room" end
		function slurm_bb_data_out() return nil, "no value" end
		function slurm_bb_pre_run() local x = nil; return x.y end
		function slurm_bb_post_run() end
		function slurm_bb_test_data_in() return slurm.SUCCESS, "busy" end
		function slurm_bb_paths() return 0, {} end
		function slurm_bb_teardown(id, script, hurry) return 0, hurry end
		function slurm_bb_get_status(...) return 0, table.concat({...}, " ") end
		function slurm_bb_pools() return true end
		function slurm_bb_job_process(script, uid, gid, info) info.account = "x" end
	END
	ROTA_CLUSTER=demo call setup '{"args":["62","1000","100","(null)","0","/s"],"job_info":{"account":"phys"}}'
	[ "$status" = 0 ]
	[ "$output" = $'printed\t62\t(null)\ninfo 0\nerror: broken 5\ndemo' ]
	[ "$(jq -c '[.rc, .message, .busy]' <<<"$answer")" = '[0,"phys",false]' ]
	while read -r function expected; do
		call "$function" '{"args":["62","/s","true"],"job_info":{"account":"phys"}}'
		[ "$status" = 0 ]
		# Lua shortens a long path at its beginning.
		[ "$(jq -c '[.rc, (.message | if . then sub("^[^ ]*/"; "") else . end), .busy]' <<<"$answer")" = "$expected" ] || { echo "$function: $answer"; false; }
	done <<-'END'
		real_size [0,"5",false]
		data_in [-1,"no room",false]
		data_out [-1,"no value",false]
		pre_run [-1,"bb.lua:12: attempt to index a nil value (local 'x')",false]
		post_run [0,null,false]
		test_data_in [0,"busy",true]
		paths [-1,null,false]
		job_teardown [0,"true",false]
		get_status [0,"62 /s true",false]
		pools [-1,null,false]
		job_process [-1,"bb.lua:19: job_info cannot be changed: field \"account\"",false]
		test_data_out [0,null,false]
	END
}

@test "call: a script that cannot be loaded, and a wrong request" {
	bb <<<'function slurm_bb_setup( end'
	call setup
	[ "$(jq .rc <<<"$answer")" = -1 ]
	[[ $(jq -r .message <<<"$answer") == *bb.lua:1:* ]]
	rm "$BATS_TEST_TMPDIR/bb.lua"
	call setup
	[[ $(jq -r .message <<<"$answer") == *"cannot open"* ]]
	bb <<<''
	call nonsense
	[ "$status" = 1 ]
	[[ $output == *"no function of burst_buffer.lua"* ]]
	call setup '{"args":[1]}'
	[[ $output == *"no array of texts"* ]]
	[ -z "$answer" ]
	call setup 'x'
	[[ $output == *"not JSON"* ]]
}

@test "call: SIGTERM ends the script and what it runs, and is never a success" {
	bb <<-'END'
		function slurm_bb_data_in(pid)
			os.execute("echo $$ >" .. pid .. "; exec sleep 1000")
			return slurm.SUCCESS
		end
	END
	pid_file=$BATS_TEST_TMPDIR/pid
	printf '{"args":["%s"]}' "$pid_file" >"$BATS_TEST_TMPDIR/request"
	setsid rota-lua call "$BATS_TEST_TMPDIR/bb.lua" data_in <"$BATS_TEST_TMPDIR/request" 3>"$BATS_TEST_TMPDIR/answer" &
	caller=$!
	eventually test -s "$pid_file"
	kill "$caller"
	status=0
	wait "$caller" || status=$?
	[ "$status" = 143 ]
	[ ! -s "$BATS_TEST_TMPDIR/answer" ]
	eventually are_dead "$(cat "$pid_file")"
}

@test "serve: changes of a job are a patch, and unset numbers read as NO_VAL" {
	run serve change <<-'END'
		function slurm_job_submit(desc, parts, uid)
			if desc.time_limit == slurm.NO_VAL and desc.pn_min_memory == slurm.NO_VAL64 and desc.nonsense == nil and uid == 5 then
				desc.time_limit = slurm.time_str2mins("1-1:30")
			end
			desc.name = nil
			desc.environment.C = "d"
			desc.environment.A = nil
			desc.num_tasks = slurm.NO_VAL
			for name, part in pairs(parts) do desc.partition = name .. part.name end
			rota.log_user("%d%%", 5)
			return slurm.ESLURM_INVALID_TIME_LIMIT
		end
	END
	[ "$(jq -cS '[.rc, .changes, .user]' <<<"$output")" = \
		'[2051,{"environment":{"A":null,"C":"d"},"name":null,"partition":"pp","time_limit":1530},["5%"]]' ]
}

@test "serve: a call sees nothing of an earlier one" {
	cat >"$BATS_TEST_TMPDIR/leak.lua" <<-'END'
		local calls = 0
		function slurm_job_submit(desc)
			calls = calls + 1
			total = (total or 0) + 1
			local clean = not string.trim and string.format and slurm.SUCCESS == 0 and not slurm.mine and not math.mine
			string.trim, string.format, slurm.SUCCESS, slurm.mine, math.mine = print, nil, 5, 1, 1
			assert(("x").trim == print)
			desc.comment = calls .. " " .. total .. " " .. tostring(clean)
			return 0
		end
		slurm.log_info("loaded")
	END
	for i in 1 2 3; do
		echo 'job_submit slurm_job_submit {"desc":{}}'
	done >"$BATS_TEST_TMPDIR/requests"
	run rota-lua serve --job-submit "$BATS_TEST_TMPDIR/leak.lua" <"$BATS_TEST_TMPDIR/requests"
	[ "$(jq -r .changes.comment <<<"$output" | sort -u)" = "1 1 true" ]
	[ "$(jq -c '.log | length' <<<"$output" | tr '\n' ' ')" = "1 0 0 " ] # the text of the file is unchanged, and so is its log
}

@test "serve: io has the files of the request, and no others" {
	cat >"$BATS_TEST_TMPDIR/files.lua" <<-'END'
		function slurm_bb_job_process(job_script)
			io.input(job_script)
			local first, number, rest = io.read("*l", "n", "*a")
			local lines = 0
			for line in io.lines(job_script) do lines = lines + 1 end
			local closed = io.open(job_script)
			closed:close()
			assert(io.type(closed) == "closed file" and not pcall(closed.read, closed))
			assert(not io.open("/etc/passwd") and not io.popen and not io.tmpfile and not pcall(io.input, "/etc/passwd"))
			assert(select(2, io.open("/none")) == "/none: No such file or directory")
			assert(not io.open(job_script):write("x"))
			print("a line")
			io.write("and ", 5, "\n")
			return slurm.SUCCESS, first .. "|" .. number .. "|" .. rest .. lines
		end
		function slurm_bb_paths(id, job_script, path_file)
			local file = io.open(path_file, "w")
			file:write("A=", 1, "\n")
			file:close()
			file = io.open(path_file, "a")
			file:write("B=2\n")
			file:seek("set", 0)
			io.open(path_file, "r+"):write("C")
			for i = 1, 3 do assert(io.open(path_file):read(i):sub(1, 1) == "C") end
		end
	END
	run rota-lua serve --burst-buffer "$BATS_TEST_TMPDIR/files.lua" <<-'END'
		burst_buffer slurm_bb_job_process {"args":["/s"],"files":{"/s":"#!/bin/sh\n 0x10 x\nend"}}
		burst_buffer slurm_bb_paths {"args":["1","/s","/p"],"files":{"/s":"a","/p":""}}
		burst_buffer slurm_bb_job_process {"args":["/s"]}
		burst_buffer slurm_bb_paths {"args":["/s"],"files":{"/s":5}}
	END
	[ "$(jq -c '[.rc, .message, .files, [.log[].text]]' <<<"${lines[0]}")" = '[0,"#!/bin/sh|16| x\nend3",{},["a line","and 5"]]' ]
	[ "$(jq -c '[.rc, .files]' <<<"${lines[1]}")" = '[0,{"/p":"C=1\nB=2\n"}]' ]
	[[ $(jq -r .error <<<"${lines[2]}") == *"nil value (global 'io')"* ]]
	[[ $(jq -r .error <<<"${lines[3]}") == *'"files"'* ]]
}

# Scripts that exceed their limits. Each is followed by a valid call in the same process.
@test "serve: hostile scripts get an error, and the process goes on" {
	while IFS='|' read -r expected body; do
		{
			printf 'function slurm_job_submit(desc)\n'
			printf 'if desc.name == "good" then return 0 end\ndo %s end\nreturn 0\nend\n' "$body"
		} >"$BATS_TEST_TMPDIR/hostile.lua"
		for name in bad good; do
			printf 'job_submit slurm_job_submit {"desc":{"name":"%s"}}\n' "$name"
		done >"$BATS_TEST_TMPDIR/requests"
		# Only a script that is to exceed the time limit has a short one, which another script might exceed on a slow machine.
		[[ $expected == *"the script took"* ]] && seconds=1 || seconds=30
		run timeout 60 rota-lua serve --job-submit "$BATS_TEST_TMPDIR/hostile.lua" --seconds "$seconds" --instructions 20000000 \
			--memory-mb 16 <"$BATS_TEST_TMPDIR/requests"
		[ "$status" = 0 ] && [[ $(jq -r .error <<<"${lines[0]}") == *$expected* ]] && [ "$(jq -r .rc <<<"${lines[1]}")" = 0 ] || { echo "$body: $output"; false; }
	done <<-'END'
		hostile.lua:3: the script took|while true do end
		hostile.lua:3: the script took|while true do pcall(function() while true do end end) end
		the script took|local function f() return pcall(f) or f() end while true do f() end
		the script took|while true do xpcall(error, function() while true do end end) end
		resulting string too large|return #string.rep("x", 1e10)
		more than 16 MiB|local s = "x" while true do s = s .. s end
		more than 16 MiB|local t = {} for i = 1, 1e12 do t[i] = {} end
		the script took|local t = {} while true do pcall(function() t[#t + 1] = ("x"):rep(1e6) end) end
		the script took|while true do local c = coroutine.wrap(function() while true do coroutine.yield() end end) c() end
		the script took|coroutine.wrap(function() pcall(function() while true do end end) end)()
		(field 'execute')|os.execute("id")
		(field 'getenv')|os.getenv("HOME")
		(global 'io')|io.open("/etc/passwd")
		(global 'require')|require("io")
		(global 'package')|package.loadlib("x", "y")
		(global 'debug')|debug.getregistry()
		(global 'dofile')|dofile("/etc/passwd")
		(global 'loadfile')|loadfile("/etc/passwd")
		(field 'dump')|string.dump(function() end)
		attempt to load a binary chunk|assert(load("\27Lua"))
		raised an error that is a table|error({})
		a text of the script|error(setmetatable({}, {__tostring = function() return "a text of the script" end}))
		the script took|error(setmetatable({}, {__tostring = function() while true do end end}))
		finalizers (__gc) are not available|setmetatable({}, {__gc = function() while true do end end})
		the script took|local x <close> = setmetatable({}, {__close = function() while true do end end}) error("x")
		more than 16 MiB|local function f() return 1 + f() end f()
		the script took longer|("a"):rep(30):find(("a?"):rep(30) .. ("a"):rep(30))
		the script took longer|table.move({}, 1, 1e15, 2)
		the script took longer|(""):rep(1e15)
		the script took longer|table.insert(setmetatable({}, {__len = function() return 1e15 end}), 1, 1)
		a number is not finite|desc.x = 1 / 0
		field "x": a Lua value of type function is no value|desc.x = print
		a table has too many levels|desc.x = {} desc.x.x = desc.x
		a text is not UTF-8|desc.x = "\xff"
		answer is too long|desc.x = ("x"):rep(2e6)
		a string in place of a number|return "no"
		attempt to index a boolean value|getmetatable("").__index = nil
	END
}

@test "serve: wrong requests, a missing function and a missing file are errors of the call" {
	echo 'x = 1' >"$BATS_TEST_TMPDIR/empty.lua"
	run rota-lua serve --job-submit "$BATS_TEST_TMPDIR/empty.lua" --burst-buffer "$BATS_TEST_TMPDIR/none.lua" <<-END
		nonsense
		other slurm_job_submit {"desc":{}}
		job_submit slurm_job_submit nonsense
		job_submit pcall {"desc":{}}
		job_submit slurm_job_submit {}
		job_submit slurm_job_submit {"desc":{}}
		job_submit slurm_job_modify {"desc":{},"rec":{}}
		burst_buffer slurm_bb_setup {}
		burst_buffer slurm_bb_setup {"args":[5]}
	END
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 9 ]
	error() { jq -r .error <<<"${lines[$1]}"; }
	[[ $(error 0) == *"no line SCRIPT FUNCTION BODY"* ]]
	[[ $(error 1) == *"no file for the script"* ]]
	[[ $(error 2) == *"no JSON object"* ]]
	[[ $(error 3) == *"no function"* ]]
	[[ $(error 4) == *'"desc"'* ]]
	[[ $(error 5) == *"has no function slurm_job_submit"* ]]
	[ "$(jq -c .rc <<<"${lines[6]}")" = 0 ]
	[[ $(error 7) == *"No such file"* ]]
	[[ $(error 8) == *'"args"'* ]]
	run rota-lua serve --job-submit "$BATS_TEST_TMPDIR" <<<'job_submit slurm_job_submit {"desc":{}}'
	[[ $(error 0) == *"is no file"* ]]
}

@test "serve: the process can start no process, open no socket and write no file" {
	sanitized && skip "sanitizers need more system calls"
	printf 'function slurm_job_submit() return 0 end\n' >"$BATS_TEST_TMPDIR/a.lua"
	mkfifo "$BATS_TEST_TMPDIR/in"
	rota-lua serve --job-submit "$BATS_TEST_TMPDIR/a.lua" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	echo 'job_submit slurm_job_submit {"desc":{}}' >&7
	eventually grep -q '"rc":0' "$BATS_TEST_TMPDIR/out"
	grep -q '^Seccomp:.2' "/proc/$pid/status"
	grep -q '^NoNewPrivs:.1' "/proc/$pid/status"
	[ "$(awk '/^Max processes/ { print $3 }' "/proc/$pid/limits")" = 0 ]
	[ "$(awk '/^Max core file size/ { print $5 }' "/proc/$pid/limits")" = 0 ]
	[ "$(ls "/proc/$pid/fd" | tr '\n' ' ')" = "0 1 2 " ]
	exec 7>&-
	wait "$pid"
}

@test "runnerd calls functions of the configured scripts for root, for jobmgrd and for its own account" {
	answer=$(submit_request 7 some | ask)
	[ "$(jq -c '[.id, .rc, .changes]' <<<"$answer")" = '[7,0,{"comment":"some"}]' ]
	request='9 burst_buffer slurm_bb_job_process {"args":["/s","1000","100"],"job_info":{"account":"phys"}}'
	[ "$(ask <<<"$request" | jq -c '[.id, .rc, .message]')" = '[9,0,"/s phys"]' ]
	[ "$(ask <<<"${request/1000/0}" | jq -c '[.rc, .message]')" = '[-1,"not root"]' ]
	[[ $(ask <<<'8 /etc/passwd slurm_bb_setup {}' | jq -r .error) == *"no file for the script"* ]]
	[[ $(ask <<<'8 job_submit slurm_job_submit nonsense' | jq -r .error) == *"no JSON object"* ]]
	for line in nonsense '' 'x job_submit slurm_job_submit {}' 5; do
		run ask <<<"$line"
		[ "$output" = closed ]
	done
	[ -n "$(workers)" ]
	if [ "$EUID" = 0 ]; then
		for user in rota "$LUA_HOOK"; do
			[ "$(submit_request 9 | ask "$user" | jq .rc)" = 0 ]
		done
		for pid in $(workers); do
			[ "$(ps -o user:32= "$pid" | tr -d ' ')" = "$LUA_HOOK" ]
		done
	fi
}

@test "runnerd does not start with a script that others can change" {
	chmod 0666 "$SITE/burst_buffer.lua"
	run timeout 60 runnerd --config "$ROTA_HOME/etc/rota.conf" --name other
	chmod 0644 "$SITE/burst_buffer.lua"
	[ "$status" != 0 ]
	[[ $output == *"burst_buffer.lua\" can be changed by others"* ]]
}

@test "a stranger's connection is refused" {
	need_root
	run as "$EVE" python3 "$CLIENT" "$SOCKET" lines < <(submit_request 1)
	[ "$status" != 0 ]
	[[ $output == *closed* || $output == *"reset"* || $output == *"Broken pipe"* ]]
	eventually grep -q "hook socket: refused process .* of uid $(id -u "$EVE")" "$ROTA_HOME/log/runnerd.log"
	[ "$(submit_request 2 | ask | jq .rc)" = 0 ]
}

@test "a request that is too long ends its connection alone" {
	[ "$(python3 "$CLIENT" "$SOCKET" long)" = closed ]
	[ "$(submit_request 2 | ask | jq .rc)" = 0 ]
}

@test "a script that is broken gives errors with file and line, until it is replaced" {
	install_script 'local x = nil + 1'
	[[ $(submit_request 1 | ask | jq -r .error) == job_submit.lua:2:* ]]
	install_script 'if then'
	[[ $(submit_request 1 | ask | jq -r .error) == job_submit.lua:2:* ]]
	install_script 'desc.comment = desc.name'
	[ "$(submit_request 1 b | ask | jq -r .changes.comment)" = b ]
	rm "$SITE/job_submit.lua"
	[[ $(submit_request 1 | ask | jq -r .error) == *"No such file"* ]]
	install_script 'desc.comment = desc.name'
	[ "$(submit_request 1 | ask | jq .rc)" = 0 ]
}

@test "a file that is replaced while it runs: the call goes on with the old text, the next one has the new" {
	install_script 'local from = os.clock() while os.clock() - from < 0.3 do end desc.comment = "old"'
	runnerd=$(pid_of runnerd)
	ticks() { awk '{ sum += $14 + $15 } END { print sum + 0 }' /dev/null $(pgrep -P "$runnerd" -x rota-lua | sed 's,.*,/proc/&/stat,'); }
	before=$(ticks)
	submit_request 1 | ask >"$BATS_TEST_TMPDIR/first" &
	asking=$!
	is_running() { [ "$(ticks)" -ge $((before + 5)) ]; } # 50 ms: more than a process takes to start
	eventually is_running
	install_script 'desc.comment = "new"'
	[ "$(submit_request 2 | ask | jq -r .changes.comment)" = new ]
	wait "$asking"
	[ "$(jq -r .changes.comment "$BATS_TEST_TMPDIR/first")" = old ] || { cat "$BATS_TEST_TMPDIR/first"; false; }
	install_script 'desc.comment = desc.name'
}

@test "a script without an end delays nobody else, and ends with its time" {
	install_script 'if desc.name == "slow" then while true do end end desc.comment = desc.name'
	answers=$({ submit_request 1 slow; for i in 2 3 4 5; do submit_request "$i"; done; } | ask)
	[ "$(jq -r .id <<<"$answers" | tail -n 1)" = 1 ]
	[[ $(jq -r 'select(.id == 1) | .error' <<<"$answers") == *"the script took"* ]]
	[ "$(jq -r 'select(.id != 1) | .rc' <<<"$answers" | sort | uniq -c | tr -s ' ')" = " 4 0" ]
	install_script 'desc.comment = desc.name'
}

@test "a worker that hangs is replaced, and so is one that is killed" {
	submit_request 1 | ask >/dev/null
	before=$(workers) # the one that the test before has killed may still be among them
	for pid in $before; do
		kill -STOP "$pid" 2>/dev/null || true
	done
	[[ $(submit_request 1 | ask | jq -r .error) == *"took longer than 6 seconds"* ]]
	for pid in $before; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	replaced() { [ "$(submit_request 1 | ask | jq .rc)" = 0 ]; }
	eventually replaced
	eventually are_dead $before
}

@test "10000 calls at once: each gets its own answer, and no process grows" {
	python3 "$CLIENT" "$SOCKET" flood 2000
	size() { awk '/^VmRSS/ { sum += $2 } END { print sum }' $(for pid in $(pid_of runnerd) $(workers); do echo "/proc/$pid/status"; done); }
	before=$(size)
	python3 "$CLIENT" "$SOCKET" flood 10000 | tee -a "$BATS_TEST_TMPDIR/rate" >&3
	sanitized || [ "$(size)" -lt $((before + 4096)) ]
}

@test "no process of a script outlives runnerd" {
	submit_request 1 | ask >/dev/null
	found=$(workers)
	[ -n "$found" ]
	kill_now "$(pid_of runnerd)"
	eventually are_dead $found
	rota up >/dev/null
	eventually test -S "$SOCKET"
	answers() { [ "$(submit_request 1 | ask | jq .rc)" = 0 ]; }
	eventually answers
}
