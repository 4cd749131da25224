create view internal.acct_growth as
select g.job_id, s.step_id, j.user_name, j.account, g.grown_job_id, g.grown_step_id, g.grown_attempt, st.state,
	-- The view does not use internal.step_now, whose functions readers of acct may not call. A growth depends on no
	-- other step.
	case
		when st.state = 'completed' then null
		when st.stage = 'final' then s.cause
		when st.state <> 'pending' then s.end_wanted
		when s.held <> '' then 'held'
		when s.begin_at > now() then 'begin'
		else coalesce(pl.reason, 'scheduler') end as reason,
	j.priority, case when st.stage = 'waiting' then pl.expected_at end as expected_at,
	case when a.size is not null then a.size - a.next else 1 end * r.nodes_min as nodes_wanted, r.ntasks, r.cpus_per_task,
	nullif(array_to_string(t.nodes, ','), '') as nodes, c.come_at, c.gone_at, j.submit_at, s.started_at, s.ended_at, s.cause,
	coalesce(t.time_limit_s, r.time_limit_s) as time_limit_s
from rota.growth g
join rota.job j on j.job_id = g.job_id
join rota.step s on s.job_id = g.job_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
left join rota.step_array a on a.job_id = s.job_id and a.step_id = s.step_id
-- The head of an array has the state of its waiting elements while none runs.
join rota.step_state st on st.state = case when a.running = 0 and s.state = 'running' then 'pending' else s.state end
left join rota.plan pl on pl.job_id = s.job_id and pl.step_id = s.step_id
left join rota.attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt and s.attempt > 0
left join lateral (select min(x.come_at) as come_at, case when bool_and(x.gone_at is not null) then max(x.gone_at) end as gone_at
	from rota.growth_node x where x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt) c on true
-- While elements of an array wait, its head stands for them.
where a.size is null or (a.next < a.size and s.ended_at is null);
select internal.owner_view('growth');
comment on view acct.growth is
	'Growths of running steps (rota grow), one row for each request, or for each node of a request for several nodes that has '
	'started. A growth is a job: acct.job, acct.attempt and acct.allocation have what it used.';
comment on column acct.growth.job_id is 'Number of the growth''s own job.';
comment on column acct.growth.step_id is 'Number of the growth''s step in the growth''s own job.';
comment on column acct.growth.user_name is 'Login name of the owner of both jobs.';
comment on column acct.growth.account is 'Account that pays; null: none.';
comment on column acct.growth.grown_job_id is 'Number of the job that grows.';
comment on column acct.growth.grown_step_id is 'Number of the step that grows, in its job.';
comment on column acct.growth.grown_attempt is 'Number of the attempt that grows. When it ends, the growth ends.';
comment on column acct.growth.state is 'State of the growth, as in acct.step; a growth that was given back is completed.';
comment on column acct.growth.reason is 'Why the growth waits, or how it ended; null: it runs.';
comment on column acct.growth.priority is 'Priority that an operator gave the growth''s job.';
comment on column acct.growth.expected_at is 'When the growth is expected to start; null: not known, or it has started.';
comment on column acct.growth.nodes_wanted is
	'Number of nodes that the growth asks for. If it asks for several, each with its own start: how many have not started.';
comment on column acct.growth.ntasks is 'Number of tasks that the growth asks for, on all of its nodes.';
comment on column acct.growth.cpus_per_task is 'CPUs of each task.';
comment on column acct.growth.nodes is 'Nodes that the growth has or had; null: not started.';
comment on column acct.growth.come_at is
	'When the first node of the growth was added to the step that grows; null: none has been added.';
comment on column acct.growth.gone_at is
	'When the last node of the growth had been removed from the step; null: one is left, or none was added.';
comment on column acct.growth.submit_at is 'When the user asked for the growth.';
comment on column acct.growth.started_at is 'When the growth started; null: not started.';
comment on column acct.growth.ended_at is 'When the growth ended; null: not ended.';
comment on column acct.growth.cause is
	'What ended the growth: given_back (rota shrink), grown_ended (the step that grows has ended), or as in acct.step.';
comment on column acct.growth.time_limit_s is 'Time limit of the growth in seconds; 0: none; null: the limit of its partition.';
