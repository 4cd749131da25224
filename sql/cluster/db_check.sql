-- Checks of a database server: replication, settings, connections, roles and sequences. And the repair of sequences after the
-- database was restored.
--
-- Called by: "rota admin db check" on any server of the cluster, and "rota admin db restored" on the primary, as a superuser.
create function internal.check_row(p_item text, p_state text, p_value text, p_hint text) returns internal.db_finding
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select (p_item, p_state, p_value, case when p_state <> 'ok' then p_hint end)::internal.db_finding;
$$;
comment on function internal.check_row(text, text, text, text) is 'One finding; the hint is left out where nothing is wrong.';

create function internal.check_server() returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_standby constant boolean := pg_is_in_recovery();
	v_lag constant interval := case when v_standby and pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn()
		then clock_timestamp() - pg_last_xact_replay_timestamp() else '0' end;
	v_timeline constant bigint := case when v_standby then (select c.timeline_id from pg_control_checkpoint() c) else internal.timeline() end;
	v_now constant incarnation := internal.incarnation_now();
begin
	return next internal.check_row('server', 'ok', case when v_standby then 'standby' else 'primary' end
		|| ', PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1), null);
	return next internal.check_row('schema', 'ok', (select m.name from schema_migration m order by m.version desc limit 1), null);
	if v_standby then
		return next internal.check_row('replay', case when v_lag > interval '10 s' then 'warning' else 'ok' end,
			format('%s s behind', round(extract(epoch from coalesce(v_lag, '0')), 1)),
			'A long query here may hold it up: see max_standby_streaming_delay.');
	end if;
	return next internal.check_row('timeline', case when v_timeline < v_now.timeline then 'bad' else 'ok' end, v_timeline::text,
		format('Incarnation %s began on timeline %s: this server is on an older branch.', v_now.incarnation, v_now.timeline));
	return next internal.check_row('incarnation', 'ok', format('%s since %s: %s', v_now.incarnation,
		to_char(v_now.began_at, 'YYYY-MM-DD HH24:MI:SS TZ'), v_now.reason), null);
end $$;
comment on function internal.check_server() is 'Findings about this server: primary or standby, timeline, incarnation.';

create function internal.check_replication() returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_names constant text := current_setting('synchronous_standby_names');
	v_count constant bigint := (select count(*) from pg_stat_replication r where r.state = 'streaming'
		and r.sync_state in ('sync', 'quorum'));
begin
	if pg_is_in_recovery() then
		return;
	elsif v_names = '' then
		return next internal.check_row('synchronous standbys', 'warning', 'none are configured',
			'What was answered in the last moments is lost with this server. Set synchronous_standby_names.');
	else
		return next internal.check_row('synchronous standbys', case when v_count = 0 then 'bad' else 'ok' end,
			format('%s in sync, of %s', v_count, v_names), 'Commits wait until a standby follows. Start one.');
	end if;
	return query
	select x.* from pg_stat_replication r
	cross join lateral internal.check_row('standby ' || r.application_name,
		case when r.state <> 'streaming' or r.replay_lag > interval '10 s' then 'warning' else 'ok' end,
		format('%s, %s, %s s behind', r.state, r.sync_state, round(extract(epoch from coalesce(r.replay_lag, '0')), 1)),
		'It does not follow at once. See its log.') x;
	return query
	select x.* from pg_db_role_setting s
	left join pg_roles o on o.oid = s.setrole
	cross join lateral unnest(s.setconfig) c
	cross join lateral internal.check_row('role ' || coalesce(o.rolname, 'all'), 'bad', c,
		'A node may take an order that a promoted standby does not have. Reset the setting.') x
	where c like 'synchronous_commit=%' and c not in ('synchronous_commit=on', 'synchronous_commit=remote_apply');
end $$;
comment on function internal.check_replication() is 'Findings about the standbys of the primary.';

create function internal.check_settings() returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
begin
	return query
	select x.* from (values ('fsync', 'on'), ('full_page_writes', 'on')) v (name, wanted)
	cross join lateral internal.check_row('setting ' || v.name, case when current_setting(v.name) = v.wanted then 'ok' else 'bad' end,
		current_setting(v.name), format('Set it to %s: a machine that loses power loses what was answered.', v.wanted)) x;
	return query
	select x.* from (select (select count(*) from pg_stat_activity a where a.backend_type = 'client backend') as used,
		current_setting('max_connections')::int as most) c
	cross join lateral internal.check_row('connections', case when c.used > c.most * 0.9 then 'warning' else 'ok' end,
		format('%s of %s', c.used, c.most), 'Raise max_connections on every server: daemons that find none wait.') x;
	return query
	select x.* from unnest('{rota_owner,rota_jobmgr,rota_jobmgr_leader,rota_jobmgr_admin,rota_nodes,rota_nodemgr,rota_runner,rota_credd}'::text[]) r
	cross join lateral internal.check_row('role ' || r, 'bad', 'missing', 'Restore the roles of the instance, or run "rota admin db upgrade".') x
	where not exists (select from pg_roles o where o.rolname = r);
	return query
	select x.* from pg_class c
	cross join lateral internal.check_row('sequence ' || c.relname, 'bad', 'unlogged',
		format('A promoted standby cannot read it: alter sequence rota.%I set logged.', c.relname)) x
	where c.relkind = 'S' and c.relpersistence = 'u' and c.relnamespace = 'rota'::regnamespace;
	return query
	select x.* from (select internal.number_last('job_job_id_seq') as last, (select max(j.job_id) from job j) as highest) n
	cross join lateral internal.check_row('job numbers', case when n.highest > n.last then 'bad' else 'ok' end,
		format('%s given out, job %s is the last', n.last, coalesce(n.highest::text, '-')),
		'Numbers would be given out twice: run "rota admin db restored --yes".') x;
end $$;
comment on function internal.check_settings() is 'Findings about settings, roles and sequences.';

create function internal.db_check() returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select * from internal.check_server() union all select * from internal.check_replication()
	union all select * from internal.check_settings();
$$;
comment on function internal.db_check() is 'All findings about this server, its standbys and its settings.';

create function internal.db_restored(p_skip bigint, p_acts boolean) returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_last constant bigint := internal.number_last('job_job_id_seq');
	v_now constant incarnation := internal.incarnation_now();
begin
	if p_skip is null or p_skip not between 1 and 50000 then
		raise exception '% job numbers cannot be left out: 1 to 50000 can', coalesce(p_skip::text, 'null') using errcode = 'RT422';
	end if;
	return next internal.check_row('incarnation', 'ok', format('%s, then %s', v_now.incarnation, v_now.incarnation + 1), null);
	return next internal.check_row('job numbers', 'ok', format('%s is the last one, then from %s', v_last, v_last + p_skip + 1), null);
	return next internal.check_row('live attempts', 'ok', format('%s: nodes say which of them they have; the others are lost, and run again where '
		'they may', (select count(*) from attempt t where t.ended_at is null)), null);
	return next internal.check_row('orders', 'ok', format('%s on their way: a node refuses those that it has had',
		(select count(*) from node_order)), null);
	return next internal.check_row('waiting steps', 'ok', format('%s: each starts, also what has run since this copy was made',
		(select count(*) from step s where s.state = 'pending' and s.ended_at is null)), null);
	return next internal.check_row('synchronous standbys',
		case when current_setting('synchronous_standby_names') = '' then 'warning' else 'ok' end,
		coalesce(nullif(current_setting('synchronous_standby_names'), ''), 'none are configured'),
		'A copy made by a standby may lack the setting. Set synchronous_standby_names.');
	if p_acts then
		perform internal.incarnation_lock();
		perform internal.incarnation_begin('declared restored', p_skip);
		-- Process managers ask for the incarnation when they connect.
		perform pg_terminate_backend(a.pid) from pg_stat_activity a
		where a.datname = current_database() and a.usename ~ '^rota_node(_|$)';
	end if;
end $$;
comment on function internal.db_restored(bigint, boolean) is
	'What is due after this database was restored, and, with p_acts, begin another incarnation whose job numbers leave out so many. '
	'RT422: too many.';
