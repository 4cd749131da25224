-- The tick of the scheduling leader, at the begin of each cycle: the time-driven moves that are due, and when the next ones are
-- due.
--
-- Called by: the leader (jobmgr/lead/lead_cycle_read.c).
-- Invariants:
-- - A tick at which nothing is due takes no lock and writes no row.
create function internal.deadline_expire(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_due bigint[];
begin
	select array_agg(distinct s.job_id) into v_due
	from step s
	where s.start_by <= now() and s.ended_at is null and (s.state = 'pending' or (s.state = 'running' and s.attempt = 0))
		and s.job_id = any (p_jobs);
	if v_due is null then
		return;
	end if;
	perform internal.step_move('schedule', array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'deadline', cause => 'deadline',
			message => 'could not end before its deadline')
		from step s
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		where s.job_id = any (v_due) and s.state = 'pending' and a.size is null and s.start_by <= now()
			and s.ended_at is null));
	perform internal.step_move('schedule', array(
		select m::internal.move
		from step s
		join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		cross join lateral internal.array_give_up(s.job_id, s.step_id, 'deadline', 'deadline',
			'could not end before its deadline') m
		where s.job_id = any (v_due) and s.ended_at is null and a.next < a.size and s.start_by <= now()));
	notify rota_event;
end $$;
comment on function internal.deadline_expire(bigint[]) is
	'End those steps of jobs that still wait when they could no longer end before their deadline.';

-- Time-driven moves: outages begin, deadlines pass, suspended steps resume if CPUs are free.
create function internal.schedule_timers() returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_wanted bigint[];
	v_free bigint[];
	v_ending bigint[];
	v_drained int[];
	v_growths bigint[];
	v_unsaved constant bigint[] := internal.checkpoint_expired();
	v_timed bigint[];
	v_one record;
begin
	v_ending := array(select o.job_id from internal.outage_attempts() o);
	v_growths := internal.growth_due();
	perform internal.checkpoint_timer_drop();
	v_timed := internal.checkpoint_timer_due();
	-- Take all locks at once, in order. A job that another session has locked is left for the next tick, which comes soon:
	-- what is due is read from the rows.
	v_wanted := array(
		select s.job_id from step s
			where s.start_by <= now() and s.ended_at is null
			and (s.state = 'pending' or (s.state = 'running' and s.attempt = 0))
		union
		select s.job_id from step s where s.resume_wanted and s.state = 'suspended'
		union
		select unnest(v_ending)
		union
		select unnest(v_growths)
		union
		select unnest(v_unsaved)
		union
		select unnest(v_timed));
	v_free := internal.job_lock_free(v_wanted);
	v_drained := array(select n.node_id from node_notice n where n.kind = 'drain' and n.at <= now());
	perform internal.node_lock(array(
		select unnest(v_drained)
		union
		select a.node_id
		from step s
			join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt
			and coalesce(a.ended_at, 'infinity') = 'infinity'
		where s.resume_wanted and s.state = 'suspended' and s.job_id = any (v_free)));
	perform internal.outage_begin(array(select x from unnest(v_ending) x where x = any (v_free)), v_drained);
	perform internal.deadline_expire(v_free);
	perform internal.growth_settle(array(select x from unnest(v_growths) x where x = any (v_free)));
	perform internal.checkpoint_expire(array(select x from unnest(v_unsaved) x where x = any (v_free)));
	perform internal.checkpoint_timer_fire(array(select x from unnest(v_timed) x where x = any (v_free)));
	-- Suspended steps that are to resume, oldest first, if their CPUs are free again.
	perform internal.resume_lock((select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id))
		from step s where s.resume_wanted and s.state = 'suspended' and s.job_id = any (v_free)));
	for v_one in
		select s.job_id, s.step_id from step s
			where s.resume_wanted and s.state = 'suspended' and s.job_id = any (v_free) order by s.rank desc,
			s.job_id, s.step_id
	loop
		perform internal.step_resume(v_one.job_id, v_one.step_id);
	end loop;
	return cardinality(v_free) = cardinality(v_wanted);
end $$;
comment on function internal.schedule_timers() is
	'Make the time-driven moves that are due. Returns false if some were not made, because another session had locked a job.';

