-- Reports of nodes: records of their journals, in order.
--
-- Invariants:
-- - A record counts for the attempt and node that it names. A repeated record changes nothing, so a process manager that lost its
--   connection repeats all records.
-- - All records of one attempt on one node become one row (internal.attempt_report), and each table is written once for all rows.
--   If one report has all records of an attempt, the states prolog and running are not written.

-- Times of an attempt on a node are differences on the node's clock, which is never set. Its first report fixes boot_at, the
-- time of the database at which that clock was 0, and all later times of the attempt are computed with the same boot_at. A
-- node's estimate of boot_at is too early, by up to the duration of a call. So boot_at is made later where two facts demand it:
-- no record of an attempt is from before its order, and no pre-dispatched element starts before CPUs of its array are free.
create function internal.report_read(p_reported internal.report_content[]) returns internal.attempt_report[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	c_us constant interval := '1 microsecond';
begin
	return array(
		with known as (
			select d.*, a.phase, a.ended_at is null as open, a.job_id is null as unknown,
				a.gone_at is not null as gone, a.lost_at is not null as lost, t.ended_at is null as live,
				coalesce(a.given_back_at is not null, false) as given_back,
				w.waits, case when not w.waits then a.boot_at end as fixed_at,
				greatest(case when not w.waits then a.started_at end, t.ordered_at) - d.first_us * c_us as earliest,
				d.last_us * c_us as last, least(d.keeper_us, d.run_us, d.tasked_us) as began_us,
				-- The record of the start is missing if another server acknowledged it and its commits are lost.
				coalesce(d.run_us, case when a.phase in ('ordered', 'prolog', 'ready') then d.tasked_us end) as started_us,
				-- Only the first node can be the only one, so the long list of nodes of a wide attempt is not
				-- read for each node.
				x.single
			from internal.report_digest(p_reported) d
			left join allocation a on a.job_id = d.job and a.step_id = d.step and a.attempt = d.attempt
				and a.node_id = d.node
			left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
			cross join lateral (select coalesce(a.predispatched and a.phase = 'ordered', false) as waits
				offset 0) w -- once a row
			cross join lateral (select a.node_index = 0 and cardinality(t.node_ids) = 1 as single
				offset 0) x -- once a row
		), bound as materialized ( -- once a report: a join by loop would ask for each record
			select k.node, k.job, internal.slot_boot(k.node, k.job, array_agg(k.step),
				array_agg(case when k.waits then k.began_us end), array_agg(k.end_us)) as boot_at
			from known k
			where k.open and not k.refused
			group by k.node, k.job
			having bool_or(k.waits)
		), clocked as (
			-- Attempts of one job whose first records are in the same report of a node get the same boot_at. It is
			-- not before the boot_at of an earlier attempt in the report, since elements of an array pass on CPUs in
			-- their order. Lost attempts are handled separately: the node may have booted since, and its clock has
			-- begun anew.
			select k.*, coalesce(k.fixed_at, greatest(least(k.boot_at, now() - max(k.last) over o),
				max(k.fixed_at) over o, b.boot_at,
				max(k.earliest) filter (where k.fixed_at is null) over o)) as fix
			from known k
			left join bound b on b.node = k.node and b.job = k.job
			window o as (partition by k.node, k.job, k.lost)
		)
		select internal.attempt_report_of(node_id => c.node, job_id => c.job, step_id => c.step, attempt => c.attempt,
			seq => c.seq, boot_at => c.fix, keeper_at => c.fix + c.keeper_us * c_us, ready => c.ready,
			run_at => c.fix + c.started_us * c_us, session_id => c.session_id, done_at => c.fix + c.done_us * c_us,
			refused => c.refused, outcome => c.outcome, cause => c.cause, message => c.message, exit_code => c.exit_code,
			signal => c.signal, end_at => c.fix + c.end_us * c_us,
			figures => case when c.end_us is not null
				then internal.node_figures_of(peak_mb => c.peak_mb, cgroup_peak_mb => c.cgroup_peak_mb,
					cpu_usec => c.cpu_usec, system_usec => c.system_usec, node_uj => c.node_uj) end,
			drain => c.drain, phase => c.phase, live => c.live, open => c.open, single => c.single,
			brief => c.single and c.end_us is not null and not c.paused, waits => c.waits, paused => c.paused,
			tasked => c.tasked, hooked => c.hooked,
			-- If the attempt is over on this node, all of its records were reported before. If it is over on other nodes only,
			-- the records of ends, hooks and tasks here are new.
			new_count => (case when c.unknown or c.gone then 0 when c.live then c.said else c.closing end)::int,
			unexpected => c.unexpected or c.unknown or c.lost, given_back => c.given_back,
			began_at => c.fix + c.began_us * c_us)
		from clocked c
		order by c.seq);
end $$;
comment on function internal.report_read(internal.report_content[]) is
	'One row for each attempt and node in reports, with the state of its allocation, and with times of the database''s clock.';

create function internal.rejected_keep(p_rejected jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_now constant timestamptz := clock_timestamp();
begin
	perform day_range('rejected_report', (v_now at time zone 'UTC')::date); -- however long nodemgrd has been stopped
	insert into rejected_report (at, actor, what) values (v_now, 'node', p_rejected);
end $$;
comment on function internal.rejected_keep(jsonb) is
	'Store records that nodes have reported and that are not applied, in rota.rejected_report.';

create function internal.report_reject(p_reported internal.report_content[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- Records of attempts that were lost with their node, or that are unknown. Orders for an attempt that was over (late), or
	-- a refused launch request, changed nothing on the node.
	v_rejected jsonb := (
		select jsonb_agg(r.value order by w.nr, r.nr)
		from unnest(p_reported) with ordinality w (boot_at, records, coalesced, nr)
		cross join lateral jsonb_array_elements(w.records || coalesce(w.coalesced, '[]')) with ordinality as r (value, nr)
		left join allocation a on a.job_id = (r.value ->> 'job')::bigint and a.step_id = (r.value ->> 'step')::int
			and a.attempt = (r.value ->> 'attempt')::int and a.node_id = (r.value ->> 'node')::int
		left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
		where a.job_id is null or a.lost_at is not null or r.value ->> 'kind' = 'late'
			or (t.ended_at is not null and t.cause not in ('refused', 'withdrawn')
				and r.value ->> 'kind' = 'refused'));
begin
	if v_rejected is not null then
		perform internal.rejected_keep(v_rejected);
		perform internal.order_put((
			select jsonb_agg(distinct jsonb_build_object('node_id', x.node, 'kind', 'kill', 'job_id', x.job,
				'step_id', x.step, 'attempt', x.attempt,
				'args', jsonb_build_object('cause', 'node_lost')))
			from jsonb_to_recordset(v_rejected) as x (node int, job bigint, step int, attempt int, kind text)
			join node n on n.node_id = x.node
			where x.kind in ('keeper', 'ready', 'run')
				and not exists (select from jsonb_to_recordset(v_rejected) as e (node int, job bigint, step int,
					attempt int, kind text)
					where e.node = x.node and e.job = x.job and e.step = x.step and e.attempt = x.attempt
						and e.kind = 'end')
				and not exists (select from node_order o
					where o.node_id = x.node and o.kind = 'kill' and o.job_id = x.job and o.step_id = x.step
					and o.attempt = x.attempt)));
	end if;
end $$;
comment on function internal.report_reject(internal.report_content[]) is
	'Store records that match no attempt, and have the processes of lost attempts that still run killed.';

-- Steps over several nodes: when every node is ready, nodes with tasks get the order `go`; the others only hold their resources.
create function internal.report_go(p_ready internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.order_put((
		select jsonb_agg(g.reported)
		from (
			select jsonb_build_object('node_ids', jsonb_agg(a.node_id order by a.node_index), 'kind', 'go', 'job_id',
				v.job_id, 'step_id', v.step_id,
				'attempt', v.attempt) as reported
			from (
				-- Computed once for each step, and sent once: with the report that releases the nodes.
				select v.job_id, v.step_id, v.attempt,
					coalesce(internal.spec_field(r.spec, 'per_task'), '0') = '1' as per_task
				from unnest(p_ready) v
				join step s on s.job_id = v.job_id and s.step_id = v.step_id
				join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
				where not exists (select from allocation o
					where o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt
					and o.phase in ('ordered', 'prolog'))
				offset 0 -- once a step
			) v
			join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
				and case when v.per_task then a.tasks > 0 else a.node_index = 0 end
			group by v.job_id, v.step_id, v.attempt
		) g));
end $$;
comment on function internal.report_go(internal.attempt_key[]) is
	'Nodes of these attempts have become ready. Send the order go to attempts all of whose nodes are ready.';

create function internal.report_run(p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_seen internal.attempt_report[] := array(select v::internal.attempt_report from unnest(p_seen) v
		where v.live and not v.brief and (v.keeper_at is not null or v.ready or v.run_at is not null));
begin
	if v_seen = '{}' then
		return;
	end if;
	-- The keeper has started, or the tasks have.
	update allocation a
	set phase = case when v.run_at is not null then 'running' when v.ready then 'ready' else 'prolog' end,
		boot_at = coalesce(a.boot_at, v.boot_at)
	from unnest(v_seen) v
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id
		and (a.phase = 'ordered' or (a.phase in ('prolog', 'ready') and (v.run_at is not null or v.ready)));
	-- A step whose tasks start, or end, in the same report is not shown in state prolog.
	perform internal.step_move('node', array(
		select internal.move_of(job_id => v.job_id, step_id => v.step_id,
			event => case when min(v.run_at) is null then 'prolog' else 'run' end,
			at => coalesce(min(v.run_at), min(v.keeper_at)))
		from unnest(v_seen) v
		where v.run_at is not null or (v.keeper_at is not null and v.done_at is null)
		group by v.job_id, v.step_id, v.attempt));
	if exists (select from unnest(v_seen) v where v.ready) then
		perform internal.report_go(array(select distinct (v.job_id, v.step_id, v.attempt)::internal.attempt_key
			from unnest(v_seen) v where v.ready));
	end if;
end $$;
comment on function internal.report_run(internal.attempt_report[]) is
	'Apply records of keepers, of readiness and of the start of tasks.';

create function internal.report_pause(p_reported internal.report_content[], p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_last record;
begin
	-- The records of the first node decide for the step.
	for v_last in
		select x.job, x.step, x.attempt, x.kind, v.boot_at + x.at_us * interval '1 microsecond' as at, x.at_us as clock,
			coalesce(x.devices_left, false) as devices_left
		from unnest(p_reported) with ordinality w (boot_at, records, coalesced, nr)
		cross join lateral rows from (jsonb_to_recordset(w.records) as (node int, job bigint, step int, attempt int,
			kind text, at_us bigint, devices_left boolean))
			with ordinality as x (node, job, step, attempt, kind, at_us, devices_left, nr)
		join unnest(p_seen) v on v.job_id = x.job and v.step_id = x.step and v.attempt = x.attempt and v.node_id = x.node
		join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = x.node
			and a.node_index = 0 and a.gone_at is null
		where x.kind in ('suspended', 'resumed')
		order by w.nr, x.nr
	loop
		-- The node's clock shows which records were reported before, as an attempt does not outlive a boot.
		update attempt t
		set pause_clock = v_last.clock
		where t.job_id = v_last.job and t.step_id = v_last.step and t.attempt = v_last.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
			and (t.pause_clock is null or v_last.clock is null or t.pause_clock < v_last.clock);
		continue when not found;
		if v_last.kind = 'suspended' then
			perform internal.step_suspended(v_last.job, v_last.step, v_last.attempt, v_last.at,
				v_last.devices_left);
		elsif exists (select from step s where s.job_id = v_last.job and s.step_id = v_last.step
				and s.attempt = v_last.attempt and s.state = 'suspended') then
			-- A failover has lost the commit that resumed the step: what it gave back may be another step's by now.
			perform internal.attempt_order('suspend', v_last.job, v_last.step,
				internal.suspend_args(v_last.job, v_last.step));
		else
			update attempt t
			set suspended_s = t.suspended_s + extract(epoch from v_last.at - t.suspended_at), suspended_at = null
			where t.job_id = v_last.job and t.step_id = v_last.step and t.attempt = v_last.attempt
				and t.suspended_at is not null;
		end if;
	end loop;
end $$;
comment on function internal.report_pause(internal.report_content[], internal.attempt_report[]) is
	'Apply records of kinds suspended and resumed of attempts in p_seen.';

create function internal.report_hook(p_reported internal.report_content[], p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into hook_run (job_id, step_id, attempt, node_id, hook, ended_at, exit_code, signal, usec, output)
	select x.job, x.step, x.attempt, x.node, x.hook, v.boot_at + x.at_us * interval '1 microsecond', nullif(x.exit, -1),
		nullif(x.signal, 0), x.usec, x.output
	from unnest(p_reported) w
	cross join lateral jsonb_array_elements(w.records) r
	cross join lateral jsonb_to_record(r) as x (node int, job bigint, step int, attempt int, at_us bigint,
		hook text, exit int, signal int, usec bigint, output text)
	join unnest(p_seen) v on v.job_id = x.job and v.step_id = x.step and v.attempt = x.attempt and v.node_id = x.node
	join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = x.node
		and a.gone_at is null
	where r ->> 'kind' = 'hook'
		and (select o.hook from hook_run o
			where o.job_id = x.job and o.step_id = x.step and o.attempt = x.attempt and o.node_id = x.node
			and o.hook = x.hook) is null
	on conflict do nothing;
end $$;
comment on function internal.report_hook(internal.report_content[], internal.attempt_report[]) is
	'Store records of kind hook of attempts in p_seen.';

-- A step on many nodes has as many records of kinds keeper and ready, so a report has them as one entry for each attempt.
create function internal.report_ready(p_ready jsonb, p_boot_at timestamptz, out new_count int, out rest jsonb)
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_one record;
	v_ready int[];
	v_at timestamptz;
begin
	new_count := 0;
	rest := '[]';
	for v_one in
		select x.job, x.step, x.attempt, x.at_us, x.at_us * interval '1 microsecond' as clock, x.nodes
		from jsonb_to_recordset(p_ready) as x (job bigint, step int, attempt int, at_us bigint, nodes int[])
	loop
		with made as (
			update allocation a
			set phase = 'ready',
				boot_at = coalesce(a.boot_at, greatest(least(p_boot_at, now() - v_one.clock),
					a.started_at - v_one.clock))
			where a.job_id = v_one.job and a.step_id = v_one.step and a.attempt = v_one.attempt
				and a.node_id = any (v_one.nodes) and a.phase in ('ordered', 'prolog')
			returning a.node_id, a.boot_at
		)
		select coalesce(array_agg(m.node_id), '{}'), min(m.boot_at) + v_one.clock into v_ready, v_at from made m;
		-- Records that were reported before, or match no attempt, are checked one by one.
		if cardinality(v_ready) < cardinality(v_one.nodes) then
			rest := rest || (
				select coalesce(jsonb_agg(jsonb_build_object('node', n.node, 'job', v_one.job, 'step', v_one.step,
					'attempt', v_one.attempt, 'kind', k, 'at_us', v_one.at_us)), '[]')
				from (select unnest(v_one.nodes) except select unnest(v_ready)) n (node)
				cross join unnest('{keeper,ready}'::text[]) k);
		end if;
		if v_ready <> '{}' then
			new_count := new_count + 2 * cardinality(v_ready);
			perform internal.step_move('node',
				array[internal.move_of(job_id => v_one.job, step_id => v_one.step, event => 'prolog', at => v_at)]);
			perform internal.report_go(array[(v_one.job, v_one.step, v_one.attempt)::internal.attempt_key]);
		end if;
	end loop;
end $$;
comment on function internal.report_ready(jsonb, timestamptz) is
	'Apply entries [{job, step, attempt, at_us, nodes}] of attempts whose keepers are ready on these nodes. Answers the number '
	'of new records, and as `rest` records for nodes where the state of the allocation did not change.';
