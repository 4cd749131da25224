-- Reports of nodes about the end of an attempt: its tasks are done, its resource use, its outcome.
--
-- Called by: apply.sql.

create function internal.report_done(p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_freed internal.allocation_end[];
	-- Include pre-dispatched elements that are now known to have started.
	v_begun internal.attempt_report[] := array(select v::internal.attempt_report from unnest(p_seen) v
		where v.waits and v.open and v.began_at is not null);
begin
	-- Resources of an attempt are free after its end, and after a refusal. In a job group they are free as soon as the tasks
	-- have ended. The attempt that ran the prolog stays on the node, because it runs the epilog later.
	v_freed := array(
		select internal.allocation_end_of(job_id => v.job_id, step_id => v.step_id, attempt => v.attempt,
			node_id => v.node_id, at => coalesce(v.end_at, v.done_at), gone => v.end_at is not null or v.refused,
			figures => v.figures, began_at => coalesce(v.began_at, case when not v.refused then v.done_at end),
			boot_at => v.boot_at)
		from unnest(p_seen) v
		where v.open and (v.end_at is not null or v.refused or (v.done_at is not null and exists (
			select from step s join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
			where s.job_id = v.job_id and s.step_id = v.step_id and r.group_name is not null))));
	if v_freed <> '{}' then
		perform internal.allocation_free(v_freed, v_begun);
	elsif v_begun <> '{}' then
		perform internal.slot_pass_on(array(select m::internal.slot_move from internal.slot_moves('{}', v_begun) m));
	end if;
	if cardinality(v_freed) = cardinality(p_seen) then
		return;
	end if;
	-- Include attempts that wait only for an epilog, and attempts whose resources were freed before.
	with gone as (
		update allocation a
		set phase = case when v.end_at is null then 'done' else 'ended' end,
			gone_at = case when v.end_at is not null then greatest(v.end_at, a.ended_at) end,
			peak_mb = (v.used).peak_mb, cgroup_peak_mb = (v.used).cgroup_peak_mb,
			cpu_usec = (v.used).cpu_usec, system_usec = (v.used).system_usec,
			energy_j = internal.energy_share((v.used).node_uj, v.end_at, a.node_id, a.cpus, a.started_at,
				coalesce(a.ended_at, v.end_at), a.without_cpus),
			boot_at = coalesce(a.boot_at, v.boot_at)
		from (
			select w.*, case when w.end_at is not null
				then internal.figures_complete(w.figures, w.job_id, w.step_id, w.attempt, w.node_id) end as used
			from unnest(p_seen) w
			offset 0 -- once a row
		) v
		where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id
			and a.gone_at is null
				and (v.end_at is not null or (v.done_at is not null and a.phase not in ('done', 'ended')))
		returning a.job_id, a.step_id, a.attempt, a.node_id, a.cpu_usec is not null and a.ended_at is not null as used
	)
	insert into usage_pending (job_ids, step_ids, attempts, node_ids, used)
	select array_agg(g.job_id), array_agg(g.step_id), array_agg(g.attempt), array_agg(g.node_id), true from gone g
		where g.used having count(*) > 0;
end $$;
comment on function internal.report_done(internal.attempt_report[]) is
	'Store what nodes report about the end of tasks, and the end of an attempt on a node.';

create function internal.report_facts(p_seen internal.attempt_report[]) returns internal.attempt_fact[]
language plpgsql immutable set search_path = live, rota, pg_temp as $$
begin
	return array(
		with said as (
			select v.job_id, v.step_id, v.attempt, v.seq, v.run_at, v.session_id, v.done_at, v.exit_code, v.signal,
				v.single,
				-- If a keeper is gone without a report of its tasks' ends, the tasks are lost.
				case when v.done_at is null then 'node_fail' else v.outcome end as outcome,
					case when v.done_at is null then 'node' else v.cause end as cause,
				case when v.done_at is null then 'a node did not say how the tasks ended'
					else v.message end as message,
				-- How the attempt ended on a node that it gave back does not count.
				v.phase not in ('done', 'ended') and coalesce(v.done_at, v.end_at) is not null and not v.given_back
					as over
			from unnest(p_seen) v
			where v.live
		)
		select internal.attempt_fact_of(job_id => s.job_id, step_id => s.step_id, attempt => s.attempt,
			started_at => s.run_at, session_id => case when s.run_at is not null then s.session_id end,
			done_at => case when s.over then s.done_at end,
			outcome => case when s.over then nullif(s.outcome, 'complete') end,
			cause => case when s.over then s.cause end, message => case when s.over then s.message end,
			exit_code => case when s.over then s.exit_code end, signal => case when s.over then s.signal end)
		from said s
		where s.single
		union all
		-- If an attempt has several nodes, its outcome is the first failure on one of them.
		select internal.attempt_fact_of(job_id => s.job_id, step_id => s.step_id, attempt => s.attempt,
			started_at => min(s.run_at),
			session_id => (array_agg(s.session_id order by s.seq) filter (where s.run_at is not null))[1],
			done_at => max(s.done_at) filter (where s.over),
			outcome => (array_agg(s.outcome order by s.seq) filter (where s.over and s.outcome <> 'complete'))[1],
			cause => coalesce((array_agg(s.cause order by s.seq) filter (where s.over and s.outcome <> 'complete'))[1],
			min(s.cause) filter (where s.over)),
			message => coalesce((array_agg(s.message order by s.seq) filter (where s.over and s.outcome <> 'complete'))[1],
			min(s.message) filter (where s.over)), exit_code => max(s.exit_code) filter (where s.over),
			signal => max(s.signal) filter (where s.over))
		from said s
		where not s.single
		group by s.job_id, s.step_id, s.attempt);
end $$;
comment on function internal.report_facts(internal.attempt_report[]) is
	'For each live attempt in reports, the facts that internal.attempt_close stores.';

create function internal.report_ending(p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_ending internal.attempt_report[] := array(select v::internal.attempt_report from unnest(p_seen) v
		where v.live and not v.brief and coalesce(v.done_at, v.end_at) is not null);
begin
	if v_ending = '{}' then
		return;
	end if;
	-- Steps over several nodes: when the tasks of one node failed, the others are ended. Otherwise, nodes that only hold
	-- their resources get the order `end` when the node with the script, or every node with tasks, is done.
	perform internal.order_put((
		select jsonb_agg(l.reported)
		from (
			select jsonb_build_object('node_ids', jsonb_agg(o.node_id order by o.node_index), 'kind',
				case when t.outcome is null then 'end' else 'kill' end,
				'job_id', t.job_id, 'step_id', t.step_id, 'attempt', t.attempt, 'args',
				jsonb_build_object('epilog', 1, 'cause', coalesce(t.cause, ''))) as reported
			from (
				-- Read once for each step, not for each of its nodes. The order is sent once: with the report by which
				-- the other nodes may end.
				select t.job_id, t.step_id, t.attempt, t.outcome, t.cause
				from (select distinct v.job_id, v.step_id, v.attempt from unnest(v_ending) v
					where not v.single and v.phase not in ('done', 'ended')) v
				join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
					and coalesce(t.ended_at, 'infinity') = 'infinity'
				join step s on s.job_id = t.job_id and s.step_id = t.step_id
				join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
				cross join lateral (select coalesce(internal.spec_field(r.spec, 'per_task'),
					'0') = '1' as per_task offset 0) p -- once a row
				where t.outcome is not null or (
					exists (
						select from unnest(v_ending) e
						join allocation w on w.job_id = e.job_id and w.step_id = e.step_id
							and w.attempt = e.attempt and w.node_id = e.node_id
							and case when p.per_task then w.tasks > 0 else w.node_index = 0 end
						where e.job_id = t.job_id and e.step_id = t.step_id and e.attempt = t.attempt
							and e.phase not in ('done', 'ended'))
					and not exists (
						select from allocation w
						where w.job_id = t.job_id and w.step_id = t.step_id and w.attempt = t.attempt
							and w.phase not in ('done', 'ended')
							and case when p.per_task then w.tasks > 0 else w.node_index = 0 end))
				offset 0 -- once a step
			) t
			join allocation o on o.job_id = t.job_id and o.step_id = t.step_id and o.attempt = t.attempt
				and o.phase not in ('done', 'ended')
			group by t.job_id, t.step_id, t.attempt, t.outcome, t.cause
		) l));
	perform internal.node_leave(array(
		select (v.job_id, v.step_id, v.attempt)::internal.attempt_key from unnest(v_ending) v where not v.single));
	-- The tasks are over and an epilog still runs: the state of the step is ending.
	perform internal.step_move('node', array(
		select internal.move_of(job_id => v.job_id, step_id => v.step_id, event => 'end', at => v.done_at)
		from (select e.job_id, e.step_id, e.attempt, max(e.done_at) as done_at from unnest(v_ending) e group by e.job_id,
			e.step_id, e.attempt) v
		where v.done_at is not null
			and not exists (select from allocation a
				where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
				and a.phase not in ('done', 'ended'))
			and exists (select from allocation a
				where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
				and a.ended_at is null)));
end $$;
comment on function internal.report_ending(internal.attempt_report[]) is
	'When tasks have ended on a node: order the attempt''s other nodes to end, and show the step as ending while epilogs run.';

-- A record `gone` says that a launch request was refused because its attempt was accepted before and has left the node. All
-- records of the attempt come before that one. If its allocation is still in phase `ordered`, another database has got these
-- records, and this one is an older copy of it.
create function internal.report_gone(p_reported internal.report_content[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_lost constant jsonb := (
		select jsonb_agg(distinct jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt,
			'node_id', a.node_id))
		from unnest(p_reported) w
		cross join lateral jsonb_to_recordset(w.records) as x (node int, job bigint, step int, attempt int, kind text)
		join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = x.node
			and a.phase = 'ordered' and a.ended_at is null
		where x.kind = 'gone');
begin
	perform internal.attempt_lost(v_lost, 'the node has nothing of it any more', 'node');
	perform internal.prolog_owner_lost(v_lost);
end $$;
comment on function internal.report_gone(internal.report_content[]) is
	'Give up attempts that nodes had accepted before and no longer have. The caller holds the locks of jobs, nodes and '
	'licences.';