-- Read from the index in that order. A sort would read all live rows, and all dead rows since the oldest transaction.
create function internal.deadline_next(p_after timestamptz) returns timestamptz
language plpgsql stable set enable_sort = off set search_path = live, rota, pg_temp as $$
begin
	return (select s.start_by from step s where s.start_by > p_after and s.ended_at is null order by s.start_by limit 1);
end $$;
comment on function internal.deadline_next(timestamptz) is
	'The first moment after p_after at which a live step could no longer end before its deadline; null: none.';

create function api.schedule_tick(p_term bigint)
	returns table (now double precision, next_at double precision, claims jsonb, preempts boolean, resumes jsonb)
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_outage boolean := internal.outage_expected();
	v_hooks boolean := exists (select from hook_pending);
	v_share boolean := internal.share_expired();
	v_limited constant boolean := internal.is_limited() or exists (select from line_limited l where l.until_at is null);
	-- Check for queue lines that have reached a limit once a second in each session at most.
	v_looked_at constant timestamptz := coalesce(nullif(current_setting('rota.lines_noted_at', true), ''), '-infinity');
	v_looks constant boolean := v_limited and v_looked_at <= now() - interval '1 second';
	v_lines constant boolean := v_looks and exists (select from internal.line_changes());
	v_unsaved constant timestamptz := least((select min(c.deadline_at) from checkpoint c where c.state in ('asked', 'taking')),
		(select min(t.next_at) from checkpoint_timer t));
	-- Check for nodes that report nothing about an attempt every ten seconds in each session at most.
	v_asked_at constant timestamptz := coalesce(nullif(current_setting('rota.inventory_asked_at', true), ''), '-infinity');
	v_asks constant boolean := v_asked_at <= now() - interval '10 seconds';
	v_unanswered constant int[] := case when v_asks then internal.unanswered_nodes() else '{}' end;
	v_due boolean := v_outage or v_unsaved <= now() or exists (select from step s where s.resume_wanted)
		or coalesce(internal.deadline_next('-infinity') <= now(), false)
		or (exists (select from growth g where g.closed_at is null) and internal.growth_due() <> '{}');
	v_pauses constant boolean := exists (select from preempt_pause);
	v_stale constant boolean := internal.claim_is_stale() or (v_pauses and internal.pause_is_stale());
	v_done boolean := true;
	v_next timestamptz;
begin
	-- If nothing is due, no lock is taken, and the leader does not wait for a write to disk.
	perform internal.leader_check(p_term, v_hooks or v_share or v_due or v_lines or v_stale or v_unanswered <> '{}');
	if v_stale then
		perform internal.claim_drop();
		perform internal.pause_drop();
	end if;
	if v_hooks then
		perform internal.hook_drop();
	end if;
	if v_share then
		perform internal.share_refresh();
	end if;
	if v_lines then
		perform internal.line_note();
	end if;
	if v_looks then
		perform set_config('rota.lines_noted_at', now()::text, false);
	end if;
	if v_asks then
		perform set_config('rota.inventory_asked_at', now()::text, false);
	end if;
	if v_unanswered <> '{}' then
		perform internal.inventory_ask(v_unanswered);
	end if;
	if v_due then
		v_done := internal.schedule_timers();
	end if;
	select least(
		case when not v_done then now() end,
		case when v_limited and not v_looks then v_looked_at + interval '1 second' end,
		(select min(s.begin_at) from step s where s.begin_at > now() and s.state = 'pending'),
		internal.deadline_next(now()),
		case when v_unsaved > now() then v_unsaved end,
		(select min(c.until_at) from preempt_claim c),
		case when v_outage then internal.outage_next() end)
	into v_next;
	return query select extract(epoch from now())::double precision, extract(epoch from v_next)::double precision,
		internal.claim_list(), internal.preempt_is_on(), case when v_pauses then internal.resume_list() end;
end $$;
comment on function api.schedule_tick(bigint) is
	'Make the time-driven moves that are due: deadlines, resumes, outages, growths, checkpoints. Record which queue lines '
	'have reached a limit, and have nodes register that report nothing about an attempt. Returns the database''s time and '
	'when the next move is due (epoch seconds; null: unknown), the claims (internal.claim_list), whether any step may be '
	'preempted, and which suspended steps may resume (internal.resume_list).';
