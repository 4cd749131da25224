create function api.node_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql stable security definer set search_path = rota, pg_temp as $$
	with warning as materialized (
		-- What a node's own state does not say.
		select x.node_id, string_agg(x.words, '; ' order by x.starts_at nulls first, x.kind) as words,
			jsonb_agg(jsonb_build_object('kind', x.kind, 'at', x.starts_at, 'until', x.ends_at, 'reason', x.reason, 'by', x.actor, 'message', x.words)
				order by x.starts_at nulls first, x.kind) as list
		from api.node_warnings(null) x
		where x.kind not in ('down', 'drained', 'invalid')
		group by x.node_id
	)
	select jsonb_build_object('nodes', coalesce(jsonb_agg(jsonb_build_object(
		'node_id', n.node_id, 'name', n.name, 'state', n.state, 'reason', n.reason, 'reason_by', n.reason_by, 'reason_at', n.reason_at,
		'cpus', n.cpus, 'cpus_used', n.cpus_used, 'mem_mb', n.mem_mb, 'mem_used_mb', n.mem_used_mb,
		'gres', coalesce(g.total, ''), 'gres_used', coalesce(g.used, ''), 'features', to_jsonb(n.features), 'weight', n.weight,
		'partitions', to_jsonb(array(select pn.partition from partition_node pn where pn.node_id = n.node_id order by pn.partition)),
		'notice', w.words, 'warnings', coalesce(w.list, '[]'),
		'seen_at', l.renewed_at, 'address', n.address, 'version', n.version, 'found', n.found, 'hardware_check', n.hardware_check,
		'steps', (select count(*) from allocation a where a.node_id = n.node_id and a.ended_at is null and a.attempt > 0))
		order by regexp_replace(n.name, '[0-9]+$', ''), length(n.name), n.name), '[]'))
	from node n
	left join node_lease l on l.node_id = n.node_id
	left join lateral (
		select string_agg(u.gres || ':' || u.n, ',' order by u.gres) as total,
			string_agg(u.gres || ':' || u.used, ',' order by u.gres) filter (where u.used > 0) as used
		from (select x.gres, count(*) as n, count(x.job_id) as used from node_gres x where x.node_id = n.node_id group by x.gres) u
	) g on true
	left join warning w on w.node_id = n.node_id
	where (api.request_list(p_request, 'names') is null or n.name = any (api.request_list(p_request, 'names')))
		and (api.request_list(p_request, 'states') is null or n.state = any (api.request_list(p_request, 'states')))
		and (api.request_list(p_request, 'partition') is null or exists (select from partition_node pn
			where pn.node_id = n.node_id and pn.partition = any (api.request_list(p_request, 'partition'))));
$$;
comment on function api.node_list(int, text, jsonb) is 'Nodes with what they have and what is used. Request {names, states, partition}. Answer {nodes: [...]}.';
