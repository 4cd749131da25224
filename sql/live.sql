-- Schema live: the tables of jobs without the ranges in which everything has ended. So the cost of a step does not grow with the
-- history.
--
-- Invariants:
-- - Functions on the hot path (sql/step, sql/node, sql/schedule, sql/hook) have the search path "live, rota". A bound that is
--   known at planning time lets PostgreSQL leave out whole ranges, which it would otherwise lock and open.
-- - Functions that read jobs that may have ended long ago have the search path "rota".
create schema live;
comment on schema live is 'Views of the tables of jobs without the ranges of job ids in which everything has ended.';

create function internal.range_tables() returns setof text
language sql stable set search_path = rota, pg_temp as $$
	-- A table with foreign keys comes before the tables to which these refer: a referenced range cannot be detached.
	select c.relname::text
	from pg_partitioned_table p
	join pg_class c on c.oid = p.partrelid and c.relnamespace = 'rota'::regnamespace
	join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.attname = 'job_id'
	order by array_position('{step_edge,step_array,allocation,attempt,step,step_request,job}', c.relname::text) nulls first,
		c.relname;
$$;
comment on function internal.range_tables() is
	'Tables that are partitioned by job id, in the order in which a range of them can be detached.';

create function internal.live_views(p_from bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	for v_table in select * from internal.range_tables() loop
		execute format('create or replace view live.%1$I as select t.*, t.xmin as version from rota.%1$I t', v_table)
			|| case when p_from > 0 then format(' where t.job_id >= %s', p_from) else '' end;
		execute format('comment on view live.%I is %L', v_table,
			format('rota.%s, from the first job of the oldest range in which anything lives; version: xmin of the '
				'row.', v_table));
	end loop;
end $$;
comment on function internal.live_views(bigint) is
	'Make the views of schema live with jobs from p_from on, or change that number.';
select internal.live_views(f.job_id) from rota.live_from f;

create function internal.recent_view(p_from bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	execute format('create or replace view live.recent_job as select t.* from rota.job t where t.job_id >= %s', p_from);
	comment on view live.recent_job is
		'rota.job, from the first job of the oldest range with anything that is live or was submitted within the last '
		'day.';
end $$;
comment on function internal.recent_view(bigint) is
	'Make the view live.recent_job with jobs from p_from on, or change that number.';
select internal.recent_view(f.recent_id) from rota.live_from f;

create function internal.range_live(p_from bigint, p_to bigint) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select x.why
		from (
			select 'ids of jobs to come are in it' as why from job_job_id_seq s
				where case when s.is_called then s.last_value + 1 else s.last_value end < p_to
			union all
			select format('job %s has not ended', j.job_id) from job j
				where j.job_id >= p_from and j.job_id < p_to and j.ended_at is null
			union all
			select format('step %s is live', internal.step_label(s.job_id, s.step_id)) from step s
				where s.job_id >= p_from and s.job_id < p_to and s.ended_at is null
			union all
			select format('step %s still holds something', internal.step_label(a.job_id, a.step_id)) from allocation a
			where a.job_id >= p_from and a.job_id < p_to
				and (a.ended_at is null or (a.prolog_owner and a.gone_at is null))
			union all
			select format('the data of job %s is being staged', g.job_id) from staging g
				where g.ended_at is null and ((g.job_id >= p_from and g.job_id < p_to)
					or (g.array_job_id >= p_from and g.array_job_id < p_to))
			union all
			select format('a hook of job %s has not ended', h.job_id) from hook_pending h
				where h.job_id >= p_from and h.job_id < p_to
		) x limit 1);
end $$;
comment on function internal.range_live(bigint, bigint) is
	'What is live, or will be, among the jobs from p_from (included) to p_to (excluded), as text; null: nothing, now and '
	'later.';

create function internal.live_advance() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_before constant bigint := (select f.job_id from live_from f);
	v_from bigint := v_before;
	v_range record;
begin
	for v_range in select r.from_job, r.to_job from internal.range_bounds() r
		where r.to_job > v_before order by r.from_job loop
		exit when internal.range_live(v_range.from_job, v_range.to_job) is not null;
		v_from := v_range.to_job;
	end loop;
	if v_from = v_before then
		return;
	end if;
	-- A session that has taken a job id has this table locked until its job is visible. So after this lock, no job can appear
	-- in the ranges left out. This lock and those of the views are given up before the deadlock timeout, so that no
	-- submission fails because of them; the next minute tries again.
	perform set_config('lock_timeout', '200ms', true);
	lock table only rota.job in share row exclusive mode;
	if internal.range_live(v_before, v_from) is null then
		perform internal.live_views(v_from);
		update live_from set job_id = v_from;
	end if;
exception when lock_not_available then
	null;
end $$;
comment on function internal.live_advance() is
	'Advance the lowest job number of the views of schema live past ranges of jobs that have all ended. While other sessions '
	'lock the tables, the function does nothing until the next call.';

create function internal.recent_advance() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_before live_from := (select f from live_from f);
	v_from bigint := v_before.recent_id;
	v_range record;
begin
	for v_range in select r.from_job, r.to_job from internal.range_bounds() r
		where r.to_job > v_from and r.to_job <= v_before.job_id order by r.from_job loop
		exit
			when (select j.submit_at from job j
			where j.job_id >= v_range.from_job and j.job_id < v_range.to_job order by j.job_id desc limit 1) > now()
			- interval '1 day';
		v_from := v_range.to_job;
	end loop;
	if v_from > v_before.recent_id then
		perform set_config('lock_timeout', '200ms', true);
		perform internal.recent_view(v_from);
		update live_from set recent_id = v_from;
	end if;
exception when lock_not_available then
	null;
end $$;
comment on function internal.recent_advance() is
	'Advance the lowest job number of view live.recent_job past ranges of jobs that have all ended and were submitted more than '
	'a day ago.';
