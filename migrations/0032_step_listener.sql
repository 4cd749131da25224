-- Step managers that listen for clients on other machines, and the order by which they begin to.
alter domain rota.node_order_valid drop constraint node_order_is_known;
alter domain rota.node_order_valid add constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
	'signal', 'suspend', 'resume', 'limit', 'agent', 'agents', 'grow', 'shrink', 'node', 'listen'));
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents; grow, shrink: a node of a growth has come to '
	'the attempt, or has gone; node: a node of the attempt has changed; listen: have the step manager listen for clients on '
	'other machines.';

create table rota.step_listener (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	asked_at timestamptz not null,
	port int,
	fingerprint text,
	primary key (job_id, step_id, attempt),
	constraint step_listener_port_is_valid check (port between 1 and 65535),
	constraint step_listener_fingerprint_is_sha256 check (fingerprint ~ '^[0-9a-f]{64}$'),
	constraint step_listener_is_whole check ((port is null) = (fingerprint is null))
);
comment on table rota.step_listener is
	'Running attempts whose owner has asked for a token, so that their step managers listen for clients on other machines. Port '
	'and fingerprint are the word of the user, whose step manager reports them. Rows of attempts that have ended are deleted '
	'when somebody asks for another attempt.';
comment on column rota.step_listener.job_id is 'Job of the attempt.';
comment on column rota.step_listener.step_id is 'Step of the attempt.';
comment on column rota.step_listener.attempt is 'Number of the attempt.';
comment on column rota.step_listener.asked_at is 'When the order to listen was last sent.';
comment on column rota.step_listener.port is 'TCP port on the first node of the attempt; null: not reported yet.';
comment on column rota.step_listener.fingerprint is
	'SHA-256 of the certificate that the step manager presents, in hexadecimal digits; null: not reported yet.';
