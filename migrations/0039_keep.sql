-- What need not be kept for ever goes in time, and what is over in the tables of jobs is tidied up by a fixed number of rows.

-- A client that has no answer sends its submission again. The key by which that is known as the same one is made up for it, is of use as
-- long as somebody may be asking, and goes with the job; rota.client_key has those that somebody chose. It begins with the time, so that
-- new ones stand side by side in the index.
alter table rota.job add column retry_key uuid;
comment on column rota.job.retry_key is 'By which its submission is known as the same one when it is sent again, within a day at least; null: it had none, or one in rota.client_key.';
create index on rota.job (retry_key);
alter table rota.live_from add column recent_id bigint not null default 0 check (recent_id <= job_id);
comment on column rota.live_from.recent_id is 'The first job of the oldest range in which anything lives or was submitted within the last day.';

insert into rota.setting (name, value, kind, help) values
	('stray_days', '30', 'int', 'days for which reports are kept that came late or fitted nothing');

-- A table for each day, as of samples.
drop function rota.sample_range(date);
create function rota.day_range(p_table text, p_day date) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name text := p_table || '_' || to_char(p_day, 'YYYYMMDD');
begin
	if to_regclass('rota.' || v_name) is not null then
		return;
	end if;
	-- Whoever came first has made it, if we had to wait.
	perform pg_advisory_xact_lock(hashtext('rota day_range'));
	if to_regclass('rota.' || v_name) is not null then
		return;
	end if;
	-- Made first and attached then: so nobody who reads or writes the others is waited for.
	execute format('create table rota.%I (like rota.%I including all excluding identity)', v_name, p_table);
	execute format('alter table rota.%I attach partition rota.%I for values from (%L) to (%L)', p_table, v_name,
		to_char(p_day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(p_day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
end $$;
comment on function rota.day_range(text, date) is 'Make the partition of a table for a day (UTC), where it is missing.';

alter table rota.stray rename to stray_before;
alter index rota.stray_pkey rename to stray_before_pkey;
create table rota.stray (
	stray_id bigint generated always as identity,
	at timestamptz not null default clock_timestamp(),
	actor text not null,
	what jsonb not null,
	primary key (stray_id, at)
) partition by range (at);
comment on table rota.stray is 'Reports that came late or fitted nothing: they changed nothing and are kept here, for as many days as the setting stray_days says.';
comment on column rota.stray.stray_id is 'Order of arrival.';
comment on column rota.stray.at is 'When.';
comment on column rota.stray.actor is 'Who sent it.';
comment on column rota.stray.what is 'The records, as they were sent.';
do $$
begin
	perform rota.day_range('stray', d.day) from (
		select distinct (s.at at time zone 'UTC')::date as day from rota.stray_before s
		union
		select (now() at time zone 'UTC')::date + n from generate_series(0, 3) n
	) d;
	insert into rota.stray (stray_id, at, actor, what) overriding system value select s.stray_id, s.at, s.actor, s.what from rota.stray_before s;
	perform setval(pg_get_serial_sequence('rota.stray', 'stray_id'), coalesce((select max(s.stray_id) from rota.stray_before s), 0) + 1, false);
end $$;
drop table rota.stray_before;

-- A partial index over what is live has an entry, dead, of each row that has ended since the last vacuum. By share of a table these are more and
-- more, as history grows; by number they are as many behind a million steps as behind the first: fewer than before where a range has
-- more than some 400,000 steps, more where it has less. The share that is left bounds what vacuums cost of a table in all: each reads
-- all of its indexes once.
create function rota.range_options(p_table text) returns text
language sql immutable set search_path = rota, pg_temp as $$
	-- Rows that change while a step runs leave room on their pages for their next versions. There are fewer jobs and arrays than steps.
	select format('fillfactor = 50, autovacuum_vacuum_threshold = %s, autovacuum_vacuum_scale_factor = 0.002, vacuum_index_cleanup = on', x.threshold)
	from (values ('step', 20000), ('attempt', 20000), ('allocation', 20000), ('sample_total', 20000), ('job', 2000), ('step_array', 2000)) x (name, threshold)
	where x.name = p_table;
$$;
comment on function rota.range_options(text) is 'Storage parameters of the partitions of a table; null: as PostgreSQL has it.';

create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation', 'task_end', 'hook_run',
		'controller_hook', 'sample_total', 'event']
	loop
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		execute format('create table rota.%I (like rota.%I including all excluding identity)%s', v_table || '_' || p_from, v_table, ' with (' || rota.range_options(v_table) || ')');
		execute format('alter table rota.%I attach partition rota.%I for values from (%s) to (%s)', v_table, v_table || '_' || p_from, p_from, p_to);
		perform rota.forever(v_table || '_' || p_from);
	end loop;
end $$;
do $$
declare
	v_one record;
begin
	for v_one in
		select c.oid::regclass as part, rota.range_options(p.relname) as options
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		join pg_class p on p.oid = i.inhparent and p.relnamespace = 'rota'::regnamespace
		where rota.range_options(p.relname) is not null
	loop
		execute format('alter table %s set (%s)', v_one.part, v_one.options);
	end loop;
end $$;

comment on column rota.report_left.report is 'The report, as api.node_report takes it, its lives among it.';
