-- Orders on their way to nodes, and deferred and rejected reports from nodes.

create type rota.node_order_checked as (kind text, body text, signature bytea, text_node int, also int[]);
comment on type rota.node_order_checked is 'The columns of rota.node_order that the constraint node_order_is_valid checks.';
create domain rota.node_order_valid as rota.node_order_checked
	constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
		'signal', 'suspend', 'resume', 'limit', 'agent', 'agents', 'grow', 'shrink', 'node', 'listen', 'checkpoint', 'withdraw'))
	constraint node_order_is_signed check (
		(((value).body is null) = ((value).signature is null)) = ((value).kind <> 'agent')
		and ((value).kind = 'launch') = (coalesce((value).signature::text, (value).text_node::text) is not null)
		and ((value).also = '{}' or (value).kind in ('launch', 'withdraw')));
comment on domain rota.node_order_valid is
	'Orders have known kinds. Only a launch request has a signed text, its own or that of another node''s row. Only it and an '
	'order `withdraw` may be for further steps. The text of an order `agent` is a key, and not signed.';
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
comment on table rota.node_order is 'Orders on their way to nodes. A row is deleted when its node has fetched the order.';
comment on column rota.node_order.order_id is 'Number of the order, in the order of making.';
comment on column rota.node_order.node_id is 'Node that the order is for.';
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents; grow, shrink: a node of a growth has come to '
	'the attempt, or has gone; node: a node of the attempt has changed; listen: have the step manager listen for clients on '
	'other machines; checkpoint: have its program save itself; withdraw: give back array elements that have not started.';
comment on column rota.node_order.job_id is 'Job that the order is about.';
comment on column rota.node_order.step_id is 'Step that the order is about.';
comment on column rota.node_order.attempt is 'Attempt that the order is about.';
comment on column rota.node_order.body is
	'Text of a launch request, or the key of an order `agent`; null: neither, or text_node has the text.';
comment on column rota.node_order.signature is 'Ed25519 signature by jobmgrd of the launch request in body.';
comment on column rota.node_order.args is
	'Arguments of the order: signal, cause, epilog, time_limit_s; of a launch request sample_s, the seconds between '
	'samples; of an order `agent` host and port of the step manager; of `grow` and `shrink` growth, the attempt of the growth as '
	'job.step.attempt, and on, the name of the node; of an order `node` name, state and reason of the node; of an order '
	'`checkpoint` the generation.';
comment on column rota.node_order.made_at is 'When the order was made.';
comment on column rota.node_order.also is
	'Of a launch request, and of an order `withdraw`: further steps that it is for, '
	'which are elements of the same array with the same attempt number.';
comment on column rota.node_order.text_node is
	'Of a launch request without a body: node_id of the row of the attempt in rota.launch_text that has its text.';

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
	'Texts of launch requests that are for several nodes of an attempt. A row is deleted when the attempt is over.';
comment on column rota.launch_text.job_id is 'Job that the launch request is for.';
comment on column rota.launch_text.step_id is 'Step that the launch request is for.';
comment on column rota.launch_text.attempt is 'Attempt that the launch request is for.';
comment on column rota.launch_text.node_id is 'First of the nodes that the launch request is for.';
comment on column rota.launch_text.body is 'Text of the launch request.';
comment on column rota.launch_text.signature is 'Ed25519 signature by jobmgrd of the launch request.';

create unlogged table rota.report_deferred (
	deferred_id bigint generated always as identity primary key,
	node_id int,
	job_ids bigint[] not null,
	reported_at timestamptz not null default now(),
	report jsonb not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table rota.report_deferred alter column report set storage external;
-- The sequence of an unlogged table is unlogged, too, unless it is set otherwise. PostgreSQL 15 cannot read an unlogged sequence
-- on a standby that was promoted ("bad magic number"). Each report of a node reads this sequence.
alter sequence rota.report_deferred_deferred_id_seq set logged;
comment on table rota.report_deferred is
	'Deferred reports: they wait to be applied, because another session had locked their jobs. A row is deleted when '
	'it is applied. The table is unlogged, since nodes repeat reports that were not acknowledged.';
comment on column rota.report_deferred.deferred_id is 'Number of the report, in the order of arrival.';
comment on column rota.report_deferred.node_id is
	'Node that sent the report, or one of several nodes whose process manager sent it.';
comment on column rota.report_deferred.job_ids is 'Jobs that the report is about.';
comment on column rota.report_deferred.reported_at is
	'When the report was received. The ages in the report count back from this time.';
comment on column rota.report_deferred.report is 'The report as api.node_report takes it, with coalesced records.';

create table rota.rejected_report (
	rejected_report_id bigint generated always as identity,
	at timestamptz not null,
	actor text not null,
	what jsonb not null,
	primary key (rejected_report_id, at)
) partition by range (at);
comment on table rota.rejected_report is
	'Rejected reports: records that were late or fitted no attempt, and changed nothing. They are kept for as many '
	'days as the setting rejected_report_days says.';
comment on column rota.rejected_report.rejected_report_id is 'Number of the rejected report, in the order of arrival.';
comment on column rota.rejected_report.at is 'When the report was received.';
comment on column rota.rejected_report.actor is 'Who sent the report.';
comment on column rota.rejected_report.what is 'Records of the report, as they were sent.';
