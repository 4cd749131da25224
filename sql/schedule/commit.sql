-- Writes of the scheduling leader in a cycle: starts, refusals of steps, and the plan.
--
-- Invariants:
-- - The leader waits only briefly for locks of other sessions. A cycle that gives up is repeated; in between the leader renews
--   its lease and has the sessions that hold locks judged (api.session_judge).
-- - A job that a user's request has locked is skipped, and is read again in a cycle that does not wait for a notification.
create function internal.schedule_begin(p_decided internal.start_decision[], p_at timestamptz) returns setof internal.move_made
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_elements internal.element[] := array(
		select (v.job_id, v.request_id, v.pos)::internal.element
		from unnest(p_decided) v
		join step h on h.job_id = v.job_id and h.step_id = v.request_id and coalesce(h.ended_at, 'infinity') = 'infinity'
			and h.held = ''
		where v.pos is not null and v.attempt = 1);
	v_made internal.move_made[];
	v_moves internal.move[];
	v_moved internal.move_made[];
begin
	if v_elements <> '{}' then
		perform internal.step_move('schedule', array(
			select internal.move_of(job_id => h.job_id, step_id => h.step_id, event => 'expand', at => p_at)
			from (select distinct x.job_id, x.request_id from unnest(v_elements) x) e
			join step h on h.job_id = e.job_id and h.step_id = e.request_id and h.state = 'pending'));
		v_made := array(select e::internal.move_made from internal.array_expand(v_elements, 'schedule', p_at) e);
		return query select m.* from unnest(v_made) m;
		if cardinality(v_made) = cardinality(p_decided) then
			return;
		end if;
	end if;
	-- A start is valid only for the attempt for which it was decided, of a step that may still start.
	v_moves := array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'start', at => p_at)
		from unnest(p_decided) v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'pending' and s.attempt + 1 = v.attempt
			and s.held = '' and s.deps_waiting = 0);
	if v_moves = '{}' then
		return;
	end if;
	v_moved := array(select m::internal.move_made from internal.step_move('schedule', v_moves) m where m.event = 'start');
	update step_array a
	set running = a.running + e.n
	from (select m.job_id, m.request_id, count(*) as n from unnest(v_moved) m
		where m.array_index is not null group by m.job_id, m.request_id) e
	where a.job_id = e.job_id and a.step_id = e.request_id;
	return query select m.* from unnest(v_moved) m;
end $$;
comment on function internal.schedule_begin(internal.start_decision[], timestamptz) is
	'Move those steps of a decision to state starting that may still start. Returns these moves.';

create function internal.commit_narrow(p_began internal.move_made[], p_decided internal.start_decision[], p_starts jsonb,
	p_orders jsonb, out decided internal.start_decision[], out starts jsonb, out orders jsonb)
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_keys jsonb;
begin
	select jsonb_object_agg(b.job_id || '.' || b.step_id, null) into v_keys from unnest(p_began) b;
	decided := array(select v::internal.start_decision from unnest(p_decided) v
		where v_keys ? (v.job_id || '.' || v.step_id));
	starts := (select jsonb_agg(v) from jsonb_array_elements(p_starts) v
		where v_keys ? ((v ->> 'job') || '.' || (v ->> 'step')));
	orders := (select jsonb_agg(o) from jsonb_array_elements(p_orders) o
		where v_keys ? ((o ->> 'job_id') || '.' || (o ->> 'step_id')));
	-- A launch request for several elements is signed as a whole: all of them start, or none.
	if exists (
		select from jsonb_array_elements(p_orders) o
		cross join lateral (select count(*) filter (where v_keys ? ((o ->> 'job_id') || '.' || x)) as began,
			count(*) as asked
			from jsonb_array_elements_text(jsonb_build_array(o -> 'step_id')
				|| coalesce(o -> 'also', '[]')) x) n
		where n.began between 1 and n.asked - 1
	) then
		raise exception 'an element of an array can no longer start' using errcode = '40001',
			hint = 'Read again and decide anew.';
	end if;
end $$;
comment on function internal.commit_narrow(internal.move_made[], internal.start_decision[], jsonb, jsonb) is
	'The parts of a decision (as for api.schedule_commit) that are about the steps which have started.';

