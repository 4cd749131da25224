-- Privileges. This file runs last. Everything belongs to rota_owner; every other role has only what this file grants. Daemons
-- reach tables only through functions: those that lib/api.def lists for them.
revoke all on schema rota, api, internal, acct from public;
revoke all on all tables in schema rota, api, internal, acct from public, rota_jobmgr, rota_jobmgr_leader,
	rota_jobmgr_admin, rota_nodes, rota_nodemgr, rota_runner, rota_credd, rota_analyst, rota_admin, rota_reader;
revoke all on all functions in schema rota, api, internal, acct from public, rota_jobmgr, rota_jobmgr_leader,
	rota_jobmgr_admin, rota_nodes, rota_nodemgr, rota_runner, rota_credd, rota_analyst, rota_admin, rota_reader;
revoke all on all sequences in schema rota from public, rota_jobmgr, rota_jobmgr_leader,
	rota_jobmgr_admin, rota_nodes, rota_nodemgr, rota_runner, rota_credd, rota_analyst, rota_admin, rota_reader;

grant usage on schema api to rota_daemons;
grant execute on function api.incarnation_admit(int, bigint, timestamptz) to rota_daemons;
grant execute on function api.client_admit(int, timestamptz) to rota_jobmgr, rota_jobmgr_admin;
grant execute on function
	api.job_number(int),
	api.job_submit(int, int, text, jsonb, bytea, bytea),
	api.job_submit_list(int, int, text, jsonb, bytea[], bytea[]),
	api.job_try(int, int, text, jsonb, bytea, bytea),
	api.job_spec(int, text, jsonb),
	api.job_modify(int, text, jsonb),
	api.job_queue(int, text, jsonb),
	api.job_show(int, text, jsonb),
	api.stale_answer(int, text, jsonb, text),
	api.job_stats(int, text, jsonb),
	api.job_top(int, text, jsonb),
	api.job_why(int, text, jsonb),
	api.job_wait(int, text, jsonb),
	api.job_select(int, text, jsonb),
	api.job_cancel(int, text, jsonb),
	api.job_requeue(int, text, jsonb),
	api.job_continue(int, text, jsonb),
	api.job_hold(int, text, jsonb),
	api.job_release(int, text, jsonb),
	api.job_suspend(int, text, jsonb),
	api.job_migrate(int, text, jsonb),
	api.plan_snapshot(int, text, jsonb),
	api.job_resume(int, text, jsonb),
	api.job_signal(int, text, jsonb),
	api.job_growths(int, text, jsonb),
	api.hook_admin(int, text, jsonb),
	api.transfer_list(int, text, jsonb),
	api.transfer_report(int, text, jsonb),
	api.job_checkpoint(int, text, jsonb),
	api.checkpoint_list(int, text, jsonb),
	api.checkpoint_discard(int, text, jsonb),
	api.job_restart(int, text, jsonb),
	api.checkpoint_report(int, text, jsonb),
	api.trigger(int, text, jsonb),
	api.credential(int, text, jsonb),
	api.credential_wait(int, text, jsonb),
	api.credential_grant(int, text, jsonb),
	api.job_acct(int, text, jsonb),
	api.report(int, text, jsonb),
	api.export_plan(int, text, jsonb),
	api.range_list(int, text, jsonb),
	api.job_script(int, text, jsonb),
	api.step_token(int, text, jsonb),
	api.node_list(int, text, jsonb),
	api.node_health(int, text, jsonb),
	api.partition_list(int, text, jsonb),
	api.share_list(int, text, jsonb),
	api.reservation_list(int, text, jsonb),
	api.setup_list(int, text, jsonb),
	api.instance_status(int, text, jsonb),
	api.submit_limits(int, text, jsonb),
	api.remote_admit(int, text, text, boolean),
	api.daemon_certificate(text, timestamptz)
to rota_jobmgr;
grant execute on function
	api.leader_claim(text, int, boolean, boolean),
	api.session_judge(int),
	api.session_readers(),
	api.schedule_tick(bigint),
	api.schedule_nodes(),
	api.schedule_partitions(),
	api.schedule_running(),
	api.schedule_licenses(),
	api.schedule_outages(),
	api.schedule_queue(int),
	api.schedule_pending(bigint[], int[]),
	api.schedule_launch(bigint[], int[]),
	api.schedule_commit(bigint, jsonb, jsonb, boolean),
	api.schedule_refuse(bigint, bigint[], int[], text[]),
	api.schedule_plan(bigint, jsonb, bigint[], int[]),
	api.schedule_withdraw(bigint, bigint[], int[], int[]),
	api.schedule_ahead(bigint, bigint, int),
	api.schedule_ahead_commit(bigint, jsonb, jsonb),
	api.schedule_power(bigint, int[]),
	api.schedule_setup(bigint, int[], text[], text[]),
	api.schedule_candidates(int),
	api.schedule_preempt(bigint, jsonb),
	api.schedule_movers(),
	api.schedule_move(bigint, jsonb),
	api.schedule_resume(bigint, bigint[], int[]),
	api.daemon_register(text, text, int, text)
