-- The states of a job's data (burst_buffer.lua). A move is in the transaction of the event that causes it, and makes the next
-- function due.
-- Invariants:
-- - internal.staging_move is the only way to change rota.staging.state, and makes only moves of rota.staging_transition.
-- - At most one call of a job or element has not ended. A call under way that is not wanted any more is killed, and the next
--   function becomes due when its end is reported.
-- - A job without directives has no row here, and rota.job.staging is false: no function of this file is called for it.
-- - An element of a job that is one array has a row with a number of its own, from when internal.array_expand makes its row in
--   rota.step. The setting stage_ahead bounds how many elements have a row and no nodes. The row of the job, in state array,
--   has the directives.
-- - p_job of the functions below is the number of a row of rota.staging: of a job, or of an element.

create view internal.staged_step as
select g.job_id as staging_id, s.job_id, s.step_id, s.state, s.held, s.ended_at
from live.staging g
join live.step s on s.job_id = coalesce(g.array_job_id, g.job_id)
	and s.step_id between coalesce(g.step_id, 0) and coalesce(g.step_id, 2147483647);
comment on view internal.staged_step is 'The steps that use the data of a row of rota.staging.';

create function internal.staging_owners(p_rows bigint[]) returns bigint[]
language sql stable set search_path = live, rota, pg_temp as $$
	select array(select distinct coalesce(g.array_job_id, g.job_id) from staging g where g.job_id = any (p_rows));
$$;
comment on function internal.staging_owners(bigint[]) is
	'The jobs of rows of rota.staging. A caller locks them before it changes the rows.';

create function internal.staging_of(p_job bigint, p_step int) returns bigint
language sql stable set search_path = rota, pg_temp as $$
	select coalesce((select e.job_id from staging e where e.array_job_id = p_job and e.step_id = p_step), p_job);
$$;
comment on function internal.staging_of(bigint, int) is
	'The number of the row of rota.staging with the data of a step: that of the element if it has one, otherwise that '
	'of the job.';

create function internal.staging_rows(p_job bigint) returns setof bigint
language sql stable set search_path = rota, pg_temp as $$
	select p_job
	union all
	select e.job_id from staging e where e.array_job_id = p_job and e.ended_at is null;
$$;
comment on function internal.staging_rows(bigint) is
	'The numbers of a jobs rows of rota.staging: the row of the job, and the rows of elements that are not over.';

create function internal.staging_label(p_row bigint) returns text
language sql stable set search_path = rota, pg_temp as $$
	select coalesce((select internal.step_label(g.array_job_id, g.step_id) from staging g where g.job_id = p_row),
		p_row::text);
$$;
comment on function internal.staging_label(bigint) is
	'The name of the job or element of a row of rota.staging, for users.';

create function internal.staging_call_make(p_job bigint, p_function text, p_hurry boolean, p_try int default 1,
	p_due timestamptz default clock_timestamp()) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into staging_call (job_id, function, hurry, tries, due_at) values (p_job, p_function, p_hurry, p_try, p_due);
	notify rota_hook;
end $$;
comment on function internal.staging_call_make(bigint, text, boolean, int, timestamptz) is
	'Add a call of a Lua function and make it due.';

create function internal.staging_call_drop(p_job bigint) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_open rota.staging_call; -- the table of schema live has one column more
begin
	select * into v_open from rota.staging_call c where c.job_id = p_job and c.ended_at is null;
	if not found then
		return true;
	elsif v_open.began_at is not null then
		update staging_call c set unwanted = true where c.job_id = p_job and c.call_id = v_open.call_id;
		notify rota_hook_end;
		return false;
	elsif v_open.first_at is null then
		delete from staging_call c where c.job_id = p_job and c.call_id = v_open.call_id;
	else
		update staging_call c set ended_at = clock_timestamp(), message = 'no longer polled: another function is due'
		where c.job_id = p_job and c.call_id = v_open.call_id;
	end if;
	return true;
