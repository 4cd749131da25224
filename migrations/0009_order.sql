-- Orders on their way to nodes, reports on their way from them.

create type rota.node_order_checked as (kind text, body text, signature bytea, text_node int, also int[]);
comment on type rota.node_order_checked is 'The columns of rota.node_order that the constraint node_order_is_valid checks.';
create domain rota.node_order_valid as rota.node_order_checked
	constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill', 'signal', 'suspend', 'resume',
		'limit'))
	constraint node_order_is_signed check (
		((value).body is null) = ((value).signature is null)
		and ((value).kind = 'launch') = (coalesce((value).body, (value).text_node::text) is not null)
		and ((value).also = '{}' or (value).kind = 'launch'));
comment on domain rota.node_order_valid is
	'The kinds of orders. A launch, and no other order, has a text, its own or that of another node''s row, and may be for '
	'further steps. A text is signed.';
create table rota.node_order (
	order_id bigint generated always as identity primary key,
	node_id int not null references rota.node on delete cascade,
	kind text not null,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	body text,
	signature bytea,
	args jsonb not null default '{}',
	made_at timestamptz not null default now(),
	also int[] not null default '{}',
	text_node int,
	constraint node_order_is_valid check (
		row(kind, body, signature, text_node, also)::rota.node_order_checked::rota.node_order_valid is distinct from null)
);
create index node_order_by_node on rota.node_order (node_id, order_id);
comment on table rota.node_order is 'Orders on their way to nodes. A row goes when its node has fetched it.';
comment on column rota.node_order.order_id is 'Order of making.';
comment on column rota.node_order.node_id is 'The node.';
comment on column rota.node_order.kind is
	'launch: run an attempt (signed); go: its peers are ready; end: finish; kill, signal, suspend, resume; limit: another '
	'time limit.';
comment on column rota.node_order.job_id is 'The job.';
comment on column rota.node_order.step_id is 'The step.';
comment on column rota.node_order.attempt is 'The attempt.';
comment on column rota.node_order.body is 'Text of a launch order.';
comment on column rota.node_order.signature is 'Ed25519 over it, by jobmgrd.';
comment on column rota.node_order.args is
	'Arguments: signal, cause, epilog, time_limit_s; of a launch sample_s, the seconds between samples.';
comment on column rota.node_order.made_at is 'When.';
comment on column rota.node_order.also is
	'Launch: further steps that it is for, elements of the same array with the same number of attempt.';
comment on column rota.node_order.text_node is 'Launch without a body: it is that of the attempt''s launch_text with this node.';

create table rota.launch_text (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	body text not null,
	signature bytea not null,
	primary key (job_id, step_id, attempt, node_id)
);
comment on table rota.launch_text is
	'Texts of launch orders that are for several nodes of an attempt. A row goes when the attempt is over.';
comment on column rota.launch_text.job_id is 'The job.';
comment on column rota.launch_text.step_id is 'The step.';
comment on column rota.launch_text.attempt is 'The attempt.';
comment on column rota.launch_text.node_id is 'The first of the nodes.';
comment on column rota.launch_text.body is 'Text of the order.';
comment on column rota.launch_text.signature is 'By jobmgrd, as in rota.node_order.';

create unlogged table rota.report_deferred (
	deferred_id bigint generated always as identity primary key,
	node_id int,
	job_ids bigint[] not null,
	reported_at timestamptz not null default now(),
	report jsonb not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table rota.report_deferred alter column report set storage external;
comment on table rota.report_deferred is
	'Deferred reports: those that wait to be applied, because another session had locked their jobs. A row goes when it is '
	'applied. The table is not logged, since a node repeats what was not acknowledged.';
comment on column rota.report_deferred.deferred_id is 'Order of arrival.';
comment on column rota.report_deferred.node_id is 'The node, or one of those whose process manager sent it.';
comment on column rota.report_deferred.job_ids is 'Jobs that it is about.';
comment on column rota.report_deferred.reported_at is 'When it was received. The ages in it count from here.';
comment on column rota.report_deferred.report is 'The report, as api.node_report takes it, with its coalesced records.';

create table rota.rejected_report (
	rejected_report_id bigint generated always as identity,
	at timestamptz not null,
	actor text not null,
	what jsonb not null,
	primary key (rejected_report_id, at)
) partition by range (at);
comment on table rota.rejected_report is
	'Records that were late or fitted no attempt. They changed nothing and are kept for as many days as the setting '
	'rejected_report_days says.';
comment on column rota.rejected_report.rejected_report_id is 'Order of arrival.';
comment on column rota.rejected_report.at is 'When it was received.';
comment on column rota.rejected_report.actor is 'Who sent it.';
comment on column rota.rejected_report.what is 'The records, as they were sent.';
