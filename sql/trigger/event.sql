-- Fires triggers. The transactions of the events write the deliveries; without a trigger for an event, that costs one index
-- look-up.

create function internal.trigger_waits(p_events text[]) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select exists (select from "trigger" t where t.event = any (p_events) and t.removed_at is null);
$$;
comment on function internal.trigger_waits(text[]) is 'Whether there is a trigger for one of these events.';

create function internal.trigger_jobs(p_jobs bigint[], p_event text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if not internal.trigger_waits(array[p_event]) then
		return;
	end if;
	insert into trigger_run (trigger_id, payload)
	select t.trigger_id,
		jsonb_strip_nulls(jsonb_build_object('event', p_event, 'at', now(), 'job_id', j.job_id, 'job_name', j.name,
		'user', j.user_name, 'account', j.account, 'state', case when p_event = 'job_start' then 'running' else j.state end,
		'exit_code', j.exit_code, 'signal', j.signal, 'reason', j.cause))
	from job j
	join "trigger" t on t.event = p_event and t.removed_at is null and j.job_id = coalesce(t.job_id, j.job_id)
		and j.user_name = coalesce(t.jobs_of, j.user_name) and (t.states is null or j.state = any (t.states))
	where j.job_id = any (p_jobs)
	order by j.job_id, t.trigger_id;
	if found then
		notify rota_trigger;
	end if;
end $$;
comment on function internal.trigger_jobs(bigint[], text) is 'Fire the triggers for jobs that have started or ended.';

create function internal.trigger_steps(p_final internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if not internal.trigger_waits('{step_fail}') then
		return;
	end if;
	insert into trigger_run (trigger_id, payload)
	select t.trigger_id,
		jsonb_strip_nulls(jsonb_build_object('event', t.event, 'at', now(), 'job_id', j.job_id, 'job_name', j.name,
		'user', j.user_name, 'account', j.account, 'step', internal.step_label(s.job_id, s.step_id), 'state', s.state,
		'exit_code', s.exit_code, 'signal', s.signal, 'reason', s.cause))
	from unnest(p_final) v
	join step s on s.job_id = v.job_id and s.step_id = v.step_id
		and s.state not in ('completed', 'skipped', 'cancelled', 'dependency_failed')
	join job j on j.job_id = s.job_id
	join "trigger" t on t.event = 'step_fail' and t.removed_at is null and j.job_id = coalesce(t.job_id, j.job_id)
		and j.user_name = coalesce(t.jobs_of, j.user_name) and (t.states is null or s.state = any (t.states))
	order by s.job_id, s.step_id, t.trigger_id;
	if found then
		notify rota_trigger;
	end if;
end $$;
comment on function internal.trigger_steps(internal.move_made[]) is
	'Fire the triggers for steps of scripts that have failed. An array counts as one step.';

create function internal.trigger_node(p_node text, p_from text, p_state text, p_reason text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_event constant text := 'node_' || case p_state when 'drain' then 'drained' else p_state end;
begin
	if p_from = p_state or p_state not in ('down', 'drain', 'up') or not internal.trigger_waits(array[v_event]) then
		return;
	end if;
	insert into trigger_run (trigger_id, payload)
	select t.trigger_id, jsonb_strip_nulls(jsonb_build_object('event', v_event, 'at', now(), 'node', p_node, 'state', p_state,
		'before', p_from, 'reason', p_reason))
	from "trigger" t
	where t.event = v_event and t.removed_at is null and p_node = coalesce(t.node, p_node)
	order by t.trigger_id;
	if found then
		notify rota_trigger;
	end if;
end $$;
comment on function internal.trigger_node(text, text, text, text) is 'Fire the triggers for a node whose state has changed.';

create function internal.trigger_queue() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_most int;
	v_steps bigint;
begin
	select max(t.longer_than) into v_most from "trigger" t where t.event = 'queue_longer' and t.removed_at is null;
	if v_most is null then
		return;
	end if;
	select count(*) into v_steps from (select from step s where s.ended_at is null and s.state = 'pending' limit v_most + 1) x;
	with moved as (
		update "trigger" t
		set is_longer = v_steps > t.longer_than
		where t.event = 'queue_longer' and t.removed_at is null and t.is_longer <> (v_steps > t.longer_than)
		returning t.trigger_id, t.is_longer, t.longer_than
	)
	insert into trigger_run (trigger_id, payload)
	select m.trigger_id, jsonb_build_object('event', 'queue_longer', 'at', now(), 'longer_than', m.longer_than)
	from moved m
	where m.is_longer;
end $$;
comment on function internal.trigger_queue() is
	'Fire the triggers for a queue that has become longer than their limit: once, until it was shorter again.';
