-- Elements of an array may be ordered to a node before there are CPUs for them there: each begins when another one of its array ends.
alter table rota.allocation alter column started_at drop not null;
comment on column rota.allocation.started_at is 'From when it is held; null: it stands ahead, and takes the CPUs of the next element of its array that ends on the node.';
comment on column rota.allocation.cpus_held is 'CPUs it holds just now: 0 while it is suspended, or stands ahead.';
comment on column rota.step.cause is
	'What ended it: exit, signal, time_limit, out_of_memory, cancelled, preempted, deadline, launch, prolog, refused, withdrawn, node, node_lost, keeper_lost, shutdown, maintenance, dependency.';
