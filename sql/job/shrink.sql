-- Nodes that a running attempt gives back (rota shrink): the nodes of its growths, and its own nodes except the first.
--
-- Called by: api.node_substep_report, for what step managers give back.
-- Invariants:
-- - A node is given back once, so a repeated call changes nothing.
-- - The first node of an attempt stays: its script and its step manager run there.
-- - Reports of a node about an attempt after it gave the node back do not decide how the attempt ends (internal.report_facts,
--   internal.attempt_lost).

create function internal.shrink_growths(p_node int, p_calls jsonb) returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select distinct k.job_id
		from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, growth text)
		cross join lateral internal.growth_key(c.growth) k
		join growth g on g.job_id = k.job_id and g.grown_job_id = c.job and g.grown_step_id = c.step
			and g.grown_attempt = c.attempt
		join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.node_ids[1] = p_node);
end $$;
comment on function internal.shrink_growths(int, jsonb) is
	'The jobs of growths that step managers on a node name in calls. A growth of another attempt is left out.';

create function internal.shrink_nodes(p_node int, p_calls jsonb) returns internal.attempt_node[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select distinct (a.job_id, a.step_id, a.attempt, a.node_id)::internal.attempt_node
		from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, growth text, "on" text)
		join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.state is null
			and t.outcome is null and t.node_ids[1] = p_node -- the step's first node
		join node n on n.name = c."on" and n.node_id <> p_node
		join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.node_id = n.node_id
			and a.ended_at is null and a.given_back_at is null and a.phase not in ('done', 'ended')
		where c.growth is null);
end $$;
comment on function internal.shrink_nodes(int, jsonb) is
	'Nodes that step managers on a node give back of their attempts'' own nodes: nodes that run the attempt, and were not '
	'given back before.';

create function internal.shrink_own(p_given internal.attempt_node[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update allocation a
	set given_back_at = now()
	from unnest(p_given) v
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id;
	-- Record the attempts, so that their step managers get the order that reports the left node, whether they have called
	-- agents or not.
	perform internal.agents_note(array(
		select distinct (v.job_id, v.step_id, v.attempt)::internal.attempt_key from unnest(p_given) v));
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', v.node_id, 'kind', 'kill', 'job_id', v.job_id, 'step_id', v.step_id,
			'attempt', v.attempt, 'args', '{"cause": "given_back"}'::jsonb) order by v.job_id, v.step_id, v.node_id)
		from unnest(p_given) v));
	perform internal.step_move('step manager', array(
		select internal.move_of(job_id => v.job_id, step_id => v.step_id, event => 'modify',
			message => format('goes on without %s: given back by rota shrink',
			string_agg(n.name, ',' order by n.node_id)))
		from unnest(p_given) v
		join node n on n.node_id = v.node_id
		group by v.job_id, v.step_id));
end $$;
comment on function internal.shrink_own(internal.attempt_node[]) is
	'End attempts on the nodes that they give back; the attempts continue without these nodes. The caller has locked the '
	'jobs.';

create function internal.shrink(p_node int, p_calls jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_growths constant bigint[] := internal.shrink_growths(p_node, p_calls);
	v_own constant internal.attempt_node[] := internal.shrink_nodes(p_node, p_calls);
begin
	if v_growths = '{}' and v_own = '{}' then
		return;
	end if;
	-- Include the growths that internal.growth_call calls, so that no order is made for an attempt that is ended at the same
	-- time.
	perform internal.job_lock(v_growths || array(select v.job_id from unnest(v_own) v));
	perform internal.steps_cancel((
		select coalesce(jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id)), '[]')
		from (select distinct k.job_id, k.step_id, k.attempt
			from jsonb_to_recordset(p_calls) as c (port int, growth text)
			cross join lateral internal.growth_key(c.growth) k
			where c.port is null and k.job_id = any (v_growths)) k
		join step s on s.job_id = k.job_id and s.step_id = k.step_id and s.attempt = k.attempt and s.ended_at is null
			and s.end_wanted is null and s.state <> 'pending'), 'step manager', 'given_back', 'given back by rota shrink');
	if v_own <> '{}' then
		-- Read the nodes again: before the lock, another session may have ended the attempts.
		perform internal.shrink_own(internal.shrink_nodes(p_node, p_calls));
	end if;
end $$;
comment on function internal.shrink(int, jsonb) is
	'Handle calls by which step managers on a node give back nodes of their attempts: [{job, step, attempt, on}], and '
	'growths of these: [{job, step, attempt, growth, on}], without a port. An attempt ends on its own node and continues '
	'without it; the step that holds the node of a growth is ended, and counts as completed. The first node of an attempt, '
	'and anything that is not a node or growth of the attempt, is ignored. Locks the jobs of the attempts that give nodes '
	'back, and of all growths of the calls.';
