-- Modification: jobmgrd reads steps as they are (api.job_spec), lets the translator change them, authenticates them anew and
-- sends the changes (api.job_modify).
create function internal.step_plan(p_job bigint, p_request int) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('step_id', r.step_id, 'name', r.name, 'line', r.line, 'topo', r.topo, 'partition', r.partition,
		'nodes_min', r.nodes_min,
		'nodes_max', r.nodes_max, 'ntasks', r.ntasks, 'ntasks_per_node', r.ntasks_per_node, 'cpus_per_task',
		r.cpus_per_task, 'mem_mb', r.mem_mb,
		'mem_per_cpu_mb', r.mem_per_cpu_mb, 'gres', r.gres, 'licenses', r.licenses, 'exclusive', r.exclusive,
		'constraint', r."constraint",
		'nodelist', r.nodelist, 'exclude', r.exclude, 'time_limit_s', r.time_limit_s, 'time_min_s', r.time_min_s,
		'begin_at', extract(epoch from r.begin_at)::bigint, 'deadline_at', extract(epoch from r.deadline_at)::bigint,
		'requeue', r.requeue, 'retry', r.retry, 'sample_s', r.sample_s, 'reservation', r.reservation, 'image', r.image,
		'checkpoint', r.checkpoint, 'eternal', r.eternal, 'prep', r.prep,
		'hold', s.held <> '', 'group', r.group_name, 'keep', r.keep, 'deps_any', r.deps_any, 'with_set', r.with_set,
		'spec', r.spec,
		'array',
		case
		when a.size is not null then jsonb_build_object('indices', a.indices, 'size', a.size, 'limit', a.max_running) end)
	from step_request r
	join step s on s.job_id = r.job_id and s.step_id = r.step_id
	left join step_array a on a.job_id = r.job_id and a.step_id = r.step_id
	where r.job_id = p_job and r.step_id = p_request;
$$;
comment on function internal.step_plan(bigint, int) is 'A step in the form of a member of a plan''s "steps".';

create function internal.modify_target(p_uid int, p_user text, p_request jsonb, p_among bigint[] default null)
	returns table (job_id bigint, request_id int)
language plpgsql set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_target jsonb;
	v_bad text;
begin
	select coalesce(jsonb_agg(to_jsonb(t)), '[]') into v_target
		from internal.change_target(p_uid, p_user, p_request, p_among) t;
	if exists (select from jsonb_to_recordset(v_target) as t (pos int) where t.pos is not null) then
		raise exception 'elements of an array cannot be modified one by one' using errcode = 'RT422',
			hint = 'Name the array.';
	end if;
	select case when t.whole_job then 'job ' || t.job_id else internal.step_label(t.job_id, t.step_id) end into v_bad
	from jsonb_to_recordset(v_target) as t (job_id bigint, step_id int, whole_job boolean)
	join job j on j.job_id = t.job_id
	join step s on s.job_id = t.job_id and s.step_id = t.step_id
	where case when t.whole_job then j.ended_at else s.ended_at end is not null
	limit 1;
	if found then
		raise exception '% has ended', v_bad using errcode = 'RT409', hint = 'What has ended can no longer be modified.';
	end if;
	return query
		select distinct t.job_id, t.step_id
		from jsonb_to_recordset(v_target) as t (job_id bigint, step_id int)
		join step s on s.job_id = t.job_id and s.step_id = t.step_id and s.ended_at is null
		order by 1, 2;
end $$;
comment on function internal.modify_target(int, text, jsonb, bigint[]) is
	'The steps that a request to modify means and that have not ended: named steps, or the steps of named or selected jobs. '
	'p_among: only steps of these jobs; null: of all. RT409: a named job or step has ended.';

