-- Administering: what was changed by whom, limits of submissions, and new time limits for steps that run.

create table rota.admin_event (
	admin_event_id bigint generated always as identity primary key,
	at timestamptz not null default clock_timestamp(),
	actor text not null,
	object text not null,
	action text not null,
	name text not null,
	given jsonb not null,
	before jsonb,
	after jsonb
);
create index admin_event_by_object on rota.admin_event (object, name, at);
create trigger admin_event_never_deleted before delete or truncate on rota.admin_event for each statement execute function rota.never_deleted();
create trigger admin_event_never_changed before update on rota.admin_event for each statement execute function rota.never_deleted();
comment on table rota.admin_event is 'Every change of the cluster''s objects, append-only.';
comment on column rota.admin_event.admin_event_id is 'Order of the changes.';
comment on column rota.admin_event.at is 'When.';
comment on column rota.admin_event.actor is 'Login name of who did it.';
comment on column rota.admin_event.object is 'Kind of object: partition, node, account, user, qos, license, setting.';
comment on column rota.admin_event.action is 'create, change, delete, drain or resume.';
comment on column rota.admin_event.name is 'Name of the object.';
comment on column rota.admin_event.given is 'Keys and values as they were given.';
comment on column rota.admin_event.before is 'The object''s row before; null: there was none.';
comment on column rota.admin_event.after is 'The object''s row after; null: there is none.';

insert into rota.setting (name, value, kind, help) values
	('max_script_bytes', '4194304', 'int', 'largest script, in bytes'),
	('max_steps', '10000', 'int', 'most steps of one script'),
	('max_edges', '100000', 'int', 'most peer constraints of one script'),
	('max_array', '10000000', 'int', 'most elements of one array');

alter table rota.node_order drop constraint node_order_kind_check;
alter table rota.node_order add constraint node_order_kind_check
	check (kind in ('launch', 'go', 'end', 'kill', 'signal', 'suspend', 'resume', 'limit'));
comment on column rota.node_order.kind is
	'launch: run an attempt (signed); go: its peers are ready; end: finish; kill, signal, suspend, resume; limit: another time limit.';
comment on column rota.node_order.args is 'Arguments of the others: signal, cause, epilog, time_limit_s.';

-- Past jobs are looked for by when they ended.
create index job_by_end on rota.job using brin (ended_at);
