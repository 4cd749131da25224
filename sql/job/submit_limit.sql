-- Limits that a submission must meet: of associations, partitions and qualities of service, of grants, and of live steps.
--
-- Called by: submit_check.sql, job_submit.sql and job_requeue.sql. A step within its limits may still wait for them later
-- (schedule/limit.sql).

create function internal.submit_over(p_bound internal.line_limit, p_need numeric, p_who text, p_how text) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case
		when p_bound.measure = 'running' then format('%s start%s, at most %s%s', internal.text_count(p_need, 'step'), p_how,
			p_bound.most, internal.limit_whose(p_bound, ' may run at once'))
		when internal.limit_has_period(p_bound.measure) then format('%s may come to %s%s, at most %s%s', p_who,
			internal.limit_count(p_bound.measure, case when p_need < 'infinity' then ceil(p_need) end), p_how,
			p_bound.most, internal.limit_whose(p_bound, ' may be used'))
		else format('%s asked for%s, at most %s%s', internal.limit_count(p_bound.measure, p_need), p_how, p_bound.most,
			internal.limit_whose(p_bound, ' may be held at once')) end;
end $$;
comment on function internal.submit_over(internal.line_limit, numeric, text, text) is
	'Text about a limit that a submission exceeds even if nothing else runs: who needs how much, and the limit.';

create function internal.submit_check_limits(p_association int, p_tops jsonb, p_partition rota.partition, p_script text,
	p_steps internal.planned_step[], p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_size internal.step_size := internal.size_asked(p_tops, p_step.nodes_min, p_step.nodes_max, p_step.ntasks,
		p_step.cpus_per_task, p_step.mem_mb, p_step.mem_per_cpu_mb, p_step.gres, p_step.exclusive,
		p_step.time_limit_s, p_partition);
	v_option text;
	v_bound internal.line_limit;
begin
	-- Find a limit that the job would exceed even if nothing else were allocated.
	select b.* into v_bound
	from internal.limit_cover(array[(p_association, p_partition.partition)::internal.queue_line]) b
	where b.measure not in ('running', 'submitted', 'time') and internal.limit_need(b.measure, v_size, 'infinity') > b.most
	order by b.limit_id
	limit 1;
	if not found then
		return;
	end if;
	v_option := case when internal.limit_has_period(v_bound.measure) then 'time'
		when v_bound.measure = 'nodes' then 'nodes' when v_bound.measure = 'cpus' then 'ntasks'
		else 'gres' end;
	perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, v_option), v_option,
		internal.submit_over(v_bound, internal.limit_need(v_bound.measure, v_size, 'infinity'), 'it', ''),
			'See "rota shares --limits".');
end $$;
comment on function
	internal.submit_check_limits(int, jsonb, rota.partition, text, internal.planned_step[], internal.planned_step) is
	'Refuse a step that exceeds a limit by itself. p_tops: the highest amounts of its queue line (internal.limit_tops).';

