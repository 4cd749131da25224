-- Makes controller prologs and epilogs due. The transactions that start and end attempts write them, so none is lost. If no hook
-- is configured, each of these functions reads one row and returns.

create function internal.hook_prolog(p_decided internal.start_decision[]) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if not (select l.prolog from leader l where l.name = 'schedule') then
		return false;
	end if;
	insert into hook_pending (job_id, step_id, attempt, hook)
	select v.job_id, v.step_id, v.attempt, 'controller_prolog' from unnest(p_decided) v;
	notify rota_hook;
	return true;
end $$;
comment on function internal.hook_prolog(internal.start_decision[]) is
	'Make the controller prologs of starts due, if one is configured. Returns whether the launch requests of the starts wait '
	'for them (api.node_orders).';

create function internal.hook_epilog(p_closed internal.attempt_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if (select l.epilog from leader l where l.name = 'schedule') then
		insert into hook_pending (job_id, step_id, attempt, hook)
		select c.job_id, c.step_id, s.attempt, 'controller_epilog'
		from unnest(p_closed) c
		join step s on s.job_id = c.job_id and s.step_id = c.step_id;
		notify rota_hook;
	end if;
end $$;
comment on function internal.hook_epilog(internal.attempt_end[]) is
	'Make the controller epilogs of closed attempts due, if one is configured. Call this before the steps of the attempts '
	'change their state.';

create function internal.hook_unwanted(p_job bigint, p_step int) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if exists (select from hook_pending d where d.job_id = p_job and d.step_id = p_step and d.hook <> 'controller_epilog') then
		notify rota_hook_end;
	end if;
end $$;
comment on function internal.hook_unwanted(bigint, int) is
	'Record that the end of a step was asked for: its prolog, if it is under way, need not go on.';

create function internal.hook_wanted(p_job bigint, p_step int, p_attempt int) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (
		select from attempt t
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity' and t.outcome is null and s.end_wanted is null);
end $$;
comment on function internal.hook_wanted(bigint, int, int) is 'Whether an attempt will still start when its prolog has ended.';

create function internal.hooks_json(p_job bigint, p_step int, p_attempt int, p_own boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('hook', x.hook, 'node', x.node, 'due_at', x.due_at, 'ended_at',
			x.ended_at, 'exit_code', x.exit_code,
			'signal', x.signal, 'elapsed_s', round(x.usec / 1e6, 3), 'message', x.message, 'output',
			case when p_own then x.output end)
			order by coalesce(x.ended_at, x.due_at)), '[]')
		from (
			select c.hook, null as node, c.due_at, c.ended_at, c.exit_code, c.signal, c.usec, c.message, c.output
			from controller_hook c where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt
			union all
			select d.hook, null, d.due_at, null, null, null, null, null, null
			from hook_pending d where d.job_id = p_job and d.step_id = p_step and d.attempt = p_attempt
			union all
			select h.hook, n.name, null, h.ended_at, h.exit_code, h.signal, h.usec, null, h.output
			from hook_run h left join node n on n.node_id = h.node_id
			where h.job_id = p_job and h.step_id = p_step and h.attempt = p_attempt
		) x);
end $$;
comment on function internal.hooks_json(bigint, int, int, boolean) is
	'Prologs and epilogs of an attempt, on the controller and on its nodes, as a JSON list. Those of the controller are '
	'included before they have ended.';
