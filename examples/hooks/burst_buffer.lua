-- burst_buffer.lua - an example of staging: copies a folder to fast storage before a job, and what the job has made back after it.
--
-- A job asks for it at the head of its script, with names below POOL/USER:
--   #BB_LUA input=run7/data output=run7/results
-- It finds the copy of POOL/alice/run7/data in $STAGE_IN, and leaves in $STAGE_OUT what becomes POOL/alice/run7/results.
--
-- To use it: copy it to /etc/rota/burst_buffer.lua, owned by root and writable by root alone; set POOL and FAST; name the file as
-- hooks.burst_buffer in rota.conf; restart jobmgrd and runnerd. The functions run as the account of runnerd (rota-hook), which needs
-- access to POOL, and owns FAST. A job's folder below FAST is opened to the job's owner alone, by an access list (setfacl).
--
-- Directives are text of users. This script takes names of letters, digits, "_", "-", "." and "/", without "..", and quotes every word
-- that it gives to a shell. Symbolic links in POOL are copied as links, so they lead nowhere where only rota-hook may read.

local POOL = "/pool"
local FAST = "/fast"

-- Run a command, each argument quoted for the shell. Returns slurm.SUCCESS, or slurm.ERROR and a message.
local function run(...)
	local words = {...}
	local command = {}
	for i, word in ipairs(words) do
		command[i] = "'" .. word:gsub("'", "'\\''") .. "'"
	end
	slurm.log_info("%s", table.concat(command, " "))
	local ok, how, code = os.execute(table.concat(command, " "))
	if ok then
		return slurm.SUCCESS
	end
	return slurm.ERROR, string.format("%s ended with %s %d", words[1], how, code)
end

-- Returns the folder that a directive of the job's script has as `name`: nil if there is none, false and a message if it is not valid.
local function asked(job_script, name, user)
	for line in io.lines(job_script) do
		local path = line:match("^#BB_LUA.*%f[%w_]" .. name .. "=(%S*)")
		if path and (not path:match("^%w[%w_./-]*$") or path:find("..", 1, true)) then
			return false, name .. " is not a name below " .. POOL .. "/" .. user
		elseif path then
			return POOL .. "/" .. user .. "/" .. path
		end
	end
end

local function folder(job_id)
	return FAST .. "/" .. job_id
end

function slurm_bb_setup(job_id, uid, gid, pool, size, job_script, job_info)
	for _, name in ipairs({"input", "output"}) do
		local path, message = asked(job_script, name, job_info.user_name)
		if path == false then
			return slurm.ERROR, message
		end
	end
	local rc, message = run("mkdir", "-p", "-m", "0700", folder(job_id), folder(job_id) .. "/in", folder(job_id) .. "/out")
	if rc ~= slurm.SUCCESS then
		return rc, message
	end
	-- What the job makes stays accessible to this account, by the default entry for the folder's owner.
	return run("sh", "-c", 'setfacl -R -m "u:$1:rwX,d:u:$1:rwX,d:u:$(id -u):rwX" -- "$2"', "sh", uid, folder(job_id))
end

function slurm_bb_data_in(job_id, job_script, uid, gid, job_info)
	local from = asked(job_script, "input", job_info.user_name)
	if not from then
		return slurm.SUCCESS
	end
	return run("cp", "-R", "-P", "--", from .. "/.", folder(job_id) .. "/in")
end

-- Each line NAME=value becomes a variable of the job's steps.
function slurm_bb_paths(job_id, job_script, path_file)
	local file, message = io.open(path_file, "w")
	if not file then
		return slurm.ERROR, message
	end
	file:write("STAGE_IN=", folder(job_id), "/in\n", "STAGE_OUT=", folder(job_id), "/out\n")
	file:close()
	return slurm.SUCCESS
end

function slurm_bb_data_out(job_id, job_script, uid, gid, job_info)
	local to = asked(job_script, "output", job_info.user_name)
	if not to then
		return slurm.SUCCESS
	end
	local rc, message = run("mkdir", "-p", "--", to)
	if rc ~= slurm.SUCCESS then
		return rc, message
	end
	return run("cp", "-R", "-P", "--", folder(job_id) .. "/out/.", to)
end

-- May be called for a job that has nothing here, and more than once.
function slurm_bb_job_teardown(job_id)
	return run("rm", "-rf", "--", folder(job_id))
end