create function internal.submit_check_sets(p_user text, p_account text, p_qos text, p_script text,
	p_steps internal.planned_step[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_over record;
begin
	-- Each step was checked by itself, so its association exists.
	select x.line, x.bound, x.need into v_over
	from (
		select coalesce(min((s.lines ->> 'with')::int), min(s.line)) as line, (array_agg(b))[1] as bound,
			sum(coalesce((s."array" ->> 'size')::int, 1) * internal.limit_need(b.measure, z.size, 'infinity')) as need
		from unnest(p_steps) s
		join partition p on case when s.partition is null then p.is_default else p.partition = s.partition end
		cross join lateral (select (internal.association_of(p_account, p_user, p_qos, s.gres),
			p.partition)::internal.queue_line as line offset 0) c -- once a row
		cross join lateral internal.limit_tops(array[c.line]) t
		cross join lateral (select internal.size_asked(t.tops, s.nodes_min, s.nodes_max, s.ntasks, s.cpus_per_task,
			s.mem_mb, s.mem_per_cpu_mb, s.gres, s.exclusive, s.time_limit_s, p) as size offset 0) z -- once a row
		join lateral internal.limit_cover(array[c.line]) b on b.measure not in ('submitted', 'time')
		where s.with_set is not null
		group by s.with_set, b.limit_id, b.whose
	) x
	where x.need > (x.bound).most
	order by (x.bound).limit_id
	limit 1;
	if found then
		perform internal.submit_refuse(p_script, v_over.line, 'with',
			internal.submit_over(v_over.bound, v_over.need, 'they', ' together'), 'See "rota shares --limits".');
	end if;
end $$;
comment on function internal.submit_check_sets(text, text, text, text, internal.planned_step[]) is
	'Refuse steps that must start together (--with) if their sum exceeds a limit, since they could never start.';

create function internal.submit_check_grant(p_account text, p_script text, p_line int) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_one record;
begin
	if not exists (select from account_grant) then
		return;
	end if;
	select n.name, n.account, n.most, n.first_day, n.last_day, internal.site_day() as today into v_one
	from internal.grant_now n
	join internal.account_above a on a.above = n.account and a.account = p_account
	where n.at_end = 'refuse'
		and n.most <= coalesce((select u.used from internal.grant_used u where u.grant_id = n.grant_id), 0)
	limit 1;
	if found then
		perform internal.submit_refuse(p_script, p_line, 'account', case
			when v_one.today > v_one.last_day
			then format('grant "%s" of account "%s" ended on %s', v_one.name, v_one.account, v_one.last_day)
			when v_one.today < v_one.first_day
			then format('grant "%s" of account "%s" begins on %s', v_one.name, v_one.account, v_one.first_day)
			else format('the %s billing units of grant "%s" of account "%s" are used', v_one.most, v_one.name,
				v_one.account) end,
			'See "rota shares --grants"; an administrator grants more.');
	end if;
end $$;
comment on function internal.submit_check_grant(text, text, int) is
	'Refuse an account if a grant of it, or of an account above, is used up or over and ends with "refuse".';

create function internal.submit_within(p_associations int[], p_partitions text[], p_steps int) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_one record;
	v_live bigint;
begin
	-- Lock limit by limit, so that submissions run one after the other and each sees the one before. A request with many jobs
	-- holds the lock of all limits.
	perform pg_advisory_xact_lock_shared(hashtext('rota submitted'));
	for v_one in
		select distinct on (c.limit_id, c.whose) c as bound, l.account,
			coalesce(l.user_name, nullif(c.whose, '')) as user_name, l.qos, l.partition
		from internal.limit_cover(array(select x::internal.queue_line from unnest(p_associations, p_partitions) x)) c
		join usage_limit l on l.limit_id = c.limit_id
		where c.measure = 'submitted'
		order by c.limit_id, c.whose
	loop
		perform pg_advisory_xact_lock(hashtextextended('rota submitted ' || (v_one.bound).whose, (v_one.bound).limit_id));
		if v_one.partition is null then
			select coalesce(sum(j.steps_left), 0) into v_live
			from job j
			where j.ended_at is null
				and (v_one.account is null
				or j.account in (select a.account from internal.account_above a where a.above = v_one.account))
				and coalesce(j.user_name = v_one.user_name, true) and coalesce(j.qos = v_one.qos, true);
		else
			select count(*) into v_live
			from step s
			join association_share c on c.association_id = s.association_id
			where s.ended_at is null and s.step_id = s.request_id and s.queue = v_one.partition
				and (v_one.account is null
					or c.account in (select a.account from internal.account_above a
					where a.above = v_one.account))
				and coalesce(c.user_name = v_one.user_name, true) and coalesce(c.qos = v_one.qos, true);
		end if;
		if v_live + p_steps > (v_one.bound).most then
			return format('%s of at most %s%s', v_live, internal.text_count((v_one.bound).most, 'live step'),
				internal.limit_whose(v_one.bound, ''));
		end if;
	end loop;
	return null;
end $$;
comment on function internal.submit_within(int[], text[], int) is
	'The limit of submitted steps, as text, that p_steps more steps of these queue lines would exceed; null: none. '
	'Submissions under one limit wait for each other.';

create function internal.submit_fits(p_uid int, p_steps int) returns bigint
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_load record;
	v_newer bigint;
	v_jobs bigint;
	v_last bigint;
	c_most constant int := 256;
begin
	-- The sum of the latest count and of the jobs since then. A session that gets the lock adds these jobs to the count. All live
	-- jobs are counted again if the sum exceeds the limit, and from time to time: the more steps, the more seldom.
	select s.value::bigint as most, l.steps, coalesce(l.last_job, 0) as last_job, l.counted_at into v_load
	from setting s left join submit_load l on l.uid = p_uid
	where s.name = case p_uid when -1 then 'max_submitted_all' else 'max_submitted' end;
	-- In the order of job ids; otherwise the planner might read all live jobs for the newest few.
	if p_uid >= 0 then
		select coalesce(sum(n.steps_left), 0), count(*), max(n.job_id) into v_newer, v_jobs, v_last
		from (select j.steps_left, j.job_id from job j
			where j.ended_at is null and j.uid = p_uid and j.job_id > v_load.last_job
			order by j.job_id limit c_most) n;
	else
		select coalesce(sum(n.steps_left), 0), count(*), max(n.job_id) into v_newer, v_jobs, v_last
		from (select j.steps_left, j.job_id from job j where j.job_id > v_load.last_job order by j.job_id limit c_most) n;
	end if;
	if v_jobs < c_most and v_load.steps + v_newer + p_steps <= v_load.most
		and v_load.counted_at > now() - make_interval(secs => 10 + v_load.steps / 10000.0) then
		-- The next count of this user begins after the last job in the count of all users. So it does not read the jobs of others
		-- up to there.
		update submit_load l
		set steps = l.steps + v_newer,
			last_job = greatest(v_last, l.last_job, (select a.last_job from submit_load a where a.uid = -1))
		where l.uid in (select x.uid from submit_load x
			where x.uid = p_uid and x.last_job = v_load.last_job for update skip locked);
		return null;
	elsif v_jobs < c_most and v_load.counted_at > now() - make_interval(secs => v_load.steps / 100000.0) then
		return case when v_load.steps + v_newer + p_steps > v_load.most then v_load.most end;
	end if;
	insert into submit_load as l (uid, steps, last_job)
	select p_uid, coalesce(sum(j.steps_left), 0), coalesce((select max(n.job_id) from job n), 0)
	from job j where j.ended_at is null and (p_uid = -1 or j.uid = p_uid)
	on conflict (uid) do update set steps = excluded.steps, last_job = greatest(excluded.last_job, l.last_job),
		counted_at = now()
	returning l.steps into v_newer;
	return case when v_newer + p_steps > v_load.most then v_load.most end;
end $$;
comment on function internal.submit_fits(int, int) is
	'The limit of live steps of a user (-1: of all users, checked first) that p_steps more steps would exceed; null: they '
	'fit. Submissions of the same moment do not see each other.';
