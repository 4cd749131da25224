-- Growths: jobs that hold nodes for a running attempt of another job. The step manager of that attempt runs sub-steps there.
--
-- Invariants:
-- - A growth is a job like any other: it waits, starts, is limited, charged and recovered as such.
-- - internal.growth_due derives from the rows alone what is left to do, so a daemon that dies loses nothing. api.schedule_tick
--   does what is left.
-- - A node joins the grown attempt once, and leaves it once (rota.growth_node).

create function internal.growth_key(p_text text) returns internal.attempt_key
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_part constant text[] := regexp_match(p_text, '^([0-9]{1,18})\.([0-9]{1,9})\.([0-9]{1,9})$');
begin
	return (v_part[1]::bigint, v_part[2]::int, v_part[3]::int)::internal.attempt_key;
end $$;
comment on function internal.growth_key(text) is
	'Returns the attempt (job, step, attempt) that a text such as 812.0.1 names; all null: the text names none.';

create function internal.growth_submit(p_job bigint, p_uid int, p_account text, p_qos text, p_grows text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_key constant internal.attempt_key := internal.growth_key(p_grows);
	v_grown job;
	v_request step_request;
begin
	select j.* into v_grown from job j where j.job_id = v_key.job_id and j.uid = p_uid;
	if not found then
		raise exception '--grow: "%" is not an attempt (JOB.STEP.ATTEMPT) of one of your jobs', p_grows using errcode = 'RT403',
			hint = 'Submit growths by "rota grow".';
	end if;
	if exists (select from growth g where g.job_id = v_grown.job_id) then
		raise exception 'job % is a growth itself', v_grown.job_id using errcode = 'RT422', hint = 'Grow the job that it grows.';
	end if;
	select r.* into v_request
	from step s
	join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	where s.job_id = v_key.job_id and s.step_id = v_key.step_id and s.attempt = v_key.attempt and s.end_wanted is null
		and t.started_at is not null and t.done_at is null and t.state is null and t.outcome is null;
	if not found then
		raise exception 'the attempt % does not run', p_grows using errcode = 'RT409', hint = 'Only a step that runs can grow.';
	end if;
	if p_account is distinct from v_grown.account or p_qos <> v_grown.qos or exists (
		select from step_request r where r.job_id = p_job
			and (r.partition, r.reservation, r.image, r.prep)
				is distinct from (v_request.partition, v_request.reservation, v_request.image, v_request.prep)) then
		raise exception 'a growth must have the account, quality of service, partition, reservation, image and preparation '
			'of the step that it grows'
			using errcode = 'RT422', hint = 'Submit growths by "rota grow".';
	end if;
	insert into growth (job_id, grown_job_id, grown_step_id, grown_attempt)
	values (p_job, v_key.job_id, v_key.step_id, v_key.attempt);
end $$;
comment on function internal.growth_submit(bigint, int, text, text, text) is
	'Store that a new job grows an attempt (p_grows, "812.0.1"). Refuses an attempt that does not run or that has another '
	'owner, account, quality of service, partition, reservation, image or preparation.';

create function internal.grown_lives(p_job bigint, p_step int, p_attempt int) returns boolean
-- This function has no settings of its own, so that the planner inlines it into the query.
language sql stable return exists (select from live.attempt t
	where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt and t.state is null);
comment on function internal.grown_lives(bigint, int, int) is 'Whether the attempt that a growth grows is live.';

create function internal.growth_come(p_jobs bigint[]) returns setof rota.growth_node
language sql stable set search_path = live, rota, pg_temp as $$
	select a.job_id, a.step_id, a.attempt, a.node_id, now(), null::timestamptz
	from growth g
	join attempt t on t.job_id = g.job_id and t.state is null and t.started_at is not null and t.outcome is null
	join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.ended_at is null
		and a.phase not in ('done', 'ended')
	where g.job_id = any (p_jobs) and g.closed_at is null
		and internal.grown_lives(g.grown_job_id, g.grown_step_id, g.grown_attempt)
		and not exists (select from growth_node n where n.job_id = a.job_id and n.step_id = a.step_id and n.attempt = a.attempt
			and n.node_id = a.node_id);
$$;
comment on function internal.growth_come(bigint[]) is
	'Nodes of running growths that have not been added to the grown attempts yet.';

create function internal.growth_gone(p_jobs bigint[]) returns setof rota.growth_node
language sql stable set search_path = live, rota, pg_temp as $$
	select n.job_id, n.step_id, n.attempt, n.node_id, n.come_at, n.gone_at
	from growth g
	join growth_node n on n.job_id = g.job_id and n.gone_at is null
	where g.job_id = any (p_jobs) and g.closed_at is null
		and (not exists (select from allocation a
			where a.job_id = n.job_id and a.step_id = n.step_id and a.attempt = n.attempt and a.node_id = n.node_id
				and a.ended_at is null and a.phase not in ('done', 'ended'))
		or not internal.grown_lives(g.grown_job_id, g.grown_step_id, g.grown_attempt));
$$;
comment on function internal.growth_gone(bigint[]) is
	'Nodes that growths have added to grown attempts, and that are to be removed: their tasks have ended, or the grown '
	'attempt has.';

create function internal.growth_live(p_jobs bigint[]) returns table (job_id bigint, step_id int)
language sql stable set search_path = live, rota, pg_temp as $$
	select s.job_id, s.step_id
	from step s
	where s.job_id = any (p_jobs) and s.ended_at is null
		and (s.state = 'pending' or (s.end_wanted is null and s.attempt > 0) or exists (select from step_array a
			where a.job_id = s.job_id and a.step_id = s.step_id and a.next < a.size));
$$;
comment on function internal.growth_live(bigint[]) is
	'Steps of growths that wait or run, and whose end nobody has asked for yet.';

create function internal.growth_due() returns bigint[]
language sql stable set search_path = live, rota, pg_temp as $$
	select array(
		select g.job_id
		from growth g
		cross join lateral (
			select internal.grown_lives(g.grown_job_id, g.grown_step_id, g.grown_attempt) as grown_lives,
				exists (select from step s where s.job_id = g.job_id and s.ended_at is null) as lives,
				exists (select from internal.growth_live(array[g.job_id])) as is_wanted,
				exists (select from internal.growth_come(array[g.job_id])) as has_come,
				exists (select from internal.growth_gone(array[g.job_id])) as has_gone,
				exists (select from growth_node n where n.job_id = g.job_id and n.gone_at is null) as is_there
			offset 0) x -- once a growth
		where g.closed_at is null
			and ((not x.grown_lives and x.is_wanted) or x.has_come or x.has_gone or not (x.lives or x.is_there)));
$$;
comment on function internal.growth_due() is
	'Growths with a node that is to be added or removed, and growths whose grown attempt has ended.';

create function internal.growth_admit(p_decided internal.start_decision[]) returns internal.start_decision[]
language sql stable set search_path = rota, pg_temp as $$
	select array(
		select v::internal.start_decision
		from unnest(p_decided) v
		where not exists (select from growth g
			where g.job_id = v.job_id and not internal.grown_lives(g.grown_job_id, g.grown_step_id, g.grown_attempt)));
$$;
comment on function internal.growth_admit(internal.start_decision[]) is
	'Remove from a decision the growths whose grown attempt has ended since the leader read it: they are not started.';

create function internal.growth_order(p_kind text, p_nodes rota.growth_node[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', t.node_ids[1], 'kind', p_kind, 'job_id', t.job_id, 'step_id', t.step_id,
			'attempt', t.attempt, 'args', jsonb_build_object('growth', format('%s.%s.%s', v.job_id, v.step_id, v.attempt),
				'on', n.name)) order by v.job_id, v.step_id, v.node_id)
		from unnest(p_nodes) v
		join growth g on g.job_id = v.job_id
		join attempt t on t.job_id = g.grown_job_id and t.step_id = g.grown_step_id and t.attempt = g.grown_attempt
			and t.state is null
		join node n on n.node_id = v.node_id
		having count(*) > 0));
