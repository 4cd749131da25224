-- The end of attempts: when no node has anything of one left, its outcome becomes the step's next event.
create function api.attempt_close(p_attempts jsonb, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_closed jsonb;
	v_moved jsonb;
begin
	with due as (
		select t.job_id, t.step_id, t.attempt, coalesce(t.outcome, 'complete') as outcome, s.end_wanted, s.retries < r.retry as may_retry,
			r.requeue, t.exit_code, t.signal, t.cause, t.message,
			(select max(a.ended_at) from allocation a where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt) as at
		from (select distinct v.job_id, v.step_id, v.attempt from jsonb_to_recordset(p_attempts) as v (job_id bigint, step_id int, attempt int)) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt and t.ended_at is null
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where not exists (select from allocation a where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt
			and a.ended_at is null)
	), judged as (
		select d.*, case
				when d.outcome = 'complete' then 'complete'
				when d.outcome = 'timeout' then 'timeout'
				when d.end_wanted is not null then d.end_wanted
				when d.outcome in ('fail', 'oom') and d.may_retry then 'requeue'
				when d.outcome = 'node_fail' and (d.requeue or d.cause = 'refused') then 'requeue'
				else d.outcome end as event,
			case d.outcome when 'complete' then 'completed' when 'timeout' then 'timeout' when 'oom' then 'out_of_memory'
				when 'node_fail' then 'node_fail' when 'cancel' then case when d.end_wanted = 'preempt' then 'preempted' when d.end_wanted = 'deadline' then 'deadline' else 'cancelled' end
				else 'failed' end as state
		from due d
	), ended as (
		update attempt t
		set ended_at = j.at, state = j.state, outcome = j.outcome, suspended_at = null,
			suspended_s = t.suspended_s + coalesce(extract(epoch from j.at - t.suspended_at), 0)
		from judged j
		where t.job_id = j.job_id and t.step_id = j.step_id and t.attempt = j.attempt
	)
	select jsonb_agg(to_jsonb(j)) into v_closed from judged j;
	if v_closed is null then
		return;
	end if;

	update step_array a
	set running = a.running - e.n
	from (select s.job_id, s.request_id, count(*) as n
		from jsonb_to_recordset(v_closed) as c (job_id bigint, step_id int)
		join step s on s.job_id = c.job_id and s.step_id = c.step_id and s.array_index is not null
		group by s.job_id, s.request_id) e
	where a.job_id = e.job_id and a.step_id = e.request_id;

	-- What runs again: later, and held where a prolog failed or it was run again too often.
	update step s
	set retries = s.retries + (c.outcome in ('fail', 'oom'))::int,
		requeues = s.requeues + (c.outcome not in ('fail', 'oom'))::int,
		begin_at = now() + make_interval(secs => api.setting_int('requeue_delay_s')),
		held = case when c.event = 'prolog_fail' or s.requeues >= api.setting_int('requeue_max') then 'system' else s.held end,
		held_reason = case when c.event = 'prolog_fail' then 'the prolog failed' when s.requeues >= api.setting_int('requeue_max')
			then 'run again too often' else s.held_reason end
	from jsonb_to_recordset(v_closed) as c (job_id bigint, step_id int, event text, outcome text)
	where c.event in ('requeue', 'prolog_fail') and s.job_id = c.job_id and s.step_id = c.step_id;

	select jsonb_agg(to_jsonb(m)) into v_moved
	from api.step_move(p_actor, array(
		select (c.job_id, c.step_id, c.event, c.at, c.cause, c.exit_code, c.signal, c.message)::api.move
		from jsonb_to_recordset(v_closed) as c (job_id bigint, step_id int, event text, at timestamptz, cause text, exit_code int, signal int, message text))) m;
	perform api.allocation_keep(v_moved);
	notify rota_schedule;
	notify rota_event;
end $$;
comment on function api.attempt_close(jsonb, text) is 'End those of the attempts [{job_id, step_id, attempt}] that hold nothing any more; their steps end or are queued again. Internal.';

-- The last moment of which anything is known: the node was heard of, or reported something of the attempt. It lies before the end of
-- the lease, so before the moment by which the node has ended the tasks by itself; nobody is charged for what nobody saw.
create function api.attempt_last_known(p_job bigint, p_step int, p_attempt int, p_node int) returns timestamptz
language sql stable set search_path = rota, pg_temp as $$
	select greatest(l.renewed_at, t.ordered_at, t.started_at, t.suspended_at, t.done_at)
	from attempt t
	left join node_lease l on l.node_id = p_node
	where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt;
$$;
comment on function api.attempt_last_known(bigint, int, int, int) is 'When an attempt is last known to have been on a node. Internal.';

create function api.attempt_lost(p_lost jsonb, p_message text, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_open jsonb;
	v_going jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt, 'node_id', a.node_id, 'kind', 'kill',
		'args', jsonb_build_object('cause', 'node_lost'), 'at', api.attempt_last_known(a.job_id, a.step_id, a.attempt, a.node_id),
		-- Where all tasks of the node had ended and only an epilog was under way, the outcome stands. So it does where the step goes on
		-- with the nodes that it has left, the one that runs the script among them.
		'over', a.phase = 'done' or g.going, 'going', g.going))
	into v_open
	from jsonb_to_recordset(p_lost) as v (job_id bigint, step_id int, attempt int, node_id int)
	join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id and a.ended_at is null
	join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	cross join lateral (
		select t.outcome is null and t.started_at is not null and cardinality(t.node_ids) > 1
			and not exists (select from jsonb_to_recordset(p_lost) as o (job_id bigint, step_id int, attempt int, node_id int)
				where o.job_id = a.job_id and o.step_id = a.step_id and o.attempt = a.attempt and o.node_id = t.node_ids[1])
			and coalesce((select api.spec_field(r.spec, 'no_kill') = '1' from step s
				join step_request r on r.job_id = s.job_id and r.step_id = s.request_id where s.job_id = a.job_id and s.step_id = a.step_id), false) as going
	) g;
	if v_open is null then
		return;
	end if;
	update attempt t
	set outcome = coalesce(t.outcome, 'node_fail'), cause = case when t.outcome is null then 'node_lost' else t.cause end,
		message = case when t.outcome is null then p_message else t.message end
	from (select distinct x.job_id, x.step_id, x.attempt
		from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int, over boolean) where not x.over) v
	where t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt and t.ended_at is null;
	-- What was on its way to the node is void; should it be heard of again, what still runs there is killed.
	delete from node_order o
	using jsonb_to_recordset(v_open) as v (job_id bigint, step_id int, attempt int, node_id int)
	where o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt and o.node_id = v.node_id;
	perform api.order_put(v_open);
	perform api.allocation_free(v_open);
	update allocation a
	set gone_at = a.ended_at, phase = 'ended', lost_at = now()
	from jsonb_to_recordset(v_open) as v (job_id bigint, step_id int, attempt int, node_id int)
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id;
	-- The attempt's other nodes live: they end its tasks, and it is over when they have said so.
	perform api.order_put((
		select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt, 'node_id', a.node_id, 'kind', 'kill',
			'args', jsonb_build_object('cause', 'node_lost')))
		from (select distinct x.job_id, x.step_id, x.attempt from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int)) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt and t.outcome is not null
		join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.ended_at is null and a.phase <> 'done'));
	select jsonb_agg(to_jsonb(x)) into v_going
	from jsonb_to_recordset(v_open) as x (job_id bigint, step_id int, attempt int, node_id int, going boolean) where x.going;
	perform api.step_move(p_actor, array(
		select (x.job_id, x.step_id, 'modify', null, null, null, null,
			format('goes on without %s: %s', string_agg(n.name, ',' order by n.node_id), p_message))::api.move
		from jsonb_to_recordset(v_going) as x (job_id bigint, step_id int, attempt int, node_id int)
		join node n on n.node_id = x.node_id
		group by x.job_id, x.step_id));
	perform api.attempt_close(v_open, p_actor);
end $$;
comment on function api.attempt_lost(jsonb, text, text) is
	'Give up attempts on nodes [{job_id, step_id, attempt, node_id}] without hearing of them: what they hold there is free as of the last moment known, and their other nodes end them. The caller holds the locks of jobs and nodes. Internal.';

create function api.setting_int(p_name text) returns int
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select s.value::int from setting s where s.name = p_name);
end $$;
comment on function api.setting_int(text) is 'A setting of kind int. Internal.';

create function api.setting_bool(p_name text) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select s.value::boolean from setting s where s.name = p_name);
end $$;
comment on function api.setting_bool(text) is 'A setting of kind bool. Internal.';