create function internal.commit_check_sets(p_began internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if exists (
		select from unnest(p_began) b
		join step_request r on r.job_id = b.job_id and r.step_id = b.step_id and r.with_set is not null
		join step_request o on o.job_id = r.job_id and o.with_set = r.with_set
		join step s on s.job_id = o.job_id and s.step_id = o.step_id and s.state = 'pending'
		where b.array_index is null
	) then
		raise exception 'a step would start without its peers' using errcode = '40001',
			hint = 'Read again and decide anew.';
	end if;
end $$;
comment on function internal.commit_check_sets(internal.move_made[]) is
	'Refuse (40001) to start a step without the steps with which it must start together.';

create function internal.attempt_write(p_decided internal.start_decision[], p_at timestamptz) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into attempt (job_id, step_id, attempt, eligible_at, ordered_at, time_limit_s, ends_on_node_loss, node_ids, nodes)
	select v.job_id, v.step_id, v.attempt,
		(select s.eligible_at from step s where s.job_id = v.job_id and s.step_id = v.step_id), p_at, v.time_limit_s,
		v.ends_on_node_loss, v.node_ids,
		case when cardinality(v.node_ids) = 1 then array[h.name]
		else array(select n.name from unnest(v.node_ids) with ordinality as x (id, nr) join node n on n.node_id = x.id
			order by x.nr) end
	from unnest(p_decided) v
	join node h on h.node_id = v.node_ids[1];
end $$;
comment on function internal.attempt_write(internal.start_decision[], timestamptz) is
	'Write the rows of rota.attempt for steps that start.';

create function internal.attempt_open(p_decided internal.start_decision[], p_at timestamptz) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.attempt_write(p_decided, p_at);
	perform internal.allocation_take(array(
		select internal.allocation_start_of(job_id => v.job_id, step_id => v.step_id, attempt => v.attempt,
			node_id => al.node, node_index => (al.nr - 1)::int, cpus => al.cpus, mem_mb => al.mem_mb, gres => al.gres,
			licenses => case when al.nr = 1 then r.licenses else '{}'::jsonb end, tasks => al.tasks,
			prolog_owner => coalesce(al.prolog_owner, true), phase => 'ordered', started_at => p_at,
			predispatched => al.predispatched)
		from unnest(p_decided) v
		join step_request r on r.job_id = v.job_id and r.step_id = v.request_id
		cross join lateral rows from (jsonb_to_recordset(v.allocations) as (node int, cpus int, mem_mb bigint, gres jsonb,
			tasks int, prolog_owner boolean,
			predispatched boolean)) with ordinality as al (node, cpus, mem_mb, gres, tasks, prolog_owner,
			predispatched, nr)), true);
end $$;
comment on function internal.attempt_open(internal.start_decision[], timestamptz) is
	'Open the attempts of steps that start, with their allocations.';

create function internal.job_begin(p_began internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_mail bigint[];
	v_began bigint[];
begin
	with began as (
		update job j set started_at = now()
		where j.job_id in (select b.job_id from unnest(p_began) b) and j.started_at is null
		returning j.job_id, j.mail_type
	)
	select array_agg(b.job_id), array_agg(b.job_id) filter (where b.mail_type is not null) into v_began, v_mail from began b;
	if v_began is not null then
		perform internal.trigger_jobs(v_began, 'job_start');
	end if;
	if v_mail is not null then
		perform internal.mail_job(v_mail, true);
	end if;
end $$;
comment on function internal.job_begin(internal.move_made[]) is 'Set the start of jobs whose first steps start.';

create function internal.wait_since(p_job bigint, p_step int, p_since timestamptz) returns timestamptz
language sql stable set search_path = live, rota, pg_temp as $$
	select least(p_since, greatest(s.eligible_at, case when s.begin_at < p_since then s.begin_at end,
		(select max(t.ended_at) from attempt t
			where t.job_id = p_job and t.step_id = p_step and t.ended_at < 'infinity'),
		(select max(x.until_at) from wait_reason x where x.job_id = p_job and x.step_id = p_step)))
	from step s
	where s.job_id = p_job and s.step_id = p_step
$$;
comment on function internal.wait_since(bigint, int, timestamptz) is
	'Time from which a step has waited for a reason that the scheduler has given since p_since. A busy leader gives the '
	'first reason late, so waiting time without a reason before p_since counts for it.';

create function internal.plan_drop(p_began internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	with gone as (
		delete from plan p
		where p.ctid = any (array(
			select o.ctid
			from unnest(p_began) b
			cross join lateral (select x.ctid from plan x
				where x.job_id = b.job_id and x.step_id = b.step_id offset 0) o)) -- by key
		returning p.*
	)
	insert into wait_reason (job_id, step_id, from_at, until_at, reason, blocker)
	select g.job_id, g.step_id, f.from_at, f.until_at, g.reason, g.blocker
	from gone g
	cross join lateral (
		select internal.wait_since(g.job_id, g.step_id, g.since) as from_at, clock_timestamp() as until_at offset 0 -- once a row
	) f
	where f.until_at - f.from_at >= interval '1 second'
	on conflict do nothing;
end $$;
comment on function internal.plan_drop(internal.move_made[]) is
	'Delete the plan rows of steps that have started, and store why the steps had waited.';

-- The decisions of a cycle in one transaction: states, attempts, allocations, orders, notifications.
create function api.schedule_commit(p_term bigint, p_starts jsonb, p_orders jsonb, p_wait boolean default true)
returns table (job_id bigint, step_id int, attempt int)
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_starts jsonb := p_starts;
	v_orders jsonb := p_orders;
	v_decided internal.start_decision[] := array(
		select (v.job, v.step, v.request, v."position", v.attempt, v.time_limit_s, coalesce(v.ends_on_node_loss, false),
			v.nodes, v.allocations, v.bound)::internal.start_decision
		from jsonb_to_recordset(p_starts) as v (job bigint, step int, request int, "position" int, attempt int,
			time_limit_s bigint, ends_on_node_loss boolean, nodes int[],
			allocations jsonb, bound boolean));
	v_asked int := cardinality(v_decided);
	v_jobs bigint[] := array(select distinct v.job_id from unnest(v_decided) v);
	v_began internal.move_made[];
	v_at timestamptz;
	v_serve boolean;
begin
	perform internal.leader_check(p_term);
	if p_wait then
		perform internal.job_lock_soon(v_jobs);
	else
		v_jobs := internal.job_lock_free(v_jobs);
		v_decided := array(select v::internal.start_decision from unnest(v_decided) v where v.job_id = any (v_jobs));
	end if;
	v_serve := internal.node_lock(array(select distinct n from unnest(v_decided) v cross join lateral unnest(v.node_ids) n));
	v_at := clock_timestamp(); -- see internal.allocation_take
	if not v_serve or internal.setup_is_wrong(v_decided) then
		raise exception 'a node of the start is no longer ready to run steps' using errcode = '40001',
			hint = 'Read again and decide anew.';
	end if;
	-- The leader's row is locked, so the starts of all earlier decisions are visible here.
	if internal.is_limited() then
		v_decided := internal.limit_admit(v_decided);
	end if;
	if exists (select from growth g where g.closed_at is null) then
		v_decided := internal.growth_admit(v_decided);
	end if;
	if p_starts @? '$[*].bound' then
		v_decided := internal.peer_reserve(v_decided);
	end if;
	v_began := array(select b::internal.move_made from internal.schedule_begin(v_decided, v_at) b);
	if v_began = '{}' then
		return;
	end if;
	-- From here on, only those steps of the decision that have started count.
	if cardinality(v_began) < v_asked then
		select c.decided, c.starts, c.orders into v_decided, v_starts, v_orders
		from internal.commit_narrow(v_began, v_decided, p_starts, p_orders) c;
	end if;
	perform internal.outage_check(v_starts);
	perform internal.commit_check_sets(v_began);
	perform internal.allocation_unreserve(array(select distinct (b.job_id, b.request_id, 0)::internal.attempt_key
		from unnest(v_began) b));
	perform internal.attempt_open(v_decided, v_at);
	perform internal.job_begin(v_began);
	perform internal.plan_drop(v_began);
	if p_starts @? '$[*].claimed' then
		perform internal.claim_settle(v_began);
	end if;
	if p_starts @? '$[*].staging' then
		perform internal.staging_place(v_decided);
	end if;
	if p_starts @? '$[*].credentials' then
		perform internal.credential_place(v_decided);
		v_orders := internal.credential_orders(v_orders);
	end if;
	perform internal.order_put(v_orders, not internal.hook_prolog(v_decided));
	notify rota_event;
	return query select b.job_id, b.step_id, b.attempt from unnest(v_began) b;
end $$;
comment on function api.schedule_commit(bigint, jsonb, jsonb, boolean) is
	'Start steps as decided and send their signed orders [{node_ids, kind, job_id, step_id, attempt, also, body, signature, '
	'args}]. Returns the steps that were started. If another session has locked a job for long: 55P03, or without p_wait the '
	'steps of this job do not start. RT412: no longer leader. 23514, 40001: something has changed since the leader read it; '
	'decide again.';

create function internal.step_refuse(p_actor text, p_jobs bigint[], p_requests int[], p_reasons text[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- Elements share the request of their array: all elements that have not started end with it.
	perform internal.step_move(p_actor, array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'refuse', cause => 'refused',
			message => v.reason)
		from unnest(p_jobs, p_requests, p_reasons) as v (job_id, request_id, reason)
		join step s on s.job_id = v.job_id and s.request_id = v.request_id and s.state = 'pending'
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		where a.size is null));
	perform internal.step_move(p_actor, array(
		select m::internal.move
		from unnest(p_jobs, p_requests, p_reasons) as v (job_id, request_id, reason)
		join step h on h.job_id = v.job_id and h.step_id = v.request_id and coalesce(h.ended_at, 'infinity') = 'infinity'
		cross join lateral internal.array_give_up(v.job_id, v.request_id, 'refuse', 'refused', v.reason) m));
	notify rota_event;
end $$;
comment on function internal.step_refuse(text, bigint[], int[], text[]) is
	'End all steps that have not started and have these step requests (rota.step_request), as failed. The caller has locked the '
	'jobs.';

create function api.schedule_refuse(p_term bigint, p_jobs bigint[], p_steps int[], p_reasons text[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_free bigint[];
begin
	perform internal.leader_check(p_term);
	v_free := internal.job_lock_free(p_jobs);
	perform internal.step_refuse('schedule', x.jobs, x.requests, x.reasons)
	from (select array_agg(v.job_id) as jobs, array_agg(v.step_id) as requests, array_agg(v.reason) as reasons
		from unnest(p_jobs, p_steps, p_reasons) as v (job_id, step_id, reason)
		where v.job_id = any (v_free)) x;
	return (select count(*) from unnest(p_jobs) v where v = any (v_free));
end $$;
comment on function api.schedule_refuse(bigint, bigint[], int[], text[]) is
	'End steps whose authenticator does not match their stored rows: they are never run. Returns how many were ended; steps '
	'of jobs that another session has locked are unchanged.';

create function api.schedule_plan(p_term bigint, p_said jsonb, p_gone_jobs bigint[], p_gone_steps int[]) returns void
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
begin
	perform internal.leader_check(p_term);
	with said as (
		select v.job as job_id, v.step as step_id, to_timestamp(v.expected_at) as expected_at,
			coalesce(v.nodes, '{}') as nodes, v.reason, v.blocker, v.message
		from jsonb_to_recordset(p_said) as v (job bigint, step int, expected_at double precision, nodes int[],
			reason text, blocker text, message text)
	), gone as (
		delete from plan p using unnest(p_gone_jobs, p_gone_steps) g (job_id, step_id)
			where p.job_id = g.job_id and p.step_id = g.step_id
		returning p.*
	), others as (
		delete from plan p
			where p_gone_jobs is null
			and not exists (select from said s where s.job_id = p.job_id and s.step_id = p.step_id)
		returning p.*
	), past as (
		select g.* from gone g
		union all
		select o.* from others o
		union all
		select p.* from said s
		join plan p on p.job_id = s.job_id and p.step_id = s.step_id
		where (p.reason, p.blocker) is distinct from (s.reason, s.blocker)
	), kept as (
		insert into wait_reason (job_id, step_id, from_at, until_at, reason, blocker)
		select p.job_id, p.step_id, f.from_at, now(), p.reason, p.blocker
		from past p
		cross join lateral (select internal.wait_since(p.job_id, p.step_id, p.since) as from_at offset 0) f -- once a row
		where now() - f.from_at >= interval '1 second'
		on conflict do nothing
	)
	insert into plan as p (job_id, step_id, expected_at, nodes, reason, blocker, message)
	select s.job_id, s.step_id, s.expected_at, s.nodes, s.reason, s.blocker, s.message from said s
	on conflict (job_id, step_id) do update
	set expected_at = excluded.expected_at, nodes = excluded.nodes, reason = excluded.reason, blocker = excluded.blocker,
		message = excluded.message, made_at = now(),
		since = case when (p.reason, p.blocker) is distinct from (excluded.reason, excluded.blocker) then now()
			else p.since end
	where (p.expected_at, p.nodes, p.reason, p.blocker, p.message)
		is distinct from (excluded.expected_at, excluded.nodes, excluded.reason, excluded.blocker, excluded.message);
end $$;
comment on function api.schedule_plan(bigint, jsonb, bigint[], int[]) is
	'Store the plan of a cycle: p_said [{job, step, expected_at, nodes, reason, blocker, message}]. Steps in p_gone_jobs and '
	'p_gone_steps no longer have a plan; null: all other steps. Rows that stay the same are not rewritten. Why a step has '
	'waited until now is stored in rota.wait_reason.';
