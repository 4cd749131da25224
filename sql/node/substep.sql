-- Sub-steps of jobs, as the step managers of a node report them. Users can write anything into these records: they change no
-- other table, and a row is only accepted for an attempt that has an allocation on the node.
--
-- Called by: procmgrd (procmgr/agent/agent_substep.c).
-- Invariants:
-- - A repeated report changes nothing: a state only moves from waiting to running to an end, and an ended row keeps its values.
-- - A value that is out of range is stored as null. Only a row without a number or state is left out.
-- - rota.substep_total is written under its row lock together with rota.substep, so it always agrees with it.

create function internal.substep_int(p_value bigint) returns int
-- This function has no settings of its own, so that the planner inlines it into the query.
language sql immutable return case when p_value between 0 and 2147483647 then p_value::int end;
comment on function internal.substep_int(bigint) is 'A reported count; null: out of range.';

create function internal.substep_amount(p_value bigint) returns bigint
-- The limit keeps the sum of two amounts in the range of bigint.
language sql immutable return case when p_value between 0 and 1152921504606846976 then p_value end;
comment on function internal.substep_amount(bigint) is 'A reported amount of time, memory or bytes; null: out of range.';

create function internal.substep_clocks(p_report jsonb, p_attempts internal.attempt_key[])
returns table (job bigint, step int, attempt int, boot_at timestamptz, low bigint, high bigint)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_boot constant timestamptz := least(internal.report_boot(p_report), now());
begin
	return query
	select k.job_id, k.step_id, k.attempt, b.boot_at,
		(extract(epoch from greatest(t.started_at, t.ordered_at) - b.boot_at) * 1000000)::bigint,
		(extract(epoch from greatest(least(t.ended_at, now()), t.started_at, t.ordered_at) - b.boot_at) * 1000000)::bigint
	from unnest(p_attempts) k
	join allocation a on a.job_id = k.job_id and a.step_id = k.step_id and a.attempt = k.attempt
		and a.node_id = (p_report ->> 'node')::int and a.lost_at is null
	join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	cross join lateral (select coalesce(a.boot_at, v_boot) as boot_at offset 0) b; -- once an attempt
end $$;
comment on function internal.substep_clocks(jsonb, internal.attempt_key[]) is
	'Those of these attempts that have an allocation on the node of a report, one row each: when the clock of the node was '
	'0, by the clock of the database; and start and end of the attempt (or now), in microseconds of the node''s clock. Times '
	'in records are moved into that span.';

