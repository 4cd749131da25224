-- Mail about jobs: what is to be sent, and what was.

create table rota.mail (
	mail_id bigint generated always as identity,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	event text not null check (event in ('BEGIN', 'END', 'FAIL', 'REQUEUE', 'INVALID_DEPEND', 'TIME_LIMIT', 'TIME_LIMIT_90', 'TIME_LIMIT_80', 'TIME_LIMIT_50')),
	made_at timestamptz not null default clock_timestamp(),
	due_at timestamptz default clock_timestamp(),
	tries int not null default 0 check (tries >= 0),
	recipient text,
	sent_at timestamptz,
	message text,
	primary key (job_id, step_id, attempt, event),
	constraint mail_is_sent_or_due check (sent_at is null or due_at is null)
) partition by range (job_id);
create index mail_due on rota.mail (due_at) where due_at is not null;
create index mail_under_way on rota.mail (mail_id) where due_at is not null;
comment on table rota.mail is 'Mail about jobs: made in the transaction of its event, sent by runnerd.';
comment on column rota.mail.mail_id is 'Order of making.';
comment on column rota.mail.job_id is 'The job.';
comment on column rota.mail.step_id is 'The step that it is about; for an array as a whole, its head; -1: the job.';
comment on column rota.mail.attempt is 'The attempt that it is about; 0: the job, or the array as a whole.';
comment on column rota.mail.event is 'Event of --mail-type for which it is sent.';
comment on column rota.mail.made_at is 'When the event was recorded.';
comment on column rota.mail.due_at is 'From when on it may be sent, or sent again; null: it was sent or given up.';
comment on column rota.mail.tries is 'How often a runnerd has begun to send it.';
comment on column rota.mail.recipient is 'To whom it was sent, or was to be sent, with its last try.';
comment on column rota.mail.sent_at is 'When the mail program had taken it; null: not sent.';
comment on column rota.mail.message is 'Why its last try failed, or why it was given up; null: it did not.';

create table rota.mail_watch (
	job_id bigint primary key
);
comment on table rota.mail_watch is 'Live jobs with mail that no transition of the job makes: shares of a time limit, and elements of arrays.';
comment on column rota.mail_watch.job_id is 'The job.';

insert into rota.setting (name, value, kind, help) values
	('mail_tries', '5', 'int', 'how often a mail is tried before it is given up'),
	('mail_retry_s', '60', 'int', 'seconds before a failed mail is tried again; twice as many after each further failure'),
	('mail_hours', '24', 'int', 'hours after its event when a mail is given up'),
	('mail_job_max', '100', 'int', 'mails sent about one job; the rest is given up');

create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation', 'task_end', 'hook_run',
		'controller_hook', 'mail', 'sample_total', 'event']
	loop
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		execute format('create table rota.%I (like rota.%I including all excluding identity)%s', v_table || '_' || p_from, v_table, ' with (' || rota.range_options(v_table) || ')');
		execute format('alter table rota.%I attach partition rota.%I for values from (%s) to (%s)', v_table, v_table || '_' || p_from, p_from, p_to);
		perform rota.forever(v_table || '_' || p_from);
	end loop;
end $$;
do $$
begin
	-- The bound of a partition reads: FOR VALUES FROM ('0') TO ('1000000').
	perform rota.range_make(x.bound[1]::bigint, x.bound[2]::bigint)
	from pg_inherits i
	join pg_class c on c.oid = i.inhrelid
	cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$FROM \('([0-9]+)'\) TO \('([0-9]+)'\)$re$) as bound) x
	where i.inhparent = 'rota.job'::regclass;
end $$;
