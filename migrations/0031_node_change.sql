-- The order by which an attempt is informed that one of its nodes has changed.
alter domain rota.node_order_valid drop constraint node_order_is_known;
alter domain rota.node_order_valid add constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
	'signal', 'suspend', 'resume', 'limit', 'agent', 'agents', 'grow', 'shrink', 'node'));
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents; grow, shrink: a node of a growth has come to '
	'the attempt, or has gone; node: a node of the attempt has changed.';
comment on column rota.node_order.args is
	'Arguments of the order: signal, cause, epilog, time_limit_s; of a launch request sample_s, the seconds between '
	'samples; of an order `agent` host and port of the step manager; of `grow` and `shrink` growth, the attempt of the growth as '
	'job.step.attempt, and on, the name of the node; of an order `node` name, state and reason of the node.';