to rota_jobmgr_leader;
grant execute on function
	api.admin_change(int, text, jsonb),
	api.power(int, text, jsonb),
	api.credential_admin(int, text, jsonb),
	api.reboot(int, text, jsonb),
	api.evacuate(int, text, jsonb),
	api.rolling(int, text, jsonb),
	api.range_detach(int, text, jsonb),
	api.range_drop(int, text, jsonb),
	api.usage_rebuild(int, text, jsonb)
to rota_jobmgr_admin;
grant execute on function
	api.node_incarnation(bigint, bigint),
	api.node_register(jsonb),
	api.node_renew(int[]),
	api.node_orders(int[], bigint[], int),
	api.node_blob(bytea[]),
	api.node_credentials(int[], jsonb),
	api.node_report(jsonb, jsonb, boolean),
	api.node_apply(bigint),
	api.node_sampled(int),
	api.node_sample(jsonb),
	api.node_substep_report(jsonb),
	api.daemon_register(text, text, int, text)
to rota_nodes;
grant execute on function
	api.leader_claim(text, int, boolean, boolean),
	api.hook_take(bigint, bigint[], int, boolean),
	api.hook_report(bigint, bigint[], int[], int[], bigint[], text[], text[]),
	api.staging_take(bigint, bigint[], int, boolean),
	api.staging_report(bigint, bigint[], int[], boolean[], bigint[], text[], text[], text[], int, boolean),
	api.pool_report(bigint, text, text),
	api.mail_take(int, int),
	api.mail_report(bigint[], text[]),
	api.trigger_take(int, int, boolean),
	api.trigger_report(bigint[], int[], text[], text[]),
	api.power_take(bigint, bigint[], int),
	api.check_take(bigint, bigint[], int),
	api.check_report(bigint, bigint[], int[], text[], text[]),
	api.power_report(bigint, bigint[], int[], text[], text[]),
	api.daemon_register(text, text, int, text)
to rota_runner;
grant execute on function
	api.credential_upload_take(int),
	api.credential_upload_done(bigint, int, int, bytea, bytea, jsonb, text, text),
	api.credential_box_take(int),
	api.credential_box_put(bigint[], int[], int[], int[], text[], int[], bytea[], bigint[]),
	api.credential_box_failed(bigint[], int[], int[], int[], text[], int[], text[], bigint[]),
	api.credential_judge(),
	api.credential_broken(bigint, int, text),
	api.credential_removals(boolean),
	api.credential_remove_again(int, text, text, int, bigint),
	api.credential_nodes(text[]),
	api.credential_renew_take(int, int),
	api.credential_renewed(bigint, int, int, bytea, bytea, jsonb),
	api.credential_renew_failed(bigint, int, text, boolean),
	api.credential_test_take(int, int),
	api.credential_tested(bigint, jsonb, text),
	api.credential_reseal_take(int, int),
	api.credential_resealed(bigint[], int[], int, bytea[], bytea[]),
	api.daemon_register(text, text, int, text)
to rota_credd;
grant execute on function
	api.node_judge(bigint, int),
	api.power_judge(),
	api.reboot_judge(),
	api.evacuation_judge(),
	api.range_ensure(),
	api.usage_roll(int),
	api.session_judge(int),
	api.daemon_register(text, text, int, text)
to rota_nodemgr;

grant usage on schema acct to rota_analyst, rota_admin, rota_reader;
grant select on all tables in schema acct to rota_analyst, rota_admin, rota_reader;
grant execute on all functions in schema acct to rota_analyst, rota_admin, rota_reader;
revoke execute on function acct.usage_audit(date, date) from rota_reader;

-- Administrators see all rows except the data that is private to owners and data that could be replayed to a node.
grant usage on schema rota to rota_admin;
do $$
declare
	v_one record;
begin
	for v_one in
		select c.oid, c.relname, string_agg(format('%I', a.attname), ', ' order by a.attnum) as columns
		from pg_class c
		join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'rota'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
			and c.relname not in ('script', 'environment', 'client_key')
			and (c.relname, a.attname) not in (('step_request', 'spec'), ('step_request', 'auth'),
				('node_order', 'body'), ('node_order', 'signature'),
				('launch_text', 'body'), ('launch_text', 'signature'), ('trigger', 'secret'))
		group by c.oid, c.relname
	loop
		execute format('grant select (%s) on rota.%I to rota_admin', v_one.columns, v_one.relname);
	end loop;
end $$;