end $$;
comment on function internal.staging_call_drop(bigint) is
	'Drop the function that is due, because another one is to follow, or have it killed if it is under way. Answers '
	'whether the next function can be made due now.';

create function internal.staging_write(p_job bigint, p_to rota.staging_transition, p_message text) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update staging s
	set state = p_to.to_state, hurry = coalesce(p_to.hurry, s.hurry), next_function = null,
		message = case when p_to.event in ('begin', 'retry', 'rerun') then null else coalesce(p_message, s.message) end,
		setup_at = case when p_to.function = 'setup' then clock_timestamp() else s.setup_at end,
		staged_at = case when p_to.event = 'paths' then clock_timestamp() else s.staged_at end,
		pre_run_at = case when p_to.function = 'pre_run' then clock_timestamp() else s.pre_run_at end,
		running_at = case when p_to.to_state = 'running' then clock_timestamp() else s.running_at end,
		post_run_at = case when p_to.from_state = 'running' or p_to.event = 'end' then clock_timestamp() else s.post_run_at end,
		teardown_at = case when p_to.function = 'job_teardown' then clock_timestamp() else s.teardown_at end,
		ended_at = case when p_to.to_state = 'complete' then clock_timestamp() end,
		taken = case when p_to.event = 'begin' then s.capacity
			when p_to.event not in ('job_teardown', 'give_up') and p_to.to_state <> 'complete' then s.taken end
	where s.job_id = p_job;
	return (select s.hurry from staging s where s.job_id = p_job);
end $$;
comment on function internal.staging_write(bigint, rota.staging_transition, text) is
	'Write the row of a permitted move. Answers its column hurry. The move to setup takes space of the pool, and the '
	'end of a teardown gives it back.';

create function internal.staging_is_over(p_job bigint) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return not exists (select from staging g where g.job_id = p_job and g.ended_at is null);
end $$;
comment on function internal.staging_is_over(bigint) is
	'Whether the staging of a job that has ended is over; true for a job without directives.';

create function internal.staging_resolve(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_edges jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'edge', e.edge,
		'peer_state', j.state, 'state', 'met'))
	into v_edges
	from step_edge e
	join job j on j.job_id = e.peer_job_id and j.ended_at is not null
	where e.peer_job_id = p_job and e.peer_step_id = -1 and e."condition" = 'teardown' and e.state = 'waiting';
	if v_edges is not null then
		perform internal.edge_resolve(v_edges); -- edges that are met have no moves follow
	end if;
end $$;
comment on function internal.staging_resolve(bigint) is
	'The data of a job is torn down: the dependencies of other jobs on that are met. The caller has locked the job.';

