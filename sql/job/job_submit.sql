-- Submission: one transaction writes all of a job, or an error names the line and nothing is written.

create function api.submit_refuse(p_script text, p_line int, p_option text, p_message text, p_hint text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	raise exception '%', concat_ws(': ', case when p_line > 0 then p_script || ':' || p_line end, '--' || p_option, p_message)
		using errcode = 'RT422', hint = coalesce(p_hint, '');
end $$;
comment on function api.submit_refuse(text, int, text, text, text) is 'Refuse a submission (RT422), naming script, line and option; line 0: the command line. Internal.';

create function api.submit_line(p_steps api.asked[], p_line int, p_option text) returns int
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return coalesce((select (s.lines ->> p_option)::int from unnest(p_steps) s where s.line = p_line limit 1), p_line);
end $$;
comment on function api.submit_line(api.asked[], int, text) is 'The line on which the step that begins on line p_line, or all of them, were given an option. Internal.';

create function api.submit_check(p_user text, p_account text, p_max_time_s bigint, p_groups jsonb, p_script text, p_steps api.asked[]) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_steps api.asked[] := p_steps;
	v_step api.asked;
	v_part partition;
	v_default text;
	v_limit bigint;
	v_fit record;
begin
	-- Steps that ask for the same are looked at once, by the first of them.
	if cardinality(p_steps) > 1 then
		v_steps := array(
			select p_steps[x.nr]
			from (
				select min(s.nr) as nr
				from unnest(p_steps) with ordinality s (step_id, name, line, lines, topo, partition, nodes_min, nodes_max, ntasks, ntasks_per_node, cpus_per_task,
					mem_mb, mem_per_cpu_mb, gres, licenses, exclusive, "constraint", nodelist, exclude, time_limit_s, time_min_s, begin_at, deadline_at, "array",
					requeue, retry, hold, "group", keep, deps_any, with_set, spec, auth, nr)
				group by s.partition, s.nodes_min, s.ntasks, s.ntasks_per_node, s.cpus_per_task, s.mem_mb, s.mem_per_cpu_mb, s.gres, s.licenses,
					s.nodelist, s.exclude, s.time_limit_s, s.time_min_s, s.deadline_at
			) x
			order by x.nr);
	end if;
	foreach v_step in array v_steps loop
		if v_step.partition is not null then
			select * into v_part from partition p where p.partition = v_step.partition;
		else
			select * into v_part from partition p where p.is_default;
			v_default := v_part.partition;
		end if;
		if not found then
			perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'partition'), 'partition', case when v_step.partition is null
				then 'no partition named, and there is no default one' else format('there is no partition "%s"', v_step.partition) end,
				'Partitions: ' || coalesce((select string_agg(p.partition, ', ' order by p.partition) from partition p), 'none') || '.');
		end if;
		if v_part.state in ('drain', 'inactive') then
			perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'partition'), 'partition', format('partition "%s" accepts no jobs now (%s)', v_part.partition, v_part.state), null);
		end if;
		if not coalesce(p_user = any (v_part.allow_users), true) or not coalesce(p_account = any (v_part.allow_accounts), v_part.allow_accounts is null)
			or (v_part.allow_groups is not null and not coalesce(p_groups ?| v_part.allow_groups, false)) then
			perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'partition'), 'partition', format('you may not use partition "%s"', v_part.partition),
				'It is open to some users, groups or accounts only; see "rota partitions".');
		end if;
		v_limit := least(v_part.max_time_s, p_max_time_s);
		if v_limit is not null and (v_step.time_limit_s > v_limit or v_step.time_limit_s = 0) then
			perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'time'), 'time', format('the time limit is longer than the %s s allowed here', v_limit), null);
		end if;
		if v_step.deadline_at is not null and to_timestamp(v_step.deadline_at) <= now() + make_interval(secs => coalesce(v_step.time_min_s, v_step.time_limit_s, 0)) then
			perform api.submit_refuse(p_script, v_step.line, 'deadline', 'the step cannot end before its deadline', null);
		end if;
		if v_step.nodes_min > v_part.max_nodes then
			perform api.submit_refuse(p_script, v_step.line, 'nodes', format('%s nodes asked for, partition "%s" allows %s', v_step.nodes_min, v_part.partition, v_part.max_nodes), null);
		end if;
		-- What the partition has at its best, whatever is used or down now. Mostly the first nodes that are large enough carry the step;
		-- where they do not, all are looked at.
		select count(*) as nodes, sum(x.cpus) as cpus into v_fit
		from (
			select n.cpus from partition_node pn join node n on n.node_id = pn.node_id
			where pn.partition = v_part.partition and n.cpus >= v_step.cpus_per_task * coalesce(v_step.ntasks_per_node, 1)
				and n.mem_mb >= coalesce(v_step.mem_mb, v_step.mem_per_cpu_mb * v_step.cpus_per_task, 0)
			limit v_step.nodes_min
		) x;
		if not coalesce(v_fit.nodes = v_step.nodes_min and v_fit.cpus >= v_step.cpus_per_task::bigint * v_step.ntasks, false) then
			select count(*) as nodes, coalesce(sum(n.cpus), 0) as cpus, max(n.cpus) as most_cpus, max(n.mem_mb) as most_mem into v_fit
			from partition_node pn join node n on n.node_id = pn.node_id where pn.partition = v_part.partition;
			if v_step.nodes_min > v_fit.nodes then
				perform api.submit_refuse(p_script, v_step.line, 'nodes', format('%s nodes asked for, partition "%s" has %s', v_step.nodes_min, v_part.partition, v_fit.nodes), null);
			elsif v_step.cpus_per_task * coalesce(v_step.ntasks_per_node, 1) > v_fit.most_cpus then
				perform api.submit_refuse(p_script, v_step.line, 'cpus-per-task', format('%s cpus on one node asked for, the largest node of partition "%s" has %s',
					v_step.cpus_per_task * coalesce(v_step.ntasks_per_node, 1), v_part.partition, v_fit.most_cpus), null);
			elsif v_step.cpus_per_task::bigint * v_step.ntasks > v_fit.cpus then
				perform api.submit_refuse(p_script, v_step.line, 'ntasks', format('%s cpus asked for, partition "%s" has %s', v_step.cpus_per_task::bigint * v_step.ntasks,
					v_part.partition, v_fit.cpus), null);
			elsif coalesce(v_step.mem_mb, v_step.mem_per_cpu_mb * v_step.cpus_per_task) > v_fit.most_mem then
				perform api.submit_refuse(p_script, v_step.line, 'mem', format('%s MiB on one node asked for, the largest node of partition "%s" has %s',
					coalesce(v_step.mem_mb, v_step.mem_per_cpu_mb * v_step.cpus_per_task), v_part.partition, v_fit.most_mem), null);
			end if;
		end if;
		if v_step.gres <> '{}' then
			select x.key, x.value::int as n, coalesce(max(g.n), 0) as most into v_fit
			from jsonb_each_text(v_step.gres) x
			left join (select u.gres, u.node_id, count(*) as n from node_gres u join partition_node pn on pn.node_id = u.node_id
				where pn.partition = v_part.partition group by u.gres, u.node_id) g on g.gres = x.key
			group by x.key, x.value having coalesce(max(g.n), 0) < x.value::int limit 1;
			if found then
				perform api.submit_refuse(p_script, v_step.line, 'gres', format('%s of "%s" on one node asked for, the best node of partition "%s" has %s',
					v_fit.n, v_fit.key, v_part.partition, v_fit.most), null);
			end if;
		end if;
		if v_step.licenses <> '{}' then
			select x.key, x.value::int as n, coalesce(l.total, 0) as total into v_fit
			from jsonb_each_text(v_step.licenses) x left join license l on l.license = x.key where coalesce(l.total, 0) < x.value::int limit 1;
			if found then
				perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'licenses'), 'licenses', format('%s of licence "%s" asked for, there are %s', v_fit.n, v_fit.key, v_fit.total), null);
			end if;
		end if;
		if v_step.nodelist <> '{}' then
			select x.name into v_fit from unnest(v_step.nodelist) x (name)
			where not exists (select from node n join partition_node pn on pn.node_id = n.node_id where n.name = x.name and pn.partition = v_part.partition) limit 1;
			if found then
				perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'nodelist'), 'nodelist', format('partition "%s" has no node "%s"', v_part.partition, v_fit.name), null);
			end if;
		end if;
		if v_step.exclude <> '{}' then
			select x.name into v_fit from unnest(v_step.exclude) x (name) where not exists (select from node n where n.name = x.name) limit 1;
			if found then
				perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'exclude'), 'exclude', format('there is no node "%s"', v_fit.name), null);
			end if;
			select count(*) as nodes into v_fit
			from partition_node pn join node n on n.node_id = pn.node_id
			where pn.partition = v_part.partition and n.name <> all (v_step.exclude)
				and (coalesce(v_step.nodelist, '{}') = '{}' or n.name = any (v_step.nodelist));
			if v_step.nodes_min > v_fit.nodes then
				perform api.submit_refuse(p_script, api.submit_line(p_steps, v_step.line, 'exclude'), 'exclude', format('%s nodes asked for, it leaves %s of partition "%s"',
					v_step.nodes_min, v_fit.nodes, v_part.partition), null);
			end if;
		end if;
	end loop;
	return v_default;
