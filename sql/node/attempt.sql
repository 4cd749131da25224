-- The end of attempts: when no node holds anything for an attempt any more, its outcome becomes the next event of its step.

create function internal.attempt_close(p_facts internal.attempt_fact[], p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_closed internal.attempt_end[];
	v_again boolean;
	v_late boolean;
	v_wide boolean;
	v_saves boolean;
	v_given_back jsonb;
	v_moved internal.move_made[];
begin
	with known as (
		select t.job_id, t.step_id, t.attempt, s.request_id, s.array_index,
			y.started_at, coalesce(t.session_id, v.session_id) as session_id, y.done_at, y.at,
			t.clamped or (x.started_at, x.done_at, held.at) is distinct from (y.started_at, y.done_at, y.at) as clamped,
			coalesce(t.outcome, v.outcome) as outcome,
			case when t.outcome is null and v.outcome is not null then v.cause
			else coalesce(t.cause, v.cause) end as cause,
			case when t.outcome is null and v.outcome is not null then v.message
			else coalesce(t.message, v.message) end as message,
			greatest(t.exit_code, v.exit_code) as exit_code, coalesce(t.signal, v.signal) as signal,
			coalesce(v.started_at, v.done_at) is not null or v.outcome is not null as new_count,
			s.end_wanted, s.retries < r.retry as may_retry, r.requeue, held.over,
			cardinality(t.node_ids) > 1 as wide, t.node_ids[1] as node_id, r.checkpoint, r.eternal,
			case when r.checkpoint is not null then internal.checkpoint_saved(t.job_id, t.step_id, t.attempt) end as saved
		from unnest(p_facts) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		cross join lateral (
			select coalesce(t.started_at, v.started_at) as started_at, greatest(t.done_at, v.done_at) as done_at) x
		cross join lateral (
			select h.over, case when h.over then h.at end as at
			from (select bool_and(a.ended_at is not null) as over, max(a.ended_at) as at
				from allocation a
				where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt) h
		) held
		-- On one node the times are in order. The clocks of several nodes may disagree.
		cross join lateral (
			select case when x.started_at is not null then greatest(x.started_at, t.ordered_at) end as started_at,
				case when x.done_at is not null then greatest(x.done_at, x.started_at, t.ordered_at) end as done_at,
				case when held.over then greatest(held.at, x.done_at, x.started_at, t.ordered_at) end as at
		) y
	), judged as (
		-- Find the effect of the outcome on the step: a retry or a requeue that is left comes before the end of the step.
		select k.*, x.result,
			-- A node reports "skip" with cause up_to_date for a step whose outputs are up to date. It is an end like
			-- "complete".
			x.goes_on,
			case when x.goes_on or (k.eternal and x.result = 'timeout') then coalesce(k.end_wanted, 'requeue')
				when x.result in ('complete', 'timeout', 'skip') then x.result
				when k.end_wanted is not null then k.end_wanted
				when x.result in ('fail', 'oom') and k.may_retry then 'requeue'
				when x.result = 'prolog_fail' and k.cause in ('controller_prolog', 'burst_buffer') then 'requeue'
				when x.result = 'node_fail' and (k.requeue or k.cause in ('refused', 'withdrawn')) then 'requeue'
				else x.result end as event
		from known k
		cross join lateral (select o.result,
			k.checkpoint is not null
				and internal.checkpoint_goes_on(k.checkpoint, o.result, k.cause, k.exit_code, k.saved) as goes_on
			from (select coalesce(k.outcome, 'complete') as result) o) x
	), written as (
		update attempt t
		set started_at = j.started_at, session_id = j.session_id, done_at = j.done_at, cause = j.cause,
			message = j.message, exit_code = j.exit_code, signal = j.signal,
			outcome = case when j.over then j.result else j.outcome end,
			state = case when j.over then case j.result when 'complete' then 'completed' when 'timeout' then 'timeout'
			when 'oom' then 'out_of_memory'
				when 'skip' then 'skipped' when 'node_fail' then 'node_fail'
				when 'cancel' then case when j.cause = 'preempted' then 'preempted'
					when j.end_wanted = 'deadline' then 'deadline' else 'cancelled' end
				else 'failed' end end,
			ended_at = case when j.over then j.at end, clamped = j.clamped,
				suspended_at = case when j.over then null else t.suspended_at end,
			suspended_s = t.suspended_s + case when j.over then coalesce(extract(epoch from j.at - t.suspended_at), 0)
				else 0 end
		from judged j
		where t.job_id = j.job_id and t.step_id = j.step_id and t.attempt = j.attempt and (j.over or j.new_count)
	)
	select array_agg(internal.attempt_end_of(job_id => j.job_id, step_id => j.step_id, request_id => j.request_id,
		array_index => j.array_index, event => j.event, outcome => j.result, at => j.at, cause => j.cause,
		exit_code => j.exit_code, signal => j.signal, message => j.message,
		saved => case when j.event = 'requeue' and (j.goes_on or j.result not in ('fail', 'oom'))
			then j.saved and j.result <> 'node_fail' end)),
		bool_or(j.event in ('requeue', 'prolog_fail')), bool_or(j.result = 'timeout'), bool_or(j.wide),
		bool_or(j.checkpoint is not null), jsonb_agg(jsonb_build_object('job_id', j.job_id, 'step_id', j.step_id,
			'attempt', j.attempt, 'node_id', j.node_id)) filter (where j.cause = 'withdrawn')
	into v_closed, v_again, v_late, v_wide, v_saves, v_given_back
	from judged j where j.over;
	if v_closed is null then
		return;
	end if;

	if v_wide then
		perform internal.launch_forget(v_closed);
	end if;
	-- The launch request of a pre-dispatched element stays while others of it wait. A node that restarts would start the element.
	if v_given_back is not null then
		perform internal.order_void(v_given_back);
	end if;
	if v_saves then
		perform internal.checkpoint_close(v_closed);
	end if;
	perform internal.hook_epilog(v_closed);
	if v_again or v_late then
		perform internal.mail_closed(v_closed);
	end if;
	if v_again then
		perform internal.attempt_again(v_closed);
	end if;
	v_moved := array(
		select m::internal.move_made
		from internal.step_move(p_actor, array(
			select internal.move_of(job_id => c.job_id, step_id => c.step_id, event => c.event, at => c.at,
				cause => c.cause, exit_code => c.exit_code, signal => c.signal, message => c.message)
				from unnest(v_closed) c)) m
		where m.array_index is null);
	if v_moved <> '{}' then
		perform internal.allocation_reserve(v_moved);
	end if;
	if exists (select from step_ahead) then
		perform internal.ahead_close(v_closed, p_actor);
	end if;
	notify rota_schedule;
	notify rota_event;
end $$;
comment on function internal.attempt_close(internal.attempt_fact[], text) is
	'Record new facts about attempts, and end those that hold no resources any more; their steps end or are queued again.';

-- Steps that run again: later, and on hold if a prolog failed or the step ran again too often. An attempt that never got CPUs on
-- its node has not run at all and is not counted. An attempt that has saved itself has done a part of its work, so it is not
-- counted, unless its node failed: the step may be what makes nodes fail.
create function internal.attempt_again(p_closed internal.attempt_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step_array a
	set running = a.running - e.n
	from (select c.job_id, c.request_id, count(*) as n from unnest(p_closed) c
		where c.event in ('requeue', 'prolog_fail') and c.array_index is not null group by c.job_id, c.request_id) e
	where a.job_id = e.job_id and a.step_id = e.request_id;
	update step s
	-- An end to make room for others is no failure of the step: it counts nowhere, and the step may start at once.
	set retries = s.retries + (c.outcome in ('fail', 'oom') and c.saved is null)::int,
		requeues = s.requeues + (not m.made_room
			and (c.outcome not in ('fail', 'oom') and c.saved is null or c.saved is false))::int,
		begin_at = case when c.saved and c.exit_code = 85
			then greatest(now(), s.ordered_at + make_interval(secs => internal.setting_int('checkpoint_pace_s')))
			when m.made_room then now()
			else now() + make_interval(secs => internal.setting_int('requeue_delay_s')) end,
		held = case when c.event = 'prolog_fail' or (s.requeues >= internal.setting_int('requeue_max') and c.saved is not true
			and not m.made_room) then 'system'
		else s.held end,
		held_reason = case when c.cause = 'credential'
			then coalesce(internal.credential_step(s.job_id, s.request_id), substring(c.message from '^credential .*'),
				'credential could not be delivered')
			when c.event = 'prolog_fail' then 'the prolog failed'
		when s.requeues >= internal.setting_int('requeue_max') and c.saved is not true and not m.made_room
			then case when c.cause = 'controller_prolog' then 'the controller prolog failed too often'
				when c.cause = 'burst_buffer' then 'pre_run of burst_buffer.lua failed too often'
				else 'run again too often' end
			else s.held_reason end
	from unnest(p_closed) c
	-- The end of an eternal step at its time limit makes room for others, too: all other waiting steps come first.
	cross join lateral (select coalesce(c.cause in ('preempted', 'evacuated'), false) or (c.outcome = 'timeout' and exists (
		select from step_request r where r.job_id = c.job_id and r.step_id = c.request_id and r.eternal)) as made_room) m
	where c.event in ('requeue', 'prolog_fail') and c.cause is distinct from 'withdrawn' and s.job_id = c.job_id
		and s.step_id = c.step_id;
end $$;
comment on function internal.attempt_again(internal.attempt_end[]) is
	'Delay the steps whose closed attempts are to be run again, before they change their state, and subtract them from the '
	'running elements of their arrays.';

-- The last moment of which anything is known: the node renewed its lease, or reported something about the attempt. It is before
-- the end of the lease, and so before the moment by which the node has ended the tasks; unobserved time is not charged. The lease
-- says nothing about an attempt that the node has not reported.
create function internal.attempt_last_known(p_job bigint, p_step int, p_attempt int, p_node int) returns timestamptz
language sql stable set search_path = live, rota, pg_temp as $$
	select greatest(case when a.phase <> 'ordered' then l.renewed_at end,
		-- The start of the keeper.
		case when t.started_at is null then (select max(e.at) from event e
			where e.job_id = p_job and e.step_id = p_step and e.attempt = p_attempt and e.event = 'prolog') end,
		t.ordered_at, t.started_at, t.suspended_at, t.done_at)
	from attempt t
	left join node_lease l on l.node_id = p_node
	left join allocation a on a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.node_id = p_node
	where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt;
$$;
comment on function internal.attempt_last_known(bigint, int, int, int) is
	'The last time at which an attempt is known to have been on a node.';

create function internal.attempt_lost(p_lost jsonb, p_message text, p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_open jsonb;
	v_going jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt, 'node_id', a.node_id,
		'kind', 'kill',
		'args', jsonb_build_object('cause', 'node_lost'), 'at',
		internal.attempt_last_known(a.job_id, a.step_id, a.attempt, a.node_id),
		-- If all tasks of the node had ended and only an epilog was running, the outcome stays. The same applies if the
		-- step goes on with its remaining nodes, the one that runs the script among them, and if the step had given the
		-- node back.
		'over', a.phase = 'done' or g.going or a.given_back_at is not null, 'going', g.going and a.given_back_at is null,
		'given', a.given_back_at is not null))
	into v_open
	from jsonb_to_recordset(p_lost) as v (job_id bigint, step_id int, attempt int, node_id int)
	join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id
		and coalesce(a.ended_at, 'infinity') = 'infinity'
	join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	cross join lateral (
		select t.outcome is null and t.started_at is not null and cardinality(t.node_ids) > 1
			and not exists (select from jsonb_to_recordset(p_lost) as o (job_id bigint, step_id int, attempt int,
				node_id int)
				where o.job_id = a.job_id and o.step_id = a.step_id and o.attempt = a.attempt
					and o.node_id = t.node_ids[1])
			and coalesce((select internal.spec_field(r.spec, 'no_kill') = '1' from step s
				join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
					where s.job_id = a.job_id and s.step_id = a.step_id), false) as going
	) g;
	if v_open is null then
		return;
	end if;
	update attempt t
	set outcome = coalesce(t.outcome, 'node_fail'), cause = case when t.outcome is null then 'node_lost' else t.cause end,
		message = case when t.outcome is null then p_message else t.message end
	from (select distinct x.job_id, x.step_id, x.attempt
		from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int, over boolean) where not x.over) v
	where t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
		and coalesce(t.ended_at, 'infinity') = 'infinity';
	-- Orders to the lost node are deleted. If the node returns, processes of the attempt that still run there are killed.
	perform internal.order_void(v_open);
	perform internal.order_put(v_open);
	perform internal.license_lock(array(
		select distinct (v.job_id, v.step_id, v.attempt)::internal.attempt_key
			from jsonb_to_recordset(v_open) as v (job_id bigint, step_id int, attempt int)));
	perform internal.allocation_free(array(
		select internal.allocation_end_of(job_id => v.job_id, step_id => v.step_id, attempt => v.attempt,
			node_id => v.node_id, at => v.at, gone => true)
		from jsonb_to_recordset(v_open) as v (job_id bigint, step_id int, attempt int, node_id int, at timestamptz)));
	update allocation a
	set gone_at = a.ended_at, phase = 'ended', lost_at = now()
	from jsonb_to_recordset(v_open) as v (job_id bigint, step_id int, attempt int, node_id int)
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id;
	-- The attempt's other nodes are not lost: they end its tasks, and the attempt is over when they have reported so.
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt, 'node_id',
			a.node_id, 'kind', 'kill',
			'args', jsonb_build_object('cause', 'node_lost')))
		from (select distinct x.job_id, x.step_id,
			x.attempt from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int)) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
			and t.outcome is not null
		join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
			and coalesce(a.ended_at, 'infinity') = 'infinity' and a.phase <> 'done'));
	select jsonb_agg(to_jsonb(x)) into v_going
	from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int, node_id int, going boolean) where x.going;
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_ids', l.node_ids, 'kind', 'node', 'job_id', x.job_id, 'step_id', x.step_id,
			'attempt', x.attempt, 'args', jsonb_build_object('name', n.name, 'state', 'lost', 'reason', p_message)))
		from jsonb_to_recordset(v_going) as x (job_id bigint, step_id int, attempt int, node_id int)
		join node n on n.node_id = x.node_id
		cross join lateral (select internal.attempt_listeners(x.job_id, x.step_id, x.attempt) as node_ids) l
		where l.node_ids <> '{}'));
	perform internal.node_leave(array(
		select distinct (x.job_id, x.step_id, x.attempt)::internal.attempt_key
		from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int, given boolean) where x.given));
	perform internal.step_move(p_actor, array(
		select internal.move_of(job_id => x.job_id, step_id => x.step_id, event => 'modify',
			message => format('goes on without %s: %s', string_agg(n.name, ',' order by n.node_id), p_message))
		from jsonb_to_recordset(v_going) as x (job_id bigint, step_id int, attempt int, node_id int)
		join node n on n.node_id = x.node_id
		group by x.job_id, x.step_id));
	perform internal.attempt_close(array(
		select distinct internal.attempt_fact_of(job_id => v.job_id, step_id => v.step_id, attempt => v.attempt)
		from jsonb_to_recordset(v_open) as v (job_id bigint, step_id int, attempt int)), p_actor);
end $$;
comment on function internal.attempt_lost(jsonb, text, text) is
	'Give up attempts on lost nodes [{job_id, step_id, attempt, node_id}] without a report of these nodes: their resources '
	'there are free from the last known moment on, and their other nodes end them. The caller holds the locks of jobs and '
	'nodes.';

create function internal.setting_int(p_name text) returns int
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (select s.value::int from setting s where s.name = p_name);
end $$;
comment on function internal.setting_int(text) is 'The value of a setting of kind int.';

create function internal.setting_bool(p_name text) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (select s.value::boolean from setting s where s.name = p_name);
end $$;
comment on function internal.setting_bool(text) is 'The value of a setting of kind bool.';
