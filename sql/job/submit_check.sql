-- Checks of a submission: whether its steps can ever run, and whether its owner may submit it. submit_limit.sql checks limits.

create function internal.submit_nodes(p_nodes int) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select internal.text_count(p_nodes, 'node') || ' asked for'
$$;
comment on function internal.submit_nodes(int) is 'Text for messages of refusals: "2 nodes asked for".';

create function internal.submit_refuse(p_script text, p_line int, p_option text, p_message text, p_hint text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	raise exception '%', concat_ws(': ', case when p_line > 0 then p_script || ':' || p_line end,
		coalesce(nullif(current_setting('rota.written', true), '')::jsonb #>> array[p_line::text, p_option], '--' || p_option),
		case when p_line < 0 then 'set by the site''s script' end, p_message)
		using errcode = 'RT422', hint = coalesce(p_hint, '');
end $$;
comment on function internal.submit_refuse(text, int, text, text, text) is
	'Refuse a submission (RT422), naming script, line and option as it was written (the setting rota.written, from the plan); '
	'line 0: the command line; below: the site''s script.';

create function internal.submit_line(p_steps internal.planned_step[], p_line int, p_option text) returns int
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return coalesce((select (s.lines ->> p_option)::int from unnest(p_steps) s where s.line = p_line limit 1), p_line);
end $$;
comment on function internal.submit_line(internal.planned_step[], int, text) is
	'The line on which an option was given to the step that begins on line p_line, or to all steps.';

create function internal.submit_check_reservation(p_user text, p_account text, p_partition text, p_script text,
	p_steps internal.planned_step[], p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_line constant int := internal.submit_line(p_steps, p_step.line, 'reservation');
	v_one record;
begin
	select p_user = any (r.users) or coalesce(p_account = any (r.accounts), false) as admitted,
		exists (select from internal.reservation_time t where t.reservation_id = r.reservation_id) as ahead,
		(select count(*) from reservation_node rn
		join partition_node pn on pn.node_id = rn.node_id and pn.partition = p_partition
			where rn.reservation_id = r.reservation_id) as nodes
	into v_one
	from reservation r
	where r.name = p_step.reservation;
	if not found then
		perform internal.submit_refuse(p_script, v_line, 'reservation',
			format('there is no reservation "%s"', p_step.reservation), 'See "rota reservations".');
	elsif not v_one.admitted then
		perform internal.submit_refuse(p_script, v_line, 'reservation',
			format('you may not use reservation "%s"', p_step.reservation),
			'It is open to the users and accounts on its list; see "rota reservations".');
	elsif not v_one.ahead then
		perform internal.submit_refuse(p_script, v_line, 'reservation',
			format('reservation "%s" is over', p_step.reservation), null);
	elsif v_one.nodes < p_step.nodes_min then
		perform internal.submit_refuse(p_script, v_line, 'reservation',
			format('%s, reservation "%s" has %s of partition "%s"', internal.submit_nodes(p_step.nodes_min),
			p_step.reservation, v_one.nodes, p_partition), null);
	end if;
end $$;
comment on function internal.submit_check_reservation(text, text, text, text, internal.planned_step[], internal.planned_step) is
	'Refuse a reservation that does not exist, is over, is closed to the owner, or has too few nodes of the partition.';

create function internal.submit_check_image(p_user text, p_account text, p_partition text, p_script text,
	p_steps internal.planned_step[], p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_line constant int := internal.submit_line(p_steps, p_step.line, 'image');
	v_one node_image;
	v_nodes int;
begin
	select * into v_one from node_image i where i.image = p_step.image;
	select count(*) into v_nodes from partition_node pn
	join node n on n.node_id = pn.node_id and (n.image = p_step.image or (n.image is not null and n.default_image is not null))
	where pn.partition = p_partition;
	if v_one.image is null then
		perform internal.submit_refuse(p_script, v_line, 'image', format('there is no image "%s"', p_step.image),
			internal.setup_hint(p_user, 'image', p_step.image));
	elsif (v_one.users, v_one.accounts) <> ('{}', '{}')
		and not (p_user = any (v_one.users) or coalesce(p_account = any (v_one.accounts), false)) then
		perform internal.submit_refuse(p_script, v_line, 'image', format('you may not use image "%s"', p_step.image),
			'It is open to the users and accounts on its list.');
	elsif internal.image_failed(v_one) then
		perform internal.submit_refuse(p_script, v_line, 'image',
			format('nodes could not be booted with image "%s" %s times in a row', p_step.image, v_one.failures),
			'An administrator opens it again when it is repaired.');
	elsif v_nodes < p_step.nodes_min then
		perform internal.submit_refuse(p_script, v_line, 'image',
			format('%s; of partition "%s", %s have image "%s" or may be booted with it', internal.submit_nodes(p_step.nodes_min),
				p_partition, v_nodes, p_step.image), null);
	end if;
end $$;
comment on function internal.submit_check_image(text, text, text, text, internal.planned_step[], internal.planned_step) is
	'Refuse an image that does not exist, is closed to the owner, has failed too often, or that too few nodes of the '
	'partition may have.';

create function internal.submit_check_prep(p_user text, p_account text, p_partition text, p_script text,
	p_steps internal.planned_step[], p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_line constant int := internal.submit_line(p_steps, p_step.line, 'prep');
	v_name constant text := internal.prep_name(p_step.prep);
	v_one node_prep;
	v_nodes int;
begin
	perform p_step.prep::rota.prep_asked;
	select * into v_one from node_prep p where p.prep = v_name;
	if v_one.prep is null then
		perform internal.submit_refuse(p_script, v_line, 'node-prep', format('there is no preparation "%s"', v_name),
			internal.setup_hint(p_user, 'node-prep', v_name));
	elsif (v_one.users, v_one.accounts) <> ('{}', '{}')
		and not (p_user = any (v_one.users) or coalesce(p_account = any (v_one.accounts), false)) then
		perform internal.submit_refuse(p_script, v_line, 'node-prep', format('you may not use preparation "%s"', v_name),
			'It is open to the users and accounts on its list.');
	elsif internal.prep_failed(v_one) then
		perform internal.submit_refuse(p_script, v_line, 'node-prep',
			format('nodes could not be prepared with "%s" %s times in a row', v_name, v_one.failures),
			'An administrator opens it again when it is repaired.');
	end if;
	select count(*) into v_nodes from partition_node pn join node n on n.node_id = pn.node_id
	where pn.partition = p_partition and (v_one.feature is null or v_one.feature = any (n.features));
	if v_nodes < p_step.nodes_min then
		perform internal.submit_refuse(p_script, v_line, 'node-prep',
			format('%s; of partition "%s", %s can be prepared with "%s"', internal.submit_nodes(p_step.nodes_min), p_partition,
				v_nodes, v_name), null);
	end if;
exception when check_violation then
	perform internal.submit_refuse(p_script, v_line, 'node-prep', format('"%s" is no preparation', p_step.prep),
		'Write NAME or NAME:ARGS, with 200 printable characters at most that do not begin with a space or "-".');
end $$;
comment on function internal.submit_check_prep(text, text, text, text, internal.planned_step[], internal.planned_step) is
	'Refuse a preparation that does not exist, is closed to the owner, has failed too often, or that too few nodes of the '
	'partition can have.';

create function internal.submit_distinct(p_steps internal.planned_step[]) returns internal.planned_step[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return array(
		select p_steps[x.nr]
		from (
			select min(s.nr) as nr
			from unnest(p_steps) with ordinality s (step_id, name, line, lines, topo, partition, nodes_min,
				nodes_max, ntasks, ntasks_per_node, cpus_per_task,
				mem_mb, mem_per_cpu_mb, gres, licenses, exclusive, "constraint", nodelist, exclude,
				time_limit_s, time_min_s, begin_at, deadline_at, "array",
				requeue, retry, hold, "group", keep, deps_any, with_set, spec, spec_end, auth, sample_s,
				reservation, image, checkpoint, eternal, prep, nr)
			group by s.partition, s.nodes_min, s.ntasks, s.ntasks_per_node, s.cpus_per_task, s.mem_mb,
				s.mem_per_cpu_mb, s.gres, s.licenses,
				s.nodelist, s.exclude, s.time_limit_s, s.time_min_s, s.deadline_at, s.exclusive,
				s.nodes_max, s.sample_s, s.reservation, s.image, s.prep
		) x
		order by x.nr);
end $$;
comment on function internal.submit_distinct(internal.planned_step[]) is
	'The first step of those with the same request: the result of a check of it applies to all of them.';

create function internal.submit_check_partition(p_user text, p_account text, p_groups jsonb, p_script text,
	p_steps internal.planned_step[], p_step internal.planned_step, p_partition rota.partition) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_line constant int := internal.submit_line(p_steps, p_step.line, 'partition');
begin
	if p_partition.partition is null then
		perform internal.submit_refuse(p_script, v_line, 'partition',
			case when p_step.partition is null then 'no partition named, and there is no default one'
			else format('there is no partition "%s"', p_step.partition) end,
			'Partitions: ' || coalesce((select string_agg(p.partition, ', ' order by p.partition) from partition p),
			'none') || '.');
	elsif p_partition.state in ('drain', 'inactive') then
		perform internal.submit_refuse(p_script, v_line, 'partition',
			format('partition "%s" accepts no jobs now (%s)', p_partition.partition, p_partition.state), null);
	elsif not coalesce(p_user = any (p_partition.allow_users), true)
		or not coalesce(p_account = any (p_partition.allow_accounts), p_partition.allow_accounts is null)
		or (p_partition.allow_groups is not null and not coalesce(p_groups ?| p_partition.allow_groups, false)) then
		perform internal.submit_refuse(p_script, v_line, 'partition',
			format('you may not use partition "%s"', p_partition.partition),
			'It is open to some users, groups or accounts only; see "rota partitions".');
	end if;
end $$;
comment on function internal.submit_check_partition(text, text, jsonb, text, internal.planned_step[], internal.planned_step,
	rota.partition) is
	'Refuse a partition that does not exist (null), accepts no jobs, or is closed to the owner.';

create function internal.submit_check_times(p_limit bigint, p_script text, p_steps internal.planned_step[],
	p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_sample int;
begin
	if p_limit is not null and (p_step.time_limit_s > p_limit or p_step.time_limit_s = 0) then
		perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, 'time'), 'time',
			format('the time limit is longer than the %s s allowed here', p_limit), null);
	end if;
	if p_step.deadline_at is not null
		and to_timestamp(p_step.deadline_at) <= now() + make_interval(secs => coalesce(p_step.time_min_s,
		p_step.time_limit_s, 0)) then
		perform internal.submit_refuse(p_script, p_step.line, 'deadline', 'the step cannot end before its deadline',
			null);
	end if;
	if p_step.sample_s > 0 then
		select x.value::int into v_sample from setting x where x.name = 'sample_min_s';
		if p_step.sample_s > 86400 or p_step.sample_s < v_sample then
			perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, 'sample'), 'sample',
				format('must be 0 or between %s and 86400 seconds, not %s', v_sample, p_step.sample_s),
				'Give 0 for none.');
		end if;
	end if;
end $$;
comment on function internal.submit_check_times(bigint, text, internal.planned_step[], internal.planned_step) is
	'Refuse a time limit above p_limit (null: no limit), a deadline that cannot be met, and a sample period out of range.';

create function internal.submit_check_size(p_partition rota.partition, p_script text, p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_cpus constant int := p_step.cpus_per_task * coalesce(p_step.ntasks_per_node, 1); -- CPUs on one node
	v_all_cpus constant bigint := p_step.cpus_per_task::bigint * p_step.ntasks;
	v_mem constant bigint := coalesce(p_step.mem_mb, p_step.mem_per_cpu_mb * p_step.cpus_per_task);
	v_fit record;
begin
	if p_step.nodes_min > p_partition.max_nodes then
		perform internal.submit_refuse(p_script, p_step.line, 'nodes',
			format('%s, partition "%s" allows %s', internal.submit_nodes(p_step.nodes_min), p_partition.partition,
			p_partition.max_nodes), null);
	end if;
	-- Compare with all resources of the partition, in use, down or not. Its largest nodes are mostly enough for the step;
	-- only otherwise are all nodes read.
	select count(*) as nodes, sum(x.cpus) as cpus into v_fit
	from (
		select n.cpus from partition_node pn join node n on n.node_id = pn.node_id
		where pn.partition = p_partition.partition and n.cpus >= v_cpus and n.mem_mb >= coalesce(v_mem, 0)
		limit p_step.nodes_min
	) x;
	if v_fit.nodes = p_step.nodes_min and v_fit.cpus >= v_all_cpus then
		return;
	end if;
	select count(*) as nodes, coalesce(sum(n.cpus), 0) as cpus, max(n.cpus) as most_cpus, max(n.mem_mb) as most_mem into v_fit
	from partition_node pn join node n on n.node_id = pn.node_id where pn.partition = p_partition.partition;
	if p_step.nodes_min > v_fit.nodes then
		perform internal.submit_refuse(p_script, p_step.line, 'nodes',
			format('%s, partition "%s" has %s', internal.submit_nodes(p_step.nodes_min), p_partition.partition,
			v_fit.nodes), null);
	elsif v_cpus > v_fit.most_cpus then
		perform internal.submit_refuse(p_script, p_step.line, 'cpus-per-task',
			format('%s on one node asked for, the largest node of partition "%s" has %s', internal.text_count(v_cpus, 'CPU'),
			p_partition.partition, v_fit.most_cpus), null);
	elsif v_all_cpus > v_fit.cpus then
		perform internal.submit_refuse(p_script, p_step.line, 'ntasks',
			format('%s asked for, partition "%s" has %s', internal.text_count(v_all_cpus, 'CPU'),
			p_partition.partition, v_fit.cpus), null);
	elsif v_mem > v_fit.most_mem then
		perform internal.submit_refuse(p_script, p_step.line, 'mem',
			format('%s MiB on one node asked for, the largest node of partition "%s" has %s', v_mem,
			p_partition.partition, v_fit.most_mem), null);
	end if;
end $$;
comment on function internal.submit_check_size(rota.partition, text, internal.planned_step) is
	'Refuse a step that needs more nodes, CPUs or memory than its partition has or allows.';

create function internal.submit_check_gres(p_partition text, p_script text, p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_short record;
begin
	select x.key, x.value::int as n, coalesce(max(g.n), 0) as most into v_short
	from jsonb_each_text(p_step.gres) x
	left join (select u.gres, u.node_id,
		count(*) as n from node_gres u join partition_node pn on pn.node_id = u.node_id
		where pn.partition = p_partition group by u.gres, u.node_id) g on g.gres = x.key
	group by x.key, x.value having coalesce(max(g.n), 0) < x.value::int limit 1;
	if found then
		perform internal.submit_refuse(p_script, p_step.line, 'gres',
			format('%s of "%s" on one node asked for, the best node of partition "%s" has %s', v_short.n,
			v_short.key, p_partition, v_short.most), null);
	end if;
end $$;
comment on function internal.submit_check_gres(text, text, internal.planned_step) is
	'Refuse more generic resources on one node than any node of the partition has.';

create function internal.submit_check_licenses(p_script text, p_steps internal.planned_step[], p_step internal.planned_step)
	returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_short record;
begin
	select x.key, x.value::int as n, coalesce(l.total, 0) as total into v_short
	from jsonb_each_text(p_step.licenses) x left join license l on l.license = x.key
		where coalesce(l.total, 0) < x.value::int limit 1;
	if found then
		perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, 'licenses'), 'licenses',
			case v_short.total when 0 then format('there is no licence "%s"', v_short.key)
			else format('%s of licence "%s" asked for, there are %s', v_short.n, v_short.key, v_short.total) end, null);
	end if;
end $$;
comment on function internal.submit_check_licenses(text, internal.planned_step[], internal.planned_step) is
	'Refuse more licences than exist.';

create function internal.submit_check_nodes(p_partition text, p_script text, p_steps internal.planned_step[],
	p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name text;
	v_nodes bigint;
begin
	if p_step.nodelist <> '{}' then
		select x.name into v_name from unnest(p_step.nodelist) x (name)
		where not exists (select from node n join partition_node pn on pn.node_id = n.node_id
			where n.name = x.name and pn.partition = p_partition) limit 1;
		if found then
			perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, 'nodelist'),
				'nodelist', format('partition "%s" has no node "%s"', p_partition, v_name), null);
		end if;
	end if;
	if p_step.exclude <> '{}' then
		select x.name into v_name from unnest(p_step.exclude) x (name)
			where not exists (select from node n where n.name = x.name) limit 1;
		if found then
			perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, 'exclude'),
				'exclude', format('there is no node "%s"', v_name), null);
		end if;
		select count(*) into v_nodes
		from partition_node pn join node n on n.node_id = pn.node_id
		where pn.partition = p_partition and n.name <> all (p_step.exclude)
			and (coalesce(p_step.nodelist, '{}') = '{}' or n.name = any (p_step.nodelist));
		if p_step.nodes_min > v_nodes then
			perform internal.submit_refuse(p_script, internal.submit_line(p_steps, p_step.line, 'exclude'),
				'exclude', format('%s, it leaves %s of partition "%s"', internal.submit_nodes(p_step.nodes_min),
				v_nodes, p_partition), null);
		end if;
	end if;
