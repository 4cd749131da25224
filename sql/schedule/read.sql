-- The tables that the leader reads for a scheduling cycle. Reading takes no locks: the commit checks whether the rows are still
-- valid.

create function api.schedule_nodes()
returns table (node_id int, name text, cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint, state text, features text[],
	gres jsonb, gres_total jsonb, weight int, failing boolean, power text, image text, default_image text, prep text,
	ready_at double precision)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select n.node_id, n.name, n.cpus, u.cpus_used, n.mem_mb, u.mem_used_mb,
		case when b.node_id is null then n.state else 'up' end,
		case when f.node_id is null then n.features else n.features || 'failing'::text end,
		coalesce(g.free, '{}'), coalesce(g.total, '{}'), n.weight, f.node_id is not null,
		case when b.node_id is null then n.power else 'powering_on' end, coalesce(b.image, n.image), n.default_image,
		-- A preparation that is not verified counts as none, since no step may use it.
		case when b.node_id is not null then b.prep::text when n.prep_verified then n.prep::text else '?' end,
		extract(epoch from b.began_at + make_interval(secs => internal.reboot_expected(b)))::double precision
	from node n
	join node_used u on u.node_id = n.node_id
	left join node_notice f on f.node_id = n.node_id and f.kind = 'failing'
	left join node_reboot b on b.node_id = n.node_id and b.ended_at is null
		and num_nonnulls(b.image, b.undo, b.prep) > 0 and n.state = 'drain'
		and n.reason = internal.reboot_reason(b)
	left join (
		select x.node_id, jsonb_object_agg(x.gres, x.free) as free, jsonb_object_agg(x.gres, x.total) as total
		from (
			select h.node_id, h.gres,
				coalesce(jsonb_agg(h.unit order by h.unit) filter (where h.job_id is null), '[]') as free,
				count(*) as total
			from node_gres h
			group by h.node_id, h.gres
		) x
		group by x.node_id
	) g on g.node_id = n.node_id
	order by n.node_id;
end $$;
comment on function api.schedule_nodes() is
	'All nodes with their resources and how much of these is used; gres: {"gpu": [free devices]}. Nodes marked as failing '
	'have the feature "failing". A node that is changed to another setup is returned as up with that setup, and powered on '
	'at ready_at. prep: "?": unknown.';

create function api.schedule_partitions()
returns table (partition text, priority int, state text, max_time_s bigint, default_time_s bigint, max_nodes int, node_ids int[])
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select p.partition, p.priority, p.state, p.max_time_s, p.default_time_s, p.max_nodes,
		array(select pn.node_id from partition_node pn where pn.partition = p.partition order by pn.node_id)
	from partition p
	order by p.priority desc, p.partition;
end $$;
comment on function api.schedule_partitions() is 'All partitions with their nodes.';

create function api.schedule_licenses() returns table (license text, total int, used int)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select l.license, l.total, l.used from license l;
end $$;
comment on function api.schedule_licenses() is 'All licences.';

create function api.schedule_running()
returns table (job_id bigint, step_id int, label text, attempt int, node_id int, cpus int, mem_mb bigint, gres jsonb,
	ends_at double precision,
	reserved boolean, reserved_for int, licenses jsonb, partition text, request_id int, predispatched boolean)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select a.job_id, a.step_id, a.job_id || '.' || r.name || coalesce('[' || s.array_index || ']', ''), a.attempt, a.node_id,
		a.cpus_held, a.mem_mb, case when upper_inf(a.without_gpus) then a.gres - 'gpu' else a.gres end,
		case
		when t.time_limit_s > 0 then extract(epoch from coalesce(t.started_at,
		t.ordered_at)) + t.time_limit_s + t.suspended_s end,
		a.attempt = 0, case when a.attempt = 0 then a.step_id end, a.licenses, r.partition, s.request_id,
		a.started_at is null and s.array_index is not null
	from allocation a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	where a.ended_at is null;
end $$;
comment on function api.schedule_running() is
	'Open allocations, one row each, and when each is expected to end (epoch seconds, null: no limit). reserved: reserved '
	'for the step reserved_for; predispatched: the attempt waits for the CPUs of another element of its array.';

create function api.schedule_launch(p_jobs bigint[], p_requests int[])
returns table (job_id bigint, request_id int, uid int, gid int, user_name text, script_hash text, environment_hash text,
	spec text, auth text, auth_number bigint,
	array_size int, array_indices jsonb, group_name text, group_nodes int[], sample_s int,
	idle_timeout_s int, idle_timeout_of text, staging boolean, variables text,
	credentials boolean)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select j.job_id, r.step_id, j.uid, j.gid, j.user_name, encode(j.script_hash, 'hex'), encode(j.environment_hash, 'hex'),
		r.spec,
		encode(r.auth, 'hex'), case when j.job_id > n.numbered_after then j.job_id else 0 end, a.size, a.indices, r.group_name,
		-- Nodes where an attempt of the job group is the prolog owner and has not left.
		case when r.group_name is not null then array(
			select distinct al.node_id
			from step_request g
			join step s on s.job_id = g.job_id and s.request_id = g.step_id
			join allocation al on al.job_id = s.job_id and al.step_id = s.step_id and al.prolog_owner
				and al.gone_at is null and al.attempt > 0
			where g.job_id = r.job_id and g.group_name = r.group_name) end,
		coalesce(r.sample_s, p.sample_s, 0), coalesce(least(p.idle_timeout_s, q.idle_timeout_s), 0),
		case when p.idle_timeout_s <= coalesce(q.idle_timeout_s, p.idle_timeout_s) then 'partition ' || p.partition
			when q.idle_timeout_s is not null then 'qos ' || q.qos end,
		j.staging, case when j.staging then internal.staging_fields(j.job_id) end,
		j.credentials and exists (select from step_credential x where x.job_id = r.job_id and x.step_id = r.step_id)
	from (select distinct v.job_id, v.step_id from unnest(p_jobs, p_requests) as v (job_id, step_id)) v
	join step_request r on r.job_id = v.job_id and r.step_id = v.step_id
	join job j on j.job_id = r.job_id
	cross join authenticator n
	left join step_array a on a.job_id = r.job_id and a.step_id = r.step_id
	left join partition p on p.partition = r.partition
	left join qos q on q.qos = j.qos;
end $$;
comment on function api.schedule_launch(bigint[], int[]) is
	'Data for the signer about steps that are to start, one row each; the signer verifies auth before it signs. auth_number: '
	'the job''s number if auth covers it, else 0. group_nodes: nodes where the prolog of the step''s job group has run and '
	'its epilog is still to come. sample_s: seconds between samples, 0: none. idle_timeout_s, idle_timeout_of: the shortest '
	'idle limit of partition and quality of service (0: none), and where it comes from. staging: the job has directives for '
	'burst_buffer.lua; variables: those that the script set, as fields. credentials: the step needs credentials.';
