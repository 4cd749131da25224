-- Hooks for runnerd: fetch hooks that are due, report hooks that have ended.
--
-- Invariants:
-- - One runnerd at a time leads (api.leader_claim with the name hook). It alone knows which hooks run, and nothing is written
--   when one begins.
-- - When a runnerd begins to lead, hooks whose end was not reported are run, perhaps once more.

create function api.hook_take(p_term bigint, p_have bigint[], p_limit int, p_poll boolean)
returns table (hook_id bigint, hook text, wanted boolean, job_id bigint, step_id int, attempt int, restarts int, label text,
	job_name text, step_name text,
	user_name text, uid int, gid int, account text, partition text, group_name text, nodes text, node_count int,
	task_count int, array_index int,
	array_size int, array_job_id bigint, time_limit_s bigint, workdir text, context text, state text, exit_code int,
	signal int, wait_status int,
	exit_pair text)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	if not exists (select from leader l where l.name = 'hook' and l.term = p_term) then
		raise exception 'the leadership of term % has passed to another process', p_term using errcode = 'RT412',
			hint = 'Another runnerd leads now.';
	end if;
	if p_poll then
		return query
		select d.hook_id, d.hook, false, d.job_id, d.step_id, d.attempt, null::int, null, null, null, null, null::int,
			null::int, null, null, null, null, null::int,
			null::int, null::int, null::int, null::bigint, null::bigint, null, null, null, null::int, null::int,
			null::int, null
		from hook_pending d
		where d.hook_id = any (p_have) and d.hook = 'controller_prolog'
			and not internal.hook_wanted(d.job_id, d.step_id, d.attempt);
	end if;
	return query
	select d.hook_id, d.hook,
		d.hook = 'controller_epilog' or (t.state is null and t.outcome is null and s.end_wanted is null), d.job_id,
		d.step_id, d.attempt,
		nullif(d.attempt - 1, 0), d.job_id || '.' || r.name || coalesce('[' || s.array_index || ']', ''), j.name, r.name,
		j.user_name, j.uid, j.gid, j.account,
		r.partition, r.group_name, array_to_string(t.nodes, ','), cardinality(t.node_ids), r.ntasks, s.array_index,
		a.size,
		case when s.array_index is not null then d.job_id end, nullif(t.time_limit_s, 0), j.workdir,
		case d.hook when 'controller_prolog' then 'prolog_slurmctld' else 'epilog_slurmctld' end, t.state, t.exit_code,
		t.signal,
		case when t.state is not null then coalesce(t.exit_code, 0) * 256 + coalesce(t.signal, 0) end,
		case when t.state is not null then coalesce(t.exit_code, 0) || ':' || coalesce(t.signal, 0) end
	from (
		select h.* from hook_pending h
		where h.hook_id <> all (p_have) and h.hook not in ('pre_run', 'credential')
			and not exists (select from hook_pending o
				where o.job_id = h.job_id and o.step_id = h.step_id and o.hook_id < h.hook_id
					and o.hook not in ('pre_run', 'credential'))
		order by h.hook_id
		limit p_limit
	) d
	join attempt t on t.job_id = d.job_id and t.step_id = d.step_id and t.attempt = d.attempt
	join step s on s.job_id = d.job_id and s.step_id = d.step_id
	join step_request r on r.job_id = d.job_id and r.step_id = s.request_id
	join job j on j.job_id = d.job_id
	left join step_array a on s.array_index is not null and a.job_id = d.job_id and a.step_id = s.request_id
	order by d.hook_id;
end $$;
comment on function api.hook_take(bigint, bigint[], int, boolean) is
	'Take hooks that are due, with the environment of their programs: p_limit at most, oldest first, never two of one step. '
	'p_have: hooks that the leading runnerd already runs. Without wanted, runnerd reports the hook and does not run it. p_poll: '
	'also return hooks of p_have that are no longer wanted. RT412: no longer leader.';

-- Attempts whose prolog failed or that are not wanted any more. None of their launch requests was sent, so they end at once. A
-- failed prolog is no failure of the step: the step is queued again.
create function internal.hook_stop(p_hooks bigint[], p_messages text[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_attempts internal.attempt_key[] := array(
		select (d.job_id, d.step_id, d.attempt)::internal.attempt_key from hook_pending d
			where d.hook_id = any (p_hooks) and d.hook <> 'controller_epilog');
	v_facts internal.attempt_fact[];
begin
	perform internal.job_lock(array(select distinct v.job_id from unnest(v_attempts) v));
	perform internal.node_lock(array(
		select distinct n
		from unnest(v_attempts) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
		cross join lateral unnest(t.node_ids) n));
	perform internal.license_lock(v_attempts);
	v_facts := array(
		select internal.attempt_fact_of(job_id => t.job_id, step_id => t.step_id, attempt => t.attempt,
			outcome => case when s.end_wanted is null then 'prolog_fail' else 'cancel' end,
			cause => case when s.end_wanted is null then replace(d.hook, 'pre_run', 'burst_buffer') else coalesce((
				select o.args ->> 'cause' from node_order o
				where o.node_id = t.node_ids[1] and o.kind = 'kill' and o.job_id = t.job_id
					and o.step_id = t.step_id and o.attempt = t.attempt
				order by o.order_id limit 1), 'cancelled') end,
			message => case when s.end_wanted is null then v.message end)
		from unnest(p_hooks, p_messages) as v (hook_id, message)
		join hook_pending d on d.hook_id = v.hook_id
		join attempt t on t.job_id = d.job_id and t.step_id = d.step_id and t.attempt = d.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
		join step s on s.job_id = t.job_id and s.step_id = t.step_id);
	if v_facts = '{}' then
		return;
	end if;
	perform internal.order_void((
		select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id, 'attempt', v.attempt, 'node_id', n))
		from unnest(v_facts) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
		cross join lateral unnest(t.node_ids) n));
	perform internal.allocation_free(array(
		select internal.allocation_end_of(job_id => a.job_id, step_id => a.step_id, attempt => a.attempt,
			node_id => a.node_id, gone => true)
		from unnest(v_facts) v
		join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
			and coalesce(a.ended_at, 'infinity') = 'infinity'));
	perform internal.attempt_close(v_facts, 'runner');
