-- Preemption: which steps may be preempted, and the commit of the leader's picks (jobmgr/schedule/schedule_preempt.c).
-- Invariants:
-- - The tier of a step is that of its partition plus that of its quality of service. The latter is part of its rank, where a
--   tier weighs more than any priority or age. So each reader of the queue has the order of the tiers.
-- - One transaction orders the end of all victims of a pick and writes the claim, which keeps what they free for the step that
--   preempts.
-- - A claim ends when its step starts, ends or is held, or when it expires. A claim that is lost costs only time.

-- Functions of a rank are plain expressions, which the planner inlines: readers of the queue call them for each row.
create function internal.tier_rank(p_tier int) returns bigint
language sql immutable return p_tier * 100000000000000;
comment on function internal.tier_rank(int) is
	'The part of a rank that a tier adds: as much as about 3,000 years of waiting.';

create function internal.rank_points(p_points bigint, p_point_ms bigint) returns bigint
language sql immutable return greatest(-40000000000000, least(40000000000000, p_points::numeric * p_point_ms))::bigint;
comment on function internal.rank_points(bigint, bigint) is
	'Milliseconds that points of priority add to a rank: less than a tier adds.';

create function internal.rank_tier(p_rank bigint) returns int
language sql immutable return round(p_rank / 1e14)::int;
comment on function internal.rank_tier(bigint) is 'The tier that is contained in a rank.';

-- Eternal steps are 50 tiers below their partition and quality of service, so below all others.
create function internal.eternal_rank(p_eternal boolean) returns bigint
language sql immutable return case when p_eternal then -5000000000000000 else 0 end;
comment on function internal.eternal_rank(boolean) is
	'The part of a rank that is added for an eternal step, a negative number; 0 for other steps.';

create function internal.rank_is_eternal(p_rank bigint) returns boolean
language sql immutable return p_rank < -2500000000000000;
comment on function internal.rank_is_eternal(bigint) is 'Whether a rank is that of an eternal step.';

create function internal.preempt_is_on() returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from partition p where p.preempt <> 'off') or exists (select from qos q where q.preempt <> 'off')
		or exists (select from step_request r join step s on s.job_id = r.job_id and s.step_id = r.step_id and s.ended_at is null
			where r.eternal);
end $$;
comment on function internal.preempt_is_on() is 'Whether any step may be preempted.';

create function internal.preempt_saved_at(p_job bigint, p_step int, p_attempt int) returns timestamptz
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (select max(c.complete_at) from checkpoint c
		where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt
			and c.state in ('complete', 'restoring', 'restored'));
end $$;
comment on function internal.preempt_saved_at(bigint, int, int) is
	'When the latest checkpoint of an attempt was complete; null: the attempt has no checkpoint.';