create function internal.substep_read(p_report jsonb) returns rota.substep[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	c_us constant interval := '1 microsecond';
begin
	return array(
	with said as materialized (
		select * from jsonb_to_recordset(p_report -> 'rows') as x (job bigint, step int, attempt int, substep bigint, name text,
			command text, ntasks bigint, cpus bigint, mem_mb bigint, gres text, after text, priority bigint,
			retry bigint, run bigint, state text, exit bigint, signal bigint, cause text, node text,
			queued_us bigint, started_us bigint, ended_us bigint, user_usec bigint, system_usec bigint,
			max_rss_kb bigint, minflt bigint, majflt bigint, rchar bigint, wchar bigint, read_bytes bigint,
			write_bytes bigint, nvcsw bigint, nivcsw bigint, tasks_failed bigint)
	), known as materialized (
		select c.* from internal.substep_clocks(p_report, array(
			select distinct (s.job, s.step, s.attempt)::internal.attempt_key from said s)) c
	)
	select internal.substep_of(job_id => s.job, step_id => s.step, attempt => s.attempt, substep => s.substep::int,
		name => left(s.name, 256), command => left(s.command, 256), tasks => internal.substep_int(s.ntasks),
		cpus => internal.substep_int(s.cpus), mem_mb => internal.substep_amount(s.mem_mb), gres => nullif(left(s.gres, 256), ''),
		after_text => nullif(left(s.after, 256), ''),
		priority => case when s.priority between -1000000 and 1000000 then s.priority::int end,
		retry => internal.substep_int(s.retry), runs => coalesce(internal.substep_int(s.run), 0), state => s.state,
		exit_code => case when s.exit between 0 and 255 then s.exit::int end,
		signal => case when s.signal between 1 and 64 then s.signal::int end,
		cause => case when s.cause in ('exit', 'signal', 'launch', 'time_limit', 'idle_timeout', 'cancelled', 'bad_exit',
			'dependency', 'lost', 'allocation_ended') then s.cause end,
		node => left(s.node, 256), queued_at => k.boot_at + c.queued * c_us, started_at => k.boot_at + c.started * c_us,
		ended_at => k.boot_at + c.ended * c_us,
		elapsed_usec => case when c.started is not null and c.ended is not null then greatest(c.ended - c.started, 0) end,
		user_usec => internal.substep_amount(s.user_usec), system_usec => internal.substep_amount(s.system_usec),
		max_rss_kb => internal.substep_amount(s.max_rss_kb), minor_faults => internal.substep_amount(s.minflt),
		major_faults => internal.substep_amount(s.majflt), rchar => internal.substep_amount(s.rchar),
		wchar => internal.substep_amount(s.wchar), read_bytes => internal.substep_amount(s.read_bytes),
		write_bytes => internal.substep_amount(s.write_bytes), voluntary_switches => internal.substep_amount(s.nvcsw),
		involuntary_switches => internal.substep_amount(s.nivcsw), tasks_failed => internal.substep_int(s.tasks_failed))
	from said s
	join known k on k.job = s.job and k.step = s.step and k.attempt = s.attempt
	cross join lateral (select case when s.queued_us is not null then greatest(k.low, least(s.queued_us, k.high)) end as queued,
		case when s.started_us is not null then greatest(k.low, least(s.started_us, k.high)) end as started,
		case when s.state not in ('waiting', 'running')
			then greatest(k.low, least(coalesce(s.ended_us, k.high), k.high)) end as ended offset 0) c -- once a row
	where s.substep between 1 and 2147483647
		and s.state in ('waiting', 'running', 'completed', 'failed', 'timeout', 'cancelled', 'skipped', 'dependency_failed'));
end $$;
comment on function internal.substep_read(jsonb) is
	'The rows of a report of sub-steps that are valid and belong to attempts with an allocation on its node, with times by '
	'the clock of the database.';

create function internal.substep_put(p_rows rota.substep[]) returns int
-- The written rows are joined with the reported ones: two lists of the same length.
language plpgsql set search_path = live, rota, pg_temp set enable_hashjoin = on as $$
declare
	v_changed int;
begin
	-- Take one report at a time for each attempt, so that the counts below are exact.
	insert into substep_total (job_id, step_id, attempt)
	select distinct r.job_id, r.step_id, r.attempt from unnest(p_rows) r order by 1, 2, 3
	on conflict do nothing;
	perform from substep_total t
	where (t.job_id, t.step_id, t.attempt) in (select r.job_id, r.step_id, r.attempt from unnest(p_rows) r)
	order by t.job_id, t.step_id, t.attempt
	for update;
	with said as materialized (
		select r.*, (select o.state from substep o where o.job_id = r.job_id and o.step_id = r.step_id
			and o.attempt = r.attempt and o.substep = r.substep) as was
		from unnest(p_rows) r
	), put as (
		insert into substep as t (job_id, step_id, attempt, substep, name, command, tasks, cpus, mem_mb, gres, after_text,
			priority, retry, runs, state, exit_code, signal, cause, node, queued_at, started_at, ended_at,
			elapsed_usec, user_usec, system_usec, max_rss_kb, minor_faults, major_faults, rchar, wchar, read_bytes,
			write_bytes, voluntary_switches, involuntary_switches, tasks_failed)
		select s.job_id, s.step_id, s.attempt, s.substep, s.name, s.command, s.tasks, s.cpus, s.mem_mb, s.gres,
			s.after_text, s.priority, s.retry, s.runs, s.state, s.exit_code, s.signal, s.cause, s.node, s.queued_at,
			s.started_at, s.ended_at, s.elapsed_usec, s.user_usec, s.system_usec, s.max_rss_kb, s.minor_faults,
			s.major_faults, s.rchar, s.wchar, s.read_bytes, s.write_bytes, s.voluntary_switches,
			s.involuntary_switches, s.tasks_failed
		from said s
		order by s.job_id, s.step_id, s.attempt, s.substep
		on conflict (job_id, step_id, attempt, substep) do update
		set name = coalesce(t.name, excluded.name), command = coalesce(t.command, excluded.command),
			tasks = coalesce(t.tasks, excluded.tasks), cpus = coalesce(t.cpus, excluded.cpus),
			mem_mb = coalesce(t.mem_mb, excluded.mem_mb), gres = coalesce(t.gres, excluded.gres),
			after_text = coalesce(t.after_text, excluded.after_text),
			priority = coalesce(t.priority, excluded.priority), retry = coalesce(t.retry, excluded.retry),
			runs = greatest(t.runs, excluded.runs), state = excluded.state, exit_code = excluded.exit_code,
			signal = excluded.signal, cause = excluded.cause, node = coalesce(excluded.node, t.node),
			queued_at = coalesce(t.queued_at, excluded.queued_at),
			started_at = coalesce(excluded.started_at, t.started_at), ended_at = excluded.ended_at,
			elapsed_usec = coalesce(excluded.elapsed_usec, case when excluded.ended_at >= t.started_at
				then (extract(epoch from excluded.ended_at - t.started_at) * 1000000)::bigint end),
			user_usec = excluded.user_usec, system_usec = excluded.system_usec, max_rss_kb = excluded.max_rss_kb,
			minor_faults = excluded.minor_faults, major_faults = excluded.major_faults, rchar = excluded.rchar,
			wchar = excluded.wchar, read_bytes = excluded.read_bytes, write_bytes = excluded.write_bytes,
			voluntary_switches = excluded.voluntary_switches,
			involuntary_switches = excluded.involuntary_switches, tasks_failed = excluded.tasks_failed
		where t.ended_at is null and (excluded.ended_at is not null or excluded.runs > t.runs)
		returning t.job_id, t.step_id, t.attempt, t.substep, t.state, t.user_usec + t.system_usec as cpu_usec
	), changed as (
		select p.job_id, p.step_id, p.attempt, count(*) as rows,
			count(*) filter (where p.state = 'waiting') - count(*) filter (where s.was = 'waiting') as waiting,
			count(*) filter (where p.state = 'running') - count(*) filter (where s.was = 'running') as running,
			count(*) filter (where p.state not in ('waiting', 'running')) as ended,
			count(*) filter (where p.state in ('failed', 'timeout')) as failed,
			-- As numeric: users report the terms, so a sum may be higher than a bigint.
			sum(p.cpu_usec::numeric) as cpu_usec
		from put p
		join said s on s.job_id = p.job_id and s.step_id = p.step_id and s.attempt = p.attempt and s.substep = p.substep
		group by p.job_id, p.step_id, p.attempt
	), counted as (
		update substep_total t
		set waiting = t.waiting + c.waiting, running = t.running + c.running, ended = t.ended + c.ended,
			failed = t.failed + c.failed,
			cpu_usec = case when c.cpu_usec is null then t.cpu_usec
				else least(coalesce(t.cpu_usec, 0) + c.cpu_usec, 9223372036854775807) end
		from changed c
		where t.job_id = c.job_id and t.step_id = c.step_id and t.attempt = c.attempt
	)
	select coalesce(sum(c.rows), 0) into v_changed from changed c;
	return v_changed;
end $$;
comment on function internal.substep_put(rota.substep[]) is
	'Store rows of sub-steps, each sub-step once, and count them. Returns the number of rows that are new or changed.';

create function internal.session_attached(p_list jsonb, p_boot timestamptz, p_low bigint, p_high bigint) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
	select coalesce(jsonb_agg(jsonb_build_object('user', left(p.value ->> 'user', 256), 'host', left(p.value ->> 'host', 256),
		'since', p_boot + greatest(p_low, least((p.value ->> 'since')::bigint, p_high)) * interval '1 microsecond')
			order by p.nr), '[]')
	from jsonb_array_elements(case when jsonb_typeof(p_list) = 'array' then p_list else '[]' end) with ordinality p (value, nr)
	where p.nr <= 16 and jsonb_typeof(p.value) = 'object' and (p.value ->> 'since') ~ '^-?[0-9]{1,18}$';
$$;
comment on function internal.session_attached(jsonb, timestamptz, bigint, bigint) is
	'The users attached to a session, as reported: at most 16, with times between p_low and p_high of the node''s clock, by '
	'the clock of the database.';

create function internal.session_read(p_report jsonb) returns rota.session[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	c_us constant interval := '1 microsecond';
begin
	return array(
	with said as materialized (
		select * from jsonb_to_recordset(p_report -> 'rows') as x (job bigint, step int, attempt int, substep bigint,
			session text, session_us bigint, idle_timeout_s bigint, key_us bigint, output_us bigint, attached jsonb,
			idle_timeout_of text)
		where x.session_us is not null and x.substep between 1 and 2147483647
	), known as materialized (
		select c.* from internal.substep_clocks(p_report, array(
			select distinct (s.job, s.step, s.attempt)::internal.attempt_key from said s)) c
	)
	select internal.session_of(job_id => s.job, step_id => s.step, attempt => s.attempt, substep => s.substep::int,
		name => left(s.session, 256), idle_timeout_s => internal.substep_int(s.idle_timeout_s),
		attached => internal.session_attached(s.attached, k.boot_at, k.low, k.high),
		last_key_at => case when s.key_us > 0 then k.boot_at + greatest(k.low, least(s.key_us, k.high)) * c_us end,
		last_output_at => case when s.output_us > 0 then k.boot_at + greatest(k.low, least(s.output_us, k.high)) * c_us end,
		reported_at => k.boot_at + greatest(k.low, least(s.session_us, k.high)) * c_us,
		idle_timeout_of => nullif(left(s.idle_timeout_of, 256), ''))
	from said s
	join known k on k.job = s.job and k.step = s.step and k.attempt = s.attempt);
end $$;
comment on function internal.session_read(jsonb) is
	'The sessions of a report of sub-steps that belong to attempts with an allocation on its node, with times by the clock of '
	'the database.';

create function internal.session_put(p_rows rota.session[]) returns int
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_changed int;
begin
	insert into session as t (job_id, step_id, attempt, substep, name, idle_timeout_s, idle_timeout_of, attached, last_key_at,
		last_output_at, reported_at)
	select r.job_id, r.step_id, r.attempt, r.substep, r.name, r.idle_timeout_s, r.idle_timeout_of, r.attached, r.last_key_at,
		r.last_output_at, r.reported_at
	from unnest(p_rows) r
	order by r.job_id, r.step_id, r.attempt, r.substep
	on conflict (job_id, step_id, attempt, substep) do update
	set name = excluded.name, idle_timeout_s = excluded.idle_timeout_s, idle_timeout_of = excluded.idle_timeout_of,
		attached = excluded.attached, last_key_at = excluded.last_key_at, last_output_at = excluded.last_output_at,
		reported_at = excluded.reported_at
	-- Of two records that were moved to the begin of the attempt, the later report counts.
	where t.reported_at < excluded.reported_at or (t.reported_at = excluded.reported_at
		and (t.attached, t.last_key_at, t.last_output_at) is distinct from
			(excluded.attached, excluded.last_key_at, excluded.last_output_at));
	get diagnostics v_changed = row_count;
	return v_changed;
end $$;
comment on function internal.session_put(rota.session[]) is
	'Store rows of sessions, each sub-step once; an older row changes nothing. Returns the number of rows that are new or '
	'changed.';

create function internal.substep_call(p_node int, p_calls jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_called constant internal.attempt_key[] := array(
		select (c.job, c.step, c.attempt)::internal.attempt_key
		from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, keys jsonb)
		join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.state is null
			and t.node_ids[1] = p_node
		where c.keys is not null);
begin
	if v_called <> '{}' then
		perform internal.agents_note(v_called);
		perform internal.node_leave(v_called);
	end if;
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', n.node_id, 'kind', 'agent', 'job_id', t.job_id, 'step_id', t.step_id,
			'attempt', t.attempt, 'body', c.keys ->> n.name, 'args', jsonb_build_object('host', h.address, 'port', c.port)))
		from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, port int, keys jsonb)
		join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.state is null
			and t.node_ids[1] = p_node -- the step's first node
		join node h on h.node_id = p_node
		join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt
			and a.node_id <> p_node and a.ended_at is null and a.lost_at is null and a.given_back_at is null
		join node n on n.node_id = a.node_id
		where c.port between 1 and 65535 and c.keys ->> n.name ~ '^[0-9a-f]{64}$'
		having count(*) > 0));
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', a.node_id, 'kind', 'agents', 'job_id', t.job_id, 'step_id', t.step_id,
			'attempt', t.attempt))
		from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, "join" boolean)
		join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.state is null
			and p_node = any (t.node_ids[2:])
		join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt
			and a.node_id = t.node_ids[1] and a.ended_at is null and a.lost_at is null
		where c."join"
		having count(*) > 0));
	-- Only an existing row is updated: the owner's request makes it. An attempt that has ended has no row.
	update step_listener l
	set port = c.port, fingerprint = c.fingerprint
	from jsonb_to_recordset(p_calls) as c (job bigint, step int, attempt int, port int, fingerprint text)
	join attempt t on t.job_id = c.job and t.step_id = c.step and t.attempt = c.attempt and t.state is null
		and t.node_ids[1] = p_node
	where l.job_id = c.job and l.step_id = c.step and l.attempt = c.attempt and c.port between 1 and 65535
		and c.fingerprint ~ '^[0-9a-f]{64}$'
		and (l.port, l.fingerprint) is distinct from (c.port, c.fingerprint);
