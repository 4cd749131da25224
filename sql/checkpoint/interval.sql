-- Checkpoints of steps with --checkpoint-interval=auto: how often they are taken, by what they cost and how often nodes fail.
--
-- Called by: sql/checkpoint/report.sql when an attempt begins and when a checkpoint is complete, and api.schedule_tick.
-- Invariants:
-- - Only a step with --checkpoint-interval=auto has a row in rota.checkpoint_timer. The end of the attempt deletes the row, and
--   the tick deletes a stale one.

create function internal.node_failures(out failures int, out node_s double precision)
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_from constant timestamptz := greatest(now() - interval '90 days',
		(select e.at from node_event e order by e.node_event_id limit 1));
begin
	failures := (select count(*) from node_event e where e.from_state = 'up' and e.to_state = 'down' and e.at >= v_from);
	node_s := (select count(*) from node) * extract(epoch from now() - v_from);
end $$;
comment on function internal.node_failures() is
	'How often nodes that were up went down in the last 90 days, or since the first event if that is later; and this time in '
	'seconds times the number of nodes.';

create function internal.checkpoint_cost(p_job bigint, p_step int, out cost_s double precision, out costs int)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	select avg(extract(epoch from x.complete_at - x.taking_at)), count(*) into cost_s, costs
	from (select c.complete_at, c.taking_at from checkpoint c
		where c.job_id = p_job and c.step_id = p_step and c.complete_at is not null
		order by c.generation desc limit 5) x;
end $$;
comment on function internal.checkpoint_cost(bigint, int) is
	'Mean seconds that the latest five checkpoints of a step took, and their number; null: the step has no checkpoint.';

create function internal.checkpoint_interval(p_cost_s double precision, p_mtbf_s double precision) returns double precision
language sql stable set search_path = rota, pg_temp as $$
	select case when p_cost_s is null then internal.setting_int('checkpoint_interval_s')
		else least(greatest(sqrt(2 * p_cost_s * p_mtbf_s), p_cost_s, 10), 86400) end;
$$;
comment on function internal.checkpoint_interval(double precision, double precision) is
	'Seconds between checkpoints by which least time is lost, by J. W. Young''s formula. p_cost_s: seconds that one '
	'checkpoint takes (null: not known, use the setting); p_mtbf_s: mean seconds between failures. Between ten seconds, or '
	'p_cost_s, and a day.';

create function internal.checkpoint_timer_set(p_step rota.step) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if not exists (select from step_request r
		where r.job_id = p_step.job_id and r.step_id = p_step.request_id and r.checkpoint ->> 'interval' = 'auto') then
		return;
	end if;
	insert into checkpoint_timer as t (job_id, step_id, attempt, interval_s, cost_s, costs, mtbf_s, failures, nodes, next_at)
	select p_step.job_id, p_step.step_id, p_step.attempt, i.interval_s, c.cost_s, c.costs, m.mtbf_s, f.failures, n.nodes,
		now() + make_interval(secs => i.interval_s)
	from attempt a
	cross join lateral internal.checkpoint_cost(p_step.job_id, p_step.step_id) c
	cross join lateral internal.node_failures() f
	cross join lateral (select greatest(cardinality(a.nodes), 1) as nodes) n
	cross join lateral (select case when f.failures > 0 then f.node_s / f.failures
		else internal.setting_int('checkpoint_mtbf_days') * 86400::double precision end / n.nodes as mtbf_s) m
	cross join lateral (select internal.checkpoint_interval(c.cost_s, m.mtbf_s) as interval_s) i
	where a.job_id = p_step.job_id and a.step_id = p_step.step_id and a.attempt = p_step.attempt
	on conflict (job_id, step_id) do update
	set attempt = excluded.attempt, interval_s = excluded.interval_s, cost_s = excluded.cost_s, costs = excluded.costs,
		mtbf_s = excluded.mtbf_s, failures = excluded.failures, nodes = excluded.nodes, next_at = excluded.next_at;
	if found then
		notify rota_schedule; -- the leader reads the time
	end if;
end $$;
comment on function internal.checkpoint_timer_set(rota.step) is
	'Compute how often checkpoints of a step are taken, if the step asks for that, and when the next one is due. The caller '
	'has locked its job.';

-- A job in a detached range cannot be locked, so this function needs no lock of the job.
create function internal.checkpoint_timer_drop() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	delete from checkpoint_timer t
	where (t.job_id, t.step_id) in (
		select d.job_id, d.step_id from checkpoint_timer d
		where d.next_at <= now() and not exists (select from step s where s.job_id = d.job_id
			and s.step_id = d.step_id and s.attempt = d.attempt and s.ended_at is null and s.state <> 'pending')
		for update skip locked);
end $$;
comment on function internal.checkpoint_timer_drop() is 'Delete the due timers of attempts that have ended.';

create function internal.checkpoint_timer_due() returns bigint[]
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return array(select distinct t.job_id from checkpoint_timer t where t.next_at <= now());
end $$;
comment on function internal.checkpoint_timer_due() is 'Jobs with a step of which a checkpoint is to be asked for now.';

create function internal.checkpoint_timer_fire(p_jobs bigint[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.checkpoint_ask(t.job_id, t.step_id, 'interval', 'schedule', null, 'continue')
	from checkpoint_timer t
	where t.job_id = any (p_jobs) and t.next_at <= now();
	update checkpoint_timer t set next_at = now() + make_interval(secs => t.interval_s)
	where t.job_id = any (p_jobs) and t.next_at <= now();
end $$;
comment on function internal.checkpoint_timer_fire(bigint[]) is
	'Ask for the checkpoints of locked jobs whose timers are due. Steps that do not run, or are suspended, are left out.';

create function internal.checkpoint_timer_json(p_job bigint, p_step int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select to_jsonb(t) - '{job_id,step_id,attempt}'::text[] from checkpoint_timer t
		where t.job_id = p_job and t.step_id = p_step);
end $$;
comment on function internal.checkpoint_timer_json(bigint, int) is
	'How often checkpoints of a step are taken, and how that was computed; null: the step has no timer.';
