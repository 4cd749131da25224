-- Roles of the cluster, made before anything else and by a superuser; the same each time it runs.
-- rota_owner owns every object; nobody logs in as it in daily use.
do $$
declare
	v_role text;
begin
	foreach v_role in array array['rota_owner', 'rota_jobmgr', 'rota_node', 'rota_nodemgr', 'rota_analyst', 'rota_admin'] loop
		if not exists (select from pg_roles where rolname = v_role) then
			execute format('create role %I login', v_role);
		end if;
	end loop;
end $$;
comment on role rota_owner is 'Owns the schemas of Rota; used by "rota admin db upgrade" only.';
comment on role rota_jobmgr is 'jobmgrd: the gate''s and the leader''s functions.';
comment on role rota_node is 'procmgrd: registers nodes, takes orders, reports.';
comment on role rota_nodemgr is 'nodemgrd: judges nodes.';
comment on role rota_analyst is 'Reads schema acct.';
comment on role rota_admin is 'Reads everything but scripts and environments, and writes nothing.';
alter role rota_analyst set statement_timeout = '5min';
alter role rota_analyst set idle_in_transaction_session_timeout = '1min';
alter role rota_analyst set default_transaction_read_only = on;
do $$
begin
	execute format('grant create on database %I to rota_owner', current_database());
end $$;
