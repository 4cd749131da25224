-- Applies reports of nodes. Reports about the same jobs are applied one after the other. Reports that arrive while one is
-- applied are applied together after it.

create function internal.report_apply(p_reported internal.report_content[], p_ready jsonb, p_boot_at timestamptz, p_done bigint[])
	returns int
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reported internal.report_content[] := p_reported;
	v_attempts internal.attempt_key[];
	v_freeing internal.attempt_key[];
	v_seen internal.attempt_report[];
	v_new internal.attempt_report[];
	v_new_count int;
	v_ready int := 0;
	v_unexpected boolean;
	v_tasked boolean;
	v_hooked boolean;
	v_paused boolean;
	v_long boolean;
	v_drain boolean;
	v_gone boolean;
begin
	-- The start of an attempt and the end of a task change no allocation.
	select coalesce(array_agg(a.key), '{}'), array_agg(a.key) filter (where a.freeing), bool_or(a.gone)
	into v_attempts, v_freeing, v_gone
	from (
		select (x.job, x.step, x.attempt)::internal.attempt_key as key,
			bool_or(x.kind not in ('used', 'keeper', 'ready', 'run', 'task', 'hook', 'late')) as freeing,
			bool_or(x.kind = 'gone') as gone
		from unnest(p_reported) w
		cross join lateral jsonb_to_recordset(w.records || coalesce(w.coalesced, '[]')) as x (job bigint, step int,
			attempt int, kind text)
		group by x.job, x.step, x.attempt
	) a;
	perform internal.node_lock(array(
		select distinct n
		from unnest(v_freeing) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
		cross join lateral unnest(t.node_ids) n));
	perform internal.license_lock(v_attempts);
	if p_ready is not null then
		select r.new_count, v_reported || (p_boot_at, r.rest, null)::internal.report_content into v_ready,
			v_reported from internal.report_ready(p_ready, p_boot_at) r;
	end if;
	v_seen := internal.report_read(v_reported);
	-- Find out which kinds of records the reports contain, so that only these are processed.
	select coalesce(sum(v.new_count), 0), bool_or(v.unexpected), bool_or(v.tasked and v.new_count > 0),
		bool_or(v.hooked and v.new_count > 0), bool_or(v.paused and v.new_count > 0),
		bool_or(not v.brief and v.new_count > 0), bool_or(v.drain is not null and v.new_count > 0),
		array_agg(v::internal.attempt_report) filter (where v.new_count > 0)
	into v_new_count, v_unexpected, v_tasked, v_hooked, v_paused, v_long, v_drain, v_new
	from unnest(v_seen) v;
	if v_unexpected then
		perform internal.report_reject(v_reported);
	end if;
	if p_done <> '{}' then
		delete from node_order o where o.order_id = any (p_done);
	end if;
	if v_new_count = 0 then
		if v_ready > 0 then
			notify rota_event;
		end if;
		return v_ready;
	end if;
	if v_tasked then
		perform internal.report_task(v_reported, v_new);
	end if;
	if v_hooked then
		perform internal.report_hook(v_reported, v_new);
	end if;
	if v_long then
		perform internal.report_run(v_new);
	end if;
	if v_paused then
		perform internal.report_pause(v_reported, v_new);
	end if;
	perform internal.report_done(v_new);
	perform internal.attempt_close(internal.report_facts(v_new), 'node');
	if v_long then
		perform internal.report_ending(v_new);
		perform internal.growth_notice(v_new);
	end if;
	if v_drain then
		perform internal.report_drain(v_new);
	end if;
	if v_gone then
		perform internal.report_gone(v_reported);
	end if;
	notify rota_event;
	return v_new_count + v_ready;
end $$;
comment on function internal.report_apply(internal.report_content[], jsonb, timestamptz, bigint[]) is
	'Apply reports: their records, the attempts that became ready as in internal.report_ready (null: none), and orders that '
	'were fetched (p_done). The caller has locked the jobs. Returns the number of new records.';

create function internal.report_take(p_own bigint, p_jobs bigint[], out reported internal.report_content[], out done bigint[])
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- Read only recently deferred reports: this query runs with each report, and a long transaction may keep many dead rows.
	v_from constant bigint := least(p_own, (select s.last_value - 63 from report_deferred_deferred_id_seq s));
begin
	-- Most nodes have no deferred report, and a look-up takes less time than to start a deletion.
	if not exists (select from report_deferred l where l.deferred_id >= v_from) then
		reported := '{}';
		done := '{}';
		return;
	end if;
	-- Only soon after they were deferred: a report that cannot be applied makes every report fail that is applied with it.
	with taken as (
		delete from report_deferred l
		where l.deferred_id >= v_from and l.job_ids <@ p_jobs
			and (l.deferred_id = p_own or l.reported_at > now() - interval '10 s')
		returning l.deferred_id, l.report
	)
	select coalesce(array_agg((internal.report_boot(t.report), t.report -> 'records',
		t.report -> 'coalesced')::internal.report_content
		order by t.deferred_id), '{}'),
		array(select x::bigint from taken o cross join lateral jsonb_array_elements_text(o.report -> 'orders_done') x)
	into reported, done
	from taken t;
