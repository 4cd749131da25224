-- Submission of jobs: one transaction writes all rows of a job, or an error names the line of the script and nothing is written.

create function internal.start_by(p_deadline timestamptz, p_time_min_s bigint, p_time_limit_s bigint) returns timestamptz
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return p_deadline - make_interval(secs => coalesce(p_time_min_s, p_time_limit_s, 0));
end $$;
comment on function internal.start_by(timestamptz, bigint, bigint) is
	'The latest start with which a step can still end before its deadline; null: the step has no deadline.';

create function internal.submit_rank(p_points bigint, p_tier int, p_at timestamptz) returns bigint
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return internal.rank_points(p_points, (select s.value::bigint * 1000 from setting s where s.name = 'age_weight_s'))
		+ internal.tier_rank(p_tier) - (extract(epoch from p_at) * 1000)::bigint;
end $$;
comment on function internal.submit_rank(bigint, int, timestamptz) is
	'Rank of a step in the queue, in milliseconds: the tier, then points of priority weighed against the time of submission.';

create function internal.submit_known(p_uid int, p_user text, p_head jsonb, p_script bytea, p_environment bytea)
	returns internal.submit_facts
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_key constant text := p_head ->> 'client_key';
	v_retry constant uuid := p_head ->> 'retry_key';
	v_lock constant bigint := hashtextextended(p_uid || ' ' || coalesce(v_key, v_retry::text), 0);
	v_qos constant text := coalesce(p_head ->> 'qos', 'normal');
	v_account text := p_head ->> 'account';
	v_script_hash constant bytea := sha256(p_script);
	v_environment_hash constant bytea := sha256(p_environment);
	v_known internal.submit_facts;
	c_newer constant int := 32; -- jobs
begin
	-- The client key decides: of two equal submissions at the same time, the second one waits here and then finds the job of
	-- the first one.
	if v_lock is not null and not pg_try_advisory_xact_lock(v_lock) then
		perform pg_advisory_xact_lock(v_lock);
	end if;
	if v_account is null then
		select p.default_account into v_account from person p where p.user_name = p_user;
	end if;
	-- All lookups are by key and in one statement, because starting a statement takes longer than finding a row.
	select case when v_retry is null then (select k.job_id from client_key k where k.uid = p_uid and k.client_key = v_key)
			else (select j.job_id from live.recent_job j where j.retry_key = v_retry and j.uid = p_uid) end,
		v_account,
		o.priority, o.tier, o.is_closed,
		(select s.value::bigint * 1000 from setting s where s.name = 'age_weight_s'),
		(select c.association_id from association_share c
		where c.user_name = p_user and c.account is not distinct from v_account and c.qos = v_qos
		and c.gres = ''),
		v_script_hash, exists (select from script s where s.hash = v_script_hash),
		v_environment_hash, exists (select from environment n where n.hash = v_environment_hash),
		exists (select from usage_limit l where l.measure = 'submitted'),
		-- The latest count plus all submissions since then is an upper bound: ends only lower it, and a job that has
		-- ended has no steps left. Null: only internal.submit_fits can tell.
		(select case when n.jobs < c_newer then o.free - n.steps end
			from (
				select case
					when count(*) = 2
					then min((select s.value::bigint from setting s
					where s.name = case l.uid when -1 then 'max_submitted_all' else 'max_submitted' end)
					- l.steps) end as free, min(l.last_job) as last_job
				from submit_load l
				where l.uid in (p_uid, -1)
					and l.counted_at > now() - make_interval(secs => 10 + l.steps / 10000.0)
			) o
			cross join lateral (
				select coalesce(sum(x.steps_left), 0) as steps, count(*) as jobs
				from (select j.steps_left from live.job j
					where j.job_id > o.last_job order by j.job_id limit c_newer) x
			) n)
	from (values (v_qos)) v (qos)
	left join (
		select q.qos, q.priority, q.tier, num_nonnulls(q.allow_users, q.allow_accounts) > 0 as is_closed from qos q
	) o on o.qos = v.qos
	into v_known;
	return v_known;
