-- Addresses at which the owner of a running step reaches its step manager from another machine. jobmgrd signs a token for such an
-- answer.
--
-- Called by: jobmgrd (jobmgr/gate/gate_token.c).
-- Invariants:
-- - Only the owner gets an answer: a program of the owner listens at that address, which others have no reason to trust.
-- - A step manager listens only after the owner has asked for a token.

create function internal.listen_order(p_job bigint, p_step int, p_attempt int, p_node int) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- Send the order again after this time: it may have reached the node before the keeper of the attempt could see it.
	c_again constant interval := '3 seconds';
begin
	insert into step_listener as l (job_id, step_id, attempt, asked_at) values (p_job, p_step, p_attempt, now())
	on conflict (job_id, step_id, attempt) do update set asked_at = excluded.asked_at
	where l.port is null and l.asked_at < excluded.asked_at - c_again;
	if not found then
		return;
	end if;
	perform internal.order_put(jsonb_build_array(jsonb_build_object('node_id', p_node, 'kind', 'listen', 'job_id', p_job,
		'step_id', p_step, 'attempt', p_attempt)));
	delete from step_listener l
	where (l.job_id, l.step_id, l.attempt) in (
		select o.job_id, o.step_id, o.attempt from step_listener o
		where not exists (select from attempt t where t.job_id = o.job_id and t.step_id = o.step_id and t.attempt = o.attempt
			and t.state is null)
		order by o.job_id, o.step_id, o.attempt
		limit 1000 for update skip locked);
end $$;
comment on function internal.listen_order(bigint, int, int, int) is
	'Have the step manager of an attempt listen for clients on other machines, by an order `listen` to the attempt''s first '
	'node. At most one order every 3 seconds is sent.';

create function api.step_token(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_job constant bigint := internal.request_int(p_request, 'job_id', 9223372036854775807);
	v_step constant int := internal.request_int(p_request, 'step_id');
	v_attempt constant int := internal.request_int(p_request, 'attempt');
	v_owner bigint;
	v_node node;
	v_listener step_listener;
begin
	select j.uid into v_owner from job j where j.job_id = v_job;
	if v_owner is null then
		raise exception 'no attempt % of step % of job % runs', v_attempt, v_step, v_job using errcode = 'RT404';
	elsif v_owner <> p_uid then
		raise exception 'the sub-steps of job % are private', v_job using errcode = 'RT403',
			hint = 'Only the owner of the job may connect to its step manager.';
	end if;
	select n.* into v_node
	from attempt t
	join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.node_id = t.node_ids[1]
		and a.ended_at is null and a.lost_at is null
	join node n on n.node_id = a.node_id
	where t.job_id = v_job and t.step_id = v_step and t.attempt = v_attempt and t.state is null;
	if not found then
		raise exception 'no attempt % of step % of job % runs', v_attempt, v_step, v_job using errcode = 'RT404';
	end if;
	perform internal.listen_order(v_job, v_step, v_attempt, v_node.node_id);
	select * into v_listener from step_listener l where l.job_id = v_job and l.step_id = v_step and l.attempt = v_attempt;
	return jsonb_build_object('job_id', v_job, 'step_id', v_step, 'attempt', v_attempt, 'node', v_node.name,
		'host', v_node.address, 'ready', v_listener.port is not null)
		|| case when v_listener.port is null then '{}'
			else jsonb_build_object('port', v_listener.port, 'fingerprint', v_listener.fingerprint) end;
end $$;
comment on function api.step_token(int, text, jsonb) is
	'The address at which the step manager of a running attempt listens, for the owner of the job. Request {job_id, step_id, '
	'attempt}. Answer {job_id, step_id, attempt, node, host, ready, port, fingerprint}. While ready is false, port and '
	'fingerprint are missing: the step manager has been ordered to listen, so ask again. jobmgrd adds the member token. '
	'Errors: RT403, RT404.';
