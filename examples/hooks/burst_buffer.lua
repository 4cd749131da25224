-- burst_buffer.lua - an example of staging: copies a folder to fast storage before a job, and what the job has made back after it.
--
-- A job asks for it at the head of its script, with names below POOL/USER:
--   #BB_LUA input=run7/data output=run7/results
-- It finds the copy of POOL/alice/run7/data in $STAGE_IN, and leaves in $STAGE_OUT what becomes POOL/alice/run7/results, which must
-- not exist before.
--
-- To use it: copy it to /etc/rota/burst_buffer.lua, owned by root and writable by root alone; set POOL and FAST; name the file as
-- hooks.burst_buffer in rota.conf; restart jobmgrd and runnerd. The functions run as the account of runnerd (rota-hook), which needs
-- access to POOL, and owns FAST. POOL and FAST belong to root or rota-hook, so no user can replace POOL/USER. It needs the Debian
-- packages acl and tar, and fs.protected_hardlinks = 1.
--
-- Directives are text of users. This script takes names of letters, digits, "_", "-", "." and "/", without "..", and quotes every word
-- that it gives to a shell.
--
-- rota-hook can read and write folders of many users, so a user may try to lead it into a folder of somebody else, by a symbolic link
-- that takes the place of a folder at any moment. Therefore:
--   - It enters a folder part by part, and asks the kernel after each part where it is. From there it uses relative names alone.
--   - tar reads: it opens each name below the one before, and follows no link. Links are copied as links.
--   - It writes only into a new folder of mode 0700, which nobody else can enter, and opens it or moves it into place afterwards.

local POOL = "/pool"
local FAST = "/fast"

-- Functions of bash that all of the programs below have.
local HEAD = [[
set -euo pipefail
umask 077
fail() { echo "$*" >&2; exit 1; }
# at FOLDER: the present folder is this one, however it was reached.
at() { [ "$(env pwd -P)" = "$1" ] || fail "$1 is not a folder, or a link leads to it"; }
# enter BASE NAME [make]: go to the folder NAME below BASE; make what is missing of it, open to the user.
enter() {
	local base part parts new
	cd -P -- "$1"
	base=$(env pwd -P)
	IFS=/ read -ra parts <<<"$2"
	for part in "${parts[@]}"; do
		[ -n "$part" ] && [ "$part" != . ] || continue
		new=
		[ -z "${3:-}" ] || ! mkdir -m 0700 -- "$part" 2>/dev/null || new=1
		cd -P -- "./$part" 2>/dev/null || fail "$base/$part: there is no such folder"
		base=$base/$part
		at "$base"
		[ -z "$new" ] || { own; open_to "$uid"; }
	done
}
# own: the present folder is a new one, which nobody else can enter.
own() { [ "$(stat -c '%u %a' .)" = "$(id -u) 700" ] || fail "$(env pwd -P) is not a new folder"; }
# open_to UID: open the present folder, and what is made in it later, to this user.
open_to() { setfacl -m "u:$1:rwX,d:u:$1:rwX,d:u:$(id -u):rwX" .; }
# pack: the present folder as an archive. unpack: the archive into the present folder.
pack() { tar --create --file=- --mode=u+rwX,a-st .; }
unpack() { tar --extract --file=- --no-same-owner --no-same-permissions --no-overwrite-dir; }
# give UID: open all that is in the present folder to this user. The folder itself stays closed.
give() {
	find . -mindepth 1 ! -type l -exec setfacl -P -m "u:$1:rwX,u:$(id -u):rwX" {} +
	find . -mindepth 1 -type d -exec setfacl -P -m "d:u:$1:rwX,d:u:$(id -u):rwX" {} +
}
]]

-- in and out are closed until slurm_bb_data_in has ended.
local SETUP = [[ job=$1
mkdir -p -m 0700 -- "$job"
cd -P -- "$job"
chmod 0700 .
rm -rf -- in out sent
mkdir -m 0700 in out
]]

-- Arguments: folder of the job, uid, POOL/USER, name or nothing.
local DATA_IN = [[ job=$1 uid=$2 pool=$3 name=$4
cd -P -- "$job"
setfacl -b .
chmod 0700 .
rm -rf -- in
mkdir -m 0700 in
if [ -n "$name" ]; then
	(enter "$pool" "$name"; pack) | (cd -P -- "$job/in"; unpack)
fi
give "$uid"
setfacl -m "u:$uid:x" .
]]

-- The file sent has the number of the folder that is moved into place, so a call after a crash finds that it is there already.
local DATA_OUT = [[ job=$1 uid=$2 pool=$3 name=$4
parent=.
[ "${name%/*}" = "$name" ] || parent=${name%/*}
last=${name##*/}
enter "$pool" "$parent" make
if [ -e "$last" ] || [ -L "$last" ]; then
	[ "$(stat -c %d:%i -- "$last")" = "$(cat -- "$job/sent" 2>/dev/null)" ] || fail "$name exists already"
	exit 0
fi
new=.rota-$(basename -- "$job")
rm -rf -- "$new"
mkdir -m 0700 -- "$new"
(
	enter . "$new"
	own
	(enter "$job" out; pack) | unpack
	give "$uid"
	stat -c %d:%i . >"$job/sent"
	open_to "$uid"
)
mv -T -n -- "$new" "$last"
[ ! -e "$new" ] || fail "$name exists already"
]]

-- Run a program of bash with arguments. Returns slurm.SUCCESS, or slurm.ERROR and the first line that it printed.
local function run(program, ...)
	local command = {"exec bash -c"}
	for _, word in ipairs({HEAD .. program, "bash", ...}) do
		command[#command + 1] = "'" .. word:gsub("'", "'\\''") .. "'"
	end
	slurm.log_info("%s", table.concat({...}, " "))
	local pipe = io.popen(table.concat(command, " ") .. " 2>&1")
	local text = pipe:read("a")
	local ok, how, code = pipe:close()
	if ok then
		return slurm.SUCCESS
	end
	return slurm.ERROR, text:match("[^\n]+") or string.format("bash ended with %s %d", how, code)
end

-- Returns the folder that a directive of the job's script has as `name`: "" if there is none, nil and a message if it is not valid.
local function asked(job_script, name)
	for line in io.lines(job_script) do
		local path = line:match("^#BB_LUA.*%f[%w_]" .. name .. "=(%S*)")
		path = path and path:gsub("/+$", "")
		if path and (not path:match("^%w[%w_./-]*$") or path:find("..", 1, true) or path:match("/%.$")) then
			return nil, name .. " is not a name below " .. POOL .. "/USER"
		elseif path then
			return path
		end
	end
	return ""
end

local function folder(job_id)
	return FAST .. "/" .. job_id
end

function slurm_bb_setup(job_id, uid, gid, pool, size, job_script, job_info)
	for _, name in ipairs({"input", "output"}) do
		local path, message = asked(job_script, name)
		if not path then
			return slurm.ERROR, message
		end
	end
	return run(SETUP, folder(job_id))
end

function slurm_bb_data_in(job_id, job_script, uid, gid, job_info)
	return run(DATA_IN, folder(job_id), uid, POOL .. "/" .. job_info.user_name, asked(job_script, "input"))
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
	local to = asked(job_script, "output")
	if to == "" then
		return slurm.SUCCESS
	end
	return run(DATA_OUT, folder(job_id), uid, POOL .. "/" .. job_info.user_name, to)
end

-- May be called for a job that has nothing here, and more than once.
function slurm_bb_job_teardown(job_id)
	return run('rm -rf -- "$1"', folder(job_id))
end