end $$;
comment on function internal.growth_order(text, rota.growth_node[]) is
	'Send an order `grow` or `shrink` about nodes of growths to the first node of each grown attempt that is live.';

create function internal.growth_settle(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_over bigint[];
	v_nodes rota.growth_node[];
begin
	if p_jobs = '{}' then
		return;
	end if;
	v_over := array(
		select g.job_id
		from growth g
		where g.job_id = any (p_jobs) and g.closed_at is null
			and not internal.grown_lives(g.grown_job_id, g.grown_step_id, g.grown_attempt));
	perform internal.steps_cancel((
		select coalesce(jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id)), '[]')
		from internal.growth_live(v_over) s), 'schedule', 'grown_ended',
		'the step that it grows has ended');
	v_nodes := array(select x::rota.growth_node from internal.growth_come(p_jobs) x);
	insert into growth_node (job_id, step_id, attempt, node_id, come_at)
	select x.job_id, x.step_id, x.attempt, x.node_id, x.come_at from unnest(v_nodes) x;
	perform internal.growth_order('grow', v_nodes);
	v_nodes := array(select x::rota.growth_node from internal.growth_gone(p_jobs) x);
	update growth_node n
	set gone_at = greatest(now(), n.come_at)
	from unnest(v_nodes) x
	where n.job_id = x.job_id and n.step_id = x.step_id and n.attempt = x.attempt and n.node_id = x.node_id;
	perform internal.growth_order('shrink', v_nodes);
	update growth g
	set closed_at = now()
	where g.job_id = any (p_jobs) and g.closed_at is null
		and not exists (select from step s where s.job_id = g.job_id and s.ended_at is null)
		and not exists (select from growth_node n where n.job_id = g.job_id and n.gone_at is null);