end $$;
comment on function internal.submit_check_nodes(text, text, internal.planned_step[], internal.planned_step) is
	'Refuse named nodes that the partition does not have, and excluded nodes without which the partition has too few.';

create function internal.submit_check_resources(p_user text, p_account text, p_partition text, p_script text,
	p_steps internal.planned_step[], p_step internal.planned_step) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_step.reservation is not null then
		perform internal.submit_check_reservation(p_user, p_account, p_partition, p_script, p_steps, p_step);
	end if;
	if p_step.image is not null then
		perform internal.submit_check_image(p_user, p_account, p_partition, p_script, p_steps, p_step);
	end if;
	if p_step.prep is not null then
		perform internal.submit_check_prep(p_user, p_account, p_partition, p_script, p_steps, p_step);
	end if;
	if p_step.gres <> '{}' then
		perform internal.submit_check_gres(p_partition, p_script, p_step);
	end if;
end $$;
comment on function internal.submit_check_resources(text, text, text, text, internal.planned_step[], internal.planned_step) is
	'Refuse a reservation, an image, a prep or generic resources that the step cannot have.';

create function internal.submit_check(p_user text, p_account text, p_qos text, p_groups jsonb, p_script text,
	p_steps internal.planned_step[]) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	-- Steps with the same request are checked once, by the first of them.
	v_steps internal.planned_step[] := case when cardinality(p_steps) > 1 then internal.submit_distinct(p_steps)
		else p_steps end;
	v_step internal.planned_step;
	v_part partition;
	v_default text;
	v_limit bigint;
	v_limited boolean := internal.is_limited();
	v_association int;
	v_tops jsonb;