end $$;
comment on function api.submit_check(text, text, bigint, jsonb, text, api.asked[]) is
	'Refuse what can never run (JM20) or is not allowed; p_max_time_s: the longest time limit of the quality of service, in seconds. Answers the partition of steps that name none, where there are any. Internal.';

create function api.submit_check_job(p_owner text, p_role text, p_account text, p_qos text, p_nice int, p_priority int, p_script text, p_lines jsonb) returns rota.qos
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_qos qos;
begin
	if p_account is not null then
		if not exists (select from account a where a.account = p_account) then
			perform api.submit_refuse(p_script, coalesce((p_lines ->> 'account')::int, 1), 'account', format('there is no account "%s"', p_account), null);
		elsif exists (select from association a where a.account = p_account)
			and not exists (select from association a where a.account = p_account and a.user_name = p_owner) then
			perform api.submit_refuse(p_script, coalesce((p_lines ->> 'account')::int, 1), 'account', format('"%s" may not use account "%s"', p_owner, p_account), null);
		end if;
	end if;
	select * into v_qos from qos q where q.qos = p_qos;
	if not found then
		perform api.submit_refuse(p_script, coalesce((p_lines ->> 'qos')::int, 1), 'qos', format('there is no quality of service "%s"', p_qos),
			(select 'There are: ' || string_agg(q.qos, ', ' order by q.qos) || '.' from qos q));
	elsif p_role = 'user' and p_priority is not null then
		perform api.submit_refuse(p_script, coalesce((p_lines ->> 'priority')::int, 1), 'priority', 'only operators give priority', null);
	elsif p_role = 'user' and p_nice < 0 then
		perform api.submit_refuse(p_script, coalesce((p_lines ->> 'nice')::int, 1), 'nice', 'only operators give a negative value', null);
	end if;
	return v_qos;
