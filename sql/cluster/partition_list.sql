create function api.partition_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_names constant text[] := internal.request_list(p_request, 'names');
begin
	perform internal.object_need('partition', v_names);
	return (
	with live as (
		select r.partition, count(*) filter (where s.state = 'pending') as pending,
			count(*) filter (where s.state <> 'pending' and s.attempt > 0) as running
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where s.ended_at is null
		group by r.partition
	)
	select jsonb_build_object('partitions', coalesce(jsonb_agg(jsonb_build_object(
		'name', p.partition, 'state', p.state, 'is_default', p.is_default, 'priority', p.priority, 'max_time_s',
			p.max_time_s,
		'default_time_s', p.default_time_s, 'max_nodes', p.max_nodes, 'default_mem_per_cpu_mb', p.default_mem_per_cpu_mb,
			'sample_s', p.sample_s, 'idle_timeout_s', p.idle_timeout_s, 'credentials', p.credentials, 'keep_idle', p.keep_idle,
			'tier', p.tier, 'preempt', p.preempt, 'preempt_otherwise', p.preempt_otherwise, 'preempt_after_s', p.preempt_after_s,
			'preempt_grace_s', p.preempt_grace_s,
		'nodes', coalesce(n.names, '[]'), 'cpus', coalesce(n.cpus, 0), 'cpus_used', coalesce(n.used, 0),
		'allow_users', p.allow_users, 'allow_groups', p.allow_groups, 'allow_accounts', p.allow_accounts,
		'pending', coalesce(l.pending, 0), 'running', coalesce(l.running, 0)) order by p.priority desc, p.partition),
		'[]'))
	from partition p
	left join lateral (
		select jsonb_agg(n.name order by regexp_replace(n.name, '[0-9]+$', ''), length(n.name), n.name) as names,
			sum(n.cpus) as cpus, sum(u.cpus_used) as used
		from partition_node pn join node n on n.node_id = pn.node_id join node_used u on u.node_id = n.node_id
			where pn.partition = p.partition
	) n on true
	left join live l on l.partition = p.partition
	where v_names is null or p.partition = any (v_names));
end $$;
comment on function api.partition_list(int, text, jsonb) is
	'Partitions with their limits, their nodes, and the numbers of waiting and running steps. Request {names}. Answer '
	'{partitions: [...]}.';
