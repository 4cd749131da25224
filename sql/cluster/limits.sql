create function api.submit_limits(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql stable security definer set search_path = rota, pg_temp as $$
	select jsonb_build_object('script_bytes', internal.setting_int('max_script_bytes'), 'steps',
		internal.setting_int('max_steps'),
		'credential_defaults', (
			select jsonb_object_agg(d.uid, d.names) from credential_default d
			where d.uid = p_uid or p_request ->> 'credential_defaults' = 'all'),
		'qos', (select jsonb_object_agg(q.qos, q.priority) from qos q),
		'edges', internal.setting_int('max_edges'), 'array', internal.setting_int('max_array'),
		'partitions', (
			select coalesce(jsonb_agg(jsonb_build_object('name', p.partition, 'nodes', n.nodes, 'cpus', n.cpus,
				'node_cpus', n.most_cpus,
				'node_mem_mb', n.most_mem, 'node_gres', coalesce(g.most, '{}'), 'features',
				coalesce(n.features, '[]'), 'max_time_s', coalesce(p.max_time_s, 0), 'max_nodes',
				coalesce(p.max_nodes, 0),
				'is_default', p.is_default, 'credentials', p.credentials, 'default_time_s', p.default_time_s, 'state', p.state,
				'allow_users', p.allow_users, 'allow_groups', p.allow_groups, 'allow_accounts', p.allow_accounts)
					order by p.partition), '[]')
			from partition p
			left join lateral (
				select coalesce(sum(x.nodes), 0) as nodes, coalesce(sum(x.cpus), 0) as cpus,
					coalesce(max(x.most_cpus), 0) as most_cpus,
					coalesce(max(x.most_mem), 0) as most_mem,
					jsonb_agg(jsonb_build_object('features', x.features, 'nodes', x.nodes)
					order by x.features) as features
				from (select n.features, count(*) as nodes, sum(n.cpus) as cpus, max(n.cpus) as most_cpus,
					max(n.mem_mb) as most_mem
					from partition_node pn join node n on n.node_id = pn.node_id
						where pn.partition = p.partition group by n.features) x
			) n on true
			left join lateral (
				select jsonb_object_agg(x.gres, x.most) as most
				from (
					select u.gres, max(u.n) as most
					from (select g.gres,
						count(*) as n from partition_node pn join node_gres g on g.node_id = pn.node_id
						where pn.partition = p.partition group by g.gres, g.node_id) u
					group by u.gres
				) x
			) g on true));
$$;
comment on function api.submit_limits(int, text, jsonb) is
	'The limits and names against which the translator checks a script: {script_bytes, steps, edges, array, qos: {NAME: '
	'PRIORITY}, credential_defaults: {UID: NAMES}, partitions: [{name, nodes, cpus, node_cpus, node_mem_mb, node_gres, '
	'features: [{features, nodes}], max_time_s, max_nodes, is_default, credentials, default_time_s, state, allow_users, '
	'allow_groups, allow_accounts}]}. credential_defaults: the caller''s own. With "credential_defaults": "all", which a '
	'user''s request cannot have: those of all users, since jobmgrd caches the answer for all submissions.';