end $$;
comment on function internal.submit_known(int, text, jsonb, bytea, bytea) is
	'Take the lock of a submission''s client key, and look up what the database already has for the submission; p_head: '
	'"job" of its plan.';

create function internal.submit_check_count(p_uid int, p_user text, p_steps int) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_most bigint := internal.submit_fits(-1, p_steps);
begin
	if v_most is not null then
		raise exception 'all users together would have more than % live steps', v_most using errcode = 'RT429',
			hint = 'Try again when some have ended, or use arrays: an array is one.';
	end if;
	v_most := internal.submit_fits(p_uid, p_steps);
	if v_most is not null then
		raise exception 'user "%" would have more than % live steps', p_user, v_most using errcode = 'RT429',
			hint = 'Wait until some have ended, or use arrays: an array is one.';
	end if;
end $$;
comment on function internal.submit_check_count(int, text, int) is
	'Refuse (RT429) p_steps more steps if the site''s limits of live steps would be exceeded.';

create function internal.submit_admit(p_uid int, p_user text, p_head jsonb, p_steps internal.planned_step[], p_gres boolean,
	p_known internal.submit_facts) returns internal.submit_queue
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_script constant text := p_head ->> 'script_name';
	v_qos constant text := coalesce(p_head ->> 'qos', 'normal');
	v_nice constant int := coalesce((p_head ->> 'nice')::int, 0);
	v_priority constant int := (p_head ->> 'priority')::int;
	v_queue internal.submit_queue;
	v_within text;
begin
	if p_known.account is not null or p_known.points is null or p_known.is_closed or v_priority is not null or v_nice < 0 then
		perform internal.submit_check_job(p_user,
			case when v_priority is not null or v_nice < 0 then internal.caller_role(p_uid, p_user) end,
			p_known.account, v_qos, v_nice, v_priority, v_script, p_head -> 'lines');
	end if;
	v_queue.partition := internal.submit_check(p_user, p_known.account, v_qos, p_head -> 'groups', v_script, p_steps);
	if p_gres then
		v_queue.associations := (
			select jsonb_object_agg(g.gres::text, internal.association_of(p_known.account, p_user, v_qos, g.gres))
			from (select distinct coalesce(s.gres, '{}') as gres from unnest(p_steps) s order by 1) g);
	else
		v_queue.association_id := coalesce(p_known.association_id,
			internal.association_of(p_known.account, p_user, v_qos, '{}'));
	end if;
	-- The same formula as in internal.submit_rank().
	v_queue.rank := internal.rank_points(coalesce(v_priority, 0)::bigint - v_nice + p_known.points, p_known.point_ms)
		+ internal.tier_rank(p_known.tier) - (extract(epoch from now()) * 1000)::bigint;
	if p_known.limited then
		v_within := internal.submit_within(array(select coalesce(v_queue.association_id,
			(v_queue.associations ->> coalesce(s.gres, '{}')::text)::int) from unnest(p_steps) s),
			array(select coalesce(s.partition, v_queue.partition) from unnest(p_steps) s), cardinality(p_steps));
		if v_within is not null then
			raise exception '%', v_within using errcode = 'RT429',
				hint = 'Wait until some have ended, or use arrays: an array is one.';
		end if;
	end if;
	if coalesce(cardinality(p_steps) > p_known.free, true) then
		perform internal.submit_check_count(p_uid, p_user, cardinality(p_steps));
	end if;
	return v_queue;
end $$;
comment on function internal.submit_admit(int, text, jsonb, internal.planned_step[], boolean, internal.submit_facts) is
	'Refuse a submission that may not or cannot run, or exceeds limits. p_head: "job" of its plan; p_gres: some steps ask '
	'for generic resources. Returns the job''s values for the queue.';

create function internal.submit_texts(p_known internal.submit_facts, p_script bytea, p_environment bytea) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if not p_known.script then
		insert into script (hash, body) values (p_known.script_hash, p_script) on conflict do nothing;
	end if;
	if not p_known.environment then
		insert into environment (hash, body) values (p_known.environment_hash, p_environment) on conflict do nothing;
	end if;
