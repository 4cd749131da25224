create function internal.order_put(p_orders jsonb, p_ring boolean default true) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_node int;
begin
	if p_orders is null then
		return;
	end if;
	for v_node in
		with asked as materialized (
			-- The text of an order for several nodes is stored once, in rota.launch_text.
			select v.*, coalesce(v.node_ids, array[v.node_id]) as nodes,
				case when v.kind = 'launch' and cardinality(v.node_ids) > 1 then v.node_ids[1] end as text_node
			from jsonb_to_recordset(p_orders) as v (node_id int, node_ids int[], kind text, job_id bigint,
				step_id int, attempt int, also int[], body text,
				signature text, args jsonb)
		), said as (
			insert into launch_text (job_id, step_id, attempt, node_id, body, signature)
			select v.job_id, v.step_id, v.attempt, v.text_node, v.body, decode(v.signature, 'hex') from asked v
				where v.text_node is not null
		), put as (
			insert into node_order (node_id, kind, job_id, step_id, attempt, also, body, signature, text_node, args)
			select n, v.kind, v.job_id, v.step_id, v.attempt, coalesce(v.also, '{}'),
				case when v.text_node is null then v.body end,
				case when v.text_node is null then decode(v.signature, 'hex') end, v.text_node,
				coalesce(v.args, '{}') || case
					-- The concurrency limit of pre-dispatched elements: the number of elements of their array
					-- that hold CPUs on the node.
					when v.args ? 'first' then (
						select jsonb_build_object('behind', count(*))
						from (select o.job_id, o.step_id from allocation o
							where o.node_id = n and o.ended_at is null and o.cpus_held > 0
							offset 0) a -- by node: few allocations of a node are open
						where a.job_id = v.job_id and a.step_id between (v.args ->> 'first')::int
							and (v.args ->> 'last')::int)
					else '{}' end
			from asked v
			cross join lateral unnest(v.nodes) n
			returning node_id
		)
		select distinct coalesce(l.notify_node_id, p.node_id)
		from (select distinct node_id from put) p
		left join node_lease l on l.node_id = p.node_id
		where p_ring
	loop
		perform pg_notify('rota_node_' || v_node, '');
	end loop;
end $$;
comment on function internal.order_put(jsonb, boolean) is
	'Send orders [{node_id or node_ids, kind, job_id, step_id, attempt, also, body, signature, args}] and notify their '
	'nodes. p_ring false: do not notify, since the orders wait for a prolog. p_orders null: no orders.';

create function internal.launch_forget(p_closed internal.attempt_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- The launch requests of a closed attempt are deleted. A row that another session is deleting is skipped.
	delete from node_order o
	where o.order_id in (
		select w.order_id
		from unnest(p_closed) c
		join launch_text l on l.job_id = c.job_id and l.step_id = c.step_id
		join attempt t on t.job_id = l.job_id and t.step_id = l.step_id and t.attempt = l.attempt
		join node_order w on w.node_id = any (t.node_ids) and w.job_id = l.job_id and w.step_id = l.step_id
			and w.attempt = l.attempt and w.text_node = l.node_id
		for update of w skip locked);
	delete from launch_text l
	where l.ctid = any (array(
		select o.ctid
		from unnest(p_closed) c
		cross join lateral (select x.ctid from launch_text x
			where x.job_id = c.job_id and x.step_id = c.step_id offset 0) o)); -- by key
end $$;
comment on function internal.launch_forget(internal.attempt_end[]) is
	'Delete the launch requests for several nodes, with their texts, of attempts that are over.';

create function internal.order_void(p_lost jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- A launch request of several steps is kept for the steps that are not lost.
	with lost as (
		select v.node_id, v.job_id, v.attempt, array_agg(v.step_id) as steps
		from jsonb_to_recordset(p_lost) as v (job_id bigint, step_id int, attempt int, node_id int)
		group by v.node_id, v.job_id, v.attempt
	), touched as (
		select o.order_id, array(select x from unnest(o.step_id || o.also) x where x <> all (l.steps) order by x) as steps
		from lost l
		join node_order o on o.node_id = l.node_id and o.job_id = l.job_id and o.attempt = l.attempt
			and (o.step_id || o.also) && l.steps
	), gone as (
		delete from node_order o using touched t where o.order_id = t.order_id and t.steps = '{}'
	)
	update node_order o set step_id = t.steps[1], also = t.steps[2:] from touched t
		where o.order_id = t.order_id and t.steps <> '{}';
end $$;
comment on function internal.order_void(jsonb) is
	'Delete orders to attempts [{job_id, step_id, attempt, node_id}] that were not fetched.';

create function internal.attempts_order(p_kind text, p_steps jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_ids', x.node_ids, 'kind', p_kind, 'job_id', v.job_id, 'step_id', v.step_id,
			'attempt', x.attempt, 'args', v.args) order by v.nr)
		from rows from (jsonb_to_recordset(p_steps) as (job_id bigint, step_id int, args jsonb))
			with ordinality as v (job_id, step_id, args, nr)
		cross join lateral (
			select jsonb_agg(a.node_id order by a.node_id) as node_ids, min(a.attempt) as attempt
			from step s
			join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt
			where s.job_id = v.job_id and s.step_id = v.step_id and a.attempt > 0 and a.ended_at is null) x
		where x.node_ids is not null));
	if p_kind = 'kill' then
		perform internal.hook_unwanted(v.job_id, v.step_id) from jsonb_to_recordset(p_steps) as v (job_id bigint, step_id int);
	end if;
end $$;
comment on function internal.attempts_order(text, jsonb) is
	'Send an order to every node of the live attempt of each of these steps [{job_id, step_id, args}].';

create function internal.attempt_order(p_kind text, p_job bigint, p_step int, p_args jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.attempts_order(p_kind,
		jsonb_build_array(jsonb_build_object('job_id', p_job, 'step_id', p_step, 'args', p_args)));
end $$;
comment on function internal.attempt_order(text, bigint, int, jsonb) is 'Send one order to every node of a step''s live attempt.';

-- Job groups: the first attempt of a group on a node owns the group's prolog and epilog there. When every step of the group has
-- ended, the owners run the epilog.
create function internal.group_close(p_final internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if not exists (select from unnest(p_final) v
		join step_request r on r.job_id = v.job_id and r.step_id = v.request_id and r.group_name is not null) then
		return;
	end if;
	perform internal.order_put((
		with closed as (
			select distinct r.job_id, r.group_name
			from unnest(p_final) v
			join step_request r on r.job_id = v.job_id and r.step_id = v.request_id and r.group_name is not null
			where not exists (
				select from step_request o
				join step s on s.job_id = o.job_id and s.step_id = o.step_id
				where o.job_id = r.job_id and o.group_name = r.group_name and s.ended_at is null)
		)
		select jsonb_agg(jsonb_build_object('node_id', a.node_id, 'kind', 'end', 'job_id', a.job_id, 'step_id', a.step_id,
			'attempt', a.attempt, 'args', '{"epilog": 1}'::jsonb))
		from closed c
		join step_request r on r.job_id = c.job_id and r.group_name = c.group_name
		join step s on s.job_id = r.job_id and s.request_id = r.step_id
		join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.prolog_owner and a.gone_at is null
			and a.attempt > 0
		having count(*) > 0));
end $$;
comment on function internal.group_close(internal.move_made[]) is
	'If the steps were the last ones of their job groups, order the prolog owners to run the epilogs of the groups.';
