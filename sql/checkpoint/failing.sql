-- Checkpoints of steps on nodes that are expected to fail, so that their work is not lost with the node.
--
-- Called by: nodemgrd (api.evacuation_judge).
-- Invariants:
-- - A step is asked once for each time that one of its nodes is marked as failing, or drained by a check. It runs on.
-- - Nothing is kept of that but the checkpoint, so a call that is lost is made up for by the next one.

create function internal.failing_nodes() returns table (node_id int, node text, actor text, reason text, from_at timestamptz)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select n.node_id, n.name, f.actor, f.reason,
		-- A node that fails later is left enough time: to begin the checkpoint, and as long again to end it.
		greatest(f.said_at, f.at - 2 * internal.checkpoint_wait())
	from node_notice f
	join node n on n.node_id = f.node_id
	where f.kind = 'failing'
	union all
	select n.node_id, n.name, n.reason_by, n.reason, n.reason_at from node n
	where n.state = 'drain' and n.reason_by like 'check:%';
end $$;
comment on function internal.failing_nodes() is
	'Nodes that are marked as failing, or were drained by a check of the site, by whom, why, and from when on steps there are '
	'asked for checkpoints.';

create function internal.failing_steps() returns table (job_id bigint, step_id int, actor text, why text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select distinct on (s.job_id, s.step_id) s.job_id, s.step_id, f.actor, format('node %s is failing: %s', f.node, f.reason)
	from internal.failing_nodes() f
	join allocation a on a.node_id = f.node_id and a.ended_at is null and a.attempt > 0
	join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt and t.started_at < f.from_at
	join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt and s.state = 'running'
		and s.end_wanted is null
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.checkpoint is not null
	where f.from_at <= now()
		and not exists (select from checkpoint c where c.job_id = s.job_id and c.step_id = s.step_id and c.attempt = s.attempt
			and (c.state in ('asked', 'taking') or c.asked_at >= f.from_at))
	order by s.job_id, s.step_id, f.from_at;
end $$;
comment on function internal.failing_steps() is
	'Steps that can be saved, ran on a node when it was expected to fail, and have not been asked for a checkpoint since.';

create function internal.failing_save() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_jobs bigint[];
begin
	if not exists (select from internal.failing_nodes()) then
		return;
	end if;
	v_jobs := internal.job_lock_free(array(select distinct f.job_id from internal.failing_steps() f));
	-- Read again under the locks.
	perform internal.checkpoint_ask(f.job_id, f.step_id, 'failing', f.actor, f.why, 'continue')
	from internal.failing_steps() f
	where f.job_id = any (v_jobs);
end $$;
comment on function internal.failing_save() is
	'Ask steps on failing nodes for checkpoints, as far as their jobs are not locked. They run on.';
