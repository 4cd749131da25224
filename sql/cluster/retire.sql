-- Removal of old data from the database: exports by month, and ranges of jobs that are detached, exported and dropped.
--
-- Invariants:
-- - A range is removed as a whole, and only when no job in it is live, no job waits for one in it, and its usage is added up.

create function internal.export_columns(p_table regclass) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	-- Columns that are private to the owners of jobs, or useless outside the database.
	return (
		select string_agg(format('t.%I', a.attname), ', ' order by a.attnum)
		from pg_attribute a
		where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped
			and a.attname <> all ('{script_hash,environment_hash,spec,auth,output,xid,retry_key}'));
end $$;
comment on function internal.export_columns(regclass) is
	'The columns of a table that are exported, as an SQL select list; each is written as t.COLUMN.';

create function internal.range_gone() returns table (from_job bigint, to_job bigint, during tstzrange)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select e.name::bigint, (e.given ->> 'to')::bigint,
		tstzrange((e.given ->> 'first_at')::timestamptz, (e.given ->> 'last_at')::timestamptz, '[]')
	from admin_event e
	where e.object = 'range' and e.action = 'detach' and e.given ? 'last_at';
end $$;
comment on function internal.range_gone() is
	'Ranges of jobs that have been detached, dropped ones included. from_job is the first job in the range, to_job the first '
	'one after it. during: from the first submission to the last end. Ranges without jobs are left out.';

