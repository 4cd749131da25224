-- Queue lines (the pending steps of one association in one partition) that have reached a limit, now and in the past.
--
-- Invariants:
-- - Only the leader writes rota.line_limited (api.schedule_tick). A queue line has at most one row without an end.
-- - Rows stay valid if the clock of the database is set back.

create function internal.full_lines() returns table (association_id int, partition text, bound internal.line_limit)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	if not internal.is_limited() then
		return;
	end if;
	return query
	select distinct on (b.association_id, b.partition) b.association_id, b.partition, b::internal.line_limit
	from internal.limit_bounds(array(select l::internal.queue_line from internal.pending_lines() l)) b
	where b.measure not in ('time', 'grant') and b.held >= b.most
	order by b.association_id, b.partition, b.limit_id;
end $$;
comment on function internal.full_lines() is
	'Queue lines that have reached a limit, so that the scheduler does not read their steps now. bound: one such limit.';

create function internal.line_changes() returns table (association_id int, partition text, bound internal.line_limit)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select coalesce(f.association_id, l.association_id), coalesce(f.partition, l.partition), f.bound
	from internal.full_lines() f
	full join (select x.association_id, x.partition from line_limited x where x.until_at is null) l
		on l.association_id = f.association_id and l.partition = f.partition
	where f.partition is null or l.partition is null;
end $$;
comment on function internal.line_changes() is
	'Queue lines that have reached a limit since rota.line_limited was written. bound null: the line is no longer at one.';

create function internal.line_note() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	with change as materialized (
		select * from internal.line_changes()
	), ended as (
		update line_limited l
		set until_at = greatest(now(), l.from_at)
		from change c
		where (c.bound).limit_id is null and l.association_id = c.association_id and l.partition = c.partition
			and l.until_at is null
	), again as (
		-- Reopen a row that ended within the last minute: whenever a step ends and another one starts, the limit is
		-- briefly not reached.
		update line_limited l
		set until_at = null
		from change c
		where (c.bound).limit_id is not null and l.association_id = c.association_id and l.partition = c.partition
			and l.until_at > now() - interval '1 minute'
			-- After the clock was set back, a line may have several such rows.
			and l.from_at = (select max(x.from_at) from line_limited x
				where x.association_id = l.association_id and x.partition = l.partition)
		returning l.association_id, l.partition
	)
	insert into line_limited (association_id, partition, from_at, reached)
	select c.association_id, c.partition, now(),
		internal.limit_noun((c.bound).measure) || coalesce(internal.limit_whose(c.bound, ''), '')
	from change c
	where (c.bound).limit_id is not null and not exists (select from again a
		where a.association_id = c.association_id and a.partition = c.partition)
	on conflict do nothing;
end $$;
comment on function internal.line_note() is 'Record in rota.line_limited which queue lines have reached a limit.';
