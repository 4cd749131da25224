-- Incarnations of the database.
--
-- Called by: every daemon when it connects (api.incarnation_admit), procmgrd before it registers; "rota admin db restored", "rota
-- admin db accept".
-- Invariants:
-- - The database refuses a daemon, node or client that has seen an incarnation which it lacks, since another server has committed
--   more. Number and start time together identify an incarnation: two branches may use the same number.
-- - The transaction that begins an incarnation first raises job numbers and ids of orders, so no number of an earlier incarnation
--   is used again.
-- - What a node reports to have seen is not trusted: limits apply to how often a report begins an incarnation, and to how far it
--   raises job numbers.
create function internal.timeline() returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
	select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
$$;
comment on function internal.timeline() is
	'Returns the timeline of PostgreSQL on which this server writes; a promotion begins another one.';

create function internal.number_last(p_sequence text) returns bigint
language plpgsql volatile set search_path = rota, pg_temp as $$
declare
	v_last bigint;
begin
	execute format('select case when s.is_called then s.last_value else s.last_value - 1 end from rota.%I s', p_sequence)
		into v_last;
	return v_last;
end $$;
comment on function internal.number_last(text) is 'Returns the highest number that a sequence has given out.';

create function internal.numbers_raise(p_jobs bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform setval('job_job_id_seq', internal.number_last('job_job_id_seq') + p_jobs);
	-- Ids of type bigint are rarely seen by people. Sequences of type int number objects that administrators create.
	perform setval(s.seqrelid, internal.number_last(c.relname) + 1000000)
	from pg_sequence s
	join pg_class c on c.oid = s.seqrelid and c.relnamespace = 'rota'::regnamespace
	where s.seqtypid = 'bigint'::regtype and c.relname <> 'job_job_id_seq';
end $$;
comment on function internal.numbers_raise(bigint) is
	'Raise the sequence of job numbers by p_jobs, and the sequences of all other ids of type bigint by a million.';

create function internal.incarnation_next() returns int
language sql volatile set search_path = rota, pg_temp as $$
	-- A node may claim to have seen any number, so numbers from a million on do not count here: otherwise a claim could use
	-- up the numbers.
	select 1 + greatest((select max(i.incarnation) from incarnation i),
		(select max(r.incarnation) from incarnation_refused r where r.incarnation < 1000000));
$$;
comment on function internal.incarnation_next() is
	'Number of the next incarnation: higher than those that this database has and those that refused daemons have seen, so '
	'that people can tell them apart.';

create function internal.incarnation_begin(p_reason text, p_jobs bigint, p_accepts timestamptz default null) returns int
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_number constant int := internal.incarnation_next();
	v_last constant bigint := internal.number_last('job_job_id_seq');
begin
	perform internal.numbers_raise(p_jobs);
	insert into incarnation (incarnation, timeline, made_by, reason, job_after, job_from, accepts_before, event_from)
	values (v_number, internal.timeline(), session_user, p_reason, v_last, v_last + p_jobs + 1, p_accepts,
		internal.number_last('event_event_id_seq') + 1);
	raise warning 'incarnation % of the database begins: %', v_number, p_reason;
	return v_number;
end $$;
comment on function internal.incarnation_begin(text, bigint, timestamptz) is
	'Begin another incarnation, and return its number. Its job numbers begin p_jobs higher. p_accepts: the administrator accepts '
	'that this database lacks incarnations that began before then, so daemons that have seen one are served; null: they are '
	'refused. The caller has called internal.incarnation_lock.';

create function internal.incarnation_lock() returns void
language sql set search_path = pg_catalog, pg_temp as $$
	select pg_advisory_xact_lock(hashtext('rota incarnation'));
$$;
comment on function internal.incarnation_lock() is 'Take the lock that lets one session at a time begin an incarnation.';

create function internal.incarnation_now() returns rota.incarnation
language sql volatile set search_path = rota, pg_temp as $$
	select i from incarnation i order by i.incarnation desc limit 1;
$$;
comment on function internal.incarnation_now() is 'Returns the present incarnation.';

create function internal.incarnation_check() returns int
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_now incarnation := internal.incarnation_now();
begin
	if v_now.timeline = internal.timeline() then
		return v_now.incarnation;
	end if;
	perform internal.incarnation_lock();
	v_now := internal.incarnation_now();
	if v_now.timeline = internal.timeline() then
		return v_now.incarnation;
	end if;
	return internal.incarnation_begin(format('promoted from timeline %s to %s', v_now.timeline, internal.timeline()), 1000);
end $$;
comment on function internal.incarnation_check() is
	'Begin another incarnation if this server was promoted since the present one began. Returns the number of the present '
	'incarnation.';

create function internal.incarnation_lacks(p_incarnation int, p_began timestamptz) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select p_incarnation > 0 and not exists (select from incarnation i
		where (i.incarnation = p_incarnation and i.began_at = p_began) or i.accepts_before > p_began);
$$;
comment on function internal.incarnation_lacks(int, timestamptz) is
	'Whether this database lacks the incarnation with this number and begin, because it branched off before that, and no '
	'administrator has accepted the loss. Number 0: false.';

create function internal.incarnation_refuse(p_incarnation int, p_timeline bigint, p_began timestamptz) returns void
language sql volatile set search_path = rota, pg_temp as $$
	insert into incarnation_refused as r (role, application, incarnation, timeline, began_at)
	values (session_user, current_setting('application_name'), p_incarnation, p_timeline, p_began)
	on conflict (role) do update
	set application = excluded.application, incarnation = excluded.incarnation, timeline = excluded.timeline,
		began_at = excluded.began_at, refused_at = excluded.refused_at
	where r.began_at < excluded.began_at or r.refused_at < excluded.refused_at - interval '1 minute';
$$;
comment on function internal.incarnation_refuse(int, bigint, timestamptz) is
	'Record that the daemon of this session refuses this database, and which incarnation the daemon has seen. Later refusals '
	'of the daemon update the same row.';

create function api.incarnation_admit(p_incarnation int, p_timeline bigint, p_began timestamptz)
returns table (incarnation int, timeline bigint, began text, refused boolean, backend int, started text)
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_refused constant boolean := coalesce(internal.incarnation_lacks(p_incarnation, p_began), false);
	v_now incarnation;
begin
	if not current_setting('transaction_read_only')::boolean then
		-- A former primary no longer has a standby that could confirm this write; a promoted server may not have one yet.
		-- Later answers follow this write in the WAL.
		perform set_config('synchronous_commit', 'local', true);
		if v_refused then
			perform internal.incarnation_refuse(p_incarnation, p_timeline, p_began);
		else
			perform internal.incarnation_check();
		end if;
	end if;
	v_now := internal.incarnation_now();
	return query select v_now.incarnation, v_now.timeline,
		to_char(v_now.began_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US"+00"'), v_refused, pg_backend_pid(),
		extract(epoch from pg_postmaster_start_time())::text;
end $$;
comment on function api.incarnation_admit(int, bigint, timestamptz) is
	'The present incarnation, for a daemon that connects and has seen p_incarnation (0: none), which began at p_began. refused: '
	'this database lacks p_incarnation, so it is an older copy. backend: pid of the backend that answers, since a pooler '
	'announces another one. started: start time of the server, by which a daemon tells two servers apart.';

create function api.client_admit(p_incarnation int, p_began timestamptz) returns boolean
language sql stable security definer set search_path = rota, pg_temp as $$
	select not coalesce(internal.incarnation_lacks(p_incarnation, p_began), false);
$$;
comment on function api.client_admit(int, timestamptz) is
	'Whether a client that has seen an answer of p_incarnation, which began at p_began, may use this database. Refusals of '
	'clients are not recorded.';

create function api.node_incarnation(p_job bigint, p_order bigint) returns int
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_number int := internal.incarnation_check();
	v_now incarnation;
	v_last bigint;
begin
	perform internal.session_login();
	if p_job <= internal.number_last('job_job_id_seq') and p_order <= internal.number_last('node_order_order_id_seq') then
		return v_number;
	end if;
	perform internal.incarnation_lock();
	v_now := internal.incarnation_now();
	-- A restored copy has the same timeline as before, but lacks the numbers that nodes have seen.
	if v_now.reason <> 'first' and v_now.began_at > clock_timestamp() - interval '1 hour' then
		v_number := v_now.incarnation;
	else
		v_number := internal.incarnation_begin('a node has seen numbers that this database has not given out', 1000);
		v_now := internal.incarnation_now();
	end if;
	-- Partitions of tables exist for at least a hundred thousand more jobs.
	v_last := internal.number_last('job_job_id_seq');
	if p_job > v_last and p_job <= v_now.job_after + 50000 then
		perform setval('job_job_id_seq', p_job);
	elsif p_job > v_last then
		raise warning 'role "%" says that it has seen job %, and the last one here is %', session_user, p_job, v_last;
	end if;
	return v_number;
end $$;
comment on function api.node_incarnation(bigint, bigint) is
	'Returns the present incarnation to a process manager that has seen jobs and orders up to these numbers (0: none). If '
	'the database has not given out these numbers, it is a restored copy, and another incarnation begins: once an hour at '
	'most. 28000: the session is of no node.';
