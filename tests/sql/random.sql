-- Drawn jobs and drawn events: whatever happens in whatever order, everything adds up at any time, and all jobs come to an end.
-- The draw is the same each time; ROTA_SEED (-1 to 1) and ROTA_ROUNDS make another, or a longer one.
begin;
\ir world.psql
select * from no_plan();
\set seed 0.42
\getenv seed ROTA_SEED
\set rounds 300
\getenv rounds ROTA_ROUNDS
select setseed(:seed) \g /dev/null
create function t.pick(p_from anyarray) returns anyelement language sql volatile as $$ select p_from[1 + floor(random() * cardinality(p_from))::int] $$;

create function t.draw_job() returns bigint language plpgsql as $$
declare
	v_steps jsonb := '[]';
	v_edges jsonb := '[]';
	v_count int := 1 + floor(random() * 7)::int;
	v_kind text;
	v_peer bigint;
begin
	for i in 0 .. v_count - 1 loop
		v_steps := v_steps || jsonb_build_array(jsonb_build_object('name', 's' || i, 'retry', t.pick('{0,0,1}'::int[]), 'requeue', random() < 0.8, 'deps_any', random() < 0.2,
			'cpus_per_task', 1 + floor(random() * 2)::int, 'mem_mb', t.pick('{0,10,100}'::int[]), 'group', case when random() < 0.2 then 'g' end, 'hold', random() < 0.05)
			|| case when random() < 0.3 then jsonb_build_object('array', jsonb_build_object('indices', '[[0,3,1]]'::jsonb, 'size', 4, 'limit', t.pick('{1,2,null}'::int[]))) else '{}' end);
		for e in 1 .. floor(random() * 3)::int loop
			exit when i = 0;
			v_peer := floor(random() * i)::int;
			v_kind := case when v_steps -> i ? 'array' and v_steps -> v_peer::int ? 'array' and random() < 0.5 then 'corr' else t.pick('{ok,any,fail,start}'::text[]) end;
			v_edges := v_edges || jsonb_build_array(jsonb_build_object('step', 's' || i, 'peer', 's' || v_peer, 'condition', v_kind));
			if random() < 0.2 and not v_steps -> v_peer::int ? 'array' then
				v_edges := v_edges || jsonb_build_array(jsonb_build_object('step', 's' || i, 'peer', 's' || v_peer, 'kind', (array['same_nodes', 'other_nodes'])[1 + i % 2]));
			end if;
		end loop;
		select max(job_id) into v_peer from rota.job;
		if v_peer is not null and random() < 0.15 then
			v_edges := v_edges || jsonb_build_array(jsonb_build_object('step', 's' || i, 'job', greatest(1, v_peer - floor(random() * 4)::int), 'condition', t.pick('{ok,any,fail,start}'::text[])));
		end if;
	end loop;
	return t.submit(t.pick('{alice,bob}'::text[]), v_steps, v_edges);
end $$;

-- The scheduler: start what is offered wherever it fits; answers how many were started.
create function t.draw_start(p_most int) returns int language plpgsql as $$
declare
	v_one record;
	v_node int;
	v_nodes int[];
	v_position int;
	v_started int := 0;
begin
	for v_one in select * from t.offered order by nr loop
		exit when v_started >= p_most;
		select array_agg(n.node_id order by random()) into v_nodes from rota.node n
		where n.state = 'up' and (v_one.same_nodes is null or n.node_id = any (v_one.same_nodes)) and not n.node_id = any (coalesce(v_one.other_nodes, '{}'));
		v_position := case when v_one.array_size is not null then (select min(p) from generate_series(v_one.array_next, v_one.array_size - 1) p where p <> all (v_one.array_skip)) end;
		foreach v_node in array coalesce(v_nodes, '{}') loop
			begin
				v_started := v_started + t.commit(t.decision(api.step_label(v_one.job_id, v_one.step_id), array[v_node],
					case when v_position is not null then jsonb_build_object('position', v_position) else '{}' end
					|| jsonb_build_object('holder', not v_node = any (coalesce((select group_nodes from api.schedule_launch(array[v_one.job_id], array[v_one.request_id])), '{}')))));
				exit;
			exception when check_violation then
				null;
			end;
		end loop;
	end loop;
	return v_started;
end $$;

-- A node: one thing happens to a live step.
create function t.draw_report() returns void language plpgsql as $$
declare
	v_label text;
	v_state text;
	v_kind text;
begin
	select api.step_label(s.job_id, s.step_id), s.state into v_label, v_state from rota.step s where s.ended_at is null and s.attempt > 0 and s.state <> 'pending' order by random() limit 1;
	if not found then
		return;
	end if;
	v_kind := t.pick(case v_state when 'starting' then '{keeper,run,refused,prolog,done}' when 'prolog' then '{run,run,prolog}' when 'running' then '{done,finish,finish,fail,timeout,suspended,again}'
		when 'suspended' then '{finish,fail,resume}' else '{end}' end::text[]);
	case v_kind
		when 'prolog' then perform t.finish(v_label, '{"outcome": "prolog_fail", "cause": "prolog", "exit": -1}');
		when 'refused' then perform t.report(t.say(v_label, 'refused', '{"reason": "expired"}'));
		when 'finish' then perform t.finish(v_label);
		when 'fail' then perform t.fail(v_label);
		when 'timeout' then perform t.finish(v_label, '{"outcome": "timeout", "cause": "time_limit"}');
		when 'again' then perform t.run(v_label);
		when 'resume' then perform api.job_resume(0, 'root', t.request(v_label));
		else perform t.report(t.say(v_label, v_kind));
	end case;
