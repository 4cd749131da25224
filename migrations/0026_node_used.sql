-- What is held on a node changes with each decision and each report. As columns of the node it made a version of the node's row each
-- time, and everything that looks the node up (each allocation and each order does, by its foreign key) went through all of them for as
-- long as one transaction of an analyst kept them from being cleared away.
create table rota.node_used (
	node_id int primary key references rota.node on delete cascade,
	cpus int not null,
	mem_mb bigint not null,
	cpus_used int not null default 0,
	mem_used_mb bigint not null default 0,
	constraint node_cpus_not_overbooked check (cpus_used between 0 and cpus),
	constraint node_mem_not_overbooked check (mem_used_mb between 0 and mem_mb)
) with (fillfactor = 50);
comment on table rota.node_used is 'What open allocations hold on each node; written under the lock of the node''s row (api.node_lock).';
comment on column rota.node_used.node_id is 'The node.';
comment on column rota.node_used.cpus is 'CPUs it has, as in rota.node (rota.node_sized).';
comment on column rota.node_used.mem_mb is 'Memory it has, likewise, in MiB.';
comment on column rota.node_used.cpus_used is 'CPUs held by open allocations.';
comment on column rota.node_used.mem_used_mb is 'Memory held by open allocations, in MiB.';
insert into rota.node_used (node_id, cpus, mem_mb, cpus_used, mem_used_mb) select n.node_id, n.cpus, n.mem_mb, n.cpus_used, n.mem_used_mb from rota.node n;
alter table rota.node drop column cpus_used;
alter table rota.node drop column mem_used_mb;

create function rota.node_sized() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into node_used as u (node_id, cpus, mem_mb)
	select n.node_id, n.cpus, n.mem_mb
	from node n
	where not exists (select from node_used o where o.node_id = n.node_id and o.cpus = n.cpus and o.mem_mb = n.mem_mb)
	on conflict (node_id) do update set cpus = excluded.cpus, mem_mb = excluded.mem_mb;
	return null;
end $$;
comment on function rota.node_sized() is 'What a node has stands beside what is held of it, so that a check can hold one against the other.';
-- Also where a history is loaded without the other triggers.
create trigger node_sized after insert or update of cpus, mem_mb on rota.node for each statement execute function rota.node_sized();
alter table rota.node enable always trigger node_sized;
