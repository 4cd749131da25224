-- Staging: the data of jobs with directives for burst_buffer.lua, and the calls of its functions.
create view internal.acct_staging as
select g.job_id, j.user_name, j.account, g.state, case when o.own then d.directives end as directives,
	case when o.own then g.message end as message, g.made_at, g.setup_at, g.staged_at, g.pre_run_at,
	g.running_at, g.post_run_at, g.teardown_at, g.ended_at, g.pool, g.capacity, g.taken,
	extract(epoch from g.staged_at - g.setup_at)::double precision as stage_in_s,
	extract(epoch from g.ended_at - g.post_run_at)::double precision as stage_out_s, g.array_job_id, s.array_index
from rota.staging g
join rota.staging d on d.job_id = coalesce(g.array_job_id, g.job_id)
join rota.job j on j.job_id = d.job_id
left join rota.step s on s.job_id = g.array_job_id and s.step_id = g.step_id
-- As in acct.job: only the owner and administrators see directives and messages, which name paths.
cross join lateral (select j.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o;
select internal.owner_view('staging');
comment on view acct.staging is
	'Jobs whose data burst_buffer.lua stages, one row each. An array has a row for the job and a row for each element.';
comment on column acct.staging.job_id is 'Number of the job; of an element, its own number.';
comment on column acct.staging.user_name is 'Login name of the job''s owner.';
comment on column acct.staging.account is 'Account that pays; null: none.';
comment on column acct.staging.state is
	'State of the data: pending, setup, staging_in, staged, pre_run, running, post_run, staging_out, teardown, '
	'complete or failed; array: of an array, until the data of all of its elements is torn down.';
comment on column acct.staging.directives is 'The directives, one a line; null: you are neither its owner nor an administrator.';
comment on column acct.staging.message is
	'Why a function failed most recently; null: none has failed, or you are neither the job''s owner nor an administrator.';
comment on column acct.staging.made_at is 'When the job was submitted.';
comment on column acct.staging.setup_at is 'When setup last became due; null: never.';
comment on column acct.staging.staged_at is 'When stage-in was last complete; null: never.';
comment on column acct.staging.pre_run_at is 'When pre_run last became due; null: never.';
comment on column acct.staging.running_at is 'When pre_run had last succeeded; null: never.';
comment on column acct.staging.post_run_at is 'When post_run became due after the latest run; null: never.';
comment on column acct.staging.teardown_at is 'When the last job_teardown became due; null: never.';
comment on column acct.staging.ended_at is 'When the staging of the job was over; null: not over.';
comment on column acct.staging.pool is 'Pool of which the job asks for space; null: none.';
comment on column acct.staging.capacity is
	'Bytes of space that the job asks for, rounded up to whole pieces of the pool; null: none.';
comment on column acct.staging.taken is 'Bytes of the pool that the job has now; null: none.';
comment on column acct.staging.stage_in_s is 'Seconds from setup to the end of stage-in; null: not ended.';
comment on column acct.staging.stage_out_s is 'Seconds from post_run to the end of the teardown; null: not known.';
comment on column acct.staging.array_job_id is 'Number of the array''s job; null: the row is of a job, not of an element.';
comment on column acct.staging.array_index is 'Index of the array element; null: the row is of a job, not of an element.';

create view internal.acct_staging_call as
select c.job_id, c.call_id, j.user_name, j.account, c.function, c.hurry, c.tries, c.due_at, c.began_at, c.ended_at, c.rc,
	(c.usec / 1e6)::double precision as elapsed_s, case when o.own then c.message end as message, g.array_job_id
from rota.staging_call c
join rota.staging g on g.job_id = c.job_id
join rota.job j on j.job_id = coalesce(g.array_job_id, g.job_id)
cross join lateral (select j.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o;
select internal.owner_view('staging_call');
comment on view acct.staging_call is
	'Calls of functions of burst_buffer.lua, one row each. Only operators see the output (`rota admin hook show`).';
comment on column acct.staging_call.job_id is 'Number of the job; of an element, its own number (acct.staging).';
comment on column acct.staging_call.call_id is 'Number of the call in its job; later calls have higher numbers.';
comment on column acct.staging_call.user_name is 'Login name of the job''s owner.';
comment on column acct.staging_call.account is 'Account that pays; null: none.';
comment on column acct.staging_call.function is 'Name of the function, without slurm_bb_.';
comment on column acct.staging_call.hurry is 'Third argument of the function job_teardown.';
comment on column acct.staging_call.tries is 'Number of this try of a teardown, from 1.';
comment on column acct.staging_call.due_at is 'When the call became due; of a function that is polled, the latest time.';
comment on column acct.staging_call.began_at is 'When the call began; null: it has not begun.';
comment on column acct.staging_call.ended_at is 'When the call ended; null: it has not ended.';
comment on column acct.staging_call.rc is 'Return value of the function, 0 or -1; null: the call has not ended, or was stopped.';
comment on column acct.staging_call.elapsed_s is 'Seconds that the call ran; null: it has not ended, or was not run.';
comment on column acct.staging_call.message is
	'Message that the function returned, or how the call failed; null: neither, or you are neither the job''s owner nor an '
	'administrator.';
comment on column acct.staging_call.array_job_id is
	'Number of the array''s job; null: the call was for a job, not for an element.';
