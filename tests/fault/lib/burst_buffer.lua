-- burst_buffer.lua - staging of the campaign's jobs: stage.sh, beside this file, implements each function.
for _, name in ipairs{"setup", "data_in", "pre_run", "post_run", "data_out", "job_teardown"} do
	_G["slurm_bb_" .. name] = function(job)
		if not os.execute("@FOLDER@/stage.sh " .. name .. " " .. job) then return slurm.ERROR, name .. " failed" end
		return slurm.SUCCESS
	end
end

function slurm_bb_pools() return slurm.SUCCESS, '{"pools": [{"id": "cells", "quantity": 6, "granularity": 1}]}' end
