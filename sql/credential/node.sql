-- Delivery of credentials to nodes: boxes that only the key of the node opens. Boxes of a start come with its launch request,
-- newer ones by api.node_credentials.
create function internal.credential_orders(p_orders jsonb) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select jsonb_agg(case when exists (
				select from step s
				join step_credential x on x.job_id = s.job_id and x.step_id = s.request_id
				where s.job_id = (o.one ->> 'job_id')::bigint and s.step_id = (o.one ->> 'step_id')::int)
			then o.one || jsonb_build_object('args', coalesce(nullif(o.one -> 'args', 'null'), '{}') || '{"credentials": true}')
			else o.one end order by o.nr)
		from jsonb_array_elements(p_orders) with ordinality as o (one, nr));
end $$;
comment on function internal.credential_orders(jsonb) is
	'Add boxes to orders in the form of internal.order_put: orders with args.credentials get the boxes of their step''s '
	'credentials.';

create function internal.credential_boxes(p_job bigint, p_steps int[], p_attempt int, p_nodes int[]) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select jsonb_agg(jsonb_build_object('step_id', u.step_id, 'node_id', u.node_id, 'name', u.name, 'kind', u.kind,
			'version', u.box_number, 'box', u.box))
		from credential_use u
		where u.job_id = p_job and u.step_id = any (p_steps) and u.attempt = p_attempt and u.node_id = any (p_nodes)
			and u.gone_at is null and u.removed_at is null and u.box is not null);
end $$;
comment on function internal.credential_boxes(bigint, int[], int, int[]) is
	'Boxes of attempts, for the nodes that get their launch requests: [{step_id, node_id, name, kind, version, box}]; '
	'version: number of the box.';

create function internal.credential_box_raise(p_nodes int[], p_known jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- A number that a node reports must leave room for the numbers that follow.
	with seen as materialized (
		select k.* from jsonb_to_recordset(p_known) as k (job_id bigint, step_id int, attempt int, node_id int, name text,
			version bigint)
		where k.node_id = any (p_nodes) and k.version between 1 and 9000000000000000000
	)
	update credential_use u
	set box_number = k.version, box = null,
		boxed = case when u.box_number >= internal.credential_box_base() then u.fetched else u.boxed end
	from seen k
	where u.job_id = k.job_id and u.step_id = k.step_id and u.attempt = k.attempt and u.node_id = k.node_id
		and u.name = k.name and u.box_number < k.version and u.boxed > 0 and u.gone_at is null and u.removed_at is null;
	if found then
		notify rota_credential_box;
	end if;
end $$;
comment on function internal.credential_box_raise(int[], jsonb) is
	'Raise the numbers of boxes above those that the nodes have got from a server whose last boxes this database does not '
	'know. A box of the present incarnation is made again under a higher number; an older box keeps its number, which is '
	'below that of the node''s box. The caller has locked the rows of rota.credential_use.';

create function api.node_credentials(p_nodes int[], p_known jsonb)
returns table (job_id bigint, step_id int, attempt int, node_id int, name text, kind text, version bigint, box bytea)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	perform internal.node_need(p_nodes);
	perform internal.credential_use_lock(array(select distinct u.job_id from credential_use u
		left join jsonb_to_recordset(p_known) as k (job_id bigint, step_id int, attempt int, node_id int, name text,
				version bigint)
			on k.job_id = u.job_id and k.step_id = u.step_id and k.attempt = u.attempt and k.node_id = u.node_id
				and k.name = u.name
		where u.node_id = any (p_nodes) and u.gone_at is null and u.removed_at is null
			and (u.fetched < u.boxed or u.box_number < k.version)));
	perform internal.credential_box_raise(p_nodes, p_known);
	return query
	with fresh as materialized (
		select u.job_id, u.step_id, u.attempt, u.node_id, u.name, u.kind, u.boxed, u.box_number, u.box, x.removed, x.asked
		from credential_use u
		left join jsonb_to_recordset(p_known) as k (job_id bigint, step_id int, attempt int, node_id int, name text,
				version bigint)
			on k.job_id = u.job_id and k.step_id = u.step_id and k.attempt = u.attempt
				and k.node_id = u.node_id and k.name = u.name
		cross join lateral (select u.removed_at is not null as removed,
			case when u.removed_at is null then u.box is not null and u.box_number > coalesce(k.version, 0)
				else k.version > 0 end as asked) x
		-- The node has a box that came with its launch request, so it is recorded here as fetched.
		where u.node_id = any (p_nodes) and u.gone_at is null and u.boxed > 0
			and (x.asked or (k.version = u.box_number and u.box is not null and u.fetched < u.boxed))
	), noted as (
		update credential_use u
		set fetched = n.boxed, fetched_at = coalesce(u.fetched_at, now())
		from fresh n
		where u.job_id = n.job_id and u.step_id = n.step_id and u.attempt = n.attempt
			and u.node_id = n.node_id and u.name = n.name and not n.removed and u.fetched < n.boxed
	)
	select n.job_id, n.step_id, n.attempt, n.node_id, n.name, n.kind, case when n.removed then 0 else n.box_number end, n.box
	from fresh n
	where n.asked;
end $$;
comment on function api.node_credentials(int[], jsonb) is
	'Boxes of attempts on these nodes, except those that the nodes have: p_known [{job_id, step_id, attempt, node_id, name, '
	'version}], where version is the number of the box. version 0 without a box: the credential was removed, so the node is '
	'to destroy its copy. 28000: the session does not speak for all of the nodes.';