create function internal.preempt_candidates(p_tier int)
returns table (job_id bigint, step_id int, attempt int, tier int, lost_s double precision, mode text, grace_s int,
	from_at timestamptz, gives_licenses boolean, gives_gpus boolean)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select s.job_id, s.step_id, s.attempt, x.tier,
		case when m.mode in ('checkpoint', 'suspend') then 0
			else coalesce(greatest(extract(epoch from coalesce(t.suspended_at, now()) - greatest(t.started_at,
				case when r.checkpoint is not null then internal.preempt_saved_at(s.job_id, s.step_id, s.attempt) end))
				- t.suspended_s, 0), 0) end::double precision,
		case when m.mode = 'requeue' and not r.requeue then 'cancel' else m.mode end, p.preempt_grace_s,
		case when c.waits then now() + greatest(make_interval(secs => greatest(x.after_s, 1)), now() - t.ordered_at)
			when x.after_s = 0 then to_timestamp(0) else greatest(coalesce(t.started_at, now())
			+ make_interval(secs => x.after_s + t.suspended_s), e.resumed_at + make_interval(secs => x.after_s)) end,
		coalesce(r.keep ->> 'licenses' = 'false', false),
		m.mode = 'suspend' and a.gres ? 'gpu' and coalesce(r.keep ->> 'gres' = 'false', false) and cardinality(t.node_ids) = 1
			-- Programs that did not leave when they were last suspended may not leave this time either.
			and (t.pause_clock is null or coalesce(upper(a.without_gpus) = upper(a.without_cpus), false))
			and internal.node_gives_gpus(a.node_id)
	from allocation a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt and s.end_wanted is null
		and s.state in ('starting', 'prolog', 'running', 'suspended')
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join job j on j.job_id = s.job_id
	join partition p on p.partition = s.queue
	left join qos q on q.qos = j.qos
	join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt and t.outcome is null
	cross join lateral (select internal.rank_tier(s.rank) + p.tier as tier,
		case when not r.eternal then coalesce(q.preempt, p.preempt)
			when r.checkpoint is not null then 'checkpoint' else 'requeue' end as preempt,
		coalesce(greatest(p.preempt_after_s, q.preempt_after_s), 0) as after_s) x
	cross join lateral (select case x.preempt when 'checkpoint' then r.checkpoint is not null
		when 'suspend' then not coalesce((r.keep ->> 'cpus')::boolean, false) else true end as fits,
		x.preempt in ('checkpoint', 'suspend') as asks) f
	-- What is spared only until it runs is a candidate from then on. Nothing tells the leader when that is.
	cross join lateral (select f.fits and (not f.asks or s.state = 'running') as can, f.fits and f.asks and not r.eternal
		and s.state in ('starting', 'prolog') and p.preempt_otherwise = 'spare' as waits) c
	cross join lateral (select case when c.can or c.waits then x.preempt when r.eternal then 'requeue'
		else p.preempt_otherwise end as mode) m
	left join preempted e on e.job_id = s.job_id and e.step_id = s.step_id and e.attempt = s.attempt
	where a.ended_at is null and a.attempt > 0 and a.node_index = 0 and a.started_at is not null
		and m.mode not in ('off', 'spare') and x.tier < p_tier
		and (e.job_id is null or (e.mode = 'suspend' and e.resumed_at is not null))
		-- Leave out a step that its owner has suspended, since its owner resumes it.
		and (m.mode <> 'suspend' or coalesce((select o.kind from node_order o
			where o.node_id = a.node_id and o.job_id = a.job_id and o.step_id = a.step_id and o.attempt = a.attempt
				and o.kind in ('suspend', 'resume')
			order by o.order_id desc limit 1), 'resume') = 'resume');
end $$;
comment on function internal.preempt_candidates(int) is
	'Steps below a tier that may be preempted, from when on (from_at; of a step that has not started: if it started now, or when '
	'to look again whether it has, after as long as it has been starting, if it is spared until it runs). '
	'lost_s: seconds of work that are lost; mode: what becomes of the step; grace_s: as rota.partition.preempt_grace_s; '
	'gives_licenses, gives_gpus: it gives these back while it is suspended. A pre-dispatched element holds no CPUs and is none.';

create function api.schedule_candidates(p_tier int)
returns table (job_id bigint, step_id int, attempt int, tier int, lost_s double precision, from_at double precision,
	suspends boolean, gives_licenses boolean, gives_gpus boolean)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select c.job_id, c.step_id, c.attempt, c.tier, c.lost_s, extract(epoch from c.from_at)::double precision,
		c.mode = 'suspend', c.gives_licenses, c.gives_gpus
	from internal.preempt_candidates(p_tier) c
	order by c.job_id, c.step_id;
end $$;
comment on function api.schedule_candidates(int) is
	'Steps of lower tiers that may be preempted, with the seconds of work that each loses. from_at: from when on, in '
	'epoch seconds (of a step that has not started: as if it started now, so that the leader asks again then). '
	'suspends: it is suspended and keeps memory and devices, but for its GPUs if gives_gpus, and its licences unless '
	'gives_licenses.';

-- A claim whose step no longer waits does not count. The leader reads the claims with each tick, since they are few.
create view internal.claim_open as
select c.*
from rota.preempt_claim c
join live.step s on s.job_id = c.job_id and s.step_id = c.step_id
left join live.step_array a on a.job_id = c.job_id and a.step_id = c.step_id
where c.until_at > now() and s.ended_at is null and s.held = '' and s.deps_waiting = 0
	and (s.state = 'pending' or (s.is_array and s.attempt = 0 and a.next < a.size)
		-- A step that moves to empty a node counts twice until it is saved. No waiting step must be kept back by that.
		or (c.moving @> jsonb_build_array(jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt))
			and not exists (select from rota.plan p
				where p.reason in ('resources', 'priority', 'license')
					and not exists (select from rota.preempt_claim o where o.job_id = p.job_id and o.step_id = p.step_id))));
