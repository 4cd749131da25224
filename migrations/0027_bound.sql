-- What a step, an edge and an event refer to was looked up row by row: of storing a job of a thousand steps, that was half. It still has
-- to be there, whoever writes: events say it of themselves, and for the others all rows of a statement are looked up at once.

-- Which moves there are is said by a constraint of the row itself, as states are. It says what rota.step_transition says. (A function: what
-- stands in the constraint itself is read anew for each statement.)
create function rota.move_known(p_from text, p_event text, p_to text) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case p_event
		when 'start' then p_from = 'pending' and p_to = 'starting'
		when 'run' then p_from in ('starting', 'prolog') and p_to = 'running'
		when 'complete' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'completed'
		when 'submit' then p_from = 'pending' and p_to = 'pending'
		when 'prolog' then p_from = 'starting' and p_to = 'prolog'
		when 'end' then p_from in ('running', 'starting', 'prolog', 'suspended') and p_to = 'ending'
		when 'fail' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'failed'
		when 'cancel' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'cancelled'
		when 'timeout' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'timeout'
		when 'oom' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'out_of_memory'
		when 'node_fail' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'node_fail'
		when 'preempt' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'preempted'
		when 'deadline' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = 'deadline'
		when 'expand' then p_from = 'pending' and p_to = 'running'
		when 'requeue' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended') and p_to = 'pending'
		when 'prolog_fail' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended') and p_to = 'pending'
		when 'suspend' then p_from = 'running' and p_to = 'suspended'
		when 'resume' then p_from = 'suspended' and p_to = 'running'
		when 'hold' then p_from in ('pending', 'running') and p_to = p_from
		when 'release' then p_from in ('pending', 'running') and p_to = p_from
		when 'modify' then p_from in ('running', 'starting', 'prolog', 'ending', 'suspended', 'pending') and p_to = p_from
		when 'dependency_fail' then p_from in ('pending', 'running') and p_to = 'dependency_failed'
		when 'refuse' then p_from = 'pending' and p_to = 'failed'
		else false end;
end $$;
comment on function rota.move_known(text, text, text) is 'Whether an event leads from a state to a state: what rota.step_transition says, in the same words.';
alter table rota.event drop constraint event_from_state_event_to_state_fkey;
-- What is there has been held against the key.
alter table rota.event add constraint event_is_move check (rota.move_known(from_state, event, to_state)) not valid;
comment on table rota.event is 'Every transition that happened, append-only; a check keeps it to the state machine.';

-- They are looked up where jobs live (schema live, where it is there), for nothing is added to what is over.
create function rota.step_bound() returns trigger
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_loose record;
begin
	select a.job_id, a.step_id into v_loose
	from added a
	left join step_request r on r.job_id = a.job_id and r.step_id = a.request_id
	left join job j on j.job_id = r.job_id
	where j.job_id is null
	limit 1;
	if found then
		raise exception 'step % of job % refers to a request or a job that is not there', v_loose.step_id, v_loose.job_id using errcode = '23503';
	end if;
	return null;
end $$;
comment on function rota.step_bound() is 'Refuses steps whose request, or its job, is not there.';

create function rota.step_edge_bound() returns trigger
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_loose record;
begin
	select a.job_id, a.step_id, a.edge into v_loose
	from added a
	left join step_request r on r.job_id = a.job_id and r.step_id = a.step_id and r.topo = a.topo
	where r.job_id is null
	limit 1;
	if found then
		raise exception 'edge % of step % of job % refers to a request that is not there, or stands elsewhere', v_loose.edge, v_loose.step_id, v_loose.job_id
			using errcode = '23503';
	end if;
	return null;
end $$;
comment on function rota.step_edge_bound() is 'Refuses edges whose step is not there, or has another position.';

-- What was found there once stays there: it is never deleted, and what it is found by never changes.
create or replace function rota.forever(p_table text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_base constant text := regexp_replace(p_table, '_[0-9]+$', '');
	v_keys constant text := case v_base when 'step_request' then 'job_id, step_id, topo' when 'step' then 'job_id, step_id, request_id'
		when 'step_edge' then 'job_id, step_id, topo' end;
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

-- The other keys within a range, and those between ranges, are asked for row by row: there are few such rows, or each is one transaction's.
create or replace function rota.range_keys(p_from bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_key record;
begin
	for v_key in
		select k.*, format('rota.%I', k.from_table || '_' || p_from) as referring
		from (values
			('step_array', 'job_id, step_id', 'step_request', 'job_id, step_id'),
			('attempt', 'job_id, step_id', 'step', 'job_id, step_id')) k (from_table, columns, to_table, to_columns)
	loop
		if not exists (
			select from pg_constraint c
			where c.contype = 'f' and c.conrelid = v_key.referring::regclass and c.confrelid = format('rota.%I', v_key.to_table || '_' || p_from)::regclass
		) then
			execute format('alter table %s add foreign key (%s) references rota.%I (%s)', v_key.referring, v_key.columns, v_key.to_table || '_' || p_from, v_key.to_columns);
		end if;
	end loop;
end $$;
comment on function rota.range_keys(bigint) is 'Make the foreign keys within the range that begins with a job, where they are missing. What rota.step_bound and rota.step_edge_bound look up has none.';

do $$
declare
	v_key record;
begin
	for v_key in
		select c.conrelid::regclass as referring, c.conname
		from pg_constraint c
		join pg_inherits i on i.inhrelid = c.conrelid
		where c.contype = 'f' and c.conparentid = 0
			and (i.inhparent, regexp_replace(c.confrelid::regclass::text, '_[0-9]+$', '')::regclass) in (values
				('rota.step_request'::regclass, 'rota.job'::regclass), ('rota.step', 'rota.step_request'), ('rota.step_edge', 'rota.step_request'))
	loop
		execute format('alter table %s drop constraint %I', v_key.referring, v_key.conname);
	end loop;
	perform rota.forever(p.relname)
	from unnest('{step,step_request,step_edge}'::text[]) t
	cross join lateral (
		select t as relname
		union all
		select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ('rota.' || t)::regclass
	) p;
end $$;
