-- Requests of users to add, list, show and remove triggers. A trigger runs a program, calls a URL or sends mail at an event.

create function internal.trigger_runs_json(p_trigger bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('delivery', r.run_id, 'payload', r.payload, 'made_at', r.made_at, 'due_at',
			case when r.ended_at is null then r.due_at end, 'tries', r.tries, 'began_at', r.began_at, 'ended_at', r.ended_at,
			'status', r.status, 'code', r.code, 'message', r.message, 'output', r.output) order by r.run_id desc), '[]')
		from (select x.* from trigger_run x where x.trigger_id = p_trigger order by x.run_id desc limit 20) r);
end $$;
comment on function internal.trigger_runs_json(bigint) is
	'The last 20 deliveries of a trigger, the newest first, as a JSON list.';

create function internal.trigger_json(p_trigger rota.trigger) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return jsonb_build_object('trigger', p_trigger.trigger_id, 'user', p_trigger.user_name, 'event', p_trigger.event, 'states',
		p_trigger.states, 'job_id', p_trigger.job_id, 'jobs_of', p_trigger.jobs_of, 'node', p_trigger.node, 'longer_than',
		p_trigger.longer_than, 'action', p_trigger.action, 'target', p_trigger.target, 'arguments', p_trigger.arguments,
		'made_at', p_trigger.made_at, 'waiting',
		(select count(*) from trigger_run r where r.trigger_id = p_trigger.trigger_id and r.ended_at is null), 'objection',
		internal.trigger_objection(p_trigger));
end $$;
comment on function internal.trigger_json(rota.trigger) is 'A trigger as JSON for users, without its secret.';

create function internal.trigger_own(p_uid int, p_user text, p_request jsonb) returns rota.trigger
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_trigger constant bigint := internal.request_int(p_request, 'trigger', 9223372036854775807);
	v_row rota.trigger;
begin
	select * into v_row from "trigger" t
	where t.trigger_id = v_trigger and t.removed_at is null
		and (t.user_name = p_user or internal.caller_role(p_uid, p_user) <> 'user');
	if not found then
		raise exception 'you have no trigger %', coalesce(v_trigger::text, '""') using errcode = 'RT404',
			hint = 'rota trigger list';
	end if;
	return v_row;
end $$;
comment on function internal.trigger_own(int, text, jsonb) is
	'The trigger that a request names. RT404: it does not exist, or it is somebody else''s and the caller is no operator.';

create function internal.trigger_read(p_uid int, p_user text, p_request jsonb) returns rota.trigger
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_row rota.trigger;
	v_about text;
begin
	v_row.uid := p_uid;
	v_row.user_name := p_user;
	v_row.event := internal.request_text(p_request, 'event');
	v_row.states := internal.request_states(p_request);
	v_row.job_id := internal.request_int(p_request, 'job', 9223372036854775807);
	v_row.jobs_of := internal.request_text(p_request, 'jobs_of');
	v_row.node := internal.request_text(p_request, 'node');
	v_row.longer_than := internal.request_int(p_request, 'longer_than');
	v_row.action := internal.request_text(p_request, 'kind');
	v_row.target := internal.request_text(p_request, 'target');
	v_row.arguments := coalesce(array(select x from jsonb_array_elements_text(
		case jsonb_typeof(p_request -> 'arguments') when 'array' then p_request -> 'arguments' end) x), '{}');
	v_about := case when v_row.event ~ '^(job|step)_' then 'job' when v_row.event ~ '^node_' then 'node' else 'queue' end;
	if v_row.event is null
		or v_row.event not in ('job_start', 'job_end', 'step_fail', 'node_down', 'node_drained', 'node_up', 'queue_longer') then
		raise exception 'there is no event "%"', coalesce(v_row.event, '') using errcode = 'RT422',
			hint = 'Events are job_start, '
				'job_end, step_fail, node_down, node_drained, node_up and queue_longer.';
	elsif (v_row.job_id is not null or v_row.jobs_of is not null) and v_about <> 'job' then
		raise exception 'event "%" is not about jobs', v_row.event using errcode = 'RT422';
	elsif v_row.states is not null and v_row.event not in ('job_end', 'step_fail') then
		raise exception 'event "%" has no states', v_row.event using errcode = 'RT422', hint = 'job_end and step_fail have.';
	elsif v_row.node is not null and v_about <> 'node' then
		raise exception 'event "%" is not about nodes', v_row.event using errcode = 'RT422';
	elsif (v_row.longer_than is not null) <> (v_row.event = 'queue_longer') then
		raise exception 'the number of steps belongs to event queue_longer, and is needed there' using errcode = 'RT422';
	end if;
	if v_about = 'job' then
		v_row.jobs_of := case when v_row.job_id is not null then (select j.user_name from job j where j.job_id = v_row.job_id)
			when v_row.jobs_of = 'all' then null when v_row.jobs_of in ('me', p_user) or v_row.jobs_of is null then p_user
			else v_row.jobs_of end;
	end if;
	return v_row;
end $$;
comment on function internal.trigger_read(int, text, jsonb) is
	'The trigger that a request describes. RT422: the request is malformed.';

