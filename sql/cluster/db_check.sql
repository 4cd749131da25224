-- Checks of a database server: replication, settings, connections, roles and sequences. And the repair of sequences after the
-- database was restored.
--
-- Called by: "rota admin db check" on any server of the cluster, and "rota admin db restored" and "rota admin db accept" on the
-- primary, as a superuser.
create function internal.check_row(p_item text, p_state text, p_value text, p_hint text) returns internal.db_finding
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select (p_item, p_state, p_value, case when p_state <> 'ok' then p_hint end)::internal.db_finding;
$$;
comment on function internal.check_row(text, text, text, text) is
	'Make one row of findings; the hint is left out if nothing is wrong.';

create function internal.check_server() returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_standby constant boolean := pg_is_in_recovery();
	v_lag constant interval := case when v_standby and pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn()
		then clock_timestamp() - pg_last_xact_replay_timestamp() else '0' end;
	v_timeline constant bigint :=
		case when v_standby then (select c.timeline_id from pg_control_checkpoint() c) else internal.timeline() end;
	v_now constant incarnation := internal.incarnation_now();
begin
	return next internal.check_row('server', 'ok', case when v_standby then 'standby' else 'primary' end
		|| ', PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1), null);
	return query select * from internal.check_watchdog(exists (select from pg_settings c
		where c.name = 'cluster_name' and c.setting <> '' and c.source = 'command line'), '/dev/watchdog');
	if v_standby then
		return next internal.check_row('replay', case when v_lag > interval '10 s' then 'warning' else 'ok' end,
			format('%s s behind', round(extract(epoch from coalesce(v_lag, '0')), 1)),
			'A long query here may hold it up: see max_standby_streaming_delay.');
	end if;
	return next internal.check_row('timeline', case when v_timeline < v_now.timeline then 'bad' else 'ok' end, v_timeline::text,
		format('Incarnation %s began on timeline %s: this server is on an older branch.', v_now.incarnation, v_now.timeline));
	return next internal.check_row('incarnation', 'ok', format('%s since %s: %s', v_now.incarnation,
		to_char(v_now.began_at, 'YYYY-MM-DD HH24:MI:SS TZ'), v_now.reason), null);
	return query select * from internal.check_refused();
end $$;
comment on function internal.check_server() is 'Findings about this server: primary or standby, timeline, incarnation.';

create function internal.check_schema(p_program text) returns internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_name constant text := (select m.name from schema_migration m order by m.version desc limit 1);
begin
	return case
		when p_program > v_name then internal.check_row('schema', 'bad', format('%s, and this program has %s', v_name, p_program),
			'Run "rota admin db upgrade" on the primary: daemons of this version need it.')
		when p_program < v_name then internal.check_row('schema', 'warning',
			format('%s, and this program has %s', v_name, p_program),
			'This program is older than the database. Install the version that upgraded it, and use its "rota".')
		else internal.check_row('schema', 'ok', v_name, null) end;
end $$;
comment on function internal.check_schema(text) is
	'The newest migration of this database, compared with that of the program that asks.';

-- Patroni starts PostgreSQL with the name of its cluster on the command line.
create function internal.check_watchdog(p_managed boolean, p_device text) returns setof internal.db_finding
language sql volatile set search_path = pg_catalog, pg_temp as $$
	select internal.check_row('watchdog of Patroni',
		case when (pg_stat_file(p_device, true)).modification is null then 'warning' else 'ok' end,
		case when (pg_stat_file(p_device, true)).modification is null then format('there is no %s', p_device)
			else format('%s is there; the log of Patroni says whether it can use it', p_device) end,
		'If Patroni hangs here, this server goes on while another one is promoted. Load softdog, and give the device to '
		'postgres: docs/high-availability.md.')
	where p_managed;
$$;
comment on function internal.check_watchdog(boolean, text) is
	'Whether this machine has the device that its cluster manager needs to reset it; nothing without a manager (p_managed).';

create function internal.check_numbers() returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_one record;
	v_highest bigint;
begin
	for v_one in
		select t.relname as of, a.attname as name, c.relname as sequence
		from pg_class c
		join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i'
		join pg_class t on t.oid = d.refobjid
		join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
		where c.relkind = 'S' and c.relnamespace = 'rota'::regnamespace and c.relname <> 'job_job_id_seq'
			-- A number that leads no index is unique within its job only, and to find its highest one takes long.
			and exists (select from pg_index i where i.indrelid = t.oid and i.indkey[0] = a.attnum)
		order by 1, 2
	loop
		execute format('select max(x.%I) from %I x', v_one.name, v_one.of) into v_highest;
		if v_highest > internal.number_last(v_one.sequence) then
			return next internal.check_row('numbers of ' || v_one.of, 'bad',
				format('%s given out, %s is the last', internal.number_last(v_one.sequence), v_highest),
				format('Numbers would be given out twice: select setval(''rota.%I'', %s).', v_one.sequence, v_highest));
		end if;
	end loop;
end $$;
comment on function internal.check_numbers() is
	'Sequences, except that of job numbers, that are behind the rows of their tables.';

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
	select x.*
	from (values ('fsync', '{on}'::text[]), ('full_page_writes', '{on}'), ('synchronous_commit', '{on,remote_apply}'))
		v (name, good)
	cross join lateral internal.check_row('setting ' || v.name,
		case when current_setting(v.name) = any (v.good) then 'ok' else 'bad' end,
		current_setting(v.name), format('Set it to %s: a power failure would lose acknowledged commits.', v.good[1])) x;
	return query
	select x.* from (select (select count(*) from pg_stat_activity a where a.backend_type = 'client backend') as used,
		current_setting('max_connections')::int as most) c
	cross join lateral internal.check_row('connections', case when c.used > c.most * 0.9 then 'warning' else 'ok' end,
		format('%s of %s', c.used, c.most), 'Raise max_connections on every server: daemons wait for a free connection.') x;
	return query
	select x.*
	from unnest('{rota_owner,rota_jobmgr,rota_jobmgr_leader,rota_jobmgr_admin,rota_nodes,rota_nodemgr,rota_runner,'
		'rota_credd}'::text[]) r
	cross join lateral internal.check_row('role ' || r, 'bad', 'missing',
		'Restore the roles of the instance, or run "rota admin db upgrade".') x
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
	return query select * from internal.check_numbers();
end $$;
comment on function internal.check_settings() is 'Findings about settings, roles and sequences.';

create function internal.db_check(p_program text) returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select * from internal.check_server() union all select * from internal.check_schema(p_program)
	union all select * from internal.check_replication()
	union all select * from internal.check_settings();
$$;
comment on function internal.db_check(text) is
	'All findings about this server, its standbys and its settings. p_program: the newest migration of the program that asks.';

-- A node can claim to have seen any incarnation, so a begin that is more than an hour ahead does not count.
create function internal.accepts_before() returns timestamptz
language sql volatile set search_path = rota, pg_temp as $$
	select greatest(clock_timestamp(), max(r.began_at) + interval '1 microsecond')
	from incarnation_refused r where r.began_at < clock_timestamp() + interval '1 hour';
$$;
comment on function internal.accepts_before() is
	'A moment after the begin of every incarnation that others have seen, even if the clocks of their servers are ahead.';

create function internal.db_begin(p_reason text, p_skip bigint) returns void
language plpgsql volatile set search_path = rota, pg_temp as $$
begin
	perform internal.incarnation_lock();
	perform internal.incarnation_begin(p_reason, p_skip, internal.accepts_before());
	delete from incarnation_refused;
	-- Process managers ask for the incarnation when they connect.
	perform pg_terminate_backend(a.pid) from pg_stat_activity a
	where a.datname = current_database() and a.usename ~ '^rota_node(_|$)';
end $$;
comment on function internal.db_begin(text, bigint) is
	'Begin another incarnation because an administrator declares that this database is the right one, whatever it lacks.';

create function internal.db_restored(p_skip bigint, p_acts boolean, p_reason text default 'declared restored')
returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_last constant bigint := internal.number_last('job_job_id_seq');
	v_now constant incarnation := internal.incarnation_now();
begin
	if p_skip is null or p_skip not between 1 and 50000 then
		raise exception '% job numbers cannot be left out: 1 to 50000 can', coalesce(p_skip::text, 'null')
			using errcode = 'RT422';
	end if;
	return next internal.check_row('incarnation', 'ok',
		format('%s ends, %s begins', v_now.incarnation, internal.incarnation_next()), null);
	return next internal.check_row('job numbers', 'ok',
		format('the last one is %s, the next one %s', v_last, v_last + p_skip + 1), null);
	return next internal.check_row('live attempts', 'ok',
		format('%s in this copy: nodes report which of them they have; the steps of the others run again where they may',
			(select count(*) from attempt t where t.ended_at is null)), null);
	return next internal.check_row('orders', 'ok', format('%s in this copy: they are sent again; a node refuses what it has had',
		(select count(*) from node_order)), null);
	return next internal.check_row('waiting steps', 'ok', (
		select format('%s, and %s held: each starts, or may be released, even if it has run since this copy was made',
			count(*) filter (where s.held = ''), count(*) filter (where s.held <> ''))
		from step s where s.state = 'pending' and s.ended_at is null), null);
	return next internal.check_row('synchronous standbys',
		case when current_setting('synchronous_standby_names') = '' then 'warning' else 'ok' end,
		coalesce(nullif(current_setting('synchronous_standby_names'), ''), 'none are configured'),
		'A copy made by a standby may lack the setting. Set synchronous_standby_names.');
	return next internal.check_row('credentials', 'ok',
		'rota-credd removes those again that were removed since this copy was made, when it connects', null);
	return query select * from internal.lacks_keepers();
	return query select * from internal.lacks_removals();
	if p_acts then
		perform internal.db_begin(p_reason, p_skip);
	end if;
end $$;
comment on function internal.db_restored(bigint, boolean, text) is
	'The actions that are due after this database was restored. p_acts: also begin another incarnation whose job numbers '
	'leave out p_skip numbers. RT422: p_skip is too high.';

create function internal.check_refused() returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select x.* from incarnation_refused r
	cross join lateral internal.check_row('refused by ' || r.role, 'warning',
		format('%s has seen incarnation %s (timeline %s), which began %s',
			r.application, r.incarnation, r.timeline, to_char(r.began_at, 'YYYY-MM-DD HH24:MI:SS TZ')),
		'A newer server has answered more than this one has. If it still exists, stop this one and use that.') x
	-- A session that connected before this database was accepted may record its refusal after that.
	where internal.incarnation_lacks(r.incarnation, r.began_at)
	order by r.role;
$$;
comment on function internal.check_refused() is
	'The daemons and nodes that refuse this server, since they have seen an incarnation that it lacks.';

-- Rows that a database lacks after it was accepted as an older copy, as far as the journals of nodes show them.
create function internal.lacks_jobs(p_since timestamptz) returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select x.* from (
		select r.job, string_agg(distinct
			format('%s: %s', coalesce(n.name, r.node::text), coalesce(nullif(r.outcome, ''), r.kind)), ', ') as said
		from rejected_report p
		cross join lateral jsonb_to_recordset(p.what) as r (node int, job bigint, kind text, outcome text)
		left join node n on n.node_id = r.node
		where p.at >= p_since and r.job is not null and not exists (select from job j where j.job_id = r.job)
		group by r.job order by r.job limit 1000) l
	cross join lateral internal.check_row('job ' || l.job, 'warning', 'is not here; ' || l.said,
		'Only the newer server had it: its owner must submit it again.') x;
$$;
comment on function internal.lacks_jobs(timestamptz) is
	'Jobs that nodes have reported since p_since, and that this database does not have.';

create function internal.lacks_attempts(p_now rota.incarnation) returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select x.* from (
		select t.job_id, count(distinct (t.step_id, t.attempt)) as n, min(s.state) as state
		from event e
		join attempt t on t.job_id = e.job_id and t.step_id = e.step_id and t.attempt = e.attempt and t.cause = 'node_lost'
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		where e.event_id >= p_now.event_from and t.ordered_at < p_now.began_at
		group by t.job_id order by t.job_id limit 1000) l
	cross join lateral internal.check_row('job ' || l.job_id, 'warning',
		format('%s: nothing is left of %s', l.state, internal.text_count(l.n, 'attempt')),
		'It ended, and only the newer server has the report: it runs again where it may.') x;
$$;
comment on function internal.lacks_attempts(rota.incarnation) is
	'Jobs with attempts that were live in this database, and that their nodes no longer have.';

create function internal.lacks_ends(p_now rota.incarnation) returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select x.* from (
		select e.job_id, count(*) as n, min(e.to_state) as state, max(e.to_state) as other
		from event e
		where e.event_id >= p_now.event_from and e.at < p_now.began_at
			and e.to_state in ('completed', 'failed', 'timeout', 'out_of_memory', 'cancelled')
		group by e.job_id order by e.job_id limit 1000) l
	cross join lateral internal.check_row('job ' || l.job_id, 'ok', format('%s %s entered again: %s', l.n,
		case l.n when 1 then 'end' else 'ends' end, concat_ws(', ', l.state, nullif(l.other, l.state))), null) x;
$$;
comment on function internal.lacks_ends(rota.incarnation) is
	'Ends of attempts that nodes have reported in the incarnation p_now, and that happened before it began: the newer server '
	'may have had them.';

create function internal.db_lacks() returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_now constant incarnation := internal.incarnation_now();
	v_silent constant text := (select string_agg(n.name, ', ' order by n.name) from node n
		left join node_lease l on l.node_id = n.node_id and l.renewed_at > v_now.began_at where l.node_id is null);
begin
	if v_now.accepts_before is null then
		return;
	end if;
	return next internal.check_row('accepted', 'ok', format('incarnation %s since %s: %s', v_now.incarnation,
		to_char(v_now.began_at, 'YYYY-MM-DD HH24:MI:SS TZ'), v_now.reason), null);
	return next internal.check_row('nodes', case when v_silent is null then 'ok' else 'warning' end,
		coalesce('nothing was received of ' || v_silent, 'all have said what they have'),
		'What these have run is not known yet: run "rota admin db accept" again when they are back.');
	return query select * from internal.lacks_ends(v_now);
	return query select * from internal.lacks_attempts(v_now);
	return query select * from internal.lacks_jobs(v_now.began_at);
	return query select * from internal.lacks_keepers();
	return query select * from internal.lacks_removals();
end $$;
comment on function internal.db_lacks() is
	'What this database lacked when an administrator accepted it as an older copy, from what nodes have reported since then; '
	'no row: nobody has accepted it as such.';

create function internal.db_accept(p_skip bigint, p_acts boolean) returns setof internal.db_finding
language plpgsql volatile set search_path = rota, pg_temp as $$
begin
	if pg_is_in_recovery() then
		raise exception 'this server is a standby' using errcode = 'RT409',
			hint = 'Connect to the server that is to be accepted, and promote it first.';
	elsif exists (select from internal.check_refused()) then
		-- Do not wait for a standby: there may be none that could confirm this commit.
		perform set_config('synchronous_commit', 'local', true);
		return query select * from internal.check_refused();
		return query select * from internal.db_restored(p_skip, p_acts, 'accepted as an older copy');
	elsif p_acts then
		raise exception 'nobody has refused this server, so there is nothing to accept' using errcode = 'RT409',
			hint = 'Daemons refuse a server when they connect to it. '
				'"rota admin db restored --yes" begins another incarnation in any case.';
	else
		return query select * from internal.db_lacks();
	end if;
end $$;
comment on function internal.db_accept(bigint, boolean) is
	'Daemons that refuse this server, and the actions that are due before it is used; p_acts: accept it. If nobody refuses '
	'it: what this database lacked when it was accepted. RT409: a standby, or nothing to accept. RT422: p_skip is too high.';