begin
	foreach v_step in array v_steps loop
		if v_step.partition is not null then
			select * into v_part from partition p where p.partition = v_step.partition;
		else
			select * into v_part from partition p where p.is_default;
			v_default := v_part.partition;
		end if;
		-- Most partitions are open to all.
		if v_part.state is distinct from 'up'
			or num_nonnulls(v_part.allow_users, v_part.allow_accounts, v_part.allow_groups) > 0 then
			perform internal.submit_check_partition(p_user, p_account, p_groups, p_script, p_steps, v_step, v_part);
		end if;
		if v_limited then
			v_association := internal.association_of(p_account, p_user, p_qos, v_step.gres);
			select t.tops into v_tops
				from internal.limit_tops(array[(v_association, v_part.partition)::internal.queue_line]) t;
		end if;
		v_limit := least(v_part.max_time_s, (v_tops ->> 'time')::bigint);
		if num_nonnulls(v_limit, v_step.deadline_at, v_step.sample_s) > 0 then
			perform internal.submit_check_times(v_limit, p_script, p_steps, v_step);
		end if;
		perform internal.submit_check_size(v_part, p_script, v_step);
		-- Most steps do not need the checks below.
		continue
			when v_tops is null
			and num_nonnulls(v_step.gres, v_step.licenses, v_step.nodelist, v_step.exclude, v_step.reservation,
				v_step.image, v_step.prep) = 0;
		if num_nonnulls(v_step.reservation, v_step.image, v_step.prep, v_step.gres) > 0 then
			perform internal.submit_check_resources(p_user, p_account, v_part.partition, p_script, p_steps, v_step);
		end if;
		if v_tops is not null then
			perform internal.submit_check_limits(v_association, v_tops, v_part, p_script, p_steps, v_step);
		end if;
		if v_step.licenses <> '{}' then
			perform internal.submit_check_licenses(p_script, p_steps, v_step);
		end if;
		perform internal.submit_check_nodes(v_part.partition, p_script, p_steps, v_step);
	end loop;
	if v_limited and exists (select from unnest(p_steps) s where s.with_set is not null) then
		perform internal.submit_check_sets(p_user, p_account, p_qos, p_script, p_steps);
	end if;
	return v_default;
