-- One snapshot of all that the leader reads for a scheduling cycle, for `rota plan` (bin/rota/verb/plan.c), which simulates
-- changes. These functions write nothing and lock nothing.

create function internal.snapshot_columns(p_function regprocedure) returns text[]
language sql stable set search_path = rota, pg_temp as $$
	select case when f.proargmodes is null
		then array(select a.attname::text from pg_type t join pg_attribute a on a.attrelid = t.typrelid
			where t.oid = f.prorettype and a.attnum > 0 and not a.attisdropped order by a.attnum)
		else array(select x.name from unnest(f.proargnames, f.proargmodes) with ordinality x (name, mode, nr)
			where x.mode = 't' order by x.nr) end
	from pg_proc f where f.oid = p_function;
$$;
comment on function internal.snapshot_columns(regprocedure) is 'The columns of the rows that a function returns.';

create function internal.snapshot_rows(p_columns text[], p_rows text[]) returns jsonb
language sql immutable set search_path = rota, pg_temp as $$
	-- PostgreSQL writes a row as text in a quarter of the time that it needs for an object, and without the names of columns.
	select jsonb_build_object('columns', p_columns, 'rows', p_rows);
$$;
comment on function internal.snapshot_rows(text[], text[]) is
	'Rows for a snapshot {columns: [NAME], rows: [TEXT]}. p_rows: each row as PostgreSQL writes it, such as (1,"a b",,t).';

create function internal.snapshot_request(p_request internal.pending_step) returns text
language plpgsql immutable set search_path = rota, pg_temp as $$
begin
	p_request.variables := null;
	return p_request::text;
end $$;
comment on function internal.snapshot_request(internal.pending_step) is
	'The request of a step as a row of a snapshot, without the variables, which are for its owner.';

create function internal.snapshot_requests(p_jobs bigint[], p_steps int[]) returns jsonb
language sql stable set search_path = live, rota, pg_temp as $$
	select internal.snapshot_rows(internal.snapshot_columns('api.schedule_pending(bigint[], int[])'), array(
		-- Few steps have variables.
		select case when x.variables is null then x::text else internal.snapshot_request(x) end
		from api.schedule_pending(p_jobs, p_steps) x));
$$;
comment on function internal.snapshot_requests(bigint[], int[]) is
	'The requests of steps as internal.snapshot_rows, as api.schedule_pending answers them, but without variables.';

create function internal.snapshot_queue(p_rows int) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[];
	v_steps int[];
	v_rows text[];
begin
	select array_agg(q.job_id), array_agg(q.step_id), array_agg(q::text) into v_jobs, v_steps, v_rows
	from api.schedule_queue(p_rows) q;
	return jsonb_build_object(
		'queue', internal.snapshot_rows(internal.snapshot_columns('api.schedule_queue(int)'), coalesce(v_rows, '{}')),
		'pending', internal.snapshot_requests(coalesce(v_jobs, '{}'), coalesce(v_steps, '{}')));
end $$;
comment on function internal.snapshot_queue(int) is
	'The first rows of the queue of each partition, and the request of each step in the same order.';

create function internal.snapshot_ranks() returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('point_ms', internal.setting_int('age_weight_s')::bigint * 1000,
		'partitions', (select coalesce(jsonb_object_agg(p.partition, p.tier), '{}') from partition p),
		'qos', (select jsonb_object_agg(q.qos, jsonb_build_object('tier', q.tier, 'priority', q.priority)) from qos q));
$$;
comment on function internal.snapshot_ranks() is
	'The values from which internal.submit_rank computes the rank of a submission: {point_ms, partitions: {NAME: TIER}, '
	'qos: {NAME: {tier, priority}}}.';

create function api.plan_snapshot(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
begin
	if not internal.sees_all(p_uid, p_user) then
		raise exception 'you may not see the jobs of others, so there is no plan to show' using errcode = 'RT403',
			hint = 'Operators may; "rota queue --start" shows when your own are expected to start.';
	end if;
	return jsonb_build_object('now', extract(epoch from now()), 'claims', internal.claim_list(),
		'resumes', internal.resume_list(), 'ranks', internal.snapshot_ranks(),
		'nodes', internal.snapshot_rows(internal.snapshot_columns('api.schedule_nodes()'),
			array(select x::text from api.schedule_nodes() x)),
		'partitions', internal.snapshot_rows(internal.snapshot_columns('api.schedule_partitions()'),
			array(select x::text from api.schedule_partitions() x)),
		'running', internal.snapshot_rows(internal.snapshot_columns('api.schedule_running()'),
			array(select x::text from api.schedule_running() x)),
		'licenses', internal.snapshot_rows(internal.snapshot_columns('api.schedule_licenses()'),
			array(select x::text from api.schedule_licenses() x)),
		'outages', internal.snapshot_rows(internal.snapshot_columns('api.schedule_outages()'),
			array(select x::text from api.schedule_outages() x)))
		|| case when internal.preempt_is_on() then jsonb_build_object('candidates', internal.snapshot_rows(
			internal.snapshot_columns('api.schedule_candidates(int)'),
			array(select x::text from api.schedule_candidates(2147483647) x))) else '{}' end
		|| case when internal.request_bool(p_request, 'moves') then internal.snapshot_moves() else '{}' end
		|| internal.snapshot_queue(least(coalesce(internal.request_int(p_request, 'rows', 100000), 1000), 10000)::int);
end $$;
comment on function api.plan_snapshot(int, text, jsonb) is
	'What a scheduling cycle would read now; for callers who may see all jobs. Request {rows: for each partition, '
	'moves}. Answer {now, claims, resumes, nodes, partitions, running, licenses, outages, queue, pending}, as the '
	'functions schedule_... answer them, the last seven as internal.snapshot_rows, and ranks (internal.snapshot_ranks); '
	'candidates, if anything may be preempted; with moves, also the members of internal.snapshot_moves.';
