-- Pauses: suspensions of steps by preemption, and when the steps resume.
--
-- Called by: the leader, by api.schedule_tick and api.schedule_resume (jobmgr/schedule/schedule_resume.c chooses);
-- sql/schedule/preempt.sql.
-- Invariants:
-- - A pause begins in the transaction that makes the claim of the step for which the victim is suspended.
-- - A victim resumes when that step neither holds CPUs nor has a claim, and all CPUs and licences of the victim are free.
-- - A pause that is over is deleted at the next tick. Nothing but the resumption depends on the pause.

create function internal.pause_begin(p_taken internal.preempt_taken[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into preempt_pause as p (job_id, step_id, attempt, by_job_id, by_step_id)
	select v.job_id, v.step_id, v.attempt, v.by_job_id, v.by_step_id from unnest(p_taken) v
	on conflict (job_id, step_id) do update
	set attempt = excluded.attempt, by_job_id = excluded.by_job_id, by_step_id = excluded.by_step_id, made_at = excluded.made_at;
	update step s set resume_wanted = false from unnest(p_taken) v where s.job_id = v.job_id and s.step_id = v.step_id;
	perform internal.attempts_order('suspend', (
		select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id, 'args',
			internal.suspend_args(v.job_id, v.step_id)))
		from unnest(p_taken) v));
end $$;
comment on function internal.pause_begin(internal.preempt_taken[]) is
	'Order the suspension of steps that are preempted. The caller has locked their jobs.';

-- A pause is over if its attempt has ended, or its owner suspends or resumes the step.
create view internal.pause_open as
select p.*, s.state, s.rank, s.queue, s.resume_wanted
from rota.preempt_pause p
join live.step s on s.job_id = p.job_id and s.step_id = p.step_id and s.attempt = p.attempt
where s.ended_at is null and s.state in ('running', 'suspended') and s.end_wanted is null;
comment on view internal.pause_open is 'Pauses whose steps are suspended, or will be, one row each.';

create function internal.pause_is_stale() returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from preempt_pause p
		where not exists (select from internal.pause_open o where o.job_id = p.job_id and o.step_id = p.step_id));
end $$;
comment on function internal.pause_is_stale() is 'Whether there are pauses that are over.';

create function internal.pause_drop() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	delete from preempt_pause d
	where (d.job_id, d.step_id) in (
		select p.job_id, p.step_id from preempt_pause p
		where not exists (select from internal.pause_open o where o.job_id = p.job_id and o.step_id = p.step_id)
		for update skip locked);
end $$;
comment on function internal.pause_drop() is 'Delete the pauses that are over. Only the leader calls this.';

create function internal.pause_end(p_job bigint, p_step int, p_attempt int, p_at timestamptz) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if not exists (select from preempted e
		where e.job_id = p_job and e.step_id = p_step and e.attempt = p_attempt and e.mode = 'suspend'
			and e.resumed_at is null) then
		return;
	end if;
	delete from preempt_pause p where p.job_id = p_job and p.step_id = p_step;
	update preempted e set resumed_at = p_at
	where e.job_id = p_job and e.step_id = p_step and e.attempt = p_attempt and e.mode = 'suspend' and e.resumed_at is null;
end $$;
comment on function internal.pause_end(bigint, int, int, timestamptz) is
	'End the pause of a suspended step that resumes, whoever resumed it.';

create function internal.pause_forget(p_steps jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	delete from preempt_pause p
	using jsonb_to_recordset(p_steps) as v (job_id bigint, step_id int)
	where p.job_id = v.job_id and p.step_id = v.step_id;
end $$;
comment on function internal.pause_forget(jsonb) is
	'Delete the pauses of steps [{job_id, step_id}] that their owner suspends: from now on only the owner resumes them.';

create function internal.pause_is_due(p_by_job bigint, p_by_step int) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	-- Elements of an array hold its CPUs. The row of the array itself is running until the last element has ended.
	return not exists (select from step b
			join allocation a on a.job_id = b.job_id and a.step_id = b.step_id and a.attempt = b.attempt
				and a.ended_at is null and a.cpus_held > 0
			where b.job_id = p_by_job and p_by_step in (b.step_id, b.request_id) and b.ended_at is null)
		and not exists (select from internal.claim_open c where c.job_id = p_by_job and c.step_id = p_by_step);
end $$;
comment on function internal.pause_is_due(bigint, int) is
	'Whether a step that has preempted others holds no CPUs and has no claim, so that its victims may resume.';

create function internal.resume_list() returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select jsonb_agg(jsonb_build_object('job', o.job_id, 'step', o.step_id, 'tier', x.tier, 'node', a.node_id,
			'cpus', a.cpus - a.cpus_held, 'mem_mb', 0, 'gres', '{}'::jsonb, 'devices',
			case when upper_inf(a.without_gpus) then jsonb_build_object('gpu', a.gres -> 'gpu') else '{}' end, 'licenses',
			case when a.node_index = 0 and a.licenses = '{}' then r.licenses else '{}' end)
			order by x.tier desc, o.rank desc, o.job_id, o.step_id, a.node_index)
		from internal.pause_open o
		join partition p on p.partition = o.queue
		join allocation a on a.job_id = o.job_id and a.step_id = o.step_id and a.attempt = o.attempt and a.ended_at is null
		join step s on s.job_id = o.job_id and s.step_id = o.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		cross join lateral (select internal.rank_tier(o.rank) + p.tier as tier) x
		where o.state = 'suspended' and not o.resume_wanted and internal.pause_is_due(o.by_job_id, o.by_step_id));
end $$;
comment on function internal.resume_list() is
	'Resources that suspended victims need which may resume, the first to resume first: [{job, step, tier, node, cpus, '
	'mem_mb, gres, devices: {"gpu": [0, 3]}, licenses}]; null: none may.';

create function api.schedule_resume(p_term bigint, p_jobs bigint[], p_steps int[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_free bigint[];
	v_steps jsonb;
	v_made int;
begin
	perform internal.leader_check(p_term);
	v_free := internal.job_lock_free(array(select distinct x from unnest(p_jobs) x));
	v_steps := (select jsonb_agg(jsonb_build_object('job_id', o.job_id, 'step_id', o.step_id) order by v.nr)
		from unnest(p_jobs, p_steps) with ordinality v (job_id, step_id, nr)
		join internal.pause_open o on o.job_id = v.job_id and o.step_id = v.step_id and o.state = 'suspended'
		where v.job_id = any (v_free) and internal.pause_is_due(o.by_job_id, o.by_step_id));
	perform internal.resume_lock(v_steps);
	select count(*) filter (where internal.step_resume(v.job_id, v.step_id)) into v_made
	from jsonb_to_recordset(v_steps) as v (job_id bigint, step_id int);
	return v_made;
end $$;
comment on function api.schedule_resume(bigint, bigint[], int[]) is
	'Resume steps that were suspended by preemption, as the scheduler chose, if all resources that they need are still free. '
	'Returns how many resume; the others are left to the next cycle. RT412: no longer leader.';
