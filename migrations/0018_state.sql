-- Which states there are is said by constraints of the hot rows themselves: a look into rota.step_state for each of them, several times in
-- the life of a step, costs more than writing the row. What leads from one to the other is still held against rota.step_transition.
alter table rota.step drop constraint step_state_fkey;
alter table rota.step add constraint step_state_check check (state in ('pending', 'starting', 'prolog', 'running', 'suspended', 'ending',
	'completed', 'dependency_failed', 'cancelled', 'preempted', 'deadline', 'timeout', 'failed', 'out_of_memory', 'node_fail'));
alter table rota.attempt drop constraint attempt_state_fkey;
alter table rota.attempt add constraint attempt_state_check check (state in ('completed', 'cancelled', 'preempted', 'deadline', 'timeout', 'failed',
	'out_of_memory', 'node_fail'));
