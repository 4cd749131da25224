-- GPUs that suspended steps give back (docs/checkpointing.md).
--
-- Called by: pause.sql, schedule/resume.sql, schedule/preempt.sql, why.sql, job_control.sql.
-- Invariants:
-- - GPUs of a suspended step are free only after its node has reported that its programs have left them. With launcher.devices =
--   granted they cannot open them again.
-- - A step goes on only with the same GPUs: its programs return to those that they have left.
-- - The order to resume names the suspension that it ends. A keeper that has reported its GPUs as free ignores any other.
-- - A step on several nodes keeps its GPUs.

create function internal.suspend_args(p_job bigint, p_step int) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return case when exists (
		select from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.keep ->> 'gres' = 'false'
		join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
			and cardinality(t.node_ids) = 1
		join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt and a.gres ? 'gpu'
		where s.job_id = p_job and s.step_id = p_step) then '{"devices": 1}'::jsonb else '{}' end;
end $$;
comment on function internal.suspend_args(bigint, int) is
	'Arguments of the order to suspend a step: whether the step gives its GPUs back when its programs have left them.';

create function internal.node_gives_gpus(p_node int) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	-- Root of the node writes what it registers: any other value is no.
	return exists (select from node n where n.node_id = p_node and n.found -> 'gives_gpus' = 'true');
end $$;
comment on function internal.node_gives_gpus(int) is
	'Whether programs of suspended steps can leave the GPUs of a node, as the node has said when it registered.';

create function internal.devices_leave(p_job bigint, p_step int, p_attempt int, p_at timestamptz) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	with given as (
		update allocation a
		set without_gpus = coalesce(a.without_gpus, '{}') + tstzmultirange(tstzrange(
			-- The next allocation of the GPUs begins by the clock of the database.
			greatest(least(p_at, clock_timestamp()), a.started_at), null))
		where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.node_index = 0 and a.ended_at is null
			and a.gres ? 'gpu'
		returning a.node_id
	)
	update node_gres g
	set job_id = null, step_id = null, attempt = null
	from given v
	where g.node_id = v.node_id and g.gres = 'gpu' and g.job_id = p_job and g.step_id = p_step and g.attempt = p_attempt;
end $$;
comment on function internal.devices_leave(bigint, int, int, timestamptz) is
	'The programs of a suspended attempt have left its GPUs: these are free for other steps. The caller has locked the node.';

create function internal.devices_left(p_job bigint, p_step int, p_attempt int) returns table (node_id int, unit int)
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	select a.node_id, u::int
	from allocation a
	cross join lateral jsonb_array_elements_text(a.gres -> 'gpu') u
	where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.ended_at is null
		and upper_inf(a.without_gpus);
end $$;
comment on function internal.devices_left(bigint, int, int) is
	'GPUs that an attempt has given back and needs to resume, one row each; no row: it holds all of its GPUs.';

create function internal.devices_text(p_job bigint, p_step int, p_attempt int) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return case when exists (select from internal.devices_left(p_job, p_step, p_attempt)) then 'its CPUs and GPUs are free'
		else 'its CPUs are free' end;
end $$;
comment on function internal.devices_text(bigint, int, int) is 'What a suspended attempt needs to resume, as text.';

create function internal.devices_are_free(p_job bigint, p_step int, p_attempt int) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return not exists (
		select from internal.devices_left(p_job, p_step, p_attempt) d
		where not exists (select from node_gres g
			where g.node_id = d.node_id and g.gres = 'gpu' and g.unit = d.unit and g.job_id is null)
	) and not exists (
		select from (select d.node_id, count(*) as wanted from internal.devices_left(p_job, p_step, p_attempt) d
			group by d.node_id) w
		where w.wanted + internal.claim_gpus(w.node_id)
			> (select count(*) from node_gres g where g.node_id = w.node_id and g.gres = 'gpu' and g.job_id is null));
end $$;
comment on function internal.devices_are_free(bigint, int, int) is
	'Whether the GPUs that an attempt has given back are free, and as many others as claims keep free.';

create function internal.devices_return(p_job bigint, p_step int, p_attempt int, p_at timestamptz) returns jsonb
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_left bigint := (select count(*) from internal.devices_left(p_job, p_step, p_attempt));
	v_got bigint;
begin
	if v_left = 0 then
		return '{}';
	end if;
	update node_gres g
	set job_id = p_job, step_id = p_step, attempt = p_attempt
	from internal.devices_left(p_job, p_step, p_attempt) d
	where g.node_id = d.node_id and g.gres = 'gpu' and g.unit = d.unit and g.job_id is null;
	get diagnostics v_got = row_count;
	if v_got <> v_left then
		raise exception 'a GPU of a suspended step is allocated' using errcode = '40001', hint = 'Read again and decide anew.';
	end if;
	update allocation a
	set without_gpus = a.without_gpus * tstzmultirange(tstzrange(null, p_at))
	where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.ended_at is null
		and upper_inf(a.without_gpus);
	return (select jsonb_build_object('devices', t.pause_clock) from attempt t
		where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt);
end $$;
comment on function internal.devices_return(bigint, int, int, timestamptz) is
	'Give an attempt that resumes the GPUs back that it has left; internal.devices_are_free has found them free. Returns the '
	'arguments of the order to resume: the clock of the suspension that it ends.';

create function internal.devices_lock(p_steps jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.node_lock(array(
		select a.node_id
		from jsonb_to_recordset(p_steps) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'suspended'
		join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt and a.ended_at is null
			and upper_inf(a.without_gpus)));
end $$;
comment on function internal.devices_lock(jsonb) is
	'Lock the nodes of suspended steps [{job_id, step_id}] that have given GPUs back, before internal.devices_regain for each.';

create function internal.devices_regain(p_job bigint, p_step int) returns jsonb
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_attempt int := (select s.attempt from step s where s.job_id = p_job and s.step_id = p_step and s.state = 'suspended');
begin
	return case when internal.devices_are_free(p_job, p_step, v_attempt)
		then internal.devices_return(p_job, p_step, v_attempt, clock_timestamp()) else '{}' end;
end $$;
comment on function internal.devices_regain(bigint, int) is
	'Give a suspended step that is ended its GPUs back if they are free, so that its programs have what they hold on them when '
	'they get SIGTERM. Returns arguments of the order to kill. The caller has called internal.devices_lock.';
