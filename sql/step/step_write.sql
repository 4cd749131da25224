-- Changes the state of steps that have a row. (internal.array_expand inserts rows of array elements that start.)
--
-- Invariants:
-- - A move that the state of its step does not allow changes nothing. The function returns the moves that were made.
-- - The caller has locked the jobs (internal.job_lock).
create function internal.step_write(p_actor text, p_moves internal.move[]) returns setof internal.move_made
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return query
	with asked as (
		select distinct on (m.job_id, m.step_id) m.*
		from unnest(p_moves) with ordinality as m (job_id, step_id, event, at, cause, exit_code, signal, message, nr)
		order by m.job_id, m.step_id, m.nr
	), moved as (
		select s.job_id, s.step_id, s.request_id, s.array_index, s.attempt, s.state as from_state, a.event, t.to_state,
			st.stage = 'final' as final, coalesce(a.at, now()) as at, a.cause, a.exit_code, a.signal, a.message,
			-- A step whose start and end are in one report was never in state running; its attempt has the time of
			-- the start. Attempts from before a requeue of the job do not count: ordered_at is null.
			case when st.stage = 'final' then coalesce(s.started_at,
				(select t.started_at from attempt t
					where t.job_id = s.job_id and t.step_id = s.step_id
					and t.attempt = s.attempt and s.ordered_at is not null)) end as began_at
		from asked a
		join step s on s.job_id = a.job_id and s.step_id = a.step_id
		join step_transition t on t.from_state = s.state and t.event = a.event
		join step_state st on st.state = t.to_state
	), written as (
		update step s
		set state = m.to_state,
			attempt = s.attempt + (m.event = 'start')::int,
			ordered_at = case when m.event = 'start' then m.at else s.ordered_at end,
			-- A step that may not start before a time (--begin, or the delay of a retry) waits for resources only
			-- from that time on.
			eligible_at = case when m.event = 'start' and s.begin_at > s.eligible_at then least(s.begin_at, m.at)
				else s.eligible_at end,
			started_at = case when m.event in ('start', 'requeue', 'prolog_fail') then null
				when m.event in ('run', 'expand') then coalesce(s.started_at, m.at)
					else coalesce(s.started_at, m.began_at) end,
			ended_at = case when m.final then m.at end,
			exit_code = case when x.anew then m.exit_code else coalesce(m.exit_code, s.exit_code) end,
			signal = case when x.anew then m.signal else coalesce(m.signal, s.signal) end,
			cause = case when x.anew then m.cause else coalesce(m.cause, s.cause) end,
			message = case
			when x.anew or (m.event in ('complete', 'timeout', 'skip') and s.end_wanted is not null) then m.message
			else coalesce(m.message, s.message) end,
			end_wanted = case when m.event in ('start', 'requeue', 'prolog_fail') then null else s.end_wanted end,
			resume_wanted = s.resume_wanted and m.event not in ('start', 'resume') and not m.final
		from moved m
		-- A step that ends while it waits did not end by the cause of an earlier attempt. A step that ends by itself did
		-- not end because of a request that came at the same time.
		cross join lateral (select m.event = 'start' or (m.final and m.from_state = 'pending') as anew) x
		where s.job_id = m.job_id and s.step_id = m.step_id
	), logged as (
		insert into event (job_id, step_id, attempt, at, from_state, event, to_state, actor, cause, detail)
		select m.job_id, m.step_id, m.attempt + (m.event = 'start')::int, m.at, m.from_state, m.event, m.to_state,
			p_actor, m.cause, m.message
		from moved m
	), due as (
		insert into usage_pending (job_ids, step_ids) select array_agg(m.job_id), array_agg(m.step_id) from moved m
			where m.final having count(*) > 0
	)
	select m.job_id, m.step_id, m.request_id, m.array_index, m.attempt + (m.event = 'start')::int, m.from_state, m.event,
		m.to_state, m.final
	from moved m;
end $$;
comment on function internal.step_write(text, internal.move[]) is
	'Apply events to steps: write their states and the event log. Returns the events that changed a step. Only the first '
	'event of a step in the list counts.';
