-- One snapshot of all that the leader reads for a scheduling cycle, for `rota plan` (bin/rota/verb/plan.c), which simulates
-- changes. These functions write nothing and lock nothing.

create function internal.snapshot_queue(p_rows int) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_queue constant jsonb := (
		select coalesce(jsonb_agg(to_jsonb(q) || jsonb_build_object('rank', s.rank + internal.tier_rank(p.tier)) order by q.nr),
			'[]')
		from api.schedule_queue(p_rows) with ordinality
			q (job_id, step_id, version, array_next, array_skip, array_over, free_slots, stamp, nr)
		left join step s on s.job_id = q.job_id and s.step_id = q.step_id
		left join partition p on p.partition = s.queue);
begin
	return jsonb_build_object('queue', v_queue, 'pending', (
		select coalesce(jsonb_agg(to_jsonb(x) || '{"variables": null}'), '[]')
		from api.schedule_pending(array(select (q ->> 'job_id')::bigint from jsonb_array_elements(v_queue) q),
			array(select (q ->> 'step_id')::int from jsonb_array_elements(v_queue) q)) x));
end $$;
comment on function internal.snapshot_queue(int) is
	'The first rows of the queue of each partition, with the request of each step and its rank. The rank includes the '
	'tier of the partition.';

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
		'nodes', (select coalesce(jsonb_agg(to_jsonb(x)), '[]') from api.schedule_nodes() x),
		'partitions', (select coalesce(jsonb_agg(to_jsonb(x)), '[]') from api.schedule_partitions() x),
		'running', (select coalesce(jsonb_agg(to_jsonb(x)), '[]') from api.schedule_running() x),
		'licenses', (select coalesce(jsonb_agg(to_jsonb(x)), '[]') from api.schedule_licenses() x),
		'outages', (select coalesce(jsonb_agg(to_jsonb(x)), '[]') from api.schedule_outages() x))
		|| case when internal.preempt_is_on() then jsonb_build_object('candidates', (
			select coalesce(jsonb_agg(to_jsonb(x)), '[]') from api.schedule_candidates(2147483647) x)) else '{}' end
		|| case when internal.request_bool(p_request, 'moves') then internal.snapshot_moves() else '{}' end
		|| internal.snapshot_queue(least(coalesce(internal.request_int(p_request, 'rows', 100000), 1000), 10000)::int);
end $$;
comment on function api.plan_snapshot(int, text, jsonb) is
	'What a scheduling cycle would read now; for callers who may see all jobs. Request {rows: for each partition, '
	'moves}. Answer {now, claims, resumes, nodes, partitions, running, licenses, outages, queue, pending}, as the '
	'functions schedule_... answer them, and ranks (internal.snapshot_ranks); candidates, if anything may be preempted; '
	'with moves, also the members of internal.snapshot_moves.';