create function api.job_spec(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql volatile security definer set search_path = rota, pg_temp as $$
	select jsonb_build_object('steps',
		coalesce(jsonb_agg(internal.step_plan(t.job_id, t.request_id) || jsonb_build_object('job_id', t.job_id,
		'request_id', t.request_id, 'uid', j.uid, 'gid', j.gid, 'user', j.user_name, 'script_hash',
		encode(j.script_hash, 'hex'),
		'environment_hash', encode(j.environment_hash, 'hex'), 'auth', encode(r.auth, 'hex'), 'job',
		jsonb_build_object('name', j.name, 'account', j.account, 'qos', j.qos, 'comment', j.comment, 'priority', j.priority,
		'nice', j.nice, 'mail_user', j.mail_user, 'mail_type', j.mail_type), 'auth_number',
		case when j.job_id > n.numbered_after then j.job_id else 0 end) order by t.job_id, t.request_id), '[]'))
	from internal.modify_target(p_uid, p_user, p_request) t
	join job j on j.job_id = t.job_id
	join step_request r on r.job_id = t.job_id and r.step_id = t.request_id
	cross join authenticator n;
$$;
comment on function api.job_spec(int, text, jsonb) is
	'Steps as they are, for the translator to change: members of a plan''s steps, the owner, the authenticator, the job '
	'number that the authenticator covers (0: none), and the properties of the job. Request {jobs}, or a selection. Answer '
	'{steps: [...]}.';

create function internal.modify_refuse(p_job bigint, p_request int, p_message text, p_hint text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	raise exception '%: %', internal.step_label(p_job, p_request), p_message using errcode = 'RT409',
		hint = coalesce(p_hint, '');
end $$;
comment on function internal.modify_refuse(bigint, int, text, text) is
	'Refuse a modification that the state of a step does not allow (RT409).';

create function internal.modify_option(p_key text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select '--' || case
		when p_key in ('nodes_min', 'nodes_max') then 'nodes'
		when p_key = 'submit_ntasks' then 'ntasks'
		when p_key = 'per_task' then 'run'
		when p_key = 'append' then 'open-mode'
		when p_key = 'fence' then 'node-loss'
		when p_key = 'time_limit_s' then 'time'
		else replace(regexp_replace(p_key, '^(user|no)_|_(s|at|mb)$', '', 'g'), '_', '-') end;
$$;
comment on function internal.modify_option(text) is 'The option that sets a member of a plan''s step, or a field of its spec.';

create function internal.modify_begun(p_job bigint, p_request int) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select s.state <> 'pending'
		or exists (select from step e
		where e.job_id = p_job and e.request_id = p_request and e.attempt > 0 and e.ended_at is null)
	from step s
	where s.job_id = p_job and s.step_id = p_request;
$$;
comment on function internal.modify_begun(bigint, int) is 'Whether a step, or an element of it, runs or is about to start.';

create function internal.modify_check_begun(p_job bigint, p_request int, p_changed jsonb, p_old_spec text, p_spec text)
	returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_key text;
begin
	-- A running step keeps what it has. Its time limit, the number of elements at once and whether it runs again can
	-- change. Of nodes and tasks, the one that was given determines the other.
	select k into v_key from jsonb_object_keys(p_changed) k
		where k not in ('time_limit_s', 'array', 'retry', 'requeue')
	order by k = 'ntasks', k like 'nodes%' limit 1;
	if not found then
		-- A field may be only in the old spec, or only in the new one: a spec may be older than the field.
		select k into v_key
		from internal.spec_fields(p_old_spec) o, internal.spec_fields(p_spec) n, jsonb_object_keys(o || n) k
		where o -> k is distinct from n -> k
			and k not in ('job_name', 'account', 'partition', 'array_min', 'array_max', 'array_step') limit 1;
	end if;
	if v_key is not null then
		perform internal.modify_refuse(p_job, p_request,
			format('it has started, so %s cannot be modified any more', internal.modify_option(v_key)),
			'What has started takes --time, --retry, --requeue and the %limit of --array; its job '
				'--job-name, --comment, --nice and --mail-*.');
	end if;
end $$;
comment on function internal.modify_check_begun(bigint, int, jsonb, text, text) is
	'Refuse changes that are no longer possible in a step that has started.';

create function internal.modify_check_time(p_role text, p_job bigint, p_request int, p_new bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_limit bigint;
begin
	if p_role = 'user' then
		select max(case t.time_limit_s when 0 then 9223372036854775807 else t.time_limit_s end) into v_limit
		from step s join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.ended_at is null
		where s.job_id = p_job and s.request_id = p_request;
		if v_limit is not null and (p_new = 0 or p_new > v_limit) then
			raise exception '%: only operators raise the time limit of a step that has started',
				internal.step_label(p_job, p_request) using errcode = 'RT403';
		end if;
	end if;
	if p_role <> 'admin' then
		perform internal.limit_check(p_job, p_request, p_new);
	end if;
end $$;
comment on function internal.modify_check_time(text, bigint, int, bigint) is
	'Refuse a new time limit (0: none) of a step that has started, if the caller may not raise it or limits do not allow it.';

create function internal.modify_check(p_role text, p_groups jsonb, p_job bigint, p_request int, p_changed jsonb, p_spec text)
	returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_request step_request;
	v_owner job;
	v_key text;
	v_begun boolean := internal.modify_begun(p_job, p_request);
begin
	select * into v_request from step_request r where r.job_id = p_job and r.step_id = p_request;
	select * into v_owner from job j where j.job_id = p_job;
	select k into v_key from jsonb_object_keys(p_changed) k
		where k in ('step_id', 'name', 'line', 'topo', 'deps_any', 'with_set', 'hold') limit 1;
	if found then
		perform internal.modify_refuse(p_job, p_request, format('%s cannot be modified', internal.modify_option(v_key)),
			case v_key when 'hold' then 'Use hold and release.' else 'Submit it anew.' end);
	end if;
	if v_begun then
		perform internal.modify_check_begun(p_job, p_request, p_changed, v_request.spec, p_spec);
	end if;
	if p_changed ? 'array'
		and ((p_changed -> 'array') - 'limit') is distinct from (internal.step_plan(p_job, p_request) -> 'array')
		- 'limit' then
		perform internal.modify_refuse(p_job, p_request, 'the indices of an array cannot be modified',
			'Only its limit (%) can.');
	end if;
	if p_changed ?| array['nodes_min', 'nodes_max'] and exists (
		select from step_edge e
			where e.kind = 'same_nodes'
			and ((e.job_id = p_job and e.step_id = p_request)
			or (e.peer_job_id = p_job and e.peer_step_id = p_request))
	) then
		perform internal.modify_refuse(p_job, p_request, 'its number of nodes is bound to that of a peer (same-nodes)',
			null);
	end if;
	if v_begun and p_changed ? 'time_limit_s' then
		perform internal.modify_check_time(p_role, p_job, p_request, coalesce((p_changed ->> 'time_limit_s')::bigint, 0));
	end if;
	perform internal.submit_check(v_owner.user_name, v_owner.account, v_owner.qos,
		-- Submission checked whether the owner's groups may use the partition. Only another partition needs the check again.
		case when p_changed ? 'partition' then p_groups
			else (select to_jsonb(p.allow_groups) from partition p where p.partition = v_request.partition) end,
		null,
			array[jsonb_populate_record(null::internal.planned_step,
			internal.step_plan(p_job, p_request) || p_changed)]);
end $$;
comment on function internal.modify_check(text, jsonb, bigint, int, jsonb, text) is
	'Refuse changes that the state of a step does not allow, or with which it could never run; p_groups: the owner''s '
	'groups, null if the caller is not the owner.';

create function internal.modify_attempts(p_job bigint, p_request int) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_one record;
begin
	for v_one in
		update attempt t
		set time_limit_s = coalesce(r.time_limit_s, p.default_time_s, p.max_time_s, 0)
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		left join partition p on p.partition = r.partition
		where s.job_id = p_job and s.request_id = p_request and t.job_id = s.job_id and t.step_id = s.step_id
			and t.ended_at is null
		returning t.job_id, t.step_id, t.time_limit_s
	loop
		-- The node enforces the time limit, so the new limit is sent to it.
		perform internal.attempt_order('limit', v_one.job_id, v_one.step_id,
			jsonb_build_object('time_limit_s', v_one.time_limit_s));
	end loop;
	-- The new limit may make the step overlap an outage, or stop it from overlapping one.
	if internal.outage_expected() then
		perform internal.node_announce(array(
			select distinct a.node_id from allocation a
			join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt
			where s.job_id = p_job and s.request_id = p_request and a.ended_at is null));
	end if;
end $$;
comment on function internal.modify_attempts(bigint, int) is
	'Set the time limit of the running attempts of a step to what the step asks for now, and send it to their nodes.';

create function internal.modify_step(p_job bigint, p_request int, p_changed jsonb, p_spec text, p_auth text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_plan jsonb := internal.step_plan(p_job, p_request) || p_changed;
begin
	-- Existing allocations keep the old partition.
	update allocation a
	set partition = coalesce(a.partition, r.partition)
	from step s
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	where p_changed ? 'partition' and s.job_id = p_job and s.request_id = p_request and a.job_id = s.job_id
		and a.step_id = s.step_id;
	update step_request r
	set (partition, nodes_min, nodes_max, ntasks, ntasks_per_node, cpus_per_task, mem_mb, mem_per_cpu_mb, gres, licenses,
		exclusive, "constraint", nodelist,
			exclude, time_limit_s, time_min_s, begin_at, deadline_at, requeue, retry, group_name, keep, sample_s,
				reservation, image, checkpoint, eternal, prep)
		= (select s.partition, s.nodes_min, s.nodes_max, s.ntasks, s.ntasks_per_node, s.cpus_per_task, s.mem_mb,
			s.mem_per_cpu_mb, coalesce(s.gres, '{}'),
			coalesce(s.licenses, '{}'), s.exclusive, coalesce(s."constraint", ''), coalesce(s.nodelist, '{}'),
			coalesce(s.exclude, '{}'), s.time_limit_s, s.time_min_s,
			to_timestamp(s.begin_at), to_timestamp(s.deadline_at), s.requeue, s.retry, s."group",
			coalesce(s.keep, '{}'), s.sample_s, s.reservation, s.image, s.checkpoint, coalesce(s.eternal, false), s.prep
			from jsonb_to_record(v_plan) as s (partition text, nodes_min int, nodes_max int, ntasks int,
				ntasks_per_node int, cpus_per_task int, mem_mb bigint,
				mem_per_cpu_mb bigint, gres jsonb, licenses jsonb, exclusive boolean, "constraint" text,
				nodelist text[], exclude text[], time_limit_s bigint,
				time_min_s bigint, begin_at double precision, deadline_at double precision, requeue boolean,
				retry int, "group" text, keep jsonb, sample_s int, reservation text, image text,
				checkpoint jsonb, eternal boolean, prep text)),
		-- Steps that have started opened their files by the names in the old spec.
		(spec, auth) = (select case when b then r.spec else p_spec end,
			case when b then r.auth else decode(p_auth, 'hex') end
			from internal.modify_begun(p_job, p_request) b)
	where r.job_id = p_job and r.step_id = p_request;
	-- The step's rows are always updated, because the leader caches them by version.
	update step s
	set queue = r.partition,
		rank = s.rank - internal.eternal_rank(internal.rank_is_eternal(s.rank)) + internal.eternal_rank(r.eternal),
		association_id = internal.association_of(j.account, j.user_name, j.qos, r.gres),
		begin_at = case when p_changed ? 'begin_at' then r.begin_at else s.begin_at end,
		start_by = internal.start_by(r.deadline_at, r.time_min_s, r.time_limit_s)
	from step_request r
	join job j on j.job_id = r.job_id
	where s.job_id = p_job and s.request_id = p_request and s.ended_at is null and r.job_id = s.job_id
		and r.step_id = s.request_id;
	update step_array a
	set max_running = (p_changed -> 'array' ->> 'limit')::int
	where p_changed ? 'array' and a.job_id = p_job and a.step_id = p_request;
	if p_changed ? 'time_limit_s' then
		perform internal.modify_attempts(p_job, p_request);
	end if;
end $$;
comment on function internal.modify_step(bigint, int, jsonb, text, text) is
	'Write a changed step, and send its new time limit to the nodes of its running attempts.';

create function internal.modify_job(p_role text, p_job bigint, p_changed jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_job job;
begin
	select * into v_job from job j where j.job_id = p_job;
	if p_changed ?| array['account', 'qos'] and v_job.started_at is not null then
		raise exception 'job % has started, so its account and quality of service cannot be modified any more',
			p_job using errcode = 'RT409';
	elsif p_changed ?| array['account', 'qos']
		and exists (select from step s where s.job_id = p_job and s.ended_at is not null) then
		-- The usage figures of the old account and quality of service contain the ended step, so the change is refused.
		raise exception 'a step of job % has ended, so the job''s account and quality of service cannot be modified '
			'any more', p_job using errcode = 'RT409';
	end if;
	perform internal.submit_check_job(v_job.user_name, p_role,
		case when p_changed ? 'account' then p_changed ->> 'account' else v_job.account end,
		coalesce(p_changed ->> 'qos', v_job.qos), (p_changed ->> 'nice')::int, (p_changed ->> 'priority')::int, null,
		null);
	update job j
	set name = coalesce(p_changed ->> 'name', j.name),
		account = case when p_changed ? 'account' then p_changed ->> 'account' else j.account end,
		qos = coalesce(p_changed ->> 'qos', j.qos),
		comment = case when p_changed ? 'comment' then p_changed ->> 'comment' else j.comment end,
		mail_user = case when p_changed ? 'mail_user' then p_changed ->> 'mail_user' else j.mail_user end,
		mail_type = case when p_changed ? 'mail_type' then p_changed ->> 'mail_type' else j.mail_type end,
		nice = coalesce((p_changed ->> 'nice')::int, j.nice),
		priority = case when p_changed ? 'priority' then coalesce((p_changed ->> 'priority')::int, 0) else j.priority end
	where j.job_id = p_job;
	if p_changed ? 'mail_type' then
		perform internal.mail_watched(p_job, p_changed ->> 'mail_type');
	end if;
	if p_changed ?| array['nice', 'priority', 'qos', 'account'] then
		update step s
		set rank = internal.submit_rank(j.priority::bigint - j.nice + q.priority, q.tier, j.submit_at)
				+ internal.eternal_rank(r.eternal),
			association_id = internal.association_of(j.account, j.user_name, j.qos, r.gres)
		from job j
		join qos q on q.qos = j.qos
		join step_request r on r.job_id = j.job_id
		where j.job_id = p_job and s.job_id = j.job_id and s.ended_at is null and r.step_id = s.request_id;
	end if;
end $$;
comment on function internal.modify_job(text, bigint, jsonb) is 'Write the changed properties of a job.';

create function api.job_modify(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_role text := internal.caller_role(p_uid, p_user);
	v_job_changes jsonb := coalesce(nullif(p_request -> 'job', 'null'), '{}');
	v_selection constant boolean := internal.is_selection(p_request);
	-- Of the jobs that the selection finds now, take only those for which the caller has sent changes.
	v_among constant bigint[] := case when v_selection then
		array(select distinct x.job_id from jsonb_to_recordset(p_request -> 'steps') as x (job_id bigint)) end;
	v_target jsonb;
	v_job bigint;
	v_one record;
begin
	-- Permission is checked before the jobs are locked, state after that.
	perform internal.job_lock(array(select distinct t.job_id
		from internal.modify_target(p_uid, p_user, p_request, v_among) t));
	select coalesce(jsonb_agg(jsonb_build_object('job_id', t.job_id, 'step_id', t.request_id, 'action', 'modified')), '[]')
		into v_target
	from internal.modify_target(p_uid, p_user, p_request, v_among) t;
	for v_job in select distinct (t ->> 'job_id')::bigint from jsonb_array_elements(v_target) t order by 1 loop
		perform internal.modify_job(v_role, v_job, coalesce(p_request -> 'each' -> v_job::text, v_job_changes));
		perform internal.job_changes_keep(v_job, 'job_modify', p_request -> 'kept' -> v_job::text);
	end loop;
	for v_one in
		select x.job_id, x.request_id, coalesce(x.changed, '{}') as changed, x.spec, x.auth, t.step_id
		from jsonb_to_recordset(p_request -> 'steps') as x (job_id bigint, request_id int, changed jsonb, spec text,
			auth text)
		left join jsonb_to_recordset(v_target) as t (job_id bigint, step_id int) on t.job_id = x.job_id
			and t.step_id = x.request_id
		order by x.job_id, x.request_id
	loop
		if v_one.step_id is null and v_selection then
			continue;
		elsif v_one.step_id is null then
			raise exception 'step %.% has changed meanwhile', v_one.job_id, v_one.request_id using errcode = 'RT409',
				hint = 'Try again.';
		end if;
		perform internal.modify_check(v_role,
			(select p_request -> 'groups' from job j where j.job_id = v_one.job_id and j.uid = p_uid), v_one.job_id,
			v_one.request_id, v_one.changed, v_one.spec);
		perform internal.modify_step(v_one.job_id, v_one.request_id, v_one.changed, v_one.spec, v_one.auth);
	end loop;
	perform internal.step_move(p_user, array(
		select internal.move_of(job_id => t.job_id, step_id => t.step_id, event => 'modify')
		from jsonb_to_recordset(v_target) as t (job_id bigint, step_id int)));
	notify rota_schedule;
	notify rota_event;
	return internal.control_answer('modify', v_target, v_target);
end $$;
comment on function api.job_modify(int, text, jsonb) is
	'Store changes to steps and their jobs. Request {jobs, steps: [{job_id, request_id, changed, spec, auth}], job, each, '
	'kept, groups}, or a selection instead of jobs. job: changed properties of all jobs; each {"12": {...}}: changed '
	'properties of one job, instead of job; kept {"12": [{field, before, after}]}: fields that the site''s script set in one '
	'job; groups: the caller''s groups. Answer {steps: [{label, state, action, changed, failed}]}. RT409: not possible in '
	'the state of a step.';