create function api.export_plan(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_month constant text := coalesce(internal.request_text(p_request, 'month'), '');
	v_from constant bigint := internal.request_int(p_request, 'from', 9223372036854775807);
	v_zone constant text := (select z.time_zone from usage_state z);
	v_begin timestamptz;
	v_end timestamptz;
	v_jobs record;
	v_where text;
begin
	if internal.caller_role(p_uid, p_user) <> 'admin' then
		raise exception 'only administrators export everybody''s jobs' using errcode = 'RT403',
			hint = 'rota acct --csv gives you what you see.';
	end if;
	if v_from is not null then
		if to_regclass(format('rota.%I', 'job_' || v_from)) is null then
			raise exception 'no range begins with job %', v_from using errcode = 'RT404',
				hint = 'rota admin range list';
		end if;
		return jsonb_build_object('name', 'range-' || v_from, 'tables', (
			select jsonb_agg(jsonb_build_object('name', x, 'query',
				format('select %s from rota.%I t',
				internal.export_columns(to_regclass(format('rota.%I', x || '_' || v_from))), x || '_' || v_from)))
			from internal.range_tables() x
			where to_regclass(format('rota.%I', x || '_' || v_from)) is not null));
	end if;
	if v_month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
		raise exception '"%" is not a month', v_month using errcode = 'RT422', hint = 'Write it like 2026-01.';
	end if;
	v_begin := (v_month || '-01')::timestamp at time zone v_zone;
	v_end := ((v_month || '-01')::timestamp + interval '1 month') at time zone v_zone;
	if v_end > now() then
		raise exception 'month % is not over', v_month using errcode = 'RT409';
	end if;
	select min(x.job_id) as low,
		max(x.job_id) as high into v_jobs
		from (select j.job_id from job j where j.ended_at >= v_begin and j.ended_at < v_end offset 0) x; -- by key: ends
	v_where := format('t.job_id between %s and %s', coalesce(v_jobs.low, 0), coalesce(v_jobs.high, -1));
	return jsonb_build_object('name', v_month, 'time_zone', v_zone, 'without', (
		select coalesce(jsonb_agg(jsonb_build_object('from_job', g.from_job, 'to_job', g.to_job) order by g.from_job),
			'[]')
		from internal.range_gone() g
		where g.during && tstzrange(v_begin, v_end)), 'tables', (
		select jsonb_agg(jsonb_build_object('name', x, 'query', case when x = 'job'
			then format('select %s from rota.job t where %s and t.ended_at >= %L and t.ended_at < %L',
				internal.export_columns('rota.job'), v_where, v_begin, v_end)
			else format('select %s from rota.%I t join rota.job j on j.job_id = t.job_id where %s and j.job_id '
				'between %s and %s and j.ended_at >= %L and j.ended_at < %L',
				internal.export_columns(format('rota.%I', x)::regclass), x, v_where, coalesce(v_jobs.low, 0),
					coalesce(v_jobs.high, -1), v_begin, v_end) end))
		from internal.range_tables() x)
		|| jsonb_build_object('name', 'node', 'query', 'select t.node_id, t.name, t.cpus, t.mem_mb from rota.node t'));
end $$;
comment on function api.export_plan(int, text, jsonb) is
	'The queries of an export. Request {month}: the jobs that ended in a month of the site''s time zone, with all rows that '
	'belong to them; or {from}: the range that begins with that job. Answer {name, tables: [{name, query}]}, of a month also '
	'without: [{from_job, to_job}], the detached ranges that may have had jobs of the month. Scripts, environments and '
	'output are never exported.';

create function internal.range_state()
	returns table (from_job bigint, to_job bigint, attached boolean, jobs bigint, live bigint, first_at timestamptz,
	last_at timestamptz, bytes bigint)
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_one record;
begin
	for v_one in
		select c.relname, substr(c.relname, 5)::bigint as low, c.relispartition as attached, b.to_job as high
		from pg_class c
		left join internal.range_bounds() b on b.from_job = substr(c.relname, 5)::bigint
		where c.relnamespace = 'rota'::regnamespace and c.relname ~ '^job_[0-9]+$' and c.relkind = 'r'
		order by 2
	loop
		from_job := v_one.low;
		to_job := v_one.high;
		attached := v_one.attached;
		execute format('select count(*), count(*) filter (where ended_at is null), min(submit_at), max(ended_at) from '
			'rota.%I', v_one.relname) into jobs, live, first_at, last_at;
		bytes := (select sum(pg_total_relation_size(k.oid)) from internal.range_tables() x
			join pg_class k on k.oid = to_regclass(format('rota.%I', x || '_' || v_one.low)));
		return next;
	end loop;
end $$;
comment on function internal.range_state() is
	'Ranges of jobs, detached ones included, with their numbers of jobs and their size.';

create function api.range_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
begin
	return jsonb_build_object('ranges',
		(select coalesce(jsonb_agg(to_jsonb(r) order by r.from_job), '[]') from internal.range_state() r));
end $$;
comment on function api.range_list(int, text, jsonb) is
	'Ranges of jobs. Answer {ranges: [{from_job, to_job (the first after it; null: detached), attached, jobs, live, '
	'first_at, last_at, bytes}]}.';

create function internal.range_detach_table(p_table text, p_from bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_part constant text := p_table || '_' || p_from;
begin
	if to_regclass(format('rota.%I', v_part)) is null then
		return;
	end if;
	execute format('alter table rota.%I detach partition rota.%I', p_table, v_part);
	-- Drop the detached table's own foreign keys, so that rows it refers to can be deleted.
	execute (select coalesce(string_agg(format('alter table rota.%I drop constraint %I;', v_part, k.conname), ''), '')
		from pg_constraint k
		where k.conrelid = format('rota.%I', v_part)::regclass and k.contype = 'f' and k.conparentid = 0);
	execute format('grant select (%s) on rota.%I to rota_admin',
		replace(internal.export_columns(format('rota.%I', v_part)::regclass), 't.', ''), v_part);
end $$;
comment on function internal.range_detach_table(text, bigint) is
	'Detach the partition of a table whose range begins with job p_from, if there is one, and let administrators read the '
	'detached table.';

create function api.range_detach(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_from constant bigint := internal.request_int(p_request, 'from', 9223372036854775807);
	v_to bigint;
	v_table text;
	v_why text;
	v_times jsonb;
begin
	if internal.caller_role(p_uid, p_user) <> 'admin' then
		raise exception 'only administrators detach ranges of jobs' using errcode = 'RT403';
	end if;
	-- One session at a time detaches ranges, and no session makes one meanwhile.
	perform pg_advisory_xact_lock(hashtext('rota range_ensure'));
	select b.to_job into v_to from internal.range_bounds() b where b.from_job = v_from;
	if not found and to_regclass(format('rota.%I', 'job_' || v_from)) is null then
		raise exception 'no range begins with job %', v_from using errcode = 'RT404', hint = 'rota admin range list';
	end if;
	if v_to is null then
		return jsonb_build_object('from', v_from, 'detached', false);
	end if;
	v_why := coalesce(internal.range_live(v_from, v_to), (
		select x.why
		from (
			select format('job %s waits for job %s', e.job_id, e.peer_job_id) as why from step_edge e
			where e.peer_job_id >= v_from and e.peer_job_id < v_to and e.job_id >= v_to and e.state = 'waiting'
			union all
			select 'its usage has not been added up' from usage_pending d
				where exists (select from unnest(d.job_ids) x where x >= v_from and x < v_to)
			union all
			select 'usage is being computed anew' from usage_state z where z.rebuild_at is not null
		) x limit 1));
	if v_why is not null then
		raise exception 'the range from job % is in use: %', v_from, v_why using errcode = 'RT409',
			hint = 'A range can be removed when all its jobs have ended and their usage is computed.';
	end if;
	select jsonb_strip_nulls(jsonb_build_object('first_at', min(j.submit_at), 'last_at', max(j.ended_at))) into v_times
		from job j where j.job_id >= v_from and j.job_id < v_to;
	-- The queue must not wait behind this lock, so give up after a short timeout.
	perform set_config('lock_timeout', '2s', true);
	for v_table in select * from internal.range_tables() loop
		perform internal.range_detach_table(v_table, v_from);
	end loop;
	delete from client_key k where k.job_id >= v_from and k.job_id < v_to;
	-- Delete the rows whose time was over before the oldest job that is left was submitted.
	delete from line_limited l
		where l.until_at < (select j.submit_at from job j order by j.job_id limit 1);
	insert into admin_event (actor, object, action, name, given)
		values (p_user, 'range', 'detach', v_from::text, v_times || jsonb_build_object('to', v_to));
	return jsonb_build_object('from', v_from, 'to', v_to, 'detached', true);
exception when lock_not_available then
	raise exception 'the job tables are locked by other sessions' using errcode = 'RT409', hint = 'Try again in a moment.';
end $$;
comment on function api.range_detach(int, text, jsonb) is
	'Detach the range that begins with job {from} from the tables: its jobs are no longer visible, nor found by their keys. '
	'Refused (RT409) while a job in the range is live, or a job outside waits for one in it. Answer {from, to, detached: '
	'false if the range was detached before}.';

create function api.range_drop(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_from constant bigint := internal.request_int(p_request, 'from', 9223372036854775807);
	v_table text;
	v_count int := 0;
begin
	if internal.caller_role(p_uid, p_user) <> 'admin' then
		raise exception 'only administrators drop ranges of jobs' using errcode = 'RT403';
	end if;
	if exists (select from pg_class c
		where c.oid = to_regclass(format('rota.%I', 'job_' || v_from)) and c.relispartition) then
		raise exception 'the range from job % has not been detached', v_from using errcode = 'RT409';
	end if;
	for v_table in select * from internal.range_tables() loop
		if to_regclass(format('rota.%I', v_table || '_' || v_from)) is not null then
			execute format('drop table rota.%I', v_table || '_' || v_from);
			v_count := v_count + 1;
		end if;
	end loop;
	if v_count = 0 then
		raise exception 'no range begins with job %', v_from using errcode = 'RT404', hint = 'rota admin range list';
	end if;
	insert into admin_event (actor, object, action, name, given)
		values (p_user, 'range', 'drop', v_from::text, coalesce(p_request -> 'manifest', '{}'));
	return jsonb_build_object('from', v_from, 'tables', v_count);
end $$;
comment on function api.range_drop(int, text, jsonb) is
	'Drop a detached range. Request {from, manifest: what was exported of the range, stored in the log of changes}. Answer '
	'{from, tables}.';
