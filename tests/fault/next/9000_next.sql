-- A migration that only tests/fault/upgrade applies. It makes changes as later migrations will, in a database with rows.

-- Add a column to a table of jobs, and fill it.
alter table rota.job add column next_note text;
comment on column rota.job.next_note is 'Test: whether the job had ended.';
update rota.job set next_note = case when ended_at is null then 'open' else 'over' end;
alter table rota.job add constraint job_next_is_known check (next_note in ('open', 'over')) not valid;

-- Change the type of a column that views of schema acct read. This fails unless these were dropped before.
alter table rota.node alter column address type varchar(300);

-- Add a transition to the state machine, and renew the check that is made from its rows.
insert into rota.step_transition (from_state, event, to_state) values ('pending', 'next', 'pending');
alter domain rota.event_valid drop constraint event_is_valid;
do $$
begin
	execute format($sql$alter domain rota.event_valid add constraint event_is_valid check (
		(value).from_state || ' ' || (value).event || ' ' || (value).to_state in (%s))$sql$, (
			select string_agg(quote_literal(concat_ws(' ', t.from_state, t.event, t.to_state)), ', ') from rota.step_transition t));
end $$;

-- Make a table from rows of another one.
create table rota.next_count (
	state text primary key references rota.step_state,
	steps bigint not null
);
comment on table rota.next_count is 'Test: steps by state.';
comment on column rota.next_count.state is 'The state.';
comment on column rota.next_count.steps is 'How many steps were in it.';
insert into rota.next_count (state, steps) select state, count(*) from rota.step group by state;

create index event_next on rota.event (at);

-- Renew the primary key of a table of jobs, in all of its ranges.
alter table rota.step_credential drop constraint step_credential_pkey;
alter table rota.step_credential add primary key (job_id, step_id, uid, name);

-- Make a table of jobs, with the ranges that the others have.
create table rota.next_job (
	job_id bigint primary key
) partition by range (job_id);
comment on table rota.next_job is 'Test: a table with ranges.';
comment on column rota.next_job.job_id is 'The job.';
select rota.range_complete();