end $$;
comment on function internal.submit_check(text, text, text, jsonb, text, internal.planned_step[]) is
	'Refuse steps that can never run or are not allowed. Returns the partition of steps that name none, if there are such '
	'steps.';

create function internal.submit_check_job(p_owner text, p_role text, p_account text, p_qos text, p_nice int, p_priority int,
	p_script text, p_lines jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_account is not null then
		if not exists (select from account a where a.account = p_account) then
			perform internal.submit_refuse(p_script, coalesce((p_lines ->> 'account')::int, 1), 'account',
				format('there is no account "%s"', p_account), null);
		elsif exists (select from association a where a.account = p_account)
			and not exists (select from association a where a.account = p_account and a.user_name = p_owner) then
			perform internal.submit_refuse(p_script, coalesce((p_lines ->> 'account')::int, 1), 'account',
				format('"%s" may not use account "%s"', p_owner, p_account), null);
		end if;
		perform internal.submit_check_grant(p_account, p_script, coalesce((p_lines ->> 'account')::int, 1));
	end if;
	if not exists (select from qos q where q.qos = p_qos) then
		perform internal.submit_refuse(p_script, coalesce((p_lines ->> 'qos')::int, 1), 'qos',
			format('there is no quality of service "%s"', p_qos),
			(select 'There are: ' || string_agg(q.qos, ', ' order by q.qos) || '.' from qos q));
	elsif exists (select from qos q where q.qos = p_qos and not (coalesce(p_owner = any (q.allow_users), true)
		and coalesce(p_account = any (q.allow_accounts), q.allow_accounts is null))) then
		perform internal.submit_refuse(p_script, coalesce((p_lines ->> 'qos')::int, 1), 'qos',
			format('you may not use quality of service "%s"', p_qos), 'It is open to some users or accounts only.');
	elsif p_role = 'user' and p_priority is not null then
		perform internal.submit_refuse(p_script, coalesce((p_lines ->> 'priority')::int, 1), 'priority',
			'only operators give priority', null);
	elsif p_role = 'user' and p_nice < 0 then
		perform internal.submit_refuse(p_script, coalesce((p_lines ->> 'nice')::int, 1), 'nice',
			'only operators give a negative value',
			'Of #PBS lines it is -p, with the other sign: there 0 and less are for all.');
	end if;
end $$;
comment on function internal.submit_check_job(text, text, text, text, int, int, text, jsonb) is
	'Refuse an account, a quality of service or a priority that the owner may not have. p_role: role of the caller; p_lines: '
	'the lines of the script on which these were given.';
