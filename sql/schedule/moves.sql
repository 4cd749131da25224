-- Which running steps can be moved, and what a move of each costs, for proposals of moves (jobmgr/schedule/schedule_moves.c).

create function internal.restore_cost(p_job bigint, p_step int) returns double precision
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select avg(extract(epoch from c.restored_at - c.restoring_at)) from checkpoint c
		where c.job_id = p_job and c.step_id = p_step and c.restored_at is not null);
end $$;
comment on function internal.restore_cost(bigint, int) is
	'Mean seconds that it took to go on from checkpoints of a step; null: it never did.';

create function internal.movable_steps() returns table (job_id bigint, step_id int, cost_s double precision)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select s.job_id, s.step_id, c.cost_s + coalesce(internal.restore_cost(s.job_id, s.step_id), c.cost_s)
	from allocation a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt and s.state = 'running'
		and s.end_wanted is null
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.checkpoint is not null
		and r.requeue and r.with_set is null
	cross join lateral internal.checkpoint_cost(s.job_id, s.step_id) c
	where a.ended_at is null and a.attempt > 0 and a.node_index = 0 and a.started_at is not null and c.cost_s is not null
		and not exists (select from step_edge e where e.job_id = r.job_id and r.step_id in (e.step_id, e.peer_step_id)
			and e.kind in ('same_nodes', 'other_nodes'))
		and not exists (select from evacuation_move m where m.job_id = s.job_id and m.step_id = s.step_id
			and m.state in ('waiting', 'ending', 'queued'))
	order by s.rank desc, s.job_id, s.step_id;
end $$;
comment on function internal.movable_steps() is
	'Running steps that can be saved and go on elsewhere, and seconds that this takes, as measured: the latest five checkpoints, '
	'and all restarts from them; without a restart as long again as the checkpoint. '
	'A step of which no checkpoint was measured is none.';

create function internal.snapshot_moves() returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_movers constant jsonb := (select coalesce(jsonb_agg(to_jsonb(m)), '[]') from internal.movable_steps() m);
begin
	return jsonb_build_object('movers', v_movers, 'moving', (
		select coalesce(jsonb_agg(to_jsonb(x)), '[]')
		from api.schedule_pending(array(select (m ->> 'job_id')::bigint from jsonb_array_elements(v_movers) m),
			array(select (m ->> 'step_id')::int from jsonb_array_elements(v_movers) m)) x));
end $$;
comment on function internal.snapshot_moves() is
	'Steps that can be moved [{job_id, step_id, cost_s}], and what each asks for when it starts again, '
	'as api.schedule_pending answers it.';