create function internal.staging_over(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_array constant bigint := (select g.array_job_id from staging g where g.job_id = p_job);
begin
	if v_array is null then
		perform internal.staging_resolve(p_job);
		perform internal.mail_staged_out(p_job);
	elsif exists (select from job j where j.job_id = v_array and j.ended_at is not null) then
		perform internal.staging_end(array[v_array]);
	end if;
end $$;
comment on function internal.staging_over(bigint) is
	'The data of a job or an element is torn down: do what follows. The data of an array is torn down after that of its '
	'last element.';

create function internal.staging_move(p_job bigint, p_event text, p_message text default null) returns text
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_to staging_transition;
	v_hurry boolean;
begin
	select t.* into v_to
	from staging s
	join staging_transition t on t.from_state = s.state and t.event = p_event
	where s.job_id = p_job;
	if not found then
		return null;
	end if;
	v_hurry := internal.staging_write(p_job, v_to, p_message);
	if v_to.from_state = 'pre_run' and p_event in ('abort', 'end') then
		-- The rows of pre_run in hook_pending: no report will delete them.
		delete from hook_pending h using internal.staged_step v
		where v.staging_id = p_job and h.job_id = v.job_id and h.step_id = v.step_id and h.hook = 'pre_run';
	end if;
	if internal.staging_call_drop(p_job) then
		perform internal.staging_call_make(p_job, v_to.function, v_hurry) where v_to.function is not null;
	else
		update staging s set next_function = v_to.function where s.job_id = p_job;
	end if;
	if v_to.to_state = 'complete' then
		perform internal.staging_over(p_job);
	end if;
	notify rota_event;
	return v_to.to_state;
end $$;
comment on function internal.staging_move(bigint, text, text) is
	'Apply an event to the data of a job or element, and make the function due that follows. Answers the state that it '
	'leads to; null: the state has no such event. p_message: how a function failed. The caller has locked the job.';

create function internal.staging_submit(p_job bigint, p_script text, p_given jsonb, p_array boolean) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into staging (job_id, state, directives, inserted, pool, capacity)
	values (p_job, case when p_array then 'array' else 'pending' end, p_given ->> 'directives', p_given ->> 'inserted',
		p_given ->> 'pool', internal.pool_ask(p_script, p_given));
	perform internal.staging_gate(p_job) where not p_array;
	notify rota_hook;
end $$;
comment on function internal.staging_submit(bigint, text, jsonb, boolean) is
	'A new job with directives {directives, inserted, pool, capacity, line} was submitted by a script of this name. Its '
	'steps wait until its data is staged in; with p_array, each element waits for its own data. RT422: the pool never '
	'has so much space.';

create view internal.staging_room as
select g.job_id, h.step_id, a.next, a.size, a.skip, l.most - e.made as room
from live.staging g
join live.step_array a on a.job_id = g.job_id and a.staged and not a.by_corr and a.next < a.size
join live.step h on h.job_id = a.job_id and h.step_id = a.step_id and h.ended_at is null and h.held = '' and h.deps_waiting = 0
	and (h.begin_at is null or h.begin_at <= now())
cross join lateral (
	select count(*)::int as made from live.staging e
	where e.array_job_id = g.job_id and e.ended_at is null
		and e.state in ('pending', 'setup', 'staging_in', 'staged', 'failed')) e
cross join lateral (select greatest(internal.setting_int('stage_ahead'), 1)::int as most) l
where g.ended_at is null and g.state = 'array' and e.made < l.most;
comment on view internal.staging_room is
	'Arrays that wait for nothing but the data of their elements, with the number of elements (room) that may begin to '
	'be staged in.';

create function internal.staging_ahead(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_elements constant internal.element[] := array(
		select (r.job_id, r.step_id, p.pos)::internal.element
		from internal.staging_room r
		cross join lateral (
			select x.pos from generate_series(r.next, least(r.size, r.next + cardinality(r.skip) + r.room) - 1) x (pos)
			where x.pos <> all (r.skip) order by x.pos limit r.room) p
		where r.job_id = any (p_jobs));
begin
	if v_elements <> '{}' then
		perform internal.array_expand(v_elements, 'runner');
	end if;
end $$;
comment on function internal.staging_ahead(bigint[]) is
	'Make rows for the next elements of arrays, as many as there is room for, so that their data is staged in. The '
	'caller has locked the jobs.';

create function internal.staging_gate(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s set deps_waiting = s.deps_waiting + 1, eligible_at = null
	from internal.staged_step v
	where v.staging_id = p_job and v.ended_at is null and s.job_id = v.job_id and s.step_id = v.step_id;
end $$;
comment on function internal.staging_gate(bigint) is
	'Have the steps of a job or an element wait for its data, as for one more dependency.';

create function internal.staging_release(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s
	set deps_waiting = s.deps_waiting - 1, eligible_at = case when s.deps_waiting = 1 then now() else s.eligible_at end
	from internal.staged_step v
	where v.staging_id = p_job and v.ended_at is null and s.job_id = v.job_id and s.step_id = v.step_id;
	notify rota_schedule;
end $$;
comment on function internal.staging_release(bigint) is
	'The data of a job or an element is staged in: its steps wait for that no longer.';

create function internal.staging_ready() returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select l.job_id
		from internal.staging_line l
		where l.pool is null or (l.may_fit and l.wanted <= l.free)
		order by l.nr
		limit 1000);
end $$;
comment on function internal.staging_ready() is
	'Jobs and elements whose stage-in can begin: a step waits for nothing but the data, and the pool has space. In '
	'order of stage-in.';

create function internal.staging_begin(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- Read again under the lock which jobs are ready.
	perform internal.staging_move(x, 'begin') from unnest(internal.staging_ready()) x
	where internal.staging_owners(array[x]) <@ p_jobs;
end $$;
comment on function internal.staging_begin(bigint[]) is
	'Begin the stage-in of jobs and elements that are ready. The caller has locked the jobs (p_jobs).';

create function internal.staging_place(p_decided internal.start_decision[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_move(g.job_id, 'place')
	from staging g
	where g.job_id in (select internal.staging_of(v.job_id, v.step_id) from unnest(p_decided) v) and g.state = 'staged';
	insert into hook_pending (job_id, step_id, attempt, hook)
	select v.job_id, v.step_id, v.attempt, 'pre_run'
	from unnest(p_decided) v
	join staging g on g.job_id = internal.staging_of(v.job_id, v.step_id) and g.state = 'pre_run';
	-- An element got its row for stage-in, before its start. So its start is the first event for the row of the array, which is
	-- still pending.
	perform internal.step_move('schedule', array(
		select internal.move_of(job_id => h.job_id, step_id => h.step_id, event => 'expand')
		from (select distinct v.job_id, v.request_id from unnest(p_decided) v where v.step_id <> v.request_id) e
		join step h on h.job_id = e.job_id and h.step_id = e.request_id and h.state = 'pending'));
end $$;
comment on function internal.staging_place(internal.start_decision[]) is
	'Steps of jobs with staging have nodes. The first one makes pre_run due, and the launch requests of all wait until '
	'it has ended.';

create function internal.staging_has_run(p_job bigint) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return coalesce((select g.running_at > g.staged_at from staging g where g.job_id = p_job), false);
end $$;
comment on function internal.staging_has_run(bigint) is
	'Whether steps of the job have run with the data that is staged in now, so that there may be results to stage out.';

create function internal.staging_stuck(p_job bigint) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select g.state
		from internal.staging_rows(p_job) x (id)
		join staging g on g.job_id = x.id and g.state in ('failed', 'post_run', 'staging_out')
		where not exists (select from staging_call c where c.job_id = g.job_id and c.ended_at is null)
		order by g.state = 'failed' desc
		limit 1);
end $$;
comment on function internal.staging_stuck(bigint) is
	'The state in which the data of a job, or of one of its elements, stays until somebody acts because a function has '
	'failed; null: none stays.';

create function internal.staging_out_reason(p_job bigint) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select case when internal.staging_stuck(p_job) is null then 'staging_out' else 'stage_out_failed' end
		from staging g
		where g.job_id = p_job and g.ended_at is null and (g.state in ('post_run', 'staging_out', 'teardown')
			or (g.state = 'array' and exists (select from job j where j.job_id = p_job and j.ended_at is not null))));
end $$;
comment on function internal.staging_out_reason(bigint) is
	'One word for what happens to the data of a job that has ended; null: its data is torn down.';

create function internal.staging_end(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_move(g.job_id, case
		when g.state = 'running' and g.hurry then 'hurry'
		when g.state = 'running' then 'end'
		when g.state = 'array' then 'end'
		when g.state in ('staged', 'pre_run') and not g.hurry and internal.staging_has_run(g.job_id) then 'end'
		when g.state = 'pending'
			and not exists (select from staging_call c where c.job_id = g.job_id and c.ended_at is null) then 'end'
		else 'abort' end)
	from staging g
	where g.job_id = any (p_jobs) and not (g.state = 'array'
		and exists (select from staging e where e.array_job_id = g.job_id and e.ended_at is null));
end $$;
comment on function internal.staging_end(bigint[]) is
	'The last steps of jobs or elements with staging have ended: apply the event that follows from the state of their '
	'data. The data of an array follows when that of all elements is torn down.';

create function internal.staging_end_elements(p_final internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_end(array(
		select e.job_id from unnest(p_final) v
		join staging e on e.array_job_id = v.job_id and e.step_id = v.step_id));
end $$;
comment on function internal.staging_end_elements(internal.move_made[]) is
	'Elements have ended: do as internal.staging_end does for those that have data of their own.';

create function internal.staging_hold(p_job bigint, p_reason text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s set held = 'system', held_reason = p_reason
	from internal.staged_step v
	where v.staging_id = p_job and v.state = 'pending' and v.held = '' and s.job_id = v.job_id and s.step_id = v.step_id;
	perform internal.step_move('runner', array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'hold', message => p_reason)
		from internal.staged_step s where s.staging_id = p_job and s.state = 'pending'));
end $$;
comment on function internal.staging_hold(bigint, text) is 'Hold the steps of a job, or an element, whose stage-in failed.';

create function internal.staging_retry(p_steps jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_move(g.job_id, 'retry')
	from staging g
	where g.ended_at is null and g.state = 'failed' and g.job_id in (
		select internal.staging_of(v.job_id, v.step_id) from jsonb_to_recordset(p_steps) as v (job_id bigint, step_id int));
	notify rota_hook;
end $$;
comment on function internal.staging_retry(jsonb) is
	'Steps [{job_id, step_id}] were released. If their stage-in had failed, it begins again after a teardown. The '
	'caller has locked the jobs.';

create function internal.staging_hurry(p_jobs bigint[]) returns bigint[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_out bigint[] := array(select g.job_id from staging g
		where g.job_id = any (p_jobs) and g.state in ('post_run', 'staging_out'));
begin
	update staging g set hurry = true
	where g.job_id = any (p_jobs)
		and (g.state = 'running' or (g.state in ('staged', 'pre_run') and internal.staging_has_run(g.job_id)));
	perform internal.staging_move(x, 'hurry') from unnest(v_out) x;
	return v_out;
end $$;
comment on function internal.staging_hurry(bigint[]) is
	'Give up the stage-out of jobs and elements: a function that runs is killed, and teardown follows. Answers the jobs '
	'and elements whose stage-out had begun. The caller has locked the jobs.';

create function internal.staging_rerun_one(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if internal.staging_move(p_job, 'rerun') = 'pending' then
		perform internal.staging_gate(p_job);
	end if;
end $$;
comment on function internal.staging_rerun_one(bigint) is 'Have a job or an element that runs again wait for its data.';

create function internal.staging_rerun(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if exists (select from staging g join step_array a on a.job_id = g.job_id and a.staged where g.job_id = p_job) then
		perform internal.staging_move(p_job, 'rerun_array');
		-- Elements that have had no row in rota.staging get one, as new elements do.
		perform internal.staging_rerun_one(e.job_id)
		from staging e
		join step s on s.job_id = e.array_job_id and s.step_id = e.step_id and s.state = 'pending'
		where e.array_job_id = p_job;
	else
		perform internal.staging_rerun_one(p_job);
	end if;
	notify rota_hook;
end $$;
comment on function internal.staging_rerun(bigint) is
	'A job is requeued: stage in its data again, or that of its elements that run again, unless the data is still '
	'staged in.';

create function internal.staging_fields(p_job bigint) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select string_agg(format(E'%s=%s:%s\n', v.nr, octet_length(v.line), v.line), '' order by v.nr)
		from staging g
		cross join lateral unnest(case when g.step_id is null then g.variables
			else array['SLURM_JOB_ID=' || g.job_id] || g.variables end) with ordinality v (line, nr)
		where g.job_id = p_job);
end $$;
comment on function internal.staging_fields(bigint) is
	'The variables of a job or an element with staging as fields with numbers as names, as in launch requests; null: '
	'none. The first variable of an element is SLURM_JOB_ID, its own number.';
