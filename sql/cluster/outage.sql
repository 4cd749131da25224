-- Expected outages: times in which nodes cannot be used, and what happens when an outage begins.
--
-- Called by: the leader for each scheduling cycle, so that no step starts whose time limit reaches into an outage;
-- api.schedule_commit, which checks that again; api.schedule_tick, which begins outages.

create view internal.reservation_time as
select x.reservation_id, x.starts_at, x.ends_at, row_number() over w = 1 as next,
	x.recurs is not null and lead(x.starts_at) over w is null as last,
	format('maintenance "%s", %s to %s', x.name, to_char(x.starts_at, 'YYYY-MM-DD HH24:MI'),
	to_char(x.ends_at, 'YYYY-MM-DD HH24:MI'))
		|| coalesce(' (' || x.reason || ')', '') as message
from (
	select r.reservation_id, r.name, r.reason, r.recurs, t.starts_at,
		-- If a change of the clock (summer time) skips the end, the length of the reservation decides.
		case when t.ends_at > t.starts_at then t.ends_at else t.starts_at + (r.ends_at - r.starts_at) end as ends_at
	from rota.reservation r
	-- Future times: of a recurring reservation those of 31 days, but two at least. A month counts as 30 days although it may
	-- have 31.
	cross join lateral (select extract(epoch from r.recurs) as period) p
	cross join lateral generate_series(
		case when r.recurs is null then 0
			else greatest(0, floor(extract(epoch from now() - r.ends_at) / (p.period * 1.04))::int - 1) end,
		case when r.recurs is null then 0 else greatest(0, ceil(extract(epoch from now() - r.starts_at) / p.period)::int)
			+ ceil(31 * 86400 / p.period)::int + 2 end) as k (n)
	cross join lateral (select
		((r.starts_at at time zone r.time_zone) + coalesce(k.n * r.recurs,
			interval '0')) at time zone r.time_zone as starts_at,
		((r.ends_at at time zone r.time_zone) + coalesce(k.n * r.recurs,
			interval '0')) at time zone r.time_zone as ends_at) t
	where r.recurs is null or t.starts_at < now() + greatest(r.recurs * 2, interval '31 days')
) x
where x.ends_at > now()
window w as (partition by x.reservation_id order by x.starts_at);
comment on view internal.reservation_time is
	'The periods of reservations that are not over, one row each. next: the first period of the reservation; last: the last '
	'period that is computed of a recurring reservation.';

create view internal.node_warning as
select rn.node_id, 'maintenance' as kind, t.starts_at, t.ends_at, r.reason, r.created_by as actor, t.message
from internal.reservation_time t
join rota.reservation r on r.reservation_id = t.reservation_id
join rota.reservation_node rn on rn.reservation_id = t.reservation_id
where t.next
union all
select n.node_id, n.kind, n.at, null, n.reason, n.actor,
	case n.kind when 'drain' then format('drain at %s', to_char(n.at, 'YYYY-MM-DD HH24:MI'))
		else 'failing' || coalesce(', expected ' || to_char(n.at, 'YYYY-MM-DD HH24:MI'), '') end
			|| format(' (%s)', n.reason)
from rota.node_notice n
union all
select n.node_id, s.kind, n.reason_at, null, n.reason, n.reason_by, s.kind || coalesce(' (' || n.reason || ')', '')
from rota.node n
cross join lateral (select case n.state when 'drain' then 'drained' else n.state end as kind) s
where n.state in ('down', 'drain', 'invalid');
comment on view internal.node_warning is
	'Warnings about nodes: kind (failing, drain: planned, maintenance: the next one, down, drained, invalid), begin, end and '
	'message.';

create function internal.node_warnings(p_nodes int[]) returns setof internal.node_warning
language plpgsql stable set search_path = live, rota, pg_temp set enable_hashjoin = on set enable_material = on as $$
begin
	return query select w.* from internal.node_warning w where p_nodes is null or w.node_id = any (p_nodes);
end $$;
comment on function internal.node_warnings(int[]) is
	'The warnings of these nodes (null: all). Has hash joins on, so reservation times are computed once per call, not once per '
	'node.';