end $$;
comment on function api.submit_check_job(text, text, text, text, int, int, text, jsonb) is
	'Refuse an account, a quality of service or a priority that the owner may not have; p_role: the role of who asks; p_lines: where they were given. Answers the quality of service. Internal.';

create function api.start_by(p_deadline timestamptz, p_time_min_s bigint, p_time_limit_s bigint) returns timestamptz
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return p_deadline - make_interval(secs => coalesce(p_time_min_s, p_time_limit_s, 0));
end $$;
comment on function api.start_by(timestamptz, bigint, bigint) is 'The latest start with which a step can still end before its deadline; null: it has none. Internal.';

create function api.submit_rank(p_points int, p_at timestamptz) returns bigint
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return p_points::bigint * (select s.value::int from setting s where s.name = 'age_weight_s') * 1000 - (extract(epoch from p_at) * 1000)::bigint;
end $$;
comment on function api.submit_rank(int, timestamptz) is 'Place in the queue, in milliseconds: points of priority weighed against the time of submission. Internal.';

create function api.edge_peer(p_uid int, p_user text, p_script text, p_line int, p_kind text, p_job bigint, p_name text) returns int
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_step int;
begin
	-- Who follows on the same nodes gets them before all others: a matter among the owner's own jobs.
	perform api.job_target(p_uid, p_user, jsonb_build_object('jobs', jsonb_build_array(concat_ws('.', p_job::text, p_name))), p_kind = 'same_nodes');
	if p_name is null then
		return -1;
	end if;
	select r.step_id into v_step from step_request r where r.job_id = p_job and r.name = p_name;
	return v_step;
