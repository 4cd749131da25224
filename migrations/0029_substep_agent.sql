-- The order by which the step manager of a step's first node calls the other nodes of the step.
alter domain rota.node_order_valid drop constraint node_order_is_known;
alter domain rota.node_order_valid drop constraint node_order_is_signed;
alter domain rota.node_order_valid add constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
	'signal', 'suspend', 'resume', 'limit', 'agent', 'agents'));
alter domain rota.node_order_valid add constraint node_order_is_signed check (
	(((value).body is null) = ((value).signature is null)) = ((value).kind <> 'agent')
	and ((value).kind = 'launch') = (coalesce((value).signature::text, (value).text_node::text) is not null)
	and ((value).also = '{}' or (value).kind = 'launch'));
comment on domain rota.node_order_valid is
	'Orders have known kinds. Only a launch request has a signed text, its own or that of another node''s row, and may be '
	'for further steps. The text of an order `agent` is a key, and not signed.';
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents.';
comment on column rota.node_order.body is
	'Text of a launch request, or the key of an order `agent`; null: neither, or text_node has the text.';
comment on column rota.node_order.args is
	'Arguments of the order: signal, cause, epilog, time_limit_s; of a launch request sample_s, the seconds between '
	'samples; of an order `agent` host and port of the step manager.';

comment on column rota.substep.node is 'Nodes on which the sub-step ran last, as the step manager names them: n1,n2.';