create function internal.outage_expected() returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from reservation) or exists (select from node_notice n where n.kind = 'drain');
end $$;
comment on function internal.outage_expected() is
	'Whether any outage is expected. It costs less than to read the outages, and mostly there is none.';

create function api.schedule_outages()
	returns table (reservation_id int, node_ids int[], from_at double precision, to_at double precision, words text)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	if not internal.outage_expected() then
		return;
	end if;
	return query
	select 0, array_agg(w.node_id order by w.node_id), extract(epoch from w.starts_at)::double precision,
		null::double precision, w.message
	from internal.node_warning w
	where w.kind = 'drain'
	group by w.starts_at, w.message
	union all
	select t.reservation_id, case when t.next then m.node_ids end, extract(epoch from t.starts_at)::double precision,
		case when not t.last then extract(epoch from t.ends_at)::double precision end, t.message
	from internal.reservation_time t
	cross join lateral (select array_agg(rn.node_id order by rn.node_id) as node_ids from reservation_node rn
		where t.next and rn.reservation_id = t.reservation_id) m
	where exists (select from reservation_node rn where rn.reservation_id = t.reservation_id)
	order by 1, 3;
end $$;
comment on function api.schedule_outages() is
	'Times in which nodes cannot be used, one row for each node, in epoch seconds (to_at null: no known end). The nodes of a '
	'reservation are on its first row only. Reservation 0: the deadline of a drain. Steps that a reservation admits name it '
	'in schedule_pending.admitted.';

create function internal.outage_admits(p_job bigint, p_step int, p_name text, p_users text[], p_accounts text[]) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	-- The list is empty for most reservations. An element may have no row yet, but its head has one.
	return (p_users <> '{}' or p_accounts <> '{}') and coalesce((
		select j.user_name = any (p_users) or j.account = any (p_accounts)
		from (select q.reservation from step_request q
			where q.job_id = p_job and q.step_id <= p_step order by q.step_id desc limit 1) r
		join job j on j.job_id = p_job
		where r.reservation = p_name), false);
end $$;
comment on function internal.outage_admits(bigint, int, text, text[], text[]) is
	'Whether a step asks for the reservation of that name, and its user or account is on the list of the reservation.';

create function internal.outage_check(p_starts jsonb) returns void
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_met record;
begin
	if not internal.outage_expected() then
		return;
	end if;
	-- Allow 60 s for a stale snapshot and the prolog.
	with start as materialized (
		select v.job, v.step, n.node_id,
			case v.time_limit_s when 0 then 'infinity'
				else now() + make_interval(secs => v.time_limit_s - 60) end as until
		from jsonb_to_recordset(p_starts) as v (job bigint, step int, time_limit_s bigint, nodes int[])
		cross join lateral unnest(v.nodes) as n (node_id)
	), ahead as materialized (
		select t.reservation_id, t.starts_at, t.message, r.name, r.users, r.accounts
		from internal.reservation_time t
		join reservation r on r.reservation_id = t.reservation_id
		where t.starts_at < (select max(s.until) from start s) and t.ends_at > now() + interval '1 minute'
	)
	select s.job, s.step, s.node_id, coalesce(o.message, 'the deadline of a drain') as message into v_met
	from start s
	cross join lateral (
		select a.message, a.name, a.users, a.accounts
		from reservation_node rn
		join ahead a on a.reservation_id = rn.reservation_id and a.starts_at < s.until
		where rn.node_id = s.node_id
		union all
		select null, null, '{}', '{}' from node_notice n
			where n.node_id = s.node_id and n.kind = 'drain' and n.at < s.until
	) o
	where not internal.outage_admits(s.job, s.step, o.name, o.users, o.accounts)
	limit 1;
	if found then
		raise exception '% would run into % on node "%"', internal.step_label(v_met.job, v_met.step), v_met.message,
			(select n.name from node n where n.node_id = v_met.node_id)
			using errcode = '40001', hint = 'Read again and decide anew.';
	end if;