end $$;
comment on function internal.submit_texts(internal.submit_facts, bytea, bytea) is
	'Store the script and the environment of a submission, unless they are stored already.';

create function internal.submit_job(p_job bigint, p_uid int, p_gid int, p_user text, p_head jsonb, p_known internal.submit_facts,
	p_steps int) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	with made as (
		insert into job (job_id, name, uid, gid, user_name, account, qos, priority, nice, script_hash, environment_hash,
			script_name, workdir, comment, mail_user, mail_type, steps_total, steps_left, retry_key, arguments,
			submit_line, staging, credentials)
		overriding system value
		values (p_job, p_head ->> 'name', p_uid, p_gid, p_user, p_known.account,
			coalesce(p_head ->> 'qos', 'normal'), coalesce((p_head ->> 'priority')::int, 0),
			coalesce((p_head ->> 'nice')::int, 0), p_known.script_hash, p_known.environment_hash,
			p_head ->> 'script_name', p_head ->> 'workdir', p_head ->> 'comment', p_head ->> 'mail_user',
			p_head ->> 'mail_type', p_steps, p_steps, (p_head ->> 'retry_key')::uuid, case when p_head ? 'arguments'
				then array(select jsonb_array_elements_text(p_head -> 'arguments')) end, p_head ->> 'submit_line',
			p_head ? 'staging', p_head ? 'credentials')
		returning job_id
	)
	insert into client_key (uid, client_key, job_id)
	select p_uid, p_head ->> 'client_key', m.job_id from made m where p_head ->> 'client_key' is not null;
end $$;
comment on function internal.submit_job(bigint, int, int, text, jsonb, internal.submit_facts, int) is
	'Write the row of a new job with p_count steps, and its client key; p_head: "job" of its plan.';

