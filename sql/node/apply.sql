-- Reports are settled: one after the other about the same jobs, and together what came meanwhile.

create function internal.report_apply(p_reported internal.report_content[], p_ready jsonb, p_done bigint[]) returns int
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
begin
	-- That something begins, or that a task has ended, changes nothing that nodes hold.
	select coalesce(array_agg(a.key), '{}'), array_agg(a.key) filter (where a.freeing) into v_attempts, v_freeing
	from (
		select (x.job, x.step, x.attempt)::internal.attempt_key as key,
			bool_or(x.kind not in ('used', 'keeper', 'ready', 'run', 'task', 'hook', 'late')) as freeing
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
		select r.new_count, v_reported || (now(), r.rest, null)::internal.report_content into v_ready,
			v_reported from internal.report_ready(p_ready) r;
	end if;
	v_seen := internal.report_read(v_reported);
	-- What there is in the reports, so that only that is asked for.
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
		perform internal.report_task(v_reported);
	end if;
	if v_hooked then
		perform internal.report_hook(v_reported);
	end if;
	if v_long then
		perform internal.report_run(v_new);
	end if;
	if v_paused then
		perform internal.report_pause(v_reported);
	end if;
	perform internal.report_done(v_new);
	perform internal.attempt_close(internal.report_facts(v_new), 'node');
	if v_long then
		perform internal.report_ending(v_new);
	end if;
	if v_drain then
		perform internal.report_drain(v_new);
	end if;
	notify rota_event;
	return v_new_count + v_ready;
end $$;
comment on function internal.report_apply(internal.report_content[], jsonb, bigint[]) is
	'What reports say becomes so: their records, who is ready as in internal.report_ready (null: nobody), orders that were '
	'taken. The caller has locked the jobs. Answers how many records were news.';

create function internal.report_take(p_own bigint, p_jobs bigint[], out reported internal.report_content[], out done bigint[])
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- Of what was left lately: this is asked with each report, however many rows that are gone somebody's long transaction
	-- still keeps.
	v_from constant bigint := least(p_own, (select s.last_value - 63 from report_deferred_deferred_id_seq s));
begin
	-- Mostly nothing was: to look takes less than to begin a deletion.
	if not exists (select from report_deferred l where l.deferred_id >= v_from) then
		reported := '{}';
		done := '{}';
		return;
	end if;
	-- And soon: one that cannot be settled fails whatever is settled with it.
	with taken as (
		delete from report_deferred l
		where l.deferred_id >= v_from and l.job_ids <@ p_jobs
			and (l.deferred_id = p_own or l.reported_at > now() - interval '10 s')
		returning l.deferred_id, l.reported_at, l.report
	)
	select coalesce(array_agg((t.reported_at, t.report -> 'records', t.report -> 'coalesced')::internal.report_content
		order by t.deferred_id), '{}'),
		array(select x::bigint from taken o cross join lateral jsonb_array_elements_text(o.report -> 'orders_done') x)
	into reported, done
	from taken t;
end $$;
comment on function internal.report_take(bigint, bigint[]) is
	'Take the reports that were left about no other than these jobs, which the caller has locked, and with them its own '
	'(null: it has none).';

create function api.node_report(p_report jsonb, p_coalesced jsonb, p_alone boolean, out new_count int, out deferred_as bigint)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[] := array(
		select distinct (x.value ->> 'job')::bigint
		from jsonb_array_elements((p_report -> 'records') || p_coalesced || coalesce(p_report -> 'ready', '[]')) x);
	v_reported internal.report_content[] := '{}';
	v_done bigint[] := '{}';
begin
	-- Where nodes are only ready, each says so by itself: of a wide step they are many, and what they say is short.
	if p_alone or p_report ? 'ready' then
		perform internal.job_lock(v_jobs);
	elsif not internal.job_lock_now(v_jobs) then
		insert into report_deferred (node_id, job_ids, report)
		values (coalesce(p_report #>> '{records,0,node}', p_coalesced #>> '{0,node}')::int, v_jobs,
			p_report || jsonb_build_object('coalesced', p_coalesced))
		returning deferred_id into deferred_as;
		return;
	end if;
	if not p_alone then
		select o.reported, o.done into v_reported, v_done from internal.report_take(null, v_jobs) o;
	end if;
	new_count := internal.report_apply((now(), p_report -> 'records', p_coalesced)::internal.report_content || v_reported,
		p_report -> 'ready',
		array(select x::bigint from jsonb_array_elements_text(p_report -> 'orders_done') x) || v_done);
end $$;
comment on function api.node_report(jsonb, jsonb, boolean) is
	'Records of a node''s journal and orders it has taken: {"records": [{node, job, step, attempt, kind, age_us, ...}], '
	'"ready": [{job, step, attempt, age_us, nodes}], "orders_done": [id]}; ready, which may be absent: keeper and ready of '
	'an attempt on so many nodes. Lives [{kind: "life", node, job, step, attempt, keeper_us, ready, run_us, session, task, '
	'done_us, exit, ..., end_us, ...}]: what is told of an attempt on a node up to its end, in one: ages of its records by '
	'kind, the members of these, and the record of its one task. Idempotent. Answers how many records were news; or, where '
	'somebody has locked the jobs and it is not to be settled alone, what it was left as for api.node_apply: until that has '
	'answered, nothing of it counts.';

create function api.node_apply(p_left bigint, out new_count int, out deferred_as bigint)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[] := (select l.job_ids from report_deferred l where l.deferred_id = p_left);
	v_all record;
begin
	new_count := 0;
	if v_jobs is null then
		return;
	end if;
	perform internal.job_lock(v_jobs);
	-- Who had the lock has taken it, or nobody has.
	if exists (select from report_deferred l where l.deferred_id = p_left) then
		select * into v_all from internal.report_take(p_left, v_jobs);
		new_count := internal.report_apply(v_all.reported, null, v_all.done);
	end if;
end $$;
comment on function api.node_apply(bigint) is
	'Wait until a report that was left is settled: by whoever had locked its jobs, or else by this call, together with all '
	'that were left about them. Answers as api.node_report does.';
