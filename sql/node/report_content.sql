-- Reads the two forms of a report (internal.report_content). procmgr/agent/agent_record.c writes them.
--
-- `records` has the records of a journal one by one. `coalesced` has one entry for all records of a whole attempt on a node: a
-- member KIND_us with the clock of each record, the other members of all of them, and `task`, the record of its only task. In
-- this form, a short attempt costs the database less.
-- Called by: report.sql, apply.sql.
-- Invariants:
-- - Only this file depends on the form. Other functions use the members that entries of both forms have (node, job, step,
--   attempt, kind), or read records of kinds that are never coalesced.
-- - The database stores the same for an attempt, whichever form its report has.

create function internal.report_digest(p_reported internal.report_content[])
	returns table (node int, job bigint, step int, attempt int, seq bigint, boot_at timestamptz, first_us bigint,
		last_us bigint, tasked_us bigint, keeper_us bigint, ready boolean, run_us bigint, session_id int, done_us bigint,
		refused boolean, outcome text, cause text, message text, exit_code int, signal int, end_us bigint,
		peak_mb bigint, cgroup_peak_mb bigint, cpu_usec bigint, system_usec bigint, node_uj bigint, drain text,
		paused boolean, tasked boolean, hooked boolean, said bigint,
		closing bigint, unexpected boolean)
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	with record as (
		select s.node, s.job, s.step, s.attempt, w.nr << 32 | s.nr as seq, w.boot_at,
			least(s.at_us, s.started_us) as first_us, s.at_us as last_us,
			case when s.kind = 'task' and s.cause is distinct from 'launch' then s.started_us end as tasked_us,
			case s.kind when 'keeper' then s.at_us end as keeper_us, s.kind = 'ready' as ready,
			case s.kind when 'run' then s.at_us end as run_us,
			case s.kind when 'run' then s.session end as session_id,
			-- done: the tasks on the node have ended; refused: they never were. Refused as too late, or
			-- because the node cannot: nothing was run, so another order may always follow.
			case when s.kind in ('done', 'refused') then s.at_us end as done_us, s.kind = 'refused' as refused,
			case s.kind when 'done' then s.outcome when 'refused' then case s.retry when '1' then 'node_fail'
			else 'fail' end end as outcome,
			case s.kind when 'done' then s.cause
			when 'refused' then coalesce(nullif(s.cause, ''), 'refused') end as cause,
			nullif(case s.kind when 'done' then s.message when 'refused' then s.reason end, '') as message,
			case s.kind when 'done' then nullif(s.exit, -1) end as exit_code,
			case s.kind when 'done' then nullif(s.signal, 0) end as signal,
			case s.kind when 'end' then s.at_us end as end_us,
			case s.kind when 'end' then nullif(s.peak_mb, -1) end as peak_mb,
			case s.kind when 'end' then nullif(s.cgroup_peak_mb, -1) end as cgroup_peak_mb,
			case s.kind when 'end' then nullif(s.cpu_usec, -1) end as cpu_usec,
			case s.kind when 'end' then nullif(s.system_usec, -1) end as system_usec,
			case s.kind when 'end' then s.node_uj end as node_uj,
			case when s.kind in ('refused', 'end') then nullif(s.drain, '') end as drain,
			s.kind in ('suspended', 'resumed') as paused, s.kind = 'task' as tasked,
			s.kind = 'hook' as hooked,
			(s.kind <> 'late')::int as said, (s.kind in ('end', 'hook', 'task'))::int as closing,
			s.kind in ('late', 'refused') as unexpected
		from unnest(p_reported) with ordinality w (boot_at, records, coalesced, nr)
		cross join lateral rows from (jsonb_to_recordset(w.records) as (node int, job bigint, step int,
			attempt int, kind text, at_us bigint, started_us bigint,
			exit int, signal int, cause text, outcome text, message text, reason text, retry text, drain text,
			session int, peak_mb bigint, cgroup_peak_mb bigint, cpu_usec bigint, system_usec bigint, node_uj bigint))
			with ordinality as s (node, job, step, attempt, kind, at_us, started_us,
			exit, signal, cause, outcome, message, reason, retry, drain, session, peak_mb, cgroup_peak_mb, cpu_usec,
			system_usec, node_uj, nr)
		union all
		select l.node, l.job, l.step, l.attempt, w.nr << 32 | l.nr, w.boot_at,
			least(l.keeper_us, l.run_us, t.started_us, l.done_us, l.end_us), l.end_us, t.started_us,
			l.keeper_us, coalesce(l.ready, false), l.run_us, l.session, l.done_us, false,
			l.outcome, l.cause, nullif(l.message, ''), nullif(l.exit, -1), nullif(l.signal, 0),
			l.end_us, nullif(l.peak_mb, -1), nullif(l.cgroup_peak_mb, -1), nullif(l.cpu_usec, -1),
			nullif(l.system_usec, -1), l.node_uj, nullif(l.drain, ''),
			false, l.task is not null, false,
			2 + (l.keeper_us is not null)::int + coalesce(l.ready,
			false)::int + (l.run_us is not null)::int + (l.task is not null)::int,
			1 + (l.task is not null)::int, false
		from unnest(p_reported) with ordinality w (boot_at, records, coalesced, nr)
		cross join lateral rows from (jsonb_to_recordset(w.coalesced) as (node int, job bigint, step int,
			attempt int, keeper_us bigint, ready boolean,
			run_us bigint, session int, task jsonb, done_us bigint, exit int, signal int,
			cause text, outcome text, message text,
			end_us bigint, drain text, peak_mb bigint, cgroup_peak_mb bigint, cpu_usec bigint, system_usec bigint,
			node_uj bigint))
			with ordinality as l (node, job, step, attempt, keeper_us, ready, run_us, session, task, done_us,
				exit, signal, cause, outcome, message,
			end_us, drain, peak_mb, cgroup_peak_mb, cpu_usec, system_usec, node_uj, nr)
		-- The task is read only if the record of the start is missing.
		cross join lateral (select case when l.run_us is null and l.task ->> 'cause' is distinct from 'launch'
			then (l.task ->> 'started_us')::bigint end as started_us) t
	)
	-- Coalesced records of an attempt mostly occur once. A deferred report of a process manager that is gone may have the
	-- same ones.
	select h.node, h.job, h.step, h.attempt, min(h.seq), max(h.boot_at), min(h.first_us), max(h.last_us), min(h.tasked_us),
		min(h.keeper_us), bool_or(h.ready), min(h.run_us), min(h.session_id), min(h.done_us), bool_or(h.refused), min(h.outcome),
		min(h.cause), min(h.message), max(h.exit_code), max(h.signal), min(h.end_us), max(h.peak_mb),
		max(h.cgroup_peak_mb), max(h.cpu_usec), max(h.system_usec), max(h.node_uj), min(h.drain), bool_or(h.paused),
		bool_or(h.tasked), bool_or(h.hooked), sum(h.said), sum(h.closing),
		bool_or(h.unexpected)
	from record h
	group by h.node, h.job, h.step, h.attempt;