exception when sqlstate 'RT404' or sqlstate 'RT403' then
	perform api.submit_refuse(p_script, p_line, translate(p_kind, '_', '-'), sqlerrm, null);
end $$;
comment on function api.edge_peer(int, text, text, int, text, bigint, text) is 'The step of another job that an edge names; -1: the whole job. Internal.';

create function api.submit_roomy(p_uid int, p_steps int) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_load record;
	v_steps bigint;
	v_jobs bigint;
	c_most constant int := 32;
begin
	-- What was counted last and what came since, whoever's it is, are at least what there is: ends only make it less.
	select least(o.last_job, a.last_job) as last_job, least(l.value::bigint - o.steps, m.value::bigint - a.steps) as room into v_load
	from submit_load o
	join submit_load a on a.uid = -1 and a.counted_at > now() - make_interval(secs => 10 + a.steps / 10000.0)
	join setting l on l.name = 'max_submitted'
	join setting m on m.name = 'max_submitted_all'
	where o.uid = p_uid and o.counted_at > now() - make_interval(secs => 10 + o.steps / 10000.0);
	if not found then
		return false;
	end if;
	-- Those that have ended have no steps left, and count as read.
	select coalesce(sum(n.steps_left), 0), count(*) into v_steps, v_jobs
	from (select j.steps_left from job j where j.job_id > v_load.last_job order by j.job_id limit c_most) n;
	return v_jobs < c_most and v_steps + p_steps <= v_load.room;
end $$;
comment on function api.submit_roomy(int, int) is
	'Whether so many steps more are known to be within all limits for a user by what was counted last and a row or two; false: api.submit_fits knows. Internal.';

create function api.submit_fits(p_uid int, p_steps int) returns bigint
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_load record;
	v_newer bigint;
	v_jobs bigint;
	v_last bigint;
	c_most constant int := 256;
