-- Nodes that are drained because of what an attempt left behind on them, and jobs that cause this repeatedly. Such a job could
-- take one node after the other out of use.

create function internal.drain_hold(p_jobs bigint[], p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_most int := internal.setting_int('drain_hold_count');
	v_held internal.attempt_key[];
begin
	with held as (
		update step s
		set held = 'admin', held_reason = format('its job has drained nodes %s times', j.drain_count)
		from job j
		where j.job_id = any (p_jobs) and v_most > 0 and j.drain_count >= v_most and s.job_id = j.job_id
			and s.ended_at is null and (s.state = 'pending' or s.attempt = 0) and s.held <> 'admin'
		returning s.job_id, s.step_id
	)
	select array_agg((h.job_id, h.step_id, 0)::internal.attempt_key order by h.job_id, h.step_id) into v_held from held h;
	if v_held is not null then
		perform internal.allocation_unreserve(v_held);
		perform internal.step_move(p_actor,
			array(select internal.move_of(job_id => v.job_id, step_id => v.step_id, event => 'hold')
			from unnest(v_held) v));
	end if;
end $$;
comment on function internal.drain_hold(bigint[], text) is
	'Hold the steps that have not started of those of these jobs that drained nodes as often as the setting drain_hold_count '
	'says, so that only an operator can release them. The caller has locked the jobs.';

create function internal.report_drain(p_seen internal.attempt_report[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_drain record;
	v_jobs bigint[];
begin
	for v_drain in
		select v.node_id, min(v.drain) as reason from unnest(p_seen) v
			where v.drain is not null group by v.node_id order by v.node_id
	loop
		perform internal.node_state_set(v_drain.node_id, 'drain', 'procmgrd', v_drain.reason);
	end loop;
	-- A drain with a refused launch request is no fault of the job: only drains at the end of an attempt count.
	with counted as (
		update job j
		set drain_count = j.drain_count + x.n
		from (select v.job_id, count(*) as n from unnest(p_seen) v
			where v.drain is not null and v.end_at is not null group by v.job_id) x
		where j.job_id = x.job_id
		returning j.job_id
	)
	select array_agg(c.job_id) into v_jobs from counted c;
	perform internal.drain_hold(v_jobs, 'node');
end $$;
comment on function internal.report_drain(internal.attempt_report[]) is
	'Drain the nodes whose records say why they should get no more steps, and count that for the jobs that caused it.';
