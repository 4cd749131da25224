-- Growths: jobs that hold nodes for a step of another job, which runs.
create table rota.growth (
	job_id bigint not null primary key,
	grown_job_id bigint not null,
	grown_step_id int not null,
	grown_attempt int not null,
	closed_at timestamptz,
	constraint growth_is_of_another_job check (job_id <> grown_job_id)
) partition by range (job_id);
create index growth_grown_idx on rota.growth (grown_job_id);
create index growth_open_idx on rota.growth (job_id) where closed_at is null;
comment on table rota.growth is
	'Growths: jobs that hold nodes for an attempt of another job, whose step manager runs sub-steps there. '
	'One row for each such job.';
comment on column rota.growth.job_id is 'Job that holds the nodes.';
comment on column rota.growth.grown_job_id is 'Job of the attempt that gets the nodes.';
comment on column rota.growth.grown_step_id is 'Step of the attempt that gets the nodes.';
comment on column rota.growth.grown_attempt is 'Attempt that gets the nodes. When it has ended, the growth ends.';
comment on column rota.growth.closed_at is
	'When all steps of the growth had ended, and its nodes had gone from the grown attempt; null: something is left to do.';

create table rota.growth_node (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	come_at timestamptz not null,
	gone_at timestamptz,
	primary key (job_id, step_id, attempt, node_id)
) partition by range (job_id);
comment on table rota.growth_node is
	'Nodes that have come to a running step by a growth, one row for each attempt and node of the growth. A row is written '
	'together with the order by which the step manager learns of it.';
comment on column rota.growth_node.job_id is 'Job of the growth.';
comment on column rota.growth_node.step_id is 'Step of the growth.';
comment on column rota.growth_node.attempt is 'Attempt of the growth.';
comment on column rota.growth_node.node_id is 'Node that has come.';
comment on column rota.growth_node.come_at is 'When the order `grow` was made for the grown attempt.';
comment on column rota.growth_node.gone_at is
	'When the order `shrink` was made, or the grown attempt had ended; null: the node is there.';

alter domain rota.node_order_valid drop constraint node_order_is_known;
alter domain rota.node_order_valid add constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
	'signal', 'suspend', 'resume', 'limit', 'agent', 'agents', 'grow', 'shrink'));
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents; grow, shrink: a node of a growth has come to '
	'the attempt, or has gone.';
comment on column rota.node_order.args is
	'Arguments of the order: signal, cause, epilog, time_limit_s; of a launch request sample_s, the seconds between '
	'samples; of an order `agent` host and port of the step manager; of `grow` and `shrink` growth, the attempt of the growth as '
	'job.step.attempt, and on, the name of the node.';

-- Make the partitions of the new tables for the ranges of jobs that exist.
select rota.range_complete();
