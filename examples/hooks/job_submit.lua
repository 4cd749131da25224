-- job_submit.lua - an example of a site's script. jobmgrd asks it about each job that is submitted or modified.
--
-- Install it: copy it to /etc/rota/job_submit.lua, readable by the account of runnerd, set `job_submit` in section [hooks] of
-- rota.conf, and restart jobmgrd and runnerd. A change of the file takes effect at the next submission.
--
-- What it does:
--   1. It refuses jobs without a time limit, and says how to give one.
--   2. It sends short jobs to the partition "short", if there is one that the user may use.
--   3. It gives jobs without an account that of the user's group.
--   4. It caps the memory for each CPU, and tells the user.
--   5. It tells the job's tasks that the site's rules were applied, by a variable.
--   6. It lets nobody but root move a job to another partition.
--
-- `desc` is the job as the user asked for it. What is set in it counts as an option of the user: all limits and permissions are
-- checked again. `parts` has the partitions that are open to the user. docs/hooks.md lists all fields.

local SHORT = 60          -- minutes
local MOST_PER_CPU = 8192 -- MiB

-- Accounts by the primary group of users.
local account_of_group = {
	[100] = "students",
	[2000] = "physics",
}

function slurm_job_submit(desc, parts, uid)
	if desc.time_limit == slurm.NO_VAL then
		slurm.log_user("This cluster needs a time limit: give --time, for example --time=30 for half an hour.")
		return slurm.ESLURM_INVALID_TIME_LIMIT
	end

	if desc.partition == nil and desc.time_limit <= SHORT and parts["short"] then
		desc.partition = "short"
	end

	if desc.account == nil then
		desc.account = account_of_group[desc.group_id]
	end

	if desc.min_mem_per_cpu ~= nil and desc.min_mem_per_cpu > MOST_PER_CPU then
		slurm.log_user("memory was lowered from %d to %d MiB for each CPU", desc.min_mem_per_cpu, MOST_PER_CPU)
		desc.min_mem_per_cpu = MOST_PER_CPU
	end

	desc.environment.SITE_RULES = "1"
	slurm.log_info("job %s of uid %d, partition %s", tostring(desc.name), uid, tostring(desc.partition))
	return slurm.SUCCESS
end

-- `desc` has only what somebody wants to change, `rec` the job as it is now.
function slurm_job_modify(desc, rec, parts, uid)
	if desc.partition ~= nil and desc.partition ~= rec.partition and uid ~= 0 then
		slurm.log_user("Cancel the job and submit it to partition %s instead.", desc.partition)
		return slurm.ERROR
	end
	return slurm.SUCCESS
end