end $$;
comment on function internal.substep_call(int, jsonb) is
	'Handle calls of step managers on a node to the other nodes of their attempts: [{job, step, attempt, port, keys}]. Each '
	'live node whose name is a member of keys gets an order `agent` with the address of the caller, the port, and its key in '
	'the body. A call from a node that is not the first of an attempt is ignored. A call {job, step, attempt, join: true} of '
	'another node sends the first node an order `agents`, to make such a call. A call {job, step, attempt, port, '
	'fingerprint} of the first node reports where the step manager listens for clients on other machines.';

create function api.node_substep_report(p_report jsonb) returns table (changed int, dropped int)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_rows rota.substep[];
	v_sessions rota.session[];
begin
	perform internal.node_need(array[(p_report ->> 'node')::int]);
	if p_report ? 'calls' then
		-- The calls come first, since they lock jobs.
		perform internal.shrink((p_report ->> 'node')::int, p_report -> 'calls');
	end if;
	v_rows := internal.substep_read(p_report);
	-- Most reports have no session, and skip the rest.
	if jsonb_path_exists(p_report, '$.rows[*].session_us') then
		v_sessions := internal.session_read(p_report);
	end if;
	changed := internal.substep_put(v_rows) + coalesce(internal.session_put(v_sessions), 0);
	-- A row may be about a session only.
	dropped := jsonb_array_length(p_report -> 'rows') - cardinality(v_rows) - coalesce((
		select count(*) from unnest(v_sessions) o
		where not exists (select from unnest(v_rows) r where r.job_id = o.job_id and r.step_id = o.step_id
			and r.attempt = o.attempt and r.substep = o.substep)), 0);
	if p_report ? 'calls' then
		perform internal.substep_call((p_report ->> 'node')::int, p_report -> 'calls');
		perform internal.growth_call((p_report ->> 'node')::int, p_report -> 'calls');
	end if;
	return next;
end $$;
comment on function api.node_substep_report(jsonb) is
	'Store sub-steps of attempts on a node: {"node", "boot_us", "rows": [{job, step, attempt, substep, state, queued_us, '
	'started_us, ended_us, name, command, ..., session, session_us, key_us, output_us, idle_timeout_s, idle_timeout_of, '
	'attached}]}, each sub-step once, with the changes since the last report. A row without a state is about the session of '
	'the sub-step only. A repeated report changes nothing. Returns how many rows are new or changed, and how many were '
	'dropped because they are not valid or the attempt has no allocation on the node. Optional member `calls`: '
	'internal.substep_call, internal.growth_call, internal.shrink. 28000: the session does not speak for the node.';
