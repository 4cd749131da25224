-- Prologs and epilogs: those of nodes and those of the controller, in one view.
create view internal.acct_hook as
select h.job_id, h.step_id, h.attempt, r.name as step, s.array_index, j.user_name, j.account, h.node, h.hook,
	h.ended_at - h.usec * interval '1 microsecond' as started_at, h.ended_at,
	(h.usec / 1e6)::double precision as elapsed_s, h.exit_code, h.signal
from (
	select x.job_id, x.step_id, x.attempt, n.name as node, x.hook, x.ended_at, x.usec, x.exit_code, x.signal
	from rota.hook_run x
	join rota.node n on n.node_id = x.node_id
	union all
	select x.job_id, x.step_id, x.attempt, null, x.hook, x.ended_at, x.usec, x.exit_code, x.signal
	from rota.controller_hook x
) h
join rota.step s on s.job_id = h.job_id and s.step_id = h.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = h.job_id;
select internal.owner_view('hook');
comment on view acct.hook is 'Prologs and epilogs that have ended, one row each. Only operators see their output (`rota show`).';
comment on column acct.hook.job_id is 'Number of the job.';
comment on column acct.hook.step_id is 'Number of the step in its job.';
comment on column acct.hook.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.hook.step is 'Name of the step in the script.';
comment on column acct.hook.array_index is 'Index of an array element; null: not an element.';
comment on column acct.hook.user_name is 'Login name of the job''s owner.';
comment on column acct.hook.account is 'Account that pays; null: none.';
comment on column acct.hook.node is 'Node on which the hook ran; null: it ran on the controller.';
comment on column acct.hook.hook is
	'Kind of hook: site_prolog, user_prolog, user_epilog, site_epilog, controller_prolog or controller_epilog; stage_in, '
	'stage_out: rota-mover.';
comment on column acct.hook.started_at is 'When the hook started; null: it did not run.';
comment on column acct.hook.ended_at is 'When the hook ended.';
comment on column acct.hook.elapsed_s is 'Seconds that the hook ran; null: it did not run.';
comment on column acct.hook.exit_code is 'Exit code of the hook; null: a signal ended it, or it did not run.';
comment on column acct.hook.signal is 'Signal that ended the hook; null: none.';
