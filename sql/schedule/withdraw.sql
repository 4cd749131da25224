-- Pre-dispatched elements that nodes are to give back. Elements that are to end already have orders for that.
--
-- Invariants:
-- - An order "withdraw" ends nothing: its node refuses the elements that it has not started (cause withdrawn), and these are
--   queued again when the node has reported that. A node gets one such order for them at a time. So an element never runs on two
--   nodes, whatever its node has started meanwhile.
create function api.schedule_withdraw(p_term bigint, p_jobs bigint[], p_requests int[], p_nodes int[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_orders jsonb;
begin
	perform internal.leader_check(p_term);
	select jsonb_agg(jsonb_build_object('node_id', h.node_id, 'kind', 'withdraw', 'job_id', h.job_id, 'step_id', h.steps[1],
		'attempt', h.attempt, 'also', h.steps[2:]))
	into v_orders
	from (
		select v.node_id, v.job_id, a.attempt, array_agg(a.step_id order by a.step_id) as steps
		from unnest(p_jobs, p_requests, p_nodes) v (job_id, request_id, node_id)
		join step_array r on r.job_id = v.job_id and r.step_id = v.request_id
		cross join lateral (select o.* from allocation o
			where o.node_id = v.node_id and o.ended_at is null and o.predispatched and o.phase = 'ordered' offset 0) a -- by node
		join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.end_wanted is null
		where a.job_id = v.job_id and a.step_id between r.step_id + 1 and r.step_id + r.size
		group by v.node_id, v.job_id, a.attempt
	) h
	where not exists (select from node_order o
		where o.node_id = h.node_id and o.kind = 'withdraw' and o.job_id = h.job_id and o.attempt = h.attempt
			and o.step_id || o.also @> h.steps);
	perform internal.order_put(v_orders);
	return coalesce((select sum(1 + jsonb_array_length(x -> 'also')) from jsonb_array_elements(v_orders) x), 0);
end $$;
comment on function api.schedule_withdraw(bigint, bigint[], int[], int[]) is
	'Have nodes give back the elements of arrays that were pre-dispatched to them and that they have not started. Returns '
	'how many elements that may be, without those that are being withdrawn. RT412: no longer leader.';
