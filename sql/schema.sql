-- Schema api: what may happen, as functions; schema acct: what did happen, as views. Both are dropped and built anew at every
-- deploy; nothing in schema rota depends on them.
-- Functions refer to each other in both directions, so bodies are not checked as they are made; the tests check them.
set local check_function_bodies = off;

-- Functions on the hot path are plpgsql even where they only read: it keeps its plans, where `language sql` plans anew at
-- every call, which over partitioned tables costs more than the query.
create schema api;
comment on schema api is 'Functions that daemons call; and through them, clients.';
create schema acct;
comment on schema acct is 'Views for analysts.';
alter default privileges in schema api revoke execute on functions from public;
alter default privileges revoke execute on functions from public;

create type api.move as (
	job_id bigint,
	step_id int,
	event text,
	at timestamptz,
	cause text,
	exit_code int,
	signal int,
	message text
);
comment on type api.move is 'An event to befall a step: what api.step_move takes.';

create type api.attempt_key as (job_id bigint, step_id int, attempt int);
comment on type api.attempt_key is 'Names one attempt.';
