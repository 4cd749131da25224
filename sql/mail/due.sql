-- Makes mails about jobs with --mail-type due. The transactions of the events write them; other jobs cost nothing here.

create function internal.mail_wants(p_types text, p_event text) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_types constant text[] := string_to_array(p_types, ',');
begin
	return coalesce(not 'NONE' = any (v_types)
		and (p_event = any (v_types)
			or ('ALL' = any (v_types) and p_event in ('BEGIN', 'END', 'FAIL', 'REQUEUE', 'INVALID_DEPEND'))), false);
end $$;
comment on function internal.mail_wants(text, text) is 'Whether the events of --mail-type (p_types) include p_event.';

create function internal.mail_end(p_types text, p_state text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case
		when p_state = 'dependency_failed' and internal.mail_wants(p_types, 'INVALID_DEPEND') then 'INVALID_DEPEND'
		when p_state not in ('completed', 'skipped', 'cancelled') and internal.mail_wants(p_types, 'FAIL') then 'FAIL'
		when internal.mail_wants(p_types, 'END') then 'END' end;
end $$;
comment on function internal.mail_end(text, text) is
	'The event for which the end of a job in this state is mailed: only the most specific one that was asked for; null: '
	'none.';

create function internal.mail_job(p_jobs bigint[], p_begin boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into mail (job_id, step_id, attempt, event)
	select j.job_id, -1, 0, e.event
	from job j
	cross join lateral (select case when not p_begin then internal.mail_end(j.mail_type, j.state)
		when internal.mail_wants(j.mail_type, 'BEGIN') then 'BEGIN' end as event) e
	where j.job_id = any (p_jobs) and e.event is not null
	on conflict do nothing;
end $$;
comment on function internal.mail_job(bigint[], boolean) is
	'Make mails about jobs that have begun or ended, for jobs that asked for them.';

create function internal.mail_staged_out(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into mail (job_id, step_id, attempt, event)
	select j.job_id, -1, 0, 'STAGE_OUT'
	from job j
	where exists (select from staging g where g.job_id = j.job_id and g.post_run_at is not null
			union all select from staging e where e.array_job_id = j.job_id and e.post_run_at is not null)
		and j.job_id = p_job and internal.mail_wants(j.mail_type, 'STAGE_OUT')
	on conflict do nothing;
end $$;
comment on function internal.mail_staged_out(bigint) is
	'Make a mail that burst_buffer.lua has staged out and torn down the data of a job, if the job asked for it and there was '
	'a stage-out.';

-- A mail about one of many elements would be one mail about each. Without ARRAY_TASKS, the first element stands for the array.
create function internal.mail_closed(p_closed internal.attempt_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into mail (job_id, step_id, attempt, event)
	select c.job_id, x.step_id, x.attempt, e.event
	from unnest(p_closed) c
	join job j on j.job_id = c.job_id and j.mail_type is not null
	join step s on s.job_id = c.job_id and s.step_id = c.step_id
	cross join lateral (values (case
		when c.event in ('requeue', 'prolog_fail') and c.cause is distinct from 'withdrawn' then 'REQUEUE' end),
		(case when c.outcome = 'timeout' then 'TIME_LIMIT' end)) e (event)
	cross join lateral (select s.array_index is not null and not internal.mail_wants(j.mail_type, 'ARRAY_TASKS') as whole) w
	cross join lateral (select case when w.whole then s.request_id else s.step_id end as step_id,
		case when w.whole then 0 else s.attempt end as attempt) x
	where e.event is not null and internal.mail_wants(j.mail_type, e.event)
	on conflict do nothing;
end $$;
comment on function internal.mail_closed(internal.attempt_end[]) is
	'Make mails about attempts that reached their time limit or are run again. Call this before the steps of the attempts '
	'change their state.';

create function internal.mail_watched(p_job bigint, p_types text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_types ~ 'TIME_LIMIT_|ARRAY_TASKS' then
		insert into mail_watch (job_id) values (p_job) on conflict do nothing;
	else
		delete from mail_watch w where w.job_id = p_job;
	end if;
end $$;
comment on function internal.mail_watched(bigint, text) is
	'Have internal.mail_poll check a job for events of these types, or stop checking it.';

create function internal.mail_poll_limits() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into mail (job_id, step_id, attempt, event)
	select t.job_id, x.step_id, x.attempt, 'TIME_LIMIT_' || e.share
	from mail_watch v
	join job j on j.job_id = v.job_id
	join attempt t on t.job_id = j.job_id and coalesce(t.ended_at, 'infinity') = 'infinity' and t.started_at is not null
		and t.time_limit_s > 0
	join step s on s.job_id = t.job_id and s.step_id = t.step_id
	cross join lateral (
		select y.share
		from (values (90), (80), (50)) y (share)
		where internal.mail_wants(j.mail_type, 'TIME_LIMIT_' || y.share)
			and extract(epoch from coalesce(t.suspended_at, now()) - t.started_at)
				- t.suspended_s >= t.time_limit_s * y.share / 100.0
		order by y.share desc
		limit 1
	) e
	cross join lateral (select s.array_index is not null and not internal.mail_wants(j.mail_type, 'ARRAY_TASKS') as whole) w
	cross join lateral (select case when w.whole then s.request_id else s.step_id end as step_id,
		case when w.whole then 0 else s.attempt end as attempt) x
	on conflict do nothing;
end $$;
comment on function internal.mail_poll_limits() is
	'Make mails about steps that have used a share of their time limit about which the job asked for a mail; only the '
	'highest such share counts.';

create function internal.mail_poll_elements() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into mail (job_id, step_id, attempt, event)
	select j.job_id, x.step_id, 0, x.event
	from mail_watch v
	join job j on j.job_id = v.job_id and internal.mail_wants(j.mail_type, 'ARRAY_TASKS')
	cross join lateral (select count(*) as mails from mail m where m.job_id = j.job_id) c
	cross join lateral (
		select s.step_id, e.event
		from step s
		cross join lateral (values (case
			when s.attempt > 0 and internal.mail_wants(j.mail_type, 'BEGIN') then 'BEGIN' end),
			(case when s.ended_at is not null then internal.mail_end(j.mail_type, s.state) end)) e (event)
		where s.job_id = j.job_id and s.array_index is not null and e.event is not null
			and not exists (select from mail m
				where m.job_id = s.job_id and m.step_id = s.step_id and m.attempt = 0 and m.event = e.event)
		order by s.step_id
		limit greatest(internal.setting_int('mail_job_max') - c.mails, 0)
	) x
	on conflict do nothing;
end $$;
comment on function internal.mail_poll_elements() is
	'Make mails about elements of arrays that have begun or ended, up to setting mail_job_max for each job.';

create function internal.mail_poll() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_over constant bigint[] := array(select w.job_id from mail_watch w
		where not exists (select from job j where j.job_id = w.job_id and j.ended_at is null));
begin
	if not exists (select from mail_watch) then
		return;
	end if;
	perform internal.mail_poll_limits();
	perform internal.mail_poll_elements();
	delete from mail_watch w where w.job_id = any (v_over);
end $$;
comment on function internal.mail_poll() is 'Make the time-driven mails that are due, for jobs that asked for them.';