end $$;

-- A person or a fate.
create function t.draw_act() returns void language plpgsql as $$
declare
	v_label text;
	v_node int := 1 + floor(random() * 4)::int;
begin
	select api.step_label(s.job_id, s.step_id) into v_label from rota.step s where s.ended_at is null order by random() limit 1;
	if not found then
		return;
	end if;
	if random() < 0.2 then
		v_label := split_part(v_label, '.', 1);
	end if;
	case t.pick('{cancel,hold,release,suspend,resume,lost,back,later,later,tick,element}'::text[])
		when 'cancel' then perform api.job_cancel(0, 'root', t.request(v_label));
		when 'hold' then perform api.job_hold(0, 'root', t.request(v_label));
		when 'release' then perform api.job_release(0, 'root', t.request(v_label));
		when 'suspend' then perform api.job_suspend(0, 'root', t.request(v_label));
		when 'resume' then perform api.job_resume(0, 'root', t.request(v_label));
		when 'tick' then perform api.schedule_tick(t.term());
		when 'later' then perform t.later();
		when 'lost' then
			perform t.silent(v_node);
			perform t.judge();
		when 'back' then
			perform t.back(i) from generate_series(1, 4) i;
			perform api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n[1-4]"}');
		else
			select a.job_id || '.' || r.name || '[' || floor(random() * 4)::int || ']' into v_label
			from rota.step_array a join rota.step_request r using (job_id, step_id) join rota.step s using (job_id, step_id) where s.ended_at is null order by random() limit 1;
			if v_label is not null then
				execute format('select api.job_%s(0, %L, %L)', t.pick('{cancel,hold,release}'::text[]), 'root', t.request(v_label));
			end if;
	end case;
end $$;

create function t.play(p_rounds int, p_jobs int) returns setof text language plpgsql as $$
declare
	v_wrong text;
	v_draw double precision;
begin
	for i in 1 .. p_rounds loop
		v_draw := random();
		if v_draw < 0.1 and (select count(*) from rota.job) < p_jobs then
			perform t.draw_job();
		elsif v_draw < 0.4 then
			perform t.draw_start(3);
		elsif v_draw < 0.85 then
			perform t.draw_report();
		else
			perform t.draw_act();
		end if;
		for v_wrong in select * from t.wrong() where i % 5 = 0 limit 3 loop
			return next 'round ' || i || ': ' || v_wrong;
		end loop;
		exit when v_wrong is not null;
	end loop;
end $$;
-- What is left is let go and run to its end.
create function t.settle() returns int language plpgsql as $$
declare
	v_rounds int := 0;
begin
	perform t.back(i) from generate_series(1, 4) i;
	perform api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n[1-4]"}');
	while exists (select from rota.job where ended_at is null) and v_rounds < 400 loop
		v_rounds := v_rounds + 1;
		perform api.job_release(0, 'root', jsonb_build_object('jobs', (select jsonb_agg(job_id::text) from rota.job where ended_at is null)));
		perform t.later();
		perform t.draw_start(1000);
		perform api.job_resume(0, 'root', jsonb_build_object('jobs', (select jsonb_agg(job_id::text) from rota.job where ended_at is null)));
		perform t.run(api.step_label(s.job_id, s.step_id)) from rota.step s where s.attempt > 0 and s.state in ('starting', 'prolog');
		perform t.finish(api.step_label(s.job_id, s.step_id)) from rota.step s where s.attempt > 0 and s.state in ('running', 'ending', 'suspended');
	end loop;
	return v_rounds;
end $$;
select is_empty('select * from t.play(' || :rounds || ', ' || :rounds / 15 || ')', :rounds || ' rounds: everything adds up');
select cmp_ok((select count(distinct event) from rota.event), '>', 12::bigint, 'they saw much of the machine');
select cmp_ok(t.settle(), '<', 400, 'all jobs come to an end');
select is_empty($$select t.states(job_id) from rota.job where ended_at is null$$, 'none is left');
select is_empty('select * from t.wrong() limit 9', 'and all adds up');
select is((select sum(cpus_used + mem_used_mb) from rota.node), 0::numeric, 'nothing is held on any node');
-- Holders of groups go when their epilogs have run.
select t.report(jsonb_build_array(jsonb_build_object('node', node_id, 'job', job_id, 'step', step_id, 'attempt', attempt, 'kind', 'end', 'age_us', 0, 'drain', ''))) from rota.allocation where gone_at is null \g /dev/null
select is((select count(*) from rota.allocation where gone_at is null), 0::bigint, 'nothing is left on any node');
select is_empty($$select a.job_id from rota.allocation a join rota.step_request r using (job_id) where a.gone_at is null$$, 'no holder is forgotten');
select * from finish();
rollback;
