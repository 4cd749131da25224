-- Orders by which nodes give back pre-dispatched elements that they have not started.
alter domain rota.node_order_valid drop constraint node_order_is_known;
alter domain rota.node_order_valid drop constraint node_order_is_signed;
alter domain rota.node_order_valid add constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
	'signal', 'suspend', 'resume', 'limit', 'agent', 'agents', 'grow', 'shrink', 'node', 'listen', 'checkpoint', 'withdraw'));
alter domain rota.node_order_valid add constraint node_order_is_signed check (
	(((value).body is null) = ((value).signature is null)) = ((value).kind <> 'agent')
	and ((value).kind = 'launch') = (coalesce((value).signature::text, (value).text_node::text) is not null)
	and ((value).also = '{}' or (value).kind in ('launch', 'withdraw')));
comment on domain rota.node_order_valid is
	'Orders have known kinds. Only a launch request has a signed text, its own or that of another node''s row. Only it and an '
	'order `withdraw` may be for further steps. The text of an order `agent` is a key, and not signed.';
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents; grow, shrink: a node of a growth has come to '
	'the attempt, or has gone; node: a node of the attempt has changed; listen: have the step manager listen for clients on '
	'other machines; checkpoint: have its program save itself; withdraw: give back array elements that have not started.';
comment on column rota.node_order.also is
	'Of a launch request, and of an order `withdraw`: further steps that it is for, '
	'which are elements of the same array with the same attempt number.';
