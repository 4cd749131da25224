-- Clients at addresses of nodes. Root of a node has munge's key, so it can make credentials of every user. From the node's
-- address, jobmgrd serves only users who have a step on the node.
--
-- Called by: jobmgrd, before each request by HTTPS, unless gate.node_submit is "any".
-- jobmgrd remembers an admission for a second.
--
-- Invariants:
-- - A node is identified by the address of its process manager's connection to the database, not by its own claims. The address
--   is kept while the node exists (internal.daemon_tidy), so a process manager that is ended hides no node.

create function internal.address_nodes(p_address text) returns int[]
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return array(
		select n.node_id
		from daemon d
		join node n on d.name in (n.name, n.login)
		where d.role = 'procmgrd' and d.host = host(regexp_replace(p_address, '^::ffff:', '')::inet));
end $$;
comment on function internal.address_nodes(text) is
	'Nodes whose process managers connect to the database from an IP address; empty: no known node has this address.';

create function api.remote_admit(p_uid int, p_user text, p_address text, p_submits boolean) returns boolean
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
declare
	v_nodes constant int[] := internal.address_nodes(p_address);
begin
	if v_nodes = '{}' then
		return true;
	elsif p_submits then
		raise exception 'jobs cannot be submitted and credentials cannot be changed from nodes' using errcode = 'RT403',
			hint = 'Use another machine; an administrator may change gate.node_submit.';
	elsif not exists (
		select from allocation a join job j on j.job_id = a.job_id
		where a.node_id = any (v_nodes) and a.ended_at is null and a.attempt > 0 and j.uid = p_uid
	) then
		raise exception '"%" has no step on this node', p_user using errcode = 'RT403',
			hint = 'Use another machine, or have a step on the node; an administrator may change gate.node_submit.';
	end if;
	return true;
end $$;
comment on function api.remote_admit(int, text, text, boolean) is
	'Admit a user''s request by HTTPS from an IP address. From the address of a node, only users who have a step on the node '
	'are admitted, and nobody to submit or change credentials (p_submits) where gate.node_submit forbids it. Returns true, '
	'or fails with RT403.';
