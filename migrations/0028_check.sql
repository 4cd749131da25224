-- A table's checks are read anew by each statement that writes rows of it, whatever it changes: those of a step took longer than the row
-- itself. Fewer and shorter ones say the same. (Not asked of what is there: that has been held against those before.)
create function rota.step_sound(p_state text, p_held text, p_end_wanted text, p_least int) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return p_state in ('pending', 'starting', 'prolog', 'running', 'suspended', 'ending', 'completed', 'dependency_failed', 'cancelled', 'preempted', 'deadline',
			'timeout', 'failed', 'out_of_memory', 'node_fail')
		and p_held in ('', 'user', 'admin', 'system')
		and p_end_wanted in ('cancel', 'preempt', 'deadline', 'requeue')
		and p_least >= 0;
end $$;
comment on function rota.step_sound(text, text, text, int) is
	'Whether a step may have this state (those of rota.step_state), be held so, end as wanted so (null: no end is wanted), and this be the least of its numbers.';
alter table rota.step drop constraint step_state_check, drop constraint step_held_check, drop constraint step_end_wanted_check, drop constraint step_step_id_check,
	drop constraint step_attempt_check, drop constraint step_deps_waiting_check, drop constraint step_retries_check, drop constraint step_requeues_check;
alter table rota.step add constraint step_is_sound check (rota.step_sound(state, held, end_wanted, least(step_id, attempt, deps_waiting, retries, requeues))) not valid;

-- least() passes over what is null.
alter table rota.step_request drop constraint step_request_step_id_check, drop constraint step_request_nodes_min_check, drop constraint step_request_ntasks_check,
	drop constraint step_request_ntasks_per_node_check, drop constraint step_request_cpus_per_task_check, drop constraint step_request_mem_mb_check,
	drop constraint step_request_mem_per_cpu_mb_check, drop constraint step_request_time_limit_s_check, drop constraint step_request_time_min_s_check,
	drop constraint step_request_retry_check, drop constraint step_request_sample_s_check;
alter table rota.step_request add constraint step_request_is_sound check (least(nodes_min, ntasks, ntasks_per_node, cpus_per_task) >= 1
	and least(step_id, mem_mb, mem_per_cpu_mb, time_limit_s, time_min_s, retry, sample_s, 86400 - sample_s) >= 0) not valid;