end $$;
comment on function internal.outage_check(jsonb) is
	'Fail with 40001 if a start, in the format of schedule_commit, would overlap an outage that the leader had not read when it '
	'decided.';

create function internal.outage_attempts() returns table (job_id bigint, step_id int, attempt int, node_id int)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	-- Without a reservation or drain that ends steps, running steps are not read.
	if not exists (select from reservation r where r.end_steps)
		and not exists (select from node_notice n where n.kind = 'drain' and n.end_steps) then
		return;
	end if;
	return query
	select a.job_id, a.step_id, a.attempt, a.node_id
	from (
		select rn.node_id, r.name, r.users, r.accounts
		from reservation r
		join internal.reservation_time t on t.reservation_id = r.reservation_id and t.starts_at <= now()
		join reservation_node rn on rn.reservation_id = r.reservation_id
		where r.end_steps
		union all
		select n.node_id, null, '{}', '{}' from node_notice n where n.kind = 'drain' and n.end_steps and n.at <= now()
	) o
	join allocation a on a.node_id = o.node_id and a.ended_at is null and a.attempt > 0
		and not internal.outage_admits(a.job_id, a.step_id, o.name, o.users, o.accounts)
	join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt and s.ended_at is null
		and s.state <> 'ending' and s.end_wanted is null;
end $$;
comment on function internal.outage_attempts() is
	'Running attempts that an outage which has begun is to end, and that nobody has asked to end yet.';

create function internal.outage_save(p_job bigint, p_step int, p_attempt int) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if exists (select from checkpoint c where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt
		and c.state in ('asked', 'taking') and c.then_do <> 'continue' and c.reason <> 'move') then
		return true;
	elsif exists (select from checkpoint c where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt
			and c.state not in ('asked', 'taking') and c.reason = 'maintenance')
		-- A step that was sent ahead to its node has not begun.
		or not exists (select from allocation a where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt
			and a.ended_at is null and a.started_at is not null) then
		return false;
	end if;
	return internal.checkpoint_ask(p_job, p_step, 'maintenance', 'schedule', null, 'requeue') is not null;
end $$;
comment on function internal.outage_save(bigint, int, int) is
	'Ask a running attempt once, before an outage ends it, to write a checkpoint and end, so that its step is queued again. '
	'Returns whether the checkpoint is under way; false: the attempt cannot write one, or has been asked before. The caller '
	'has locked the job.';