create function internal.trigger_check(p_trigger rota.trigger, p_request jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_most constant int := internal.setting_int('trigger_max');
	v_why text;
begin
	if p_trigger.action is null or p_trigger.action not in ('program', 'webhook', 'mail') or p_trigger.target is null then
		raise exception 'a trigger needs a program, a webhook or a mail address' using errcode = 'RT422',
			hint = 'Give --program, --webhook or --mail.';
	elsif not internal.is_line(p_trigger.target)
		or exists (select from unnest(p_trigger.arguments) x where not internal.is_line(x))
		or cardinality(p_trigger.arguments) > 50 then
		raise exception 'the target and each argument of a trigger must be one line of 1000 characters at most'
			using errcode = 'RT422', hint = 'A trigger has 50 arguments at most.';
	elsif p_trigger.arguments <> '{}' and p_trigger.action <> 'program' then
		raise exception 'only a program has arguments' using errcode = 'RT422';
	elsif p_trigger.action = 'program' and p_trigger.target !~ '^/' then
		raise exception '"%" is no absolute path of a program', p_trigger.target using errcode = 'RT422';
	elsif p_trigger.action = 'mail' and p_trigger.target !~ '^[A-Za-z0-9][A-Za-z0-9._+-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?$' then
		raise exception '"%" is no mail address', p_trigger.target using errcode = 'RT422';
	end if;
	if p_trigger.job_id is not null then
		perform internal.target_job(p_trigger.uid, p_trigger.user_name, p_trigger.job_id, true);
	end if;
	perform internal.object_need('node', case when p_trigger.node is not null then array[p_trigger.node] end);
	v_why := internal.trigger_objection(p_trigger);
	if v_why is not null then
		raise exception '%', v_why using errcode = case when v_why like '%is no URL%' then 'RT422' else 'RT403' end;
	elsif (select count(*) from "trigger" t where t.user_name = p_trigger.user_name and t.removed_at is null) >= v_most then
		raise exception 'you have % triggers already', v_most using errcode = 'RT409', hint = 'rota trigger remove ID';
	end if;
end $$;
comment on function internal.trigger_check(rota.trigger, jsonb) is
	'Refuse a trigger that is malformed (RT422), that its owner may not have (RT403), or that exceeds the number of triggers '
	'of a user (RT409).';

create function internal.trigger_add(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_row rota.trigger := internal.trigger_read(p_uid, p_user, p_request);
begin
	perform internal.trigger_check(v_row, p_request);
	if v_row.action = 'webhook' then
		v_row.secret := encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
	end if;
	insert into "trigger" (uid, user_name, event, states, job_id, jobs_of, node, longer_than, action, target, arguments, secret)
	values (v_row.uid, v_row.user_name, v_row.event, v_row.states, v_row.job_id, v_row.jobs_of, v_row.node, v_row.longer_than,
		v_row.action, v_row.target, v_row.arguments, v_row.secret)
	returning * into v_row;
	return jsonb_build_object('triggers', jsonb_build_array(internal.trigger_json(v_row)), 'secret', v_row.secret);
end $$;
comment on function internal.trigger_add(int, text, jsonb) is 'Add a trigger. Only this answer has the trigger''s secret.';

create function internal.trigger_remove(p_trigger bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	update "trigger" t set removed_at = clock_timestamp() where t.trigger_id = p_trigger and t.removed_at is null;
	if not found then
		raise exception 'trigger % has just been removed', p_trigger using errcode = 'RT404';
	end if;
	update trigger_run r set ended_at = clock_timestamp(), status = 'removed'
	where r.trigger_id = p_trigger and r.ended_at is null;
end $$;
comment on function internal.trigger_remove(bigint) is
	'Remove a trigger, and end its pending deliveries. RT404: another session has removed it.';

create function api.trigger(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_row rota.trigger;
begin
	if v_action = 'list' then
		return jsonb_build_object('triggers', (select coalesce(jsonb_agg(internal.trigger_json(t) order by t.trigger_id), '[]')
			from "trigger" t where t.removed_at is null
				and (t.user_name = p_user or internal.caller_role(p_uid, p_user) <> 'user')));
	elsif v_action = 'add' then
		return internal.trigger_add(p_uid, p_user, p_request);
	elsif v_action not in ('show', 'remove') then
		raise exception 'a trigger has no action "%"', v_action using errcode = 'RT422',
			hint = 'Actions are add, list, show and remove.';
	end if;
	v_row := internal.trigger_own(p_uid, p_user, p_request);
	if v_action = 'remove' then
		perform internal.trigger_remove(v_row.trigger_id);
	end if;
	return jsonb_build_object('triggers', jsonb_build_array(internal.trigger_json(v_row)
		|| jsonb_build_object('runs', internal.trigger_runs_json(v_row.trigger_id))));
end $$;
comment on function api.trigger(int, text, jsonb) is
	'Triggers of the caller; operators get those of all users. Request {action, trigger}, or for "add" {action, event, '
	'states, job, jobs_of, node, longer_than, kind, target, arguments}. Answer {triggers: [{trigger, user, event, states, '
	'job_id, jobs_of, node, longer_than, action, target, arguments, made_at, waiting, objection, runs}], secret}.';
