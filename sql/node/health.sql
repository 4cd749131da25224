-- Checks of the health of nodes: which checks are due, their results, and the drains and resumes that follow.
--
-- Called by: nodemgrd (internal.check_plan by api.reboot_judge), runnerd (api.check_take, api.check_report),
-- operators (api.node_health).
--
-- Invariants:
-- - Exit code 0 is healthy, 1 is unhealthy. Any other end is an error of the check, and no node is drained for it.
-- - Checks drain a share of the nodes at most; only the leading runnerd counts them. A check resumes only nodes that it has
--   drained itself.
-- - A check whose end was not reported is run again by the next runnerd.

create function internal.check_plan() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if not exists (select from node_check) then
		return;
	end if;
	delete from node_health h using node_check c, node n
	where c.name = h.name and n.node_id = h.node_id and c.feature is not null and c.feature <> all (n.features);
	insert into node_health (node_id, name, due_at)
	-- The first runs are spread over a period.
	select n.node_id, c.name, clock_timestamp() + make_interval(secs => c.period_s * random())
	from node_check c
	join node n on c.feature is null or c.feature = any (n.features)
	where not exists (select from node_health h where h.name = c.name and h.node_id = n.node_id)
	for key share of c, n -- skips checks and nodes that are being deleted
	on conflict do nothing;
	if exists (select from node_health h where h.due_at <= clock_timestamp() and h.began_at is null) then
		notify rota_power;
	end if;
end $$;
comment on function internal.check_plan() is
	'Record which checks are to run for which nodes, and notify runnerd if some are due.';

create function api.check_take(p_term bigint, p_have bigint[], p_limit int)
returns table (run_id bigint, action text, node text, image text, prep text, args text, program text, timeout_s int, label text)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	perform internal.staging_leader(p_term, false);
	if not exists (select from node_health h where h.due_at <= clock_timestamp() and h.health_id <> all (p_have)) then
		return;
	end if;
	-- A runnerd that led before may still report one of these runs.
	perform internal.staging_leader(p_term, true);
	return query
	with due as (
		select h.health_id
		from node_health h
		join node n on n.node_id = h.node_id and n.power = 'on'
		join node_lease l on l.node_id = h.node_id and l.lost_at is null
		where h.due_at <= clock_timestamp() and h.health_id <> all (p_have)
			and not exists (select from node_reboot r where r.node_id = h.node_id and r.ended_at is null and r.state <> 'waiting')
		order by h.due_at
		limit p_limit
	), taken as (
		update node_health h
		set began_at = clock_timestamp()
		from due d
		where h.health_id = d.health_id
		returning h.health_id, h.node_id, h.name
	)
	select t.health_id, 'check', n.name, null, t.name, null, c.program, c.timeout_s, format('check %s of node %s', t.name, n.name)
	from taken t
	join node n on n.node_id = t.node_id
	join node_check c on c.name = t.name
	order by t.health_id;
end $$;
comment on function api.check_take(bigint, bigint[], int) is
	'Take due checks of nodes that have a valid lease and are not being changed: p_limit at most, without the checks that the '
	'leading runnerd already runs (p_have); like api.power_take. RT412: no longer leader.';

create function internal.check_may_drain() returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select count(*) filter (where n.state = 'drain' and n.reason_by like 'check:%')
		< greatest(1, count(*) * internal.setting_int('check_drained_percent') / 100)
	from node n;
$$;
comment on function internal.check_may_drain() is 'Whether checks may drain one more node, by the setting check_drained_percent.';

create function internal.check_act(p_check rota.node_check, p_node int, p_state text, p_message text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_actor constant text := 'check:' || p_check.name;
	v_node node;
begin
	select * into v_node from node n where n.node_id = p_node;
	if p_state = 'unhealthy' and p_check.action <> 'report' and v_node.state = 'up' and internal.check_may_drain() then
		perform internal.node_state_set(p_node, 'drain', v_actor, concat_ws(': ', 'check ' || p_check.name, p_message));
	elsif p_state = 'healthy' and p_check.action = 'resume' and v_node.state = 'drain' and v_node.reason_by = v_actor then
		perform internal.node_resume(v_node, v_actor, 'healthy again');
	end if;
end $$;
comment on function internal.check_act(rota.node_check, int, text, text) is
	'Drain a node that is unhealthy, or resume a node that the same check had drained. The caller has locked the node.';

create function api.check_report(p_term bigint, p_runs bigint[], p_codes int[], p_failures text[], p_outputs text[]) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_one record;
begin
	perform internal.staging_leader(p_term, true);
	perform internal.node_lock(array(select h.node_id from node_health h where h.health_id = any (p_runs)));
	for v_one in
		select h.health_id, h.node_id, n.name as node, h.state as was, c, x.state,
			left(coalesce(nullif(btrim(split_part(v.output, E'\n', 1)), ''), v.failure), 200) as message
		from unnest(p_runs, p_codes, p_failures, p_outputs) as v (run_id, code, failure, output)
		join node_health h on h.health_id = v.run_id and h.began_at is not null
		join node n on n.node_id = h.node_id
		join node_check c on c.name = h.name
		cross join lateral (
			select case when v.failure is null then 'healthy' when v.code = 1 then 'unhealthy' else 'error' end as state) x
		order by h.health_id
	loop
		update node_health h
		set state = v_one.state, since = case when v_one.state = v_one.was then h.since else clock_timestamp() end,
			message = v_one.message, runs = h.runs + 1, ran_s = h.ran_s + extract(epoch from clock_timestamp() - h.began_at),
			checked_at = clock_timestamp(),
			due_at = clock_timestamp() + make_interval(secs => (v_one.c).period_s), began_at = null
		where h.health_id = v_one.health_id;
		insert into node_health_event (node_id, node, name, from_state, to_state, message)
		select v_one.node_id, v_one.node, (v_one.c).name, v_one.was, v_one.state, v_one.message where v_one.state <> v_one.was;
		perform internal.check_act(v_one.c, v_one.node_id, v_one.state, v_one.message);
	end loop;
end $$;
comment on function api.check_report(bigint, bigint[], int[], text[], text[]) is
	'Report the ends of checks, like api.power_report; a failure of null: exit code 0. A repeated report changes nothing. '
	'RT412: no longer leader.';

create function internal.check_tidy() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	delete from node_health_event e where e.at < now() - make_interval(days => internal.setting_int('reboot_days'));
	delete from rolling_change c where c.ended_at < now() - make_interval(days => internal.setting_int('reboot_days'));
end $$;
comment on function internal.check_tidy() is
	'Delete results of checks, and rolling changes, that are older than the setting reboot_days.';

create function api.node_health(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_names text[];
begin
	if internal.caller_role(p_uid, p_user) = 'user' then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403',
			hint = 'Only operators see what checks said.';
	end if;
	v_names := internal.request_nodes(p_request, 'nodes');
	return jsonb_build_object('health', (
		select coalesce(jsonb_agg(jsonb_build_object('node', n.name, 'check', h.name, 'state', h.state, 'since', h.since,
			'message', h.message, 'checked_at', h.checked_at, 'runs', h.runs, 'action', c.action)
			order by n.node_id, h.name), '[]')
		from node_health h
		join node n on n.node_id = h.node_id
		join node_check c on c.name = h.name
		where v_names = '{}' or n.name = any (v_names)));
end $$;
comment on function api.node_health(int, text, jsonb) is
	'The states that the latest run of each check gave to nodes; for operators. Request {nodes}. Answer {health: [{node, '
	'check, state: unknown, healthy, unhealthy or error, since, message, checked_at, runs, action}]}.';