create function internal.outage_begin(p_jobs bigint[], p_nodes int[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_one record;
begin
	for v_one in
		select distinct o.job_id, o.step_id, o.attempt, r.requeue, r.checkpoint is not null as has_checkpoints
		from internal.outage_attempts() o
		join step s on s.job_id = o.job_id and s.step_id = o.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where o.job_id = any (p_jobs)
		order by o.job_id, o.step_id
	loop
		continue when v_one.has_checkpoints and internal.outage_save(v_one.job_id, v_one.step_id, v_one.attempt);
		update step s set end_wanted = case when v_one.requeue then 'requeue' else 'cancel' end
			where s.job_id = v_one.job_id and s.step_id = v_one.step_id;
		perform internal.attempt_order('kill', v_one.job_id, v_one.step_id, '{"cause": "maintenance"}');
		notify rota_event;
	end loop;
	-- Drain the node at once, although its steps may still be saving themselves.
	perform internal.node_state_set(n.node_id, 'drain', n.actor, n.reason)
	from node_notice n
	join node o on o.node_id = n.node_id and o.state = 'up'
	where n.node_id = any (p_nodes) and n.kind = 'drain' and n.at <= now();
	-- Delete a notice only when nothing runs on its node any more. The next tick ends attempts that are still saving themselves,
	-- and attempts that began after this call had locked the jobs.
	for v_one in
		with due as (
			delete from node_notice n
			where n.node_id = any (p_nodes) and n.kind = 'drain' and n.at <= now()
				and not exists (select from internal.outage_attempts() o where o.node_id = n.node_id)
			returning n.node_id, n.actor, n.reason
		)
		select * from due d order by d.node_id
	loop
		perform internal.node_state_set(v_one.node_id, 'drain', v_one.actor, v_one.reason);
	end loop;
end $$;
comment on function internal.outage_begin(bigint[], int[]) is
	'Begin outages: drain the nodes (p_nodes) whose deadline has come, and end attempts on them and on nodes of a '
	'maintenance that ends steps. Attempts with checkpoints are saved before (internal.outage_save). The caller has '
	'locked the jobs (p_jobs) and nodes; attempts of other jobs are left to the next call.';

create function internal.outage_next() returns timestamptz
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select min(x.at)
		from (
			select t.starts_at from internal.reservation_time t
			union all
			select t.ends_at from internal.reservation_time t
			union all
			select n.at from node_notice n where n.kind = 'drain'
		) x (at)
		where x.at > now());
end $$;
comment on function internal.outage_next() is 'The next time at which an outage begins or ends.';

create function internal.step_warnings(p_job bigint, p_step int, p_attempt int) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('node', n.name, 'kind', w.kind, 'at', w.starts_at, 'until',
			w.ends_at, 'reason', w.reason, 'message', w.message)
			order by array_position(t.node_ids, w.node_id), w.starts_at nulls first), '[]')
		from attempt t
		cross join lateral (
			select x.node_id, x.kind, x.starts_at, x.ends_at, x.reason,
				x.message from internal.node_warnings(t.node_ids) x
			union all
			select a.node_id, 'lost', a.lost_at, null, 'the step goes on without it',
				'lost (the step goes on without it)'
			from allocation a
			where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.lost_at is not null
		) w
		join node n on n.node_id = w.node_id
		where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt and t.ended_at is null
			and not exists (select from allocation g where g.job_id = t.job_id and g.step_id = t.step_id
				and g.attempt = t.attempt and g.node_id = w.node_id and g.given_back_at is not null)
			-- A maintenance that begins after the step's time limit does not affect the step.
			and (w.kind <> 'maintenance' or t.time_limit_s = 0
				or w.starts_at <= coalesce(t.started_at,
				t.ordered_at) + make_interval(secs => t.time_limit_s + t.suspended_s)));
end $$;
comment on function internal.step_warnings(bigint, int, int) is
	'The nodes of a live attempt that are lost, failing, or will be out of use before its time limit ends, with their '
	'warnings.';

create function internal.limit_check(p_job bigint, p_request int, p_limit bigint) returns void
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_message text;
begin
	select o.message into v_message
	from step s
	join job j on j.job_id = s.job_id
	join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.ended_at is null
	cross join lateral (select coalesce(t.started_at, t.ordered_at) + make_interval(secs => t.suspended_s) as began) b
	cross join lateral (select array(select a.node_id from allocation a where a.job_id = t.job_id and a.step_id = t.step_id
		and a.attempt = t.attempt and a.given_back_at is null) as node_ids) h
	cross join lateral (
		select x.starts_at, x.message
		from internal.reservation_time x
		join reservation r on r.reservation_id = x.reservation_id
		where not internal.outage_admits(p_job, p_request, r.name, r.users, r.accounts)
			and exists (select from reservation_node rn
				where rn.reservation_id = x.reservation_id and rn.node_id = any (h.node_ids))
		union all
		select w.starts_at, w.message from internal.node_warnings(h.node_ids) w where w.kind = 'drain'
	) o
	where s.job_id = p_job and s.request_id = p_request and o.starts_at > now()
		and (p_limit = 0 or b.began + make_interval(secs => p_limit) > o.starts_at)
		and t.time_limit_s > 0 and b.began + make_interval(secs => t.time_limit_s) <= o.starts_at
	order by o.starts_at
	limit 1;
	if found then
		raise exception '%: with that time limit it would run into %', internal.step_label(p_job, p_request), v_message
			using errcode = 'RT403', hint = 'Only admins may let a running step reach into it.';
	end if;
end $$;
comment on function internal.limit_check(bigint, int, bigint) is
	'Refuse a time limit (seconds, 0: none) with which the running attempts of a step would overlap an outage that they do not '
	'overlap yet.';
