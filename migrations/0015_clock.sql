-- Times of attempts by the clocks of their nodes.
--
-- Reports that were deferred have ages instead of clocks; their nodes repeat them when they connect again.
delete from rota.report_deferred;

alter table rota.allocation
	add column boot_at timestamptz,
	add column predispatched boolean not null default false;
comment on column rota.allocation.boot_at is
	'Time at which the clock of the node was 0, by the clock of the database, as estimated when the attempt was first '
	'reported from there. All times of the attempt on the node are computed with it, so that their differences are those '
	'of one clock. Null: nothing was reported yet.';
comment on column rota.allocation.predispatched is
	'Whether the attempt was pre-dispatched: it takes over the CPUs of another element of its array.';
update rota.allocation set predispatched = true where started_at is null;

-- Times of live attempts are put in order, since a check refuses any other order from now on. A time that is not known yet stays
-- null. Attempts that have ended keep their times.
update rota.attempt
set started_at = case when started_at is not null then greatest(started_at, ordered_at) end,
	done_at = case when done_at is not null then greatest(done_at, started_at, ordered_at) end
where ended_at is null;
alter table rota.attempt
	add column clamped boolean not null default false,
	add constraint attempt_times_are_in_order check (not (
		started_at < ordered_at or done_at < ordered_at or done_at < started_at or ended_at < ordered_at
		or ended_at < started_at or ended_at < done_at)) not valid;
comment on column rota.attempt.clamped is
	'Whether a time of the attempt was moved to keep the order of its times: clocks of its nodes disagreed.';
alter table rota.allocation
	add constraint allocation_times_are_in_order check (not (ended_at < started_at or gone_at < ended_at)) not valid;
