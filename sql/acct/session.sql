create view internal.acct_session as
select u.job_id, u.step_id, u.attempt, u.substep, u.step, u.array_index, u.user_name, u.account, o.name, u.state, u.cause, u.node,
	u.cpus, u.mem_mb, u.gres, u.started_at, u.ended_at, u.elapsed_s,
	case when u.ended_at is null then o.attached else '[]' end as attached, o.last_key_at, o.last_output_at,
	greatest(extract(epoch from coalesce(u.ended_at, now()) - greatest(o.last_key_at, o.last_output_at, u.started_at)),
		0)::double precision as idle_s,
	nullif(o.idle_timeout_s, 0) as idle_timeout_s, o.reported_at, o.idle_timeout_of
from rota.session o
join internal.acct_substep u on u.job_id = o.job_id and u.step_id = o.step_id and u.attempt = o.attempt and u.substep = o.substep;
select internal.owner_view('session');
comment on view acct.session is
	'Sessions: sub-steps with a terminal (rota shell, rota run --pty), one row each. Rows are reports of the step manager, '
	'which runs as the job''s user and may report anything. So nothing is charged by them. Null: unknown, or none.';
comment on column acct.session.job_id is 'Number of the job.';
comment on column acct.session.step_id is 'Number of the step in its job.';
comment on column acct.session.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.session.substep is 'Number of the sub-step in the attempt, from 1.';
comment on column acct.session.step is 'Name of the step in the script.';
comment on column acct.session.array_index is 'Index of an array element; null: not an element.';
comment on column acct.session.user_name is 'Login name of the job''s owner.';
comment on column acct.session.account is 'Account that pays; null: none.';
comment on column acct.session.name is 'Name of the session.';
comment on column acct.session.state is
	'State of the session''s sub-step, as in acct.substep: running, completed, failed, timeout or cancelled.';
comment on column acct.session.cause is 'What ended the session, as in acct.substep; idle_timeout: nobody used it.';
comment on column acct.session.node is 'Node on which the session runs, as the step manager names it.';
comment on column acct.session.cpus is 'CPUs that are set aside for the session.';
comment on column acct.session.mem_mb is 'Memory that is set aside for the session, in MiB; 0: none.';
comment on column acct.session.gres is 'Generic resources of the session, such as gpu:2; null: none.';
comment on column acct.session.started_at is 'When its last run started.';
comment on column acct.session.ended_at is 'When the session ended, or its attempt did, if that came first; null: neither has.';
comment on column acct.session.elapsed_s is
	'Seconds from the start of the sub-step''s last run to the end of the session, or to now.';
comment on column acct.session.attached is
	'Who is attached: [{"user": login name, "host": name of the client''s host, "since": time}]; []: nobody, or it has ended.';
comment on column acct.session.last_key_at is 'When a key was last typed, to about a minute; null: never in the last run.';
comment on column acct.session.last_output_at is 'When output was last written, to about a minute; null: never in the last run.';
comment on column acct.session.idle_s is
	'Idle time in seconds: from the last key, the last output or the start of the session, whichever is latest, to its end or to '
	'now. While the session is used, the figure is up to a minute too high.';
comment on column acct.session.idle_timeout_s is
	'Seconds without keys and output after which the session is ended; null: no limit.';
comment on column acct.session.idle_timeout_of is
	'Where idle_timeout_s comes from: session (its own option), job, "partition NAME" or "qos NAME"; null: no limit.';
comment on column acct.session.reported_at is 'When the step manager wrote the report that this row shows.';
