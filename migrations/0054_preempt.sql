-- Preemption: steps of higher tiers end steps of lower ones and get what these held.
insert into rota.setting (name, value, kind, help) values
	('preempt_hold_s', '300', 'int',
		'seconds after the grace for which what preempted steps free is kept for the step that preempted them');

alter table rota.partition
	add column tier int not null default 0 constraint partition_tier_is_small check (tier between -20 and 20),
	add column preempt text not null default 'off'
		constraint partition_preempt_is_known check (preempt in ('off', 'requeue', 'cancel')),
	add column preempt_after_s int constraint partition_preempt_after_is_positive check (preempt_after_s > 0),
	add column preempt_grace_s int constraint partition_preempt_grace_is_a_time check (preempt_grace_s between 1 and 86400);
comment on column rota.partition.tier is
	'Tier of the partition. That of a step is the sum of the tiers of its partition and its quality of service. Steps of higher '
	'tiers go first, and may preempt those of lower ones.';
comment on column rota.partition.preempt is
	'What becomes of a step in the partition that is preempted. off: it is never preempted; requeue: it is queued again, or '
	'cancelled if it must not run again; cancel: it ends.';
comment on column rota.partition.preempt_after_s is
	'Seconds that a step runs, each time that it starts, before it may be preempted; null: none.';
comment on column rota.partition.preempt_grace_s is
	'Seconds between SIGTERM and SIGKILL when a step is preempted; null: those of the node (node.grace).';

alter table rota.qos
	add column tier int not null default 0 constraint qos_tier_is_small check (tier between -20 and 20),
	add column preempt text constraint qos_preempt_is_known check (preempt in ('off', 'requeue', 'cancel')),
	add column preempt_after_s int constraint qos_preempt_after_is_positive check (preempt_after_s > 0),
	add column allow_users text[],
	add column allow_accounts text[];
comment on column rota.qos.tier is 'What it adds to the tier of a step''s partition, for jobs that are submitted from now on.';
comment on column rota.qos.preempt is
	'What becomes of its steps when they are preempted, instead of what their partition says; null: that.';
comment on column rota.qos.preempt_after_s is
	'Seconds that its steps run, each time that they start, before they may be preempted, '
	'if that is more than in their partition; null: no more.';
comment on column rota.qos.allow_users is 'Login names of users who may use the quality of service; null: all users.';
comment on column rota.qos.allow_accounts is 'Accounts that may use the quality of service; null: all accounts.';

create table rota.preempt_claim (
	claim_id bigint generated always as identity primary key,
	job_id bigint not null,
	step_id int not null,
	shares jsonb not null,
	made_at timestamptz not null default clock_timestamp(),
	until_at timestamptz not null
);
create index preempt_claim_by_step on rota.preempt_claim (job_id, step_id);
comment on table rota.preempt_claim is
	'What is kept for steps that wait for the end of steps that they have preempted, one row for each start that is to come.';
comment on column rota.preempt_claim.claim_id is 'Number of the claim.';
comment on column rota.preempt_claim.job_id is 'Job of the step that preempts.';
comment on column rota.preempt_claim.step_id is 'Step that preempts; of an array, its head.';
comment on column rota.preempt_claim.shares is
	'What is kept on each node: [{node, cpus, mem_mb, gres: {gpu: 2}, licenses: {matlab: 1}}], the licences on the first one.';
comment on column rota.preempt_claim.made_at is 'When the steps were preempted.';
comment on column rota.preempt_claim.until_at is 'When it is given up, if the step has not started.';

create table rota.preempted (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	by_job_id bigint not null,
	by_step_id int not null,
	mode text not null check (mode in ('requeue', 'cancel')),
	at timestamptz not null default clock_timestamp(),
	lost_s double precision not null,
	primary key (job_id, step_id, attempt)
) partition by range (job_id);
comment on table rota.preempted is 'Attempts that were preempted.';
comment on column rota.preempted.job_id is 'Job of the attempt.';
comment on column rota.preempted.step_id is 'Step of the attempt.';
comment on column rota.preempted.attempt is 'Attempt that was ended.';
comment on column rota.preempted.by_job_id is 'Job for which it was ended.';
comment on column rota.preempted.by_step_id is 'Step for which it was ended; of an array, its head.';
comment on column rota.preempted.mode is 'requeue: its step was to run again; cancel: its step was to end.';
comment on column rota.preempted.at is 'When it was decided.';
comment on column rota.preempted.lost_s is 'CPU seconds of work that were lost.';
select rota.range_complete();
