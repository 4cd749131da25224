-- Names of steps: found by name and job as before, but no longer by job alone, which the key of the table is for. For a job that
-- statistics do not know yet, the planner took either index for the same, and read all of a job's steps to find one.
alter table rota.step_request drop constraint step_request_job_id_name_key;
alter table rota.step_request add unique (name, job_id);
