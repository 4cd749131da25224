-- The peers of all edges that come in one statement are looked up at once, too: row by row it was the greater part of storing the edges.
-- What an edge refers to never changes, so it need not be looked up again.
alter table rota.step_edge drop constraint step_edge_peer_exists;

-- Own steps are looked up where jobs live; a peer of another job may be long over.
create or replace function rota.step_edge_bound() returns trigger
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_loose record;
begin
	select a.job_id, a.step_id, a.edge into v_loose
	from added a
	left join step_request r on r.job_id = a.job_id and r.step_id = a.step_id and r.topo = a.topo
	left join step_request p on p.job_id = a.peer_job_id and p.step_id = a.peer_step_id and p.topo = a.peer_topo and a.peer_job_id = a.job_id
	where r.job_id is null or (p.job_id is null and a.peer_job_id = a.job_id and a.peer_topo is not null)
	limit 1;
	if not found and exists (select from added a where a.peer_job_id <> a.job_id) then
		select a.job_id, a.step_id, a.edge into v_loose
		from added a
		left join rota.step_request p on p.job_id = a.peer_job_id and p.step_id = a.peer_step_id and p.topo = a.peer_topo
		where p.job_id is null and a.peer_job_id <> a.job_id and a.peer_topo is not null
		limit 1;
	end if;
	if v_loose.job_id is not null then
		raise exception 'edge % of step % of job % refers to a request that is not there, or stands elsewhere', v_loose.edge, v_loose.step_id, v_loose.job_id
			using errcode = '23503';
	end if;
	return null;
end $$;
comment on function rota.step_edge_bound() is 'Refuses edges whose step or peer is not there, or has another position.';

create or replace function rota.forever(p_table text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_base constant text := regexp_replace(p_table, '_[0-9]+$', '');
	v_keys constant text := case v_base when 'step_request' then 'job_id, step_id, topo' when 'step' then 'job_id, step_id, request_id'
		when 'step_edge' then 'job_id, step_id, topo, peer_job_id, peer_step_id, peer_topo' end;
begin
	-- Jobs, steps and events are never deleted, so no id comes twice; events are not even changed. Such triggers do not
	-- pass on to partitions, so each of them gets its own.
	if v_base in ('job', 'step', 'step_request', 'event') then
		execute format('create or replace trigger never_deleted before delete or truncate on rota.%I for each statement execute function rota.never_deleted()', p_table);
	end if;
	if v_base = 'event' then
		execute format('create or replace trigger never_changed before update on rota.%I for each statement execute function rota.never_deleted()', p_table);
	end if;
	if v_keys is not null then
		execute format('create or replace trigger keys_never_changed before update of %s on rota.%I for each statement execute function rota.never_deleted()', v_keys, p_table);
	end if;
	if v_base in ('step', 'step_edge') then
		execute format('create or replace trigger bound after insert on rota.%I referencing new table as added for each statement execute function rota.%I()',
			p_table, v_base || '_bound');
	end if;
end $$;
comment on function rota.forever(text) is 'Forbid deleting rows of a table, or of a partition of it, and changing their keys, where others refer to them for ever; and adding what refers to nothing.';

do $$
begin
	perform rota.forever(p.relname)
	from (
		select 'step_edge' as relname
		union all
		select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'rota.step_edge'::regclass
	) p;
end $$;
