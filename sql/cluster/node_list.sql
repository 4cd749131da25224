create function internal.node_list_warnings() returns table (node_id int, message text, list json)
language sql stable set search_path = rota, pg_temp as $$
	select x.node_id, string_agg(x.message, '; ' order by x.starts_at nulls first, x.kind),
		json_agg(json_build_object('kind', x.kind, 'at', x.starts_at, 'until', x.ends_at, 'reason', x.reason,
			'by', x.actor, 'message', x.message)
			order by x.starts_at nulls first, x.kind)
	from internal.node_warnings(null) x
	where x.kind not in ('down', 'drained', 'invalid')
	group by x.node_id;
$$;
comment on function internal.node_list_warnings() is
	'The nodes with warnings that the state of the node does not show, all warnings as one text and as a list.';

create function api.node_list(p_uid int, p_user text, p_request jsonb) returns json
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_names text[] := internal.request_list(p_request, 'names');
	v_states text[] := internal.request_list(p_request, 'states');
	v_partitions text[] := internal.request_list(p_request, 'partition');
begin
	perform internal.object_need('node', v_names), internal.object_need('partition', v_partitions);
	return (
	with picked as materialized (
		select n.node_id
		from node n
		where (v_names is null or n.name = any (v_names))
			and (v_states is null or internal.node_shown(n.state, n.power) = any (v_states))
			and (v_partitions is null
				or exists (select from partition_node pn
				where pn.partition = any (v_partitions) and pn.node_id = n.node_id))
	), warning as materialized (
		select * from internal.node_list_warnings()
	), unit as materialized (
		select u.node_id, string_agg(u.gres || ':' || u.n, ',' order by u.gres) as total,
			string_agg(u.gres || ':' || u.used, ',' order by u.gres) filter (where u.used > 0) as used
		from (select x.node_id, x.gres, count(*) as n,
			count(x.job_id) as used from picked join node_gres x using (node_id) group by x.node_id, x.gres) u
		group by u.node_id
	), member as materialized (
		-- Read the partitions of all nodes at once: their index is not by node.
		select x.node_id, array_agg(x.partition) as partitions
		from (select pn.node_id, pn.partition from picked join partition_node pn using (node_id) order by pn.node_id,
			pn.partition) x
		group by x.node_id
	), busy as materialized (
		select a.node_id, count(*) as steps
		from allocation a
		where a.node_id = any (array(select p.node_id from picked p)) and a.ended_at is null and a.attempt > 0
			and a.started_at is not null
		group by a.node_id
	)
	-- Convert rows to text at once: to make objects one by one, and jsonb of all of them, takes several times as long.
	select json_build_object('nodes', coalesce(json_agg(o), '[]'))
	from (
		select n.node_id, n.name, internal.node_shown(n.state, n.power) as state, n.power, n.power_at, n.reason, n.reason_by,
			n.reason_at, n.cpus, h.cpus_used, n.mem_mb, h.mem_used_mb,
			coalesce(u.total, '') as gres, coalesce(u.used, '') as gres_used, n.features, n.weight,
			coalesce(m.partitions, '{}') as partitions,
			w.message as notice, coalesce(w.list, '[]') as warnings,
			l.renewed_at as seen_at, n.address, n.version, n.image, n.default_image, n.prep, n.prep_verified, n.found,
			n.hardware_check, coalesce(b.steps, 0) as steps
		from picked p
		join node n on n.node_id = p.node_id
		join node_used h on h.node_id = p.node_id
		left join node_lease l on l.node_id = n.node_id
		left join unit u on u.node_id = n.node_id
		left join member m on m.node_id = n.node_id
		left join busy b on b.node_id = n.node_id
		left join warning w on w.node_id = n.node_id
		order by rtrim(n.name, '0123456789'), length(n.name), n.name
	) o);
end $$;
comment on function api.node_list(int, text, jsonb) is
	'Nodes with their resources and how much of these is used. Request {names, states, partition}. Answer {nodes: [...]}.';
