create function internal.queue_pick(p_uid int, p_caller text, p_all_seen boolean, p_users text[], p_states text[], p_live boolean,
	p_ended boolean, p_limit int) returns bigint[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_live bigint[];
	v_ended bigint[];
begin
	-- Live jobs have an index of their own; history is read only when asked for, newest first, of each user by an index of
	-- its own.
	if p_live then
		v_live := array(
			select j.job_id from job j
			where j.ended_at is null and (p_users is null or j.user_name = any (p_users))
				and (p_all_seen or j.uid = p_uid));
	end if;
	if not p_ended then
		return v_live || nullif(array(
			select j.job_id
			from staging g
			join job j on j.job_id = g.job_id and j.ended_at is not null
			where g.ended_at is null and g.state in ('post_run', 'staging_out', 'teardown', 'array')
				and (p_users is null or j.user_name = any (p_users)) and (p_all_seen or j.uid = p_uid)), '{}');
	elsif p_users is null and p_all_seen then
		v_ended := array(select j.job_id from job j
			where j.ended_at is not null and j.state = any (p_states) order by j.job_id desc limit p_limit);
	else
		v_ended := array(
			select x.job_id
			from (select distinct n from unnest(coalesce(p_users, array[p_caller])) n) u
			cross join lateral (
				select j.job_id from job j
				where j.user_name = u.n and j.ended_at is not null and j.state = any (p_states)
					and (p_all_seen or j.uid = p_uid)
				order by j.job_id desc limit p_limit) x
			order by x.job_id desc limit p_limit);
	end if;
	return v_live || v_ended;
end $$;
comment on function internal.queue_pick(int, text, boolean, text[], text[], boolean, boolean, int) is
	'Jobs for the queue: live ones (p_live), and at most p_limit that ended in one of p_states (p_ended), otherwise '
	'ended ones whose data is being staged out. Null: there are none.';

create function internal.queue_waiting(p_uid int, p_all_seen boolean, p_users text[], p_states text[], p_partitions text[],
	out lines text, out others bigint[])
-- Merge joins in key order: a hash join would copy each table.
language plpgsql stable set search_path = rota,
	pg_temp set enable_mergejoin = on set enable_hashjoin = off set enable_material = on as $$
declare
	-- Each live job has a live step. Most jobs between the first and the last live one are live, so tables are read from one to
	-- the other in key order.
	v_from constant bigint := (select min(s.job_id) from step s where s.ended_at is null);
	v_to constant bigint := (select max(s.job_id) from step s where s.ended_at is null);
begin
	with full_line as materialized (
		select * from internal.full_lines()
	)
	select string_agg(x.line, E'\n'), array_agg(x.job_id) filter (where x.line is null)
	into lines, others
	from (
		select j.job_id, case when j.steps_total = 1 and s.state = 'pending' then
			concat_ws(E'\t', j.job_id, replace(replace(j.name, E'\t', ' '), E'\n', ' '), j.user_name, s.partition,
				s.state, '0/1', '', s.time_limit_s,
				case
				when s.waits = 'scheduler'
				and exists (select from full_line f
				where f.association_id = s.association_id and f.partition = s.queue) then 'limit'
				else s.waits end)
			end as line
		from job j
		join internal.step_facts s on s.job_id = j.job_id and s.step_id = 0 and s.request_id = 0
			and s.job_id between v_from and v_to and s.request_job_id between v_from and v_to
		where j.ended_at is null and j.job_id between v_from and v_to and (p_users is null or j.user_name = any (p_users))
			and (p_all_seen or j.uid = p_uid)
			and (j.steps_total > 1 or s.state <> 'pending'
				or ((p_states is null or s.state = any (p_states))
					and (p_partitions is null or s.partition = any (p_partitions))))
		order by j.job_id desc
	) x;
end $$;
comment on function internal.queue_waiting(int, boolean, text[], text[], text[]) is
	'lines: the lines of live jobs with one pending step, the newest first (null: none); others: all other live jobs (null: '
	'none). Most jobs of a long queue have one pending step, and their lines need no sums.';

create function internal.queue_lines(p_jobs bigint[], p_lines text, p_states text[], p_partitions text[], p_limit int)
	returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	if p_jobs is null and p_limit is null then
		return p_lines;
	end if;
	return (
	select string_agg(x.line, E'\n')
	from (
		select l.job_id, l.line
		from (
			select split_part(w.line, E'\t', 1)::bigint as job_id, w.line
			from string_to_table(p_lines, E'\n') w (line)
			union all
			select r.job_id,
				concat_ws(E'\t', r.job_id, replace(replace(r.name, E'\t', ' '), E'\n', ' '), r.user_name,
				array_to_string(r.partitions, ','),
				case when v.is_out then r.reason else r.state end, r.steps_done || '/' || r.steps_total,
				coalesce(floor(r.elapsed_s - least(r.suspended_s, r.elapsed_s))::text, ''), r.time_limit_s,
				case when v.is_out then r.state else coalesce(nullif(r.nodes, ''), r.reason, '') end)
			from internal.job_rows(p_jobs) r
			cross join lateral (
				select r.ended_at is not null and r.reason in ('staging_out', 'stage_out_failed') as is_out) v
			where (p_states is null or r.state = any (p_states))
				and (p_partitions is null or r.partitions && p_partitions)
		) l
		order by l.job_id desc
		limit p_limit
	) x);
end $$;
comment on function internal.queue_lines(bigint[], text, text[], text[], int) is
	'The queue as text, a line for each job, the newest first: the jobs p_jobs, and those whose lines p_lines has '
	'already. Null: there is no job. A job whose data is staged out has that as its state, and its own state as the '
	'reason.';

create function api.job_queue(p_uid int, p_user text, p_request jsonb) returns json
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_states text[] := internal.request_states(p_request);
	v_partitions text[] := internal.request_list(p_request, 'partition');
	v_limit int := internal.request_int(p_request, 'limit');
	v_of text[] := internal.request_list(p_request, 'user');
	v_all boolean := internal.sees_all(p_uid, p_user);
	v_lines boolean := internal.request_bool(p_request, 'lines');
	v_plain boolean := v_lines and internal.request_list(p_request, 'jobs') is null;
	v_jobs bigint[];
	v_waiting text;
	v_others bigint[];
	v_text text;
	v_answer jsonb;
begin
	-- A long list of jobs is joined with whole tables if that is cheaper.
	perform internal.plan_for(1000), set_config('enable_hashjoin', 'on', true), set_config('enable_seqscan', 'on', true);
	if internal.request_list(p_request, 'jobs') is not null then
		v_jobs := array(select distinct t.job_id from internal.job_target(p_uid, p_user, p_request, false) t);
	else
		v_jobs := internal.queue_pick(p_uid, p_user, v_all, v_of,
			coalesce(v_states, array(select s.state from step_state s)), not v_plain,
			internal.request_bool(p_request, 'all')
			or exists (select from step_state s where s.stage = 'final' and s.state = any (v_states)),
			coalesce(v_limit, 1000));
	end if;
	if v_plain then
		select w.lines, w.others into v_waiting,
			v_others from internal.queue_waiting(p_uid, v_all, v_of, v_states, v_partitions) w;
	end if;
	if v_lines then
		v_text := coalesce(internal.queue_lines(v_jobs || v_others, v_waiting, v_states, v_partitions, v_limit), '');
		if v_text = '' then
			perform internal.request_known(p_uid, p_user, p_request);
		end if;
		return json_build_object('lines', v_text);
	end if;
	select jsonb_agg(x.facts order by x.job_id) into v_answer
	from (
		select s.job_id, s.facts
		from internal.job_summary(v_jobs) s
		where (v_states is null or s.state = any (v_states)) and (v_partitions is null or s.partitions && v_partitions)
		order by s.job_id desc
		limit v_limit
	) x;
	if v_answer is null then
		perform internal.request_known(p_uid, p_user, p_request);
	end if;
	return json_build_object('jobs', coalesce(v_answer, '[]'));
end $$;
comment on function api.job_queue(int, text, jsonb) is
	'Jobs in one line each: the live ones and those whose data is staged out; with all, or with a final state in states, '
	'ended ones too. Request {user, states, partition, jobs, all, limit, lines}. Answer {jobs: [...]}; with lines {lines}: '
	'one line for each job, the newest first, of its number, name, user, partition, state, steps ended/all, run time in '
	'seconds (empty: none), time limit, nodes or reason, separated by tabs.';