begin
	-- As above, but by the user's own jobs. What came since is added to what was counted, by whoever finds nobody else at it. All is
	-- counted anew only where the sum is too much, or once in a while, and the longer that takes, the more seldom.
	select s.value::bigint as most, l.steps, coalesce(l.last_job, 0) as last_job, l.counted_at into v_load
	from setting s left join submit_load l on l.uid = p_uid
	where s.name = case p_uid when -1 then 'max_submitted_all' else 'max_submitted' end;
	-- In the order of job ids, or all live jobs might be read for the newest few.
	if p_uid >= 0 then
		select coalesce(sum(n.steps_left), 0), count(*), max(n.job_id) into v_newer, v_jobs, v_last
		from (select j.steps_left, j.job_id from job j where j.ended_at is null and j.uid = p_uid and j.job_id > v_load.last_job
			order by j.job_id limit c_most) n;
	else
		select coalesce(sum(n.steps_left), 0), count(*), max(n.job_id) into v_newer, v_jobs, v_last
		from (select j.steps_left, j.job_id from job j where j.job_id > v_load.last_job order by j.job_id limit c_most) n;
	end if;
	if v_jobs < c_most and v_load.steps + v_newer + p_steps <= v_load.most and v_load.counted_at > now() - make_interval(secs => 10 + v_load.steps / 10000.0) then
		-- Of a user, as far as of all: what the others submit is not read again for it.
		update submit_load l
		set steps = l.steps + v_newer, last_job = greatest(v_last, l.last_job, (select a.last_job from submit_load a where a.uid = -1))
		where l.uid in (select x.uid from submit_load x where x.uid = p_uid and x.last_job = v_load.last_job for update skip locked);
		return null;
	elsif v_jobs < c_most and v_load.counted_at > now() - make_interval(secs => v_load.steps / 100000.0) then
		return case when v_load.steps + v_newer + p_steps > v_load.most then v_load.most end;
	end if;
	insert into submit_load as l (uid, steps, last_job)
	select p_uid, coalesce(sum(j.steps_left), 0), coalesce((select max(n.job_id) from job n), 0)
	from job j where j.ended_at is null and (p_uid = -1 or j.uid = p_uid)
	on conflict (uid) do update set steps = excluded.steps, last_job = greatest(excluded.last_job, l.last_job), counted_at = now()
	returning l.steps into v_newer;
	return case when v_newer + p_steps > v_load.most then v_load.most end;
end $$;
comment on function api.submit_fits(int, int) is
	'The limit of live steps of a user (-1: of all, asked first) that so many steps more would break; null: they fit. Submissions of the same moment do not see each other. Internal.';

create function api.submit_edges(p_uid int, p_user text, p_script text, p_job bigint, p_steps api.asked[], p_edges jsonb) returns rota.step_edge[]
language plpgsql set search_path = rota, pg_temp set enable_hashjoin = on set plan_cache_mode = force_custom_plan as $$
begin
	return (
	with own as materialized (
		select s.step_id, s.topo, s.with_set from unnest(p_steps) s
	)
	select array_agg((p_job, e.step_id, e.edge, e.kind, x.peer_job, x.peer_step, coalesce(e."condition", 'ok'), r.topo,
		-- By key, and only for other jobs.
		case when e.peer_job is null then p.topo else (select q.topo from step_request q where q.job_id = e.peer_job and q.step_id = x.peer_step) end,
		e.kind <> 'with' and coalesce(e."condition", 'ok') <> 'corr'
			and not (e.kind in ('same_nodes', 'other_nodes') and e.peer_job is null and r.with_set is not null and r.with_set is not distinct from p.with_set),
		'waiting', null, e.line)::step_edge)
	from (
		select e.*, row_number() over (partition by e.step_id) as edge
		from jsonb_to_recordset(p_edges) as e (step_id int, kind text, peer_job bigint, peer_step int, peer_name text, "condition" text, line int)
	) e
	join own r on r.step_id = e.step_id
	left join own p on p.step_id = e.peer_step and e.peer_job is null
	cross join lateral (
		select coalesce(e.peer_job, p_job) as peer_job,
			case when e.peer_job is null then e.peer_step else api.edge_peer(p_uid, p_user, p_script, e.line, e.kind, e.peer_job, e.peer_name) end as peer_step
	) x);
end $$;
comment on function api.submit_edges(int, text, text, bigint, api.asked[], jsonb) is 'What the steps of a new job wait for, as rows. Internal.';