create function internal.submit_steps(p_job bigint, p_actor text, p_steps internal.planned_step[], p_spec_end text,
	p_queue internal.submit_queue, p_waits jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	with asked as materialized (
		select s.* from unnest(p_steps) s
	), requested as (
		insert into step_request (job_id, step_id, name, line, topo, partition, nodes_min, nodes_max, ntasks,
			ntasks_per_node, cpus_per_task, mem_mb,
			mem_per_cpu_mb, gres, licenses, exclusive, "constraint", nodelist, exclude, time_limit_s, time_min_s,
			begin_at, deadline_at, requeue, retry,
			group_name, keep, deps_any, with_set, spec, auth, sample_s, reservation, image,
			checkpoint, eternal, prep)
		select p_job, s.step_id, s.name, s.line, s.topo, coalesce(s.partition, p_queue.partition), s.nodes_min,
			s.nodes_max, s.ntasks, s.ntasks_per_node, s.cpus_per_task, s.mem_mb,
			s.mem_per_cpu_mb, coalesce(s.gres, '{}'), coalesce(s.licenses, '{}'), s.exclusive,
			coalesce(s."constraint", ''), coalesce(s.nodelist, '{}'),
			coalesce(s.exclude, '{}'), s.time_limit_s, s.time_min_s, to_timestamp(s.begin_at),
			to_timestamp(s.deadline_at), s.requeue, s.retry,
			s."group", coalesce(s.keep, '{}'), s.deps_any, s.with_set,
			s.spec || case when s.spec_end is null then p_spec_end else right(p_spec_end, s.spec_end) end,
			decode(s.auth, 'hex'), s.sample_s, s.reservation, s.image, s.checkpoint, coalesce(s.eternal, false), s.prep
		from asked s
	), queued as (
		insert into step (job_id, step_id, request_id, association_id, queue, is_array, rank, begin_at, start_by, held,
			held_reason, deps_waiting, eligible_at)
		select p_job, s.step_id, s.step_id,
			coalesce(p_queue.association_id, (p_queue.associations ->> coalesce(s.gres, '{}')::text)::int),
			coalesce(s.partition, p_queue.partition),
			s."array" is not null, p_queue.rank + internal.eternal_rank(s.eternal), to_timestamp(s.begin_at),
			case
			when s.deadline_at is not null
			then internal.start_by(to_timestamp(s.deadline_at), s.time_min_s, s.time_limit_s) end,
			case when s.hold then 'user' else '' end, case when s.hold then 'held at submission' end, x.waiting,
			case when x.waiting = 0 then now() end
		from asked s
		cross join lateral (select coalesce((p_waits ->> s.step_id::text)::int, 0) as waiting) x
	)
	insert into event (job_id, step_id, attempt, at, from_state, event, to_state, actor)
	select p_job, s.step_id, 0, now(), 'pending', 'submit', 'pending', p_actor from asked s where p_actor is not null;
end $$;
comment on function internal.submit_steps(bigint, text, internal.planned_step[], text, internal.submit_queue, jsonb) is
	'Write the steps of a new job: their requests, their values for the queue and their first events. p_actor: user who '
	'submits; null: the job is only tried; p_spec_end: end of every spec, from the plan; p_waits: number of edges for which '
	'each step waits.';

create function internal.submit_arrays(p_job bigint, p_steps internal.planned_step[], p_edges rota.step_edge[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into step_array (job_id, step_id, indices, size, max_running, by_corr, staged)
	select p_job, s.step_id, s."array" -> 'indices', (s."array" ->> 'size')::int, (s."array" ->> 'limit')::int,
		s.step_id = any (array(select e.step_id from unnest(p_edges) e where e."condition" = 'corr')),
		exists (select from staging g where g.job_id = p_job and g.state = 'array')
	from unnest(p_steps) s
	where s."array" is not null;
end $$;
comment on function internal.submit_arrays(bigint, internal.planned_step[], rota.step_edge[]) is
	'Write the arrays among the steps of a new job.';

create function internal.submit_options(p_job bigint, p_uid int, p_user text, p_plan jsonb, p_account text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_head constant jsonb := p_plan -> 'job';
begin
	if v_head ? 'changes' then
		perform internal.job_changes_keep(p_job, 'job_submit', v_head -> 'changes');
	end if;
	if v_head ? 'staging' then
		perform internal.staging_submit(p_job, v_head ->> 'script_name', v_head -> 'staging',
			jsonb_array_length(p_plan -> 'steps') = 1 and p_plan @? '$.*[*].array.size');
	end if;
	if v_head ? 'transfers' then
		perform internal.transfer_submit(p_job, p_uid, p_user, v_head);
	end if;
	if v_head ? 'credentials' then
		perform internal.credential_submit(p_job, p_uid, p_plan);
	end if;
	if v_head ->> 'grow' is not null then
		perform internal.growth_submit(p_job, p_uid, p_account, coalesce(v_head ->> 'qos', 'normal'), v_head ->> 'grow');
	end if;
	if v_head ->> 'mail_type' is not null then
		perform internal.mail_watched(p_job, v_head ->> 'mail_type');
	end if;
end $$;
comment on function internal.submit_options(bigint, int, text, jsonb, text) is
	'Write the parts that only some new jobs have besides steps and edges: changes by the site''s script, staging, '
	'transfers, credentials, a growth, mail.';

create function internal.submit_notify(p_plan jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_plan @? '$.steps[*] ? (!(@.hold == true || !exists (@.hold) && $.common.hold == true) || exists (@.deadline_at) '
		'|| exists ($.common.deadline_at))' then
		notify rota_schedule;
	end if;
end $$;
comment on function internal.submit_notify(jsonb) is 'Notify the leader, unless all steps are held and none has a deadline.';

create function internal.submit(p_uid int, p_gid int, p_user text, p_plan jsonb, p_script bytea, p_environment bytea)
returns jsonb
-- For partitioned tables, the planner prefers plans for the actual values to cached ones, and would make one for every
-- submission.
language plpgsql set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_head constant jsonb := p_plan -> 'job';
	v_edges jsonb := p_plan -> 'edges';
	v_written constant text := set_config('rota.written', coalesce(v_head ->> 'written', ''), true); -- for internal.submit_refuse
	-- "common" has what most steps request, once.
	v_steps constant internal.planned_step[] := array(select s
		from jsonb_populate_recordset(jsonb_populate_record(null::internal.planned_step, p_plan -> 'common'),
		p_plan -> 'steps') s);
	v_try constant bigint := nullif(current_setting('rota.try', true), ''); -- number of a job that is only tried (api.job_try)
	v_job constant bigint := coalesce(v_try, (v_head ->> 'job_id')::bigint);
	v_known internal.submit_facts;
	v_queue internal.submit_queue;
	v_peers step_edge[];
begin
	if v_job is null then
		raise exception 'the plan has no job number' using errcode = 'RT503',
			hint = 'jobmgrd is older than the database. Install the new version of it, or restart it.';
	end if;
	v_known := internal.submit_known(p_uid, p_user, v_head, p_script, p_environment);
	if v_known.job_id is not null then
		return jsonb_build_object('job_id', v_known.job_id, 'steps',
			(select j.steps_total from job j where j.job_id = v_known.job_id), 'known', true);
	end if;
	v_queue := internal.submit_admit(p_uid, p_user, v_head, v_steps, p_plan @? '$.*[*].gres', v_known);
	if v_edges @? '$[*] ? (@.condition == "singleton")' then
		v_edges := internal.submit_singleton(p_uid, v_head ->> 'name', v_edges);
	end if;
	-- Most scripts and environments are stored already, and an insert with a conflict takes longer than a lookup.
	if not (v_known.script and v_known.environment) then
		perform internal.submit_texts(v_known, p_script, p_environment);
	end if;
	perform internal.submit_job(v_job, p_uid, p_gid, p_user, v_head, v_known, cardinality(v_steps));
	if v_edges <> '[]' then
		perform internal.submit_peers_lock(v_edges);
		v_peers := internal.submit_edges(p_uid, p_user, v_head ->> 'script_name', v_job, v_steps, v_edges);
	end if;
	perform internal.submit_steps(v_job, case when v_try is null then p_user end, v_steps,
		coalesce(p_plan ->> 'spec_end', ''), v_queue,
		case when v_peers is not null then internal.submit_waits(v_steps, v_peers) end);
	if v_head ?| array['changes', 'staging', 'transfers', 'credentials', 'grow', 'mail_type'] then
		perform internal.submit_options(v_job, p_uid, p_user, p_plan, v_known.account);
	end if;
	if p_plan @? '$.*[*].array.size' then
		perform internal.submit_arrays(v_job, v_steps, v_peers);
	end if;
	if v_peers is not null then
		perform internal.submit_bonds(v_job, v_head ->> 'script_name', v_peers, v_try);
	end if;
	perform internal.submit_notify(p_plan);
	-- The trial is rolled back here, so that no caller can keep it.
	if v_try is not null then
		raise exception 'tried' using errcode = 'RT200';
	end if;
	return jsonb_build_object('job_id', v_job, 'steps', cardinality(v_steps), 'known', false);
end $$;
comment on function internal.submit(int, int, text, jsonb, bytea, bytea) is
	'Store a job like api.job_submit, without the check of the job''s number.';

create function api.job_submit(p_uid int, p_gid int, p_user text, p_plan jsonb, p_script bytea, p_environment bytea) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_answer constant jsonb := internal.submit(p_uid, p_gid, p_user, p_plan, p_script, p_environment);
begin
	if not (v_answer -> 'known')::boolean then
		perform internal.numbers_check((v_answer -> 'job_id')::bigint, (v_answer -> 'job_id')::bigint);
	end if;
	return v_answer;
end $$;
comment on function api.job_submit(int, int, text, jsonb, bytea, bytea) is
	'Store a job as planned by the translator: uid, gid and name of the owner, plan, script, environment. "job_id" of the '
	'plan''s "job" is a number of api.job_number, used once. Answer {job_id, steps, known}; known: the client key already '
	'had this job. RT422 names script, line and option; RT429: too many live steps.';

create function internal.submit_list_lock(p_uid int, p_plans jsonb, p_scripts bytea[], p_environments bytea[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- Take here, for all jobs at once, the locks that one submission takes one after the other, each kind in one order: keys,
	-- limits, counts of live steps, the default partition (it stays the same for all of them), scripts and environments,
	-- other jobs. So no two submissions wait for each other in a circle. (Two users' first jobs may, for their associations;
	-- then one of the two is repeated.)
	perform pg_advisory_xact_lock(k.lock)
	from (
		select distinct hashtextextended(p_uid || ' ' || coalesce(j ->> 'client_key', (j ->> 'retry_key')::uuid::text),
			0) as lock
		from jsonb_path_query(p_plans, '$[*].job') j
		order by 1
	) k
	where k.lock is not null;
	if p_plans @? '$[*].edges[*] ? (@.condition == "singleton")' then
		perform pg_advisory_xact_lock(k.lock)
		from (
			select distinct hashtextextended('rota singleton ' || p_uid || ' ' || (p -> 'job' ->> 'name'), 0) as lock
			from jsonb_array_elements(p_plans) p
			where p @? '$.edges[*] ? (@.condition == "singleton")'
			order by 1
		) k;
	end if;
	if exists (select from usage_limit l where l.measure = 'submitted') then
		perform pg_advisory_xact_lock(hashtext('rota submitted'));
	end if;
	-- Limits are checked job by job: jobs that are already stored do not count again.
	perform internal.submit_fits(u.uid, x.steps)
	from (select count(*)::int as steps from jsonb_path_query(p_plans, '$[*].steps[*]')) x
	cross join (values (1, -1), (2, p_uid)) u (nr, uid)
	order by u.nr;
	perform from partition p where p.is_default for share;
	insert into script (hash, body) select distinct on (1) sha256(s.body), s.body from unnest(p_scripts) s (body)
	where s.body is not null and not exists (select from script x where x.hash = sha256(s.body))
		order by 1 on conflict do nothing;
	insert into environment (hash, body) select distinct on (1) sha256(s.body), s.body from unnest(p_environments) s (body)
	where s.body is not null and not exists (select from environment x where x.hash = sha256(s.body))
		order by 1 on conflict do nothing;
	if p_plans @? '$[*].edges[*].peer_job' then
		perform 1 from job j
		where j.job_id in (select (p #>> '{}')::bigint from jsonb_path_query(p_plans, '$[*].edges[*].peer_job') p)
		order by j.job_id
		for share;
	end if;
end $$;
comment on function internal.submit_list_lock(int, jsonb, bytea[], bytea[]) is
	'Take the locks of several submissions before the first of them, and store their scripts and environments.';

create function api.job_submit_list(p_uid int, p_gid int, p_user text, p_plans jsonb, p_scripts bytea[], p_environments bytea[])
	returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_one record;
	v_script bytea;
	v_environment bytea;
	v_jobs jsonb[] := '{}';
	v_message text;
	v_hint text;
begin
	perform internal.submit_list_lock(p_uid, p_plans, p_scripts, p_environments);
	for v_one in select *
		from rows from (jsonb_array_elements(p_plans), unnest(p_scripts), unnest(p_environments)) x (plan, script,
		environment) loop
		v_script := coalesce(v_one.script, v_script);
		v_environment := coalesce(v_one.environment, v_environment);
		v_jobs := v_jobs || internal.submit(p_uid, p_gid, p_user, v_one.plan, v_script, v_environment);
	end loop;
	perform internal.numbers_check(min((j -> 'job_id')::bigint), max((j -> 'job_id')::bigint))
	from unnest(v_jobs) j
	where not (j -> 'known')::boolean
	having count(*) > 0;
	return jsonb_build_object('jobs', v_jobs);
exception when sqlstate 'RT422' then
	get stacked diagnostics v_message = message_text, v_hint = pg_exception_hint;
	raise exception 'jobs[%]: %', cardinality(v_jobs), v_message using errcode = 'RT422', hint = v_hint;
end $$;
comment on function api.job_submit_list(int, int, text, jsonb, bytea[], bytea[]) is
	'Store several jobs of one owner, all or none: as api.job_submit, with a list of plans; a null script or environment is '
	'that of the previous job. Answer {jobs: [{job_id, steps, known}]}. RT422 names the job by its index, from 0.';
