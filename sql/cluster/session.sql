-- Limits of database sessions that no session can lift.
--
-- Called by: each jobmgrd, about every second, and nodemgrd. They keep their connections, so they act even where readers have
-- taken all others. A session may change its own timeouts, but neither the settings by which it is judged nor
-- what the server shows of it.
-- Invariants:
-- - Sessions of superusers are never ended. A daemon's session is ended only if the daemon was interrupted within a call.
-- - Rows are only added to the record: a judge that froze within its transaction blocks no other judge.
create view internal.reader_session as
select x.pid, x.usename, x.datname is not distinct from current_database() as is_here, x.backend_type, x.backend_start, x.state,
	x.state_change, x.query_start, x.xact_start
from pg_stat_activity x
join pg_roles u on u.oid = x.usesysid and not u.rolsuper
where exists (
	select from pg_roles g where g.rolname in ('rota_analyst', 'rota_reader') and (g.oid = u.oid or exists (
		select from pg_auth_members m where m.member = u.oid and m.roleid = g.oid)))
	and not pg_has_role(u.oid, 'rota_daemons', 'member');
comment on view internal.reader_session is
	'Sessions of analysts and readers, and the parallel workers of their queries. is_here: the session is in the database of '
	'Rota.';

create function api.session_readers() returns setof int
language sql stable security definer set search_path = live, rota, pg_temp as $$
	select x.pid from internal.reader_session x where x.is_here;
$$;
comment on function api.session_readers() is
	'Process ids of the backends of analysts and readers, whose CPU priority jobmgrd is to lower.';

create function internal.session_limit(p_setting text) returns interval
language sql stable set search_path = live, rota, pg_temp as $$
	select make_interval(secs => nullif(internal.setting_int(p_setting), 0));
$$;
comment on function internal.session_limit(text) is 'A setting in seconds as an interval; null: the setting is 0, no limit.';

create function internal.session_silent(p_silence_s int) returns table (pid int, who text, reason text)
language sql stable set search_path = live, rota, pg_temp as $$
	-- Daemons open no transactions beyond one call. If a session of a daemon is idle in a transaction, the daemon was
	-- interrupted within the call, and the session would keep its locks until the daemon goes on.
	select x.pid, x.application_name, 'it held a transaction open and was silent'
	from pg_stat_activity x
	where x.usename ~ '^rota_(jobmgr|node|runner)' and x.datname = current_database()
		and x.backend_xid is not null
		and x.wait_event_type = 'Client'
			and x.state_change < clock_timestamp() - make_interval(secs => p_silence_s);
$$;
comment on function internal.session_silent(int) is
	'Sessions of daemons that have been idle in a transaction for more than p_silence_s seconds.';

create function internal.session_late() returns table (pid int, who text, reason text)
language sql stable set search_path = live, rota, pg_temp as $$
	select x.pid, x.usename, c.reason
	from internal.reader_session x
	cross join lateral (select clock_timestamp() as at) n
	cross join lateral (select case
		when x.state not like 'idle%' and x.query_start < n.at - internal.session_limit('reader_statement_s')
			then 'a statement took longer than setting reader_statement_s'
		when x.state like 'idle in transaction%' and x.state_change < n.at - internal.session_limit('reader_idle_s')
			then 'a transaction was idle for longer than setting reader_idle_s'
		when x.xact_start < n.at - internal.session_limit('reader_transaction_s')
			then 'a transaction took longer than setting reader_transaction_s' end as reason) c
	where x.is_here and x.backend_type = 'client backend' and c.reason is not null;
$$;
comment on function internal.session_late() is 'Sessions of analysts and readers that exceed a limit of time.';

create function internal.session_surplus() returns table (pid int, who text, reason text)
language sql stable set search_path = live, rota, pg_temp as $$
	-- Sessions are counted in rounds: the first one of each login, then the second one of each. So the login with the most
	-- sessions loses the first.
	select x.pid, x.usename, 'analysts and readers had more sessions than setting reader_sessions'
	from (
		select r.pid, r.usename, row_number() over (order by r.nth, r.backend_start, r.pid) as place
		from (
			select s.pid, s.usename, s.backend_start,
				row_number() over (partition by s.usename order by s.backend_start, s.pid) as nth
			from internal.reader_session s
			where s.backend_type = 'client backend'
		) r
	) x
	where x.place > nullif(internal.setting_int('reader_sessions'), 0);
$$;
comment on function internal.session_surplus() is
	'Sessions of analysts and readers, in any database, above the number that all of them together may have.';

create function internal.session_queue() returns table (pid int, who text, reason text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	-- A notification stays in the queue until each session that listens, in whatever database, has read it, and a session
	-- reads between its transactions only. The server does not show who listens. At most, a queue fills by a few percent a
	-- second, so a transaction of less than a second is not the one that holds it. A process manager that is ended in a longer
	-- one connects again and repeats it.
	if (pg_notification_queue_usage() * 100 >= nullif(internal.setting_int('notify_queue_percent'), 0)) is not true then
		return;
	end if;
	return query
	select x.pid, x.usename::text,
		'its transaction kept notifications in a queue that was full beyond setting notify_queue_percent'
	from (
		select r.pid, r.usename, r.xact_start from internal.reader_session r where r.backend_type = 'client backend'
		union all
		select a.pid, a.usename, a.xact_start from pg_stat_activity a
			where (a.usename = 'rota_admin' or a.usename like 'rota\_node\_%') and a.backend_type = 'client backend'
	) x
	where x.xact_start < clock_timestamp() - interval '1 second';
end $$;
comment on function internal.session_queue() is
	'Sessions of analysts, readers and nodes that may keep the queue of notifications from being emptied, when the queue is '
	'fuller than setting notify_queue_percent. A full queue stops every transaction that issues NOTIFY, and so the whole '
	'instance.';

create function api.session_judge(p_silence_s int) returns table (who text, reason text)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
begin
	return query
	with exceeding as materialized (
		select distinct on (x.pid) x.*
		from (
			select * from internal.session_silent(p_silence_s)
			union all
			select * from internal.session_late()
			union all
			select * from internal.session_surplus()
			union all
			select * from internal.session_queue()
		) x
		order by x.pid, x.reason
	), ended as materialized (
		select e.who, e.reason from exceeding e where pg_terminate_backend(e.pid)
	), record as (
		-- A client that connects again and again adds one row a minute.
		insert into admin_event (actor, object, action, name, given)
		select session_user, 'session', 'end', e.who, jsonb_build_object('reason', e.reason, 'sessions', count(*))
		from ended e
		where not exists (select from admin_event v
			where v.object = 'session' and v.name = e.who and v.at > clock_timestamp() - interval '1 minute'
				and v.given ->> 'reason' = e.reason)
		group by e.who, e.reason
	)
	select e.who, e.reason from ended e;
end $$;
comment on function api.session_judge(int) is
	'End sessions that exceed a limit: sessions of daemons that have been idle in a transaction for more than p_silence_s '
	'seconds, and of analysts and readers (settings reader_statement_s, reader_idle_s, reader_transaction_s, '
	'reader_sessions, notify_queue_percent). Returns one row for each ended session: its user and the reason. '
	'rota.admin_event has the record.';
