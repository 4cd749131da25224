-- Attempts whose step managers have called agents on their other nodes.
create table rota.step_agents (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	primary key (job_id, step_id, attempt)
);
comment on table rota.step_agents is
	'Running attempts whose step managers have called agents on other nodes, so that they are sent when tasks there have ended. '
	'Rows of attempts that have ended are deleted when the step manager of another attempt calls.';
comment on column rota.step_agents.job_id is 'Job of the attempt.';
comment on column rota.step_agents.step_id is 'Step of the attempt.';
comment on column rota.step_agents.attempt is 'Number of the attempt.';