end $$;
comment on function internal.hook_stop(bigint[], text[]) is
	'Close the attempts whose prologs or pre_run failed (with these messages), or that are not wanted any more. Locks jobs, '
	'nodes, licences.';

create function internal.hook_end(p_hooks bigint[], p_exits int[], p_signals int[], p_usecs bigint[], p_messages text[],
	p_outputs text[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_notify int;
begin
	for v_notify in
		with gone as (
			delete from hook_pending d
			using unnest(p_hooks, p_exits, p_signals, p_usecs, p_messages, p_outputs) as v (hook_id, exit_code,
				signal, usec, message, output)
			where d.hook_id = v.hook_id
			returning d.job_id, d.step_id, d.attempt, d.hook, d.due_at, v.exit_code, v.signal, v.usec, v.message,
				v.output
		), kept as (
			insert into controller_hook (job_id, step_id, attempt, hook, due_at, ended_at, exit_code, signal, usec,
				message, output)
			select g.job_id, g.step_id, g.attempt, g.hook, g.due_at, clock_timestamp(), g.exit_code, g.signal, g.usec,
				g.message, nullif(g.output, '') from gone g
		)
		select distinct coalesce(l.notify_node_id, n.node_id)
		from gone g
		join attempt t on t.job_id = g.job_id and t.step_id = g.step_id and t.attempt = g.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
		cross join lateral unnest(t.node_ids) n (node_id)
		left join node_lease l on l.node_id = n.node_id
		where g.hook = 'controller_prolog'
	loop
		perform pg_notify('rota_node_' || v_notify, '');
	end loop;
end $$;
comment on function internal.hook_end(bigint[], int[], int[], bigint[], text[], text[]) is
	'Store how hooks ended, and send the launch requests that waited for prologs.';

create function api.hook_report(p_term bigint, p_hooks bigint[], p_exits int[], p_signals int[], p_usecs bigint[],
	p_messages text[], p_outputs text[]) returns void
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_stop bigint[];
begin
	perform from leader l where l.name = 'hook' and l.term = p_term for no key update;
	if not found then
		raise exception 'the leadership of term % has passed to another process', p_term using errcode = 'RT412',
			hint = 'Another runnerd leads now.';
	end if;
	v_stop := array(
		select d.hook_id
		from unnest(p_hooks, p_exits) as v (hook_id, exit_code)
		join hook_pending d on d.hook_id = v.hook_id
		where d.hook = 'controller_prolog'
			and (v.exit_code is distinct from 0 or not internal.hook_wanted(d.job_id, d.step_id, d.attempt)));
	if v_stop <> '{}' then
		perform internal.hook_stop(v_stop, array(
			select v.message from unnest(v_stop) with ordinality as x (hook_id, nr)
				join unnest(p_hooks, p_messages) as v (hook_id, message) on v.hook_id = x.hook_id
			order by x.nr));
	end if;
	perform internal.hook_end(p_hooks, p_exits, p_signals, p_usecs, p_messages, p_outputs);
	notify rota_event;
end $$;
comment on function api.hook_report(bigint, bigint[], int[], int[], bigint[], text[], text[]) is
	'Report how hooks ended: exit code, signal, microseconds, message and output of each. After a prolog that ended with 0, '
	'the attempt''s launch requests are sent; any other end of a prolog closes the attempt. A repeated report changes '
	'nothing. RT412: no longer leader.';

create function internal.hook_drop() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_hooks bigint[] := array(
		select d.hook_id from hook_pending d
		join leader l on l.name = 'schedule' and not case d.hook when 'controller_prolog' then l.prolog
			when 'controller_epilog' then l.epilog else true end);
	v_messages text[] := array_fill('none is configured any more'::text, array[cardinality(v_hooks)]);
begin
	if v_hooks <> '{}' then
		perform internal.hook_stop(v_hooks, v_messages);
		perform internal.hook_end(v_hooks, null, null, null, v_messages, null);
	end if;
end $$;
comment on function internal.hook_drop() is
	'Drop due hooks that are no longer configured. Attempts that waited for one are queued again.';