end $$;
comment on function internal.report_digest(internal.report_content[]) is
	'One row for each attempt and node in reports, with the values of its records. first_us, last_us: the earliest and the '
	'latest clock of the records; tasked_us: the first start in a record of a task whose program could be started; said: '
	'number of records; closing: number of records that may follow the end of the attempt.';

-- A database that lacks commits which a node has seen (an older copy) may give a new attempt the number of one that has run on
-- the node. A record from before the registration is about the old attempt if the attempt of this number was ordered after the
-- registration. Each comparison is between two times of the same clock.
create function internal.report_outdated(inout p_report jsonb, inout p_coalesced jsonb)
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_us constant bigint := p_report #>> '{registered,us}';
	v_at constant timestamptz := timestamptz 'epoch' + (p_report #>> '{registered,server_us}')::bigint * interval '1 microsecond';
	v_outdated constant jsonb := (
		select jsonb_agg(r)
		from jsonb_array_elements((p_report -> 'records') || p_coalesced || coalesce(p_report -> 'ready', '[]')) r
		cross join lateral jsonb_to_record(r) as x (job bigint, step int, attempt int, at_us bigint, end_us bigint)
		join attempt t on t.job_id = x.job and t.step_id = x.step and t.attempt = x.attempt and t.ordered_at > v_at
		where coalesce(x.at_us, x.end_us) < v_us);
begin
	if v_outdated is null then
		return;
	end if;
	perform internal.rejected_keep(v_outdated);
	p_coalesced := (select coalesce(jsonb_agg(r order by nr), '[]')
		from jsonb_array_elements(p_coalesced) with ordinality x (r, nr) where not v_outdated @> jsonb_build_array(r));
	p_report := p_report || (
		select jsonb_object_agg(k.key, (select coalesce(jsonb_agg(r order by nr), '[]')
			from jsonb_array_elements(k.value) with ordinality x (r, nr) where not v_outdated @> jsonb_build_array(r)))
		from jsonb_each(p_report) k
		where k.key in ('records', 'ready'));
end $$;
comment on function internal.report_outdated(jsonb, jsonb) is
	'Remove from a report (as for api.node_report) the records from before the registration about attempts that were ordered '
	'after it, and store them in rota.rejected_report. The caller has locked the jobs.';

create function internal.report_task(p_reported internal.report_content[], p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into task_end (job_id, step_id, attempt, task, node_id, pid, started_at, ended_at, exit_code, signal, cause,
		user_usec, system_usec,
		max_rss_kb, minor_faults, major_faults, rchar, wchar, read_bytes, write_bytes, voluntary_switches,
		involuntary_switches)
	select x.job, x.step, x.attempt, x.task, x.node, nullif(x.pid, 0),
		v.boot_at + x.started_us * interval '1 microsecond', v.boot_at + x.at_us * interval '1 microsecond',
		case when coalesce(x.signal, 0) = 0 then nullif(x.exit, -1) end, nullif(x.signal, 0),
		coalesce(x.cause, 'exit'), nullif(x.user_usec, -1), nullif(x.system_usec, -1), nullif(x.max_rss_kb, -1),
		nullif(x.minflt, -1), nullif(x.majflt, -1), nullif(x.rchar, -1), nullif(x.wchar, -1), nullif(x.read_bytes, -1),
		nullif(x.write_bytes, -1), nullif(x.nvcsw, -1), nullif(x.nivcsw, -1)
	from unnest(p_reported) w
	cross join lateral (
		select r as record from jsonb_array_elements(w.records) r where r ->> 'kind' = 'task'
		union all
		select l -> 'task' from jsonb_array_elements(w.coalesced) l where l ? 'task'
	) r
	cross join lateral jsonb_to_record(r.record) as x (node int, job bigint, step int, attempt int, at_us bigint,
		started_us bigint, task int, pid int,
		exit int, signal int, cause text, user_usec bigint, system_usec bigint, max_rss_kb bigint, minflt bigint,
		majflt bigint,
		rchar bigint, wchar bigint, read_bytes bigint, write_bytes bigint, nvcsw bigint, nivcsw bigint)
	join unnest(p_seen) v on v.job_id = x.job and v.step_id = x.step and v.attempt = x.attempt and v.node_id = x.node
	join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = x.node
		and a.gone_at is null
	where (select o.task from task_end o
		where o.job_id = x.job and o.step_id = x.step and o.attempt = x.attempt and o.task = x.task) is null
	-- A deferred report and one that repeats it may be applied together.
	on conflict do nothing;
end $$;
comment on function internal.report_task(internal.report_content[], internal.attempt_report[]) is
	'Store the ends of tasks of the attempts in p_seen.';
