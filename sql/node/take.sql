create function internal.node_orders_next(p_nodes int[], p_known bigint[], p_most int, out alone bigint[], out several bigint[])
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	-- A caller with many nodes gets most of the orders: these are read in sequence, not node by node. With "is true", the
	-- filter becomes a hash. An order for several nodes is returned once.
	if cardinality(p_nodes) <= 100 then
		select array_agg(w.order_id) filter (where w.alone),
			array_agg(w.order_id) filter (where not w.alone) into alone, several
		from (
			select o.order_id, o.kind in ('launch', 'withdraw') and o.text_node is null as alone
			from node_order o
			where o.node_id = any (p_nodes) and (o.order_id in (select unnest(p_known))) is not true
				and not exists (select from hook_pending h
				where h.job_id = o.job_id and h.step_id = any (o.step_id || o.also) and h.attempt = o.attempt
				and h.hook <> 'controller_epilog')
			order by o.order_id limit p_most
		) w;
	else
		select array_agg(w.order_id) filter (where w.alone),
			array_agg(w.order_id) filter (where not w.alone) into alone, several
		from (
			select o.order_id, o.kind in ('launch', 'withdraw') and o.text_node is null as alone
			from node_order o
			where o.order_id > 0 and (o.node_id in (select unnest(p_nodes))) is true
				and (o.order_id in (select unnest(p_known))) is not true
				and not exists (select from hook_pending h
					where h.job_id = o.job_id and h.step_id = any (o.step_id || o.also)
					and h.attempt = o.attempt and h.hook <> 'controller_epilog')
			order by o.order_id limit p_most
		) w;
	end if;
end $$;
comment on function internal.node_orders_next(int[], bigint[], int) is
	'The next orders for nodes, with the arguments of api.node_orders: alone: ids of orders for one node; several: ids of '
	'orders that may be the same for several nodes.';

create function api.node_orders(p_nodes int[], p_known bigint[], p_most int)
returns table (order_ids bigint[], node_ids int[], kind text, job_id bigint, step_id int, attempt int, also int[], body text,
	signature text, args jsonb)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_next record;
begin
	perform internal.node_need(p_nodes);
	v_next := internal.node_orders_next(p_nodes, p_known, p_most);
	if v_next.alone is not null then
		return query
		select array[o.order_id], array[o.node_id], o.kind, o.job_id, o.step_id, o.attempt, o.also, o.body,
			encode(o.signature, 'hex'), case when o.args ? 'credentials' then o.args || jsonb_build_object('boxes',
				internal.credential_boxes(o.job_id, o.step_id || o.also, o.attempt, array[o.node_id])) else o.args end
		from node_order o
		where o.order_id = any (v_next.alone)
		order by o.order_id;
	end if;
	if v_next.several is not null then
		return query
		select g.orders, g.nodes, g.kind, g.job_id, g.step_id, g.attempt, '{}'::int[], coalesce(l.body, g.body),
			encode(l.signature, 'hex'), case when g.args ? 'credentials' then g.args || jsonb_build_object('boxes',
				internal.credential_boxes(g.job_id, array[g.step_id], g.attempt, g.nodes)) else g.args end
		from (
			-- Orders are grouped only within one transaction, so an order that was sent between two others of a kind
			-- stays between them.
			select array_agg(o.order_id order by o.order_id) as orders,
				array_agg(o.node_id order by o.order_id) as nodes, o.kind, o.job_id, o.step_id,
				o.attempt, o.body, o.args, o.text_node
			from node_order o
			where o.order_id = any (v_next.several)
			group by o.kind, o.job_id, o.step_id, o.attempt, o.body, o.args, o.text_node, o.made_at
		) g
		left join launch_text l on l.job_id = g.job_id and l.step_id = g.step_id and l.attempt = g.attempt
			and l.node_id = g.text_node
		order by g.orders[1];
	end if;
end $$;
comment on function api.node_orders(int[], bigint[], int) is
	'Orders for nodes that they have not fetched yet, except p_known, the p_most lowest ids. An order that is the same for '
	'several nodes is one row: order_ids and node_ids correspond by index, order_ids ascending. Orders of an attempt wait '
	'for its controller prolog and for pre_run of burst_buffer.lua. args.boxes: internal.credential_boxes of steps with '
	'credentials. 28000: the session does not speak for all of the nodes.';

create function api.node_blob(p_hashes bytea[]) returns table (hash text, body bytea)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_nodes constant int[] := internal.session_nodes();
begin
	return query
	with ordered as materialized (
		select distinct j.script_hash, j.environment_hash
		from node_order o
		join job j on j.job_id = o.job_id
			and (j.script_hash = any (p_hashes) or j.environment_hash = any (p_hashes))
		where o.node_id = any (v_nodes) and o.kind = 'launch'
	)
	select encode(s.hash, 'hex'), s.body
	from ordered r join script s on s.hash = r.script_hash
	where s.hash = any (p_hashes)
	union
	select encode(e.hash, 'hex'), e.body
	from ordered r join environment e on e.hash = r.environment_hash
	where e.hash = any (p_hashes);
end $$;
comment on function api.node_blob(bytea[]) is
	'Scripts and environments by SHA-256, of jobs for which nodes of the session have launch requests that they have not '
	'reported as done. Other hashes are left out of the answer.';