comment on view internal.claim_open is
	'Claims that count. The step of a claim waits; or it runs and is to move to what the claim keeps, while each '
	'waiting step has a claim.';

create function internal.claim_list() returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	if not exists (select from preempt_claim) then
		return null;
	end if;
	return (
		select jsonb_agg(x.value || jsonb_build_object('job', c.job_id, 'step', c.step_id) order by c.claim_id, x.nr)
		from internal.claim_open c
		cross join lateral jsonb_array_elements(c.shares) with ordinality x (value, nr));
end $$;
comment on function internal.claim_list() is
	'The resources that are kept free for steps with claims, [{job, step, node, cpus, mem_mb, gres, licenses}]; null: none.';

create function internal.claim_cpus(p_node int) returns bigint
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return case when exists (select from preempt_claim) then (
		select coalesce(sum((x.value ->> 'cpus')::int), 0)
		from internal.claim_open c
		cross join lateral jsonb_array_elements(c.shares) x
		where (x.value ->> 'node')::int = p_node) else 0 end;
end $$;
comment on function internal.claim_cpus(int) is 'Number of CPUs of a node that claims keep free.';

create function internal.claim_gpus(p_node int) returns bigint
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select coalesce(sum((x.value #>> '{gres,gpu}')::int), 0)
		from internal.claim_open c
		cross join lateral jsonb_array_elements(c.shares) x
		where (x.value ->> 'node')::int = p_node);
end $$;
comment on function internal.claim_gpus(int) is 'Number of GPUs of a node that claims keep free.';

create function internal.claim_add(p_steps jsonb, p_moving jsonb) returns void
language sql set search_path = live, rota, pg_temp as $$
	insert into preempt_claim (job_id, step_id, shares, until_at, moving)
	select x.job, x.step, x.shares, now() + make_interval(secs => internal.setting_int('preempt_hold_s') + x.grace_s), p_moving
	from jsonb_to_recordset(p_steps) x (job bigint, step int, shares jsonb, grace_s int);
$$;
comment on function internal.claim_add(jsonb, jsonb) is
	'Write the claims of steps [{job, step, shares, grace_s}]; grace_s: seconds that the victims have to free what is '
	'kept. p_moving: steps [{job, step, attempt}] that are moved for the claims.';

create function internal.claim_is_stale() returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from preempt_claim)
		and exists (select from preempt_claim c where c.claim_id not in (select o.claim_id from internal.claim_open o));
end $$;
comment on function internal.claim_is_stale() is 'Whether internal.claim_drop would delete a claim.';

create function internal.claim_drop() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	delete from preempt_claim c where c.claim_id not in (select o.claim_id from internal.claim_open o);
end $$;
comment on function internal.claim_drop() is
	'Delete claims whose steps no longer wait; the resources that these kept free are then free for all steps. Only the '
	'leader calls this.';

create function internal.claim_settle(p_began internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- An array has a claim for each element that is to start: delete as many as have started. An element with a row of its own
	-- has its own claims.
	delete from preempt_claim d
	using (
		select c.claim_id, row_number() over (partition by c.job_id, c.step_id order by c.claim_id) as nr, b.n
		from (select v.job_id, v.step_id, count(*) as n
			from (select m.job_id, case when m.attempt > 1 then m.step_id else m.request_id end as step_id
				from unnest(p_began) m) v
			group by v.job_id, v.step_id) b
		join preempt_claim c on c.job_id = b.job_id and c.step_id = b.step_id
	) x
	where d.claim_id = x.claim_id and x.nr <= x.n;
end $$;
comment on function internal.claim_settle(internal.move_made[]) is
	'Delete the claims of steps that have started: the claimed resources are now in the allocations of the steps.';

create function internal.preempt_wait(p_job bigint, p_step int, out label text, out tier int)
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	select internal.step_label(s.job_id, s.step_id), internal.rank_tier(s.rank) + p.tier into label, tier
	from step s
	join partition p on p.partition = s.queue
	left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
	where s.job_id = p_job and s.step_id = p_step and s.ended_at is null and s.held = '' and s.deps_waiting = 0
		and (s.state = 'pending' or (s.is_array and s.attempt = 0 and a.next < a.size));
end $$;
comment on function internal.preempt_wait(bigint, int) is 'Name and tier of a step that may start; null: the step may not start.';

create function internal.preempt_kill(p_taken internal.preempt_taken[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s set end_wanted = case v.mode when 'cancel' then 'preempt' else 'requeue' end
	from unnest(p_taken) v
	where s.job_id = v.job_id and s.step_id = v.step_id;
	perform internal.attempts_order('kill', (
		select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id, 'args',
			jsonb_build_object('cause', 'preempted', 'time_limit_s', coalesce(v.grace_s, 0))))
		from unnest(p_taken) v));
end $$;
comment on function internal.preempt_kill(internal.preempt_taken[]) is 'Order the end of steps that are preempted.';

create function internal.preempt_unsaved(p_failed rota.checkpoint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_mode text;
	v_grace_s int;
begin
	select case when r.eternal then 'requeue' when p.preempt_otherwise = 'requeue' and not r.requeue then 'cancel'
		else p.preempt_otherwise end, p.preempt_grace_s
	into v_mode, v_grace_s
	from step s
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join partition p on p.partition = s.queue
	where s.job_id = p_failed.job_id and s.step_id = p_failed.step_id and s.attempt = p_failed.attempt and s.end_wanted is null;
	if not found then
		return;
	elsif v_mode <> 'spare' then
		update preempted e set mode = v_mode
		where e.job_id = p_failed.job_id and e.step_id = p_failed.step_id and e.attempt = p_failed.attempt;
		perform internal.preempt_kill(array[(p_failed.job_id, p_failed.step_id, p_failed.attempt, 0, v_mode, v_grace_s, null,
			null, null)::internal.preempt_taken]);
		return;
	end if;
	-- The leader picks other victims for the steps that were to get its resources.
	delete from preempt_claim c using preempted e
	where e.job_id = p_failed.job_id and e.step_id = p_failed.step_id and e.attempt = p_failed.attempt
		and c.job_id = e.by_job_id and c.step_id = e.by_step_id;
	update preempted e set mode = 'spared'
	where e.job_id = p_failed.job_id and e.step_id = p_failed.step_id and e.attempt = p_failed.attempt;
end $$;
comment on function internal.preempt_unsaved(rota.checkpoint) is
	'The checkpoint of a victim has failed: the step is spared or ended, as its partition says.';

create function internal.preempt_end(p_taken internal.preempt_taken[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.preempt_withdraw(v.job_id, v.step_id) from unnest(p_taken) v;
	perform internal.step_move('schedule', array(select internal.move_of(job_id => v.job_id,
		step_id => v.step_id, event => 'modify', cause => 'preempted', message => 'preempted by ' || v.by_label)
		from unnest(p_taken) v));
	insert into preempted (job_id, step_id, attempt, by_job_id, by_step_id, mode, lost_s)
	select v.job_id, v.step_id, v.attempt, v.by_job_id, v.by_step_id, v.mode, v.lost_s * (
		select sum(a.cpus) from allocation a
		where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt)
	from unnest(p_taken) v
	on conflict (job_id, step_id, attempt) do update
	set by_job_id = excluded.by_job_id, by_step_id = excluded.by_step_id, mode = excluded.mode, at = excluded.at,
		lost_s = preempted.lost_s + excluded.lost_s, times = preempted.times + 1, resumed_at = null;
	perform internal.pause_begin(array(select v::internal.preempt_taken from unnest(p_taken) v where v.mode = 'suspend'));
	-- Victims that cannot be asked for a checkpoint are ended.
	perform internal.preempt_kill(array(
		select v::internal.preempt_taken from unnest(p_taken) v
		where case v.mode when 'suspend' then false
			when 'checkpoint' then internal.checkpoint_ask(v.job_id, v.step_id, 'preempt', 'schedule',
				'preempted by ' || v.by_label, 'requeue') is null
			else true end));
end $$;
comment on function internal.preempt_end(internal.preempt_taken[]) is
	'End or suspend steps to make room for others. The caller has locked their jobs.';

create function internal.preempt_valid(p_picks jsonb, p_free bigint[], p_candidates internal.preempt_victim[]) returns jsonb
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return (
		with pick as (
			select x.value, x.nr, jsonb_array_length(x.value -> 'victims') as victims
			from jsonb_array_elements(p_picks) with ordinality x (value, nr)
		), waiting as (
			select p.nr, min(w.tier) as tier
			from pick p
			cross join lateral jsonb_to_recordset(p.value -> 'steps') x (job bigint, step int)
			cross join lateral internal.preempt_wait(x.job, x.step) w
			group by p.nr
			having bool_and(w.label is not null and x.job = any (p_free))
		), victim as (
			select p.nr, x.job, x.step, x.attempt, row_number() over (partition by x.job, x.step order by p.nr) as turn
			from pick p
			cross join lateral jsonb_to_recordset(p.value -> 'victims') x (job bigint, step int, attempt int)
		), found as (
			select v.nr, count(*) as victims, max(c.grace_s) as grace_s
			from victim v
			join waiting w on w.nr = v.nr
			join unnest(p_candidates) c on c.job_id = v.job and c.step_id = v.step and c.attempt = v.attempt and c.tier < w.tier
			where v.turn = 1 and v.job = any (p_free)
			group by v.nr
		)
		select jsonb_agg(p.value || jsonb_build_object('grace_s', coalesce(f.grace_s, 60)) order by p.nr)
		from pick p
		join waiting w on w.nr = p.nr
		left join found f on f.nr = p.nr
		where coalesce(f.victims, 0) = p.victims);
end $$;
comment on function internal.preempt_valid(jsonb, bigint[], internal.preempt_victim[]) is
	'The picks that are still possible, in their order: all steps wait, all victims may be preempted for them and are '
	'in no earlier pick, and the caller has locked all jobs (p_free). grace_s: the longest one of the victims. Null: '
	'none.';

create function internal.preempt_victims(p_picks jsonb, p_candidates internal.preempt_victim[]) returns internal.preempt_taken[]
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return array(
		select (c.job_id, c.step_id, c.attempt, c.lost_s, c.mode, c.grace_s, y.job, y.step,
			internal.step_label(y.job, y.step))::internal.preempt_taken
		from jsonb_array_elements(p_picks) p
		cross join lateral jsonb_to_record(p #> '{steps,0}') y (job bigint, step int)
		cross join lateral jsonb_to_recordset(p -> 'victims') x (job bigint, step int)
		join unnest(p_candidates) c on c.job_id = x.job and c.step_id = x.step
		order by c.job_id, c.step_id);
end $$;
comment on function internal.preempt_victims(jsonb, internal.preempt_victim[]) is
	'The victims of picks that are still possible (internal.preempt_valid).';

-- A pick is made as a whole or not at all. One statement writes all picks of a call: a statement for each victim would take as
-- long as the end of the victim.
create function api.schedule_preempt(p_term bigint, p_picks jsonb) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[] := array(select distinct (x ->> 'job')::bigint from jsonb_array_elements(p_picks) p
		cross join lateral jsonb_array_elements((p -> 'steps') || (p -> 'victims')) x);
	v_candidates internal.preempt_victim[];
	v_picks jsonb;
begin
	perform internal.leader_check(p_term);
	v_jobs := internal.job_lock_free(v_jobs);
	v_candidates := array(
		select (c.job_id, c.step_id, c.attempt, c.tier, c.lost_s, c.mode, c.grace_s)::internal.preempt_victim
		from internal.preempt_candidates(2147483647) c
		where c.from_at <= now());
	-- A pick with a job that another session has locked is left to the next cycle.
	v_picks := internal.preempt_valid(p_picks, v_jobs, v_candidates);
	if v_picks is not null then
		perform internal.claim_add((
			select jsonb_agg(x.value || jsonb_build_object('grace_s', p.value -> 'grace_s') order by p.nr, x.nr)
			from jsonb_array_elements(v_picks) with ordinality p (value, nr)
			cross join lateral jsonb_array_elements(p.value -> 'steps') with ordinality x (value, nr)), '[]');
		perform internal.preempt_end(internal.preempt_victims(v_picks, v_candidates));
	end if;
	notify rota_event;
	return coalesce(jsonb_array_length(v_picks), 0);
end $$;
comment on function api.schedule_preempt(bigint, jsonb) is
	'Make picks: [{steps: [{job, step, shares: [{node, cpus, mem_mb, gres, licenses}]}], victims: [{job, step, '
	'attempt}]}]. All victims are ordered to end at once. Answers the number of picks that were made. The others are '
	'not possible any more, or another session has locked one of their jobs. RT412: no longer leader.';