end $$;
comment on function internal.growth_settle(bigint[]) is
	'Handle growths that are due: end those whose grown attempt has ended, and order the step managers to use nodes that '
	'have been added, and not to use those that are removed. The caller has locked the jobs.';

create function internal.growth_notice(p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if exists (select from unnest(p_seen) v where v.given_back and v.end_at is not null)
		or exists (select from unnest(p_seen) v join growth g on g.job_id = v.job_id) then
		notify rota_schedule;
	end if;
end $$;
comment on function internal.growth_notice(internal.attempt_report[]) is
	'Notify the leader about growths among reported attempts and about nodes that attempts gave back, so that growth_settle '
	'handles them.';

create function internal.growth_call(p_node int, p_calls jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', a.node_id, 'kind', 'agent', 'job_id', a.job_id, 'step_id', a.step_id,
			'attempt', a.attempt, 'body', c.key, 'args', jsonb_build_object('host', h.address, 'port', c.port)))
		from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, port int, key text, growth text, "on" text)
		cross join lateral internal.growth_key(c.growth) k
		join growth g on g.job_id = k.job_id and g.grown_job_id = c.job and g.grown_step_id = c.step
			and g.grown_attempt = c.attempt
		join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.state is null
			and t.node_ids[1] = p_node -- the step's first node
		join node h on h.node_id = p_node
		join node n on n.name = c."on"
		join allocation a on a.job_id = k.job_id and a.step_id = k.step_id and a.attempt = k.attempt and a.node_id = n.node_id
			and a.ended_at is null and a.lost_at is null and a.phase not in ('done', 'ended')
		where c.port between 1 and 65535 and c.key ~ '^[0-9a-f]{64}$'
		having count(*) > 0));
end $$;
comment on function internal.growth_call(int, jsonb) is
	'Handle calls of step managers on a node to the nodes of growths of their attempts: [{job, step, attempt, growth, on, '
	'port, key}]. The node that `on` names gets an order `agent` for the attempt of the growth. A call about anything but a '
	'growth of the attempt is ignored, and so is a call from a node that is not the first of the attempt.';

create function api.job_growths(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
begin
	return jsonb_build_object('growths', (
		select coalesce(jsonb_agg(to_jsonb(v) - '{user_name,account}'::text[] || jsonb_build_object('label',
			internal.step_label(v.job_id, v.step_id), 'grown', internal.step_label(v.grown_job_id, v.grown_step_id))
			order by v.job_id, v.step_id), '[]')
		from (select distinct t.job_id, case when t.whole_job then -1 else t.step_id end as step_id
			from internal.job_target(p_uid, p_user, p_request, false) t) x
		join internal.acct_growth v on v.grown_job_id = x.job_id and x.step_id in (-1, v.grown_step_id)));
end $$;
comment on function api.job_growths(int, text, jsonb) is
	'The growths of jobs or steps. Request {jobs}. Answer {growths: [{label, grown, state, reason, priority, expected_at, nodes, '
	'...}]}, the columns of acct.growth.';
