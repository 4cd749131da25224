-- As 0036, of the tables that starts and reports write: of 29 KiB of checks, read for each batch of them, 4 are left.
create type rota.array_fact as (size int, next int, running int, completed int, failed int, max_running int);
comment on type rota.array_fact is 'Columns of rota.step_array that must fit together.';
create domain rota.array_sound as rota.array_fact constraint step_array_is_sound check (
	(value).size >= 1 and (value).next between 0 and (value).size and (value).max_running >= 1
	and least((value).running, (value).completed, (value).failed) >= 0
	and (value).running + (value).completed + (value).failed <= (value).size);
comment on domain rota.array_sound is 'How far an array may have come; max_running null: any number at once.';
alter table rota.step_array
	drop constraint step_array_check, drop constraint step_array_check1, drop constraint step_array_completed_check, drop constraint step_array_failed_check,
	drop constraint step_array_max_running_check, drop constraint step_array_running_check, drop constraint step_array_size_check,
	add constraint step_array_is_sound check (row(size, next, running, completed, failed, max_running)::rota.array_fact::rota.array_sound is distinct from null) not valid;

create type rota.attempt_fact as (attempt int, state rota.attempt_word, ended_at timestamptz);
comment on type rota.attempt_fact is 'Columns of rota.attempt that must be something, or fit together.';
create domain rota.attempt_sound as rota.attempt_fact constraint attempt_is_sound check (
	(value).attempt >= 1 and ((value).ended_at is null) = ((value).state is null));
comment on domain rota.attempt_sound is 'An attempt ends in a state, and has none before.';
alter table rota.attempt
	drop constraint attempt_attempt_check, drop constraint attempt_check, drop constraint attempt_is_sound,
	add constraint attempt_is_sound check (row(attempt, state, ended_at)::rota.attempt_fact::rota.attempt_sound is distinct from null) not valid;

create type rota.allocation_fact as (attempt int, tasks int, cpus int, cpus_held int, mem_mb bigint, phase rota.phase_word);
comment on type rota.allocation_fact is 'Columns of rota.allocation that must be something, or fit together.';
create domain rota.allocation_sound as rota.allocation_fact constraint allocation_is_sound check (
	least((value).attempt, (value).tasks, (value).cpus, (value).cpus_held, (value).mem_mb) >= 0 and (value).cpus_held <= (value).cpus);
comment on domain rota.allocation_sound is 'Nothing below 0 is allocated, and no more CPUs are held than that.';
alter table rota.allocation
	drop constraint allocation_check, drop constraint allocation_is_sound, drop constraint allocation_mem_mb_check,
	add constraint allocation_is_sound check (row(attempt, tasks, cpus, cpus_held, mem_mb, phase)::rota.allocation_fact::rota.allocation_sound is distinct from null) not valid;

create type rota.order_fact as (kind text, body text, signature bytea, text_node int, also int[]);
comment on type rota.order_fact is 'Columns of rota.node_order that must be something, or fit together.';
create domain rota.order_sound as rota.order_fact
	constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill', 'signal', 'suspend', 'resume', 'limit'))
	constraint node_order_is_signed check (((value).body is null) = ((value).signature is null)
		and ((value).kind = 'launch') = (coalesce((value).body, (value).text_node::text) is not null)
		and ((value).also = '{}' or (value).kind = 'launch'));
comment on domain rota.order_sound is 'Which orders there are: launches, and no others, have a text, their own or that of another node''s row, and go for further steps; a text is signed.';
alter table rota.node_order
	drop constraint node_order_check, drop constraint node_order_check1, drop constraint node_order_is_signed, drop constraint node_order_kind_check,
	add constraint node_order_is_sound check (row(kind, body, signature, text_node, also)::rota.order_fact::rota.order_sound is distinct from null);

create type rota.due_fact as (job_ids bigint[], step_ids int[], attempts int[], node_ids int[], held boolean, used boolean);
comment on type rota.due_fact is 'Columns of rota.usage_due that must fit together.';
create domain rota.due_sound as rota.due_fact constraint usage_due_is_sound check (
	cardinality((value).step_ids) = cardinality((value).job_ids)
	and num_nulls((value).attempts, (value).node_ids) in (0, 2)
	and ((value).held or (value).used) = ((value).node_ids is not null)
	and cardinality((value).attempts) = cardinality((value).job_ids) and cardinality((value).node_ids) = cardinality((value).job_ids));
comment on domain rota.due_sound is 'Either ended steps, or allocations that are held or used no more: each with all of its key.';
alter table rota.usage_due
	drop constraint usage_due_check, drop constraint usage_due_check1, drop constraint usage_due_check2, drop constraint usage_due_check3,
	add constraint usage_due_is_sound check (row(job_ids, step_ids, attempts, node_ids, held, used)::rota.due_fact::rota.due_sound is distinct from null);

create type rota.used_fact as (cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint);
comment on type rota.used_fact is 'Columns of rota.node_used that must fit together.';
create domain rota.used_sound as rota.used_fact
	constraint node_cpus_not_overbooked check ((value).cpus_used between 0 and (value).cpus)
	constraint node_mem_not_overbooked check ((value).mem_used_mb between 0 and (value).mem_mb);
comment on domain rota.used_sound is 'No more is used of a node than it has.';
alter table rota.node_used
	drop constraint node_cpus_not_overbooked, drop constraint node_mem_not_overbooked,
	add constraint node_used_is_sound check (row(cpus, cpus_used, mem_mb, mem_used_mb)::rota.used_fact::rota.used_sound is distinct from null);