create function api.job_submit(p_uid int, p_gid int, p_user text, p_plan jsonb, p_script bytea, p_environment bytea) returns jsonb
-- Partitions make plans for the very values look cheaper than kept ones, and they would be made anew for every submission.
language plpgsql security definer set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_head jsonb := p_plan -> 'job';
	v_script text := v_head ->> 'script_name';
	v_account text := v_head ->> 'account';
	v_edges constant jsonb := p_plan -> 'edges';
	v_steps constant api.asked[] := array(select s from jsonb_populate_recordset(null::api.asked, p_plan -> 'steps') s);
	v_count constant int := cardinality(v_steps);
	v_nice constant int := coalesce((v_head ->> 'nice')::int, 0);
	v_priority constant int := (v_head ->> 'priority')::int;
	v_qos qos;
	v_peers step_edge[];
	v_waits jsonb; -- of a step, how many it waits for: {step_id: [after, others]}
	v_partition text;
	v_job bigint;
	v_rank bigint;
	v_most bigint;
	v_script_hash constant bytea := sha256(p_script);
	v_environment_hash constant bytea := sha256(p_environment);
begin
	if v_head ->> 'client_key' is not null then
		-- The key decides: of two same submissions at once the second waits here and then finds the first one's job.
		perform pg_advisory_xact_lock(hashtextextended(p_uid || ' ' || (v_head ->> 'client_key'), 0));
		select k.job_id into v_job from client_key k where k.uid = p_uid and k.client_key = v_head ->> 'client_key';
		if found then
			return jsonb_build_object('job_id', v_job, 'steps', (select j.steps_total from job j where j.job_id = v_job), 'known', true);
		end if;
	end if;
	if v_account is null then
		select p.default_account into v_account from person p where p.user_name = p_user;
	end if;
	v_qos := api.submit_check_job(p_user, case when v_priority is not null or v_nice < 0 then api.caller_role(p_uid, p_user) end, v_account,
		coalesce(v_head ->> 'qos', 'normal'), v_nice, v_priority, v_script, v_head -> 'lines');
	v_partition := api.submit_check(p_user, v_account, v_qos.max_time_s, v_head -> 'groups', v_script, v_steps);
	if not api.submit_roomy(p_uid, v_count) then
		v_most := api.submit_fits(-1, v_count);
		if v_most is not null then
			raise exception 'all users together would have more than % live steps', v_most using errcode = 'RT429',
				hint = 'Try again when some have ended, or use arrays: an array is one.';
		end if;
		v_most := api.submit_fits(p_uid, v_count);
		if v_most is not null then
			raise exception 'user "%" would have more than % live steps', p_user, v_most using errcode = 'RT429',
				hint = 'Wait until some have ended, or use arrays: an array is one.';
		end if;
	end if;

	-- Mostly both are known: that is looked up for less than an insert that conflicts.
	if not exists (select from script s where s.hash = v_script_hash) then
		insert into script (hash, body) values (v_script_hash, p_script) on conflict do nothing;
	end if;
	if not exists (select from environment n where n.hash = v_environment_hash) then
		insert into environment (hash, body) values (v_environment_hash, p_environment) on conflict do nothing;
	end if;
	insert into job (name, uid, gid, user_name, account, qos, priority, nice, script_hash, environment_hash, script_name, workdir, comment,
		mail_user, mail_type, steps_total, steps_left)
	values (v_head ->> 'name', p_uid, p_gid, p_user, v_account, v_qos.qos, coalesce(v_priority, 0), v_nice,
		v_script_hash, v_environment_hash, v_script, v_head ->> 'workdir', v_head ->> 'comment', v_head ->> 'mail_user', v_head ->> 'mail_type', v_count, v_count)
	returning job_id into v_job;
	v_rank := api.submit_rank(coalesce(v_priority, 0) - v_nice + v_qos.priority, now());
	if v_head ->> 'client_key' is not null then
		insert into client_key (uid, client_key, job_id) values (p_uid, v_head ->> 'client_key', v_job);
	end if;

	insert into step_request (job_id, step_id, name, line, topo, partition, nodes_min, nodes_max, ntasks, ntasks_per_node, cpus_per_task, mem_mb,
		mem_per_cpu_mb, gres, licenses, exclusive, "constraint", nodelist, exclude, time_limit_s, time_min_s, begin_at, deadline_at, requeue, retry,
		group_name, keep, deps_any, with_set, spec, auth)
	select v_job, s.step_id, s.name, s.line, s.topo, coalesce(s.partition, v_partition), s.nodes_min, s.nodes_max, s.ntasks, s.ntasks_per_node, s.cpus_per_task, s.mem_mb,
		s.mem_per_cpu_mb, coalesce(s.gres, '{}'), coalesce(s.licenses, '{}'), s.exclusive, coalesce(s."constraint", ''), coalesce(s.nodelist, '{}'),
		coalesce(s.exclude, '{}'), s.time_limit_s, s.time_min_s, to_timestamp(s.begin_at), to_timestamp(s.deadline_at), s.requeue, s.retry,
		s."group", coalesce(s.keep, '{}'), s.deps_any, s.with_set, s.spec, decode(s.auth, 'hex')
	from unnest(v_steps) s;
	if v_edges <> '[]' then
		-- Edges to other jobs are settled against history at once; those of this job wait. The share lock keeps a peer from
		-- ending between our look at it and our commit, when it could not see our edge.
		perform 1 from job j
		where j.job_id in (select e.peer_job from jsonb_to_recordset(v_edges) as e (peer_job bigint))
		order by j.job_id
		for share;
		v_peers := api.submit_edges(p_uid, p_user, v_script, v_job, v_steps, v_edges);
		insert into step_edge select * from unnest(v_peers);
		select jsonb_object_agg(n.step_id, jsonb_build_array(n.after, n.others)) into v_waits
		from (
			select e.step_id, count(*) filter (where e.kind = 'after') as after, count(*) filter (where e.kind <> 'after') as others
			from unnest(v_peers) e
			where e.gates
			group by e.step_id
		) n;
	end if;
	insert into step (job_id, step_id, request_id, queue, is_array, rank, begin_at, start_by, held, held_reason, deps_waiting, eligible_at)
	select v_job, s.step_id, s.step_id, coalesce(s.partition, v_partition), s."array" is not null, v_rank, to_timestamp(s.begin_at),
		case when s.deadline_at is not null then api.start_by(to_timestamp(s.deadline_at), s.time_min_s, s.time_limit_s) end,
		case when s.hold then 'user' else '' end, case when s.hold then 'held at submission' end, x.waiting, case when x.waiting = 0 then now() end
	from unnest(v_steps) s
	cross join lateral (select v_waits -> s.step_id::text as n) w
	cross join lateral (select coalesce(case when s.deps_any then least((w.n ->> 0)::int, 1) else (w.n ->> 0)::int end + (w.n ->> 1)::int, 0) as waiting) x;
	if p_plan @? '$.steps[*].array.size' then
		insert into step_array (job_id, step_id, indices, size, max_running, by_corr)
		select v_job, s.step_id, s."array" -> 'indices', (s."array" ->> 'size')::int, (s."array" ->> 'limit')::int,
			s.step_id = any (array(select e.step_id from unnest(v_peers) e where e."condition" = 'corr'))
		from unnest(v_steps) s
		where s."array" is not null;
	end if;
	insert into event (job_id, step_id, attempt, at, from_state, event, to_state, actor)
	select v_job, s.step_id, 0, now(), 'pending', 'submit', 'pending', p_user from unnest(v_steps) s;
	if v_edges <> '[]' then
		if exists (select from unnest(v_peers) e where e.kind = 'same_nodes' or e."condition" = 'corr') then
			perform api.submit_check_peers(v_job, v_script);
		end if;
		if exists (select from unnest(v_peers) e where e.peer_job_id <> v_job or e."condition" = 'corr') then
			perform api.submit_settle(v_job);
		end if;
	end if;
	-- A bell wakes whoever listens for any: steps that are held concern nobody yet, but for their deadlines.
	if p_plan @? '$.steps[*] ? (!(@.hold == true) || exists (@.deadline_at))' then
		notify rota_schedule;
	end if;
	return jsonb_build_object('job_id', v_job, 'steps', v_count, 'known', false);
