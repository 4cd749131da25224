-- A step that need not run is skipped. Two causes exist: not_needed (a condition of its edges cannot be met any more because its peer ended well)
-- and up_to_date (its node found its outputs newer than its inputs). Only the first one keeps what waits for success from running.
insert into rota.step_state (state, stage, severity, spec_name, help) values
	('skipped', 'final', 5, null, 'it need not run: what it was meant for did not happen, or its outputs are up to date');
-- From every state that is not final: what waits is skipped by what its peers came to, what is live by its node.
insert into rota.step_transition (from_state, event, to_state)
select state, 'skip', 'skipped' from rota.step_state where stage <> 'final';

alter domain rota.step_sound drop constraint step_is_sound;
alter domain rota.step_sound add constraint step_is_sound check (
	(value).state in ('pending', 'starting', 'prolog', 'running', 'suspended', 'ending', 'completed', 'skipped', 'dependency_failed', 'cancelled', 'preempted',
		'deadline', 'timeout', 'failed', 'out_of_memory', 'node_fail')
	and (value).held in ('', 'user', 'admin', 'system')
	and (value).end_wanted in ('cancel', 'preempt', 'deadline', 'requeue')
	and least((value).step_id, (value).attempt, (value).deps_waiting, (value).retries, (value).requeues) >= 0
	and ((value).array_index is null or (value).step_id > (value).request_id)) not valid;
alter domain rota.attempt_word drop constraint attempt_state_check;
alter domain rota.attempt_word add constraint attempt_state_check
	check (value in ('completed', 'skipped', 'cancelled', 'preempted', 'deadline', 'timeout', 'failed', 'out_of_memory', 'node_fail')) not valid;
alter domain rota.edge_sound drop constraint step_edge_is_known;
alter domain rota.edge_sound add constraint step_edge_is_known check ((value).kind in ('after', 'with', 'same_nodes', 'other_nodes')
	and (value)."condition" in ('ok', 'any', 'fail', 'start', 'corr') and (value).state in ('waiting', 'met', 'failed', 'not_needed')) not valid;
comment on column rota.step_edge.state is 'waiting, met, failed (can never be met), or not_needed (can never be met because its peer ended well, or was skipped).';

comment on column rota.step.cause is
	'What ended it: exit, signal, time_limit, out_of_memory, cancelled, preempted, deadline, launch, prolog, refused, withdrawn, node, node_lost, keeper_lost, shutdown, maintenance, dependency, not_needed, up_to_date.';
comment on column rota.usage_hour.steps_cancelled is 'The rest: cancelled, preempted, skipped, or never able to start.';

-- As 0036_sound.sql makes it, with the new rows.
alter domain rota.event_sound drop constraint event_is_move;
do $$
begin
	execute format($sql$alter domain rota.event_sound add constraint event_is_move check (
		(value).from_state || ' ' || (value).event || ' ' || (value).to_state in (%s)) not valid$sql$, (
			select string_agg(quote_literal(concat_ws(' ', t.from_state, t.event, t.to_state)), ', '
				order by array_position('{submit,start,complete,run,prolog,end,fail,cancel}', t.event) nulls last, t.event, t.from_state)
			from rota.step_transition t));
end $$;
