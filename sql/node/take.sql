create function api.node_orders(p_nodes int[], p_known bigint[])
returns table (order_id bigint, node_id int, kind text, job_id bigint, step_id int, attempt int, also int[], body text, signature text, args jsonb)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_orders bigint[];
begin
	-- Who asks for many nodes has most of the orders there are: these are gone through as they stand, not node by node. Said with "is
	-- true", what is asked for becomes a hash.
	if cardinality(p_nodes) <= 100 then
		v_orders := array(select o.order_id from node_order o
			where o.node_id = any (p_nodes) and (o.order_id in (select unnest(p_known))) is not true and not exists (select from hook_due h where h.job_id = o.job_id and h.step_id = any (o.step_id || o.also) and h.attempt = o.attempt and h.hook = 'controller_prolog')
			order by o.order_id limit 1000);
	else
		v_orders := array(select o.order_id from node_order o
			where o.order_id > 0 and (o.node_id in (select unnest(p_nodes))) is true and (o.order_id in (select unnest(p_known))) is not true
				and not exists (select from hook_due h where h.job_id = o.job_id and h.step_id = any (o.step_id || o.also) and h.attempt = o.attempt and h.hook = 'controller_prolog')
			order by o.order_id limit 1000);
	end if;
	return query
	select o.order_id, o.node_id, o.kind, o.job_id, o.step_id, o.attempt, o.also, o.body, encode(o.signature, 'hex'), o.args
	from node_order o
	where o.order_id = any (v_orders)
	order by o.order_id;
end $$;
comment on function api.node_orders(int[], bigint[]) is 'Orders for nodes that they have not taken yet, but those p_known, the 1000 lowest. Those of an attempt wait for its controller prolog.';

create function api.node_blob(p_hashes bytea[]) returns table (hash text, body bytea)
language sql stable security definer set search_path = live, rota, pg_temp as $$
	select encode(s.hash, 'hex'), s.body from script s where s.hash = any (p_hashes)
	union all
	select encode(e.hash, 'hex'), e.body from environment e where e.hash = any (p_hashes);
$$;
comment on function api.node_blob(bytea[]) is 'Scripts and environments by SHA-256: who knows the hash was given it in an order.';