end $$;
comment on function internal.report_take(bigint, bigint[]) is
	'Take the deferred reports that are about these jobs only, which the caller has locked, and with them the caller''s own '
	'deferred report p_own (null: none).';

create function api.node_report(p_report jsonb, p_coalesced jsonb, p_alone boolean, out new_count int, out deferred_as bigint,
	out server_us bigint)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_orders constant bigint[] := array(select x::bigint from jsonb_array_elements_text(p_report -> 'orders_done') x);
	v_jobs bigint[];
	v_nodes int[];
	v_boot_at constant timestamptz := internal.report_boot(p_report);
	v_reported internal.report_content[] := '{}';
	v_done bigint[] := '{}';
begin
	select coalesce(array_agg(distinct (x.value ->> 'job')::bigint), '{}'),
		coalesce(array_agg(distinct (x.value ->> 'node')::int), '{}')
	into v_jobs, v_nodes
	from jsonb_array_elements((p_report -> 'records') || p_coalesced || coalesce(p_report -> 'ready', '[]')) x;
	perform internal.node_need(v_nodes
		|| array(select o.node_id from node_order o where o.order_id = any (v_orders))
		|| array(select n::int from jsonb_array_elements(p_report -> 'ready') r
			cross join lateral jsonb_array_elements_text(r -> 'nodes') n));
	-- Reports with ready attempts only are applied one by one: a wide step has many nodes, and their reports are short.
	if p_alone or p_report ? 'ready' or p_report ? 'registered' then
		perform internal.job_lock(v_jobs);
	elsif not internal.job_lock_now(v_jobs) then
		insert into report_deferred (node_id, job_ids, report)
		values (coalesce(p_report #>> '{records,0,node}', p_coalesced #>> '{0,node}')::int, v_jobs,
			p_report || jsonb_build_object('coalesced', p_coalesced))
		returning deferred_id into deferred_as;
		server_us := internal.clock_us();
		return;
	end if;
	if p_report ? 'registered' then
		select o.p_report, o.p_coalesced into p_report, p_coalesced from internal.report_outdated(p_report, p_coalesced) o;
	end if;
	if not p_alone then
		select o.reported, o.done into v_reported, v_done from internal.report_take(null, v_jobs) o;
	end if;
	new_count := internal.report_apply((v_boot_at, p_report -> 'records', p_coalesced)::internal.report_content || v_reported,
		p_report -> 'ready', v_boot_at,
		v_orders || v_done);
	server_us := internal.clock_us();
end $$;
comment on function api.node_report(jsonb, jsonb, boolean) is
	'Store records of a node''s journal, and orders that the node has fetched: {"boot_us", "records": [{node, job, step, '
	'attempt, kind, at_us, ...}], "ready": [{job, step, attempt, at_us, nodes}], "orders_done": [id]}. boot_us: the time of '
	'the database (microseconds since 1970) at which the clock of the node was 0, as the node estimates it; at_us and other '
	'members with _us: times of that clock, in microseconds. ready (optional): the records keeper and ready of an attempt on '
	'several nodes. registered {us, server_us} (if records may be older than the registration of the nodes): the time of '
	'registration, by both clocks. p_coalesced [{kind: "life", node, job, step, attempt, keeper_us, ready, run_us, session, '
	'task, done_us, exit, ..., end_us, ...}]: all records of an attempt on a node up to its end as one: their times by kind, '
	'their members, and the record of its only task. Idempotent. Returns the number of new records; or, if another session '
	'has locked the jobs and not p_alone, the number under which the report was deferred: it has no effect until '
	'api.node_apply has returned for that number. server_us: the time of the database at the end of the call, in '
	'microseconds since 1970. 28000: the session does not speak for every node that the report or its orders name.';

create function api.node_apply(p_left bigint, out new_count int, out deferred_as bigint, out server_us bigint)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[] := (select l.job_ids from report_deferred l where l.deferred_id = p_left);
	v_all record;
begin
	perform internal.node_need(array(select l.node_id from report_deferred l where l.deferred_id = p_left));
	new_count := 0;
	server_us := internal.clock_us();
	if v_jobs is null then
		return;
	end if;
	perform internal.job_lock(v_jobs);
	-- Either the session with the lock has taken the deferred report, or no session has.
	if exists (select from report_deferred l where l.deferred_id = p_left) then
		select * into v_all from internal.report_take(p_left, v_jobs);
		new_count := internal.report_apply(v_all.reported, null, null, v_all.done);
	end if;
	server_us := internal.clock_us();
end $$;
comment on function api.node_apply(bigint) is
	'Wait until a deferred report is applied: by the session that had locked its jobs, or else by this call, together with '
	'all other reports that were deferred about these jobs. Answers as api.node_report does. 28000: the session does not '
	'speak for the node that deferred the report.';