end $$;
comment on function api.job_submit(int, int, text, jsonb, bytea, bytea) is
	'Store a job as planned by the translator: uid, gid and name of the owner, plan, script, environment. Answers {job_id, steps, known}. RT422 names script, line and option; RT429: too many.';

create function api.submit_check_peers(p_job bigint, p_script text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_bad record;
begin
	with bound as materialized (
		select * from step_edge e where e.job_id = p_job and (e.kind = 'same_nodes' or e."condition" = 'corr')
	)
	select e.line, case e.kind when 'same_nodes' then 'same-nodes' else 'after' end as option,
		case when e.kind = 'same_nodes' and pa.size is not null then format('"%s" is an array, which has no one set of nodes', p.name)
			when e.kind = 'same_nodes' and e.peer_step_id = -1 then 'a whole job has no one set of nodes'
			when a.size is null or pa.size is null then format('"%s" and "%s" must both be arrays', r.name, p.name)
			else format('"%s" and "%s" have different indices', r.name, p.name) end as message
	into v_bad
	from bound e
	join step_request r on r.job_id = e.job_id and r.step_id = e.step_id
	left join step_request p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
	left join step_array a on a.job_id = e.job_id and a.step_id = e.step_id
	left join step_array pa on pa.job_id = e.peer_job_id and pa.step_id = e.peer_step_id
	where (e.kind = 'same_nodes' and (pa.size is not null or e.peer_step_id = -1))
		or (e."condition" = 'corr' and (a.indices is distinct from pa.indices or a.size is null))
	order by e.step_id
	limit 1;
	if found then
		perform api.submit_refuse(p_script, v_bad.line, v_bad.option, v_bad.message, null);
	end if;
end $$;
comment on function api.submit_check_peers(bigint, text) is 'Refuse peers that only the stored rows show to be impossible. Internal.';

create function api.submit_settle(p_job bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_due jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'edge', e.edge, 'state', case
			when e.kind <> 'after' then case when p.placed then 'met' when p.ended then 'failed' end
			when e."condition" = 'start' then case when p.started then 'met' when p.ended then 'failed' end
			when not p.ended then null
			when e."condition" = 'any' then 'met'
			when e."condition" = 'fail' then case when p.state <> 'completed' then 'met' else 'failed' end
			else case when p.state = 'completed' then 'met' else 'failed' end end))
	into v_due
	from step_edge e
	cross join lateral (
		select s.ended_at is not null as ended, s.state, s.started_at is not null as started, s.attempt > 0 or s.started_at is not null as placed
		from step s where s.job_id = e.peer_job_id and s.step_id = e.peer_step_id
		union all
		select j.ended_at is not null, j.state, exists (select from step s where s.job_id = j.job_id and s.started_at is not null), j.started_at is not null
		from job j where j.job_id = e.peer_job_id and e.peer_step_id = -1
	) p
	where e.job_id = p_job and e.peer_job_id <> p_job and e."condition" <> 'corr'
		and (p.ended or (p.started and e."condition" = 'start') or (p.placed and e.kind <> 'after'));
	perform api.step_move('schedule', array(select m::api.move from api.edge_settle(v_due) m));
	perform api.step_move('schedule', array(select m::api.move from api.array_correspond(array[(p_job, null, null, null, null, null, null, null, null)::api.moved]) m));
end $$;
comment on function api.submit_settle(bigint) is 'Settle a new job''s edges on other jobs by what those have done already. Internal.';
