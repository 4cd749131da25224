-- Lists of words in checks of hot tables, of which the text is read anew by each statement, become checks of domains: those are read once in a
-- session. The cast is the check: it fails, or the word is what it was. (Not asked of what is there: that has been held against those before.)
create domain rota.attempt_word as text
	constraint attempt_state_check check (value in ('completed', 'cancelled', 'preempted', 'deadline', 'timeout', 'failed', 'out_of_memory', 'node_fail'));
comment on domain rota.attempt_word is 'What an attempt may end in.';
create domain rota.phase_word as text
	constraint allocation_phase_check check (value in ('kept', 'ordered', 'prolog', 'ready', 'running', 'done', 'ended'));
comment on domain rota.phase_word is 'How far an allocation has come.';
create domain rota.key_word as text constraint client_key_client_key_check check (length(value) between 1 and 128);
comment on domain rota.key_word is 'What a client calls its submission.';

alter table rota.attempt
	drop constraint attempt_state_check,
	add constraint attempt_is_sound check (state is null or state::rota.attempt_word is not null) not valid;
alter table rota.allocation
	drop constraint allocation_phase_check, drop constraint allocation_attempt_check, drop constraint allocation_tasks_check,
	drop constraint allocation_cpus_check,
	add constraint allocation_is_sound check (phase::rota.phase_word is not null and least(attempt, tasks, cpus) >= 0) not valid;
alter table rota.client_key
	drop constraint client_key_client_key_check,
	add constraint client_key_is_sound check (client_key::rota.key_word is not null) not valid;
