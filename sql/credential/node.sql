-- What a node takes of credentials: boxes that only its own key opens.
create function api.node_credentials(p_nodes int[], p_known jsonb)
returns table (job_id bigint, step_id int, attempt int, node_id int, name text, kind text, version int, box bytea)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	perform internal.node_need(p_nodes);
	perform internal.credential_use_lock(array(select distinct u.job_id from credential_use u
		where u.node_id = any (p_nodes) and u.gone_at is null and u.removed_at is null and u.fetched < u.boxed));
	return query
	with fresh as materialized (
		select u.job_id, u.step_id, u.attempt, u.node_id, u.name, u.kind, u.boxed, u.box, u.removed_at is not null as removed
		from credential_use u
		left join jsonb_to_recordset(p_known) as k (job_id bigint, step_id int, attempt int, node_id int, name text, version int)
			on k.job_id = u.job_id and k.step_id = u.step_id and k.attempt = u.attempt and k.node_id = u.node_id and k.name = u.name
		where u.node_id = any (p_nodes) and u.gone_at is null and u.boxed > 0
			and case when u.removed_at is null then u.box is not null and u.boxed > coalesce(k.version, 0) else k.version > 0 end
	), noted as (
		update credential_use u
		set fetched = greatest(u.fetched, n.boxed), fetched_at = coalesce(u.fetched_at, now())
		from fresh n
		where u.job_id = n.job_id and u.step_id = n.step_id and u.attempt = n.attempt and u.node_id = n.node_id and u.name = n.name
			and not n.removed and u.fetched < n.boxed
	)
	select n.job_id, n.step_id, n.attempt, n.node_id, n.name, n.kind, case when n.removed then 0 else n.boxed end, n.box from fresh n;
end $$;
comment on function api.node_credentials(int[], jsonb) is
	'Boxes of attempts on these nodes, except those that they have: p_known [{job_id, step_id, attempt, node_id, name, version}], as '
	'versions. version 0 without a box: the credential was removed, so what the node has of it is to be destroyed. 28000: the session '
	'does not speak for all of the nodes.';
