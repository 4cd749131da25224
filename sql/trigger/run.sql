-- Deliveries of triggers for runnerd: fetch deliveries that are due, report their results.
--
-- Invariants:
-- - A delivery is made at least once: a fetched delivery is due again later, in case its runnerd dies.
-- - Of one trigger, only the oldest delivery that is not over is fetched. Several runnerds fetch different deliveries.

create function internal.url_host(p_url text) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
	-- No user, quotes, backslashes or spaces are allowed: then every client connects to the host that is found here.
	v_part constant text[] := regexp_match(p_url,
		'^(https?)://([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])'
		'(?::[0-9]{1,5})?(?:[/?][A-Za-z0-9._~!$&''()*+,;=:@%/?-]*)?$');
	v_host constant text := lower(v_part[2]);
begin
	return case
		when length(p_url) <= 1000 and (v_part[1] = 'https' or v_host in ('localhost', '127.0.0.1', '[::1]')) then v_host end;
end $$;
comment on function internal.url_host(text) is
	'The host of a URL to which a webhook may be sent: https, or http to this machine; null: not such a URL.';

create function internal.trigger_objection(p_trigger rota.trigger) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_role constant text := internal.caller_role(p_trigger.uid, p_trigger.user_name);
	v_host text;
begin
	if p_trigger.action = 'program' and v_role <> 'admin' then
		return 'only administrators may have a program run';
	elsif v_role = 'user' and (p_trigger.event ~ '^(node|queue)_' or p_trigger.jobs_of is distinct from p_trigger.user_name) then
		return 'only operators may have triggers for nodes, the queue and jobs of others';
	elsif p_trigger.action <> 'webhook' then
		return null;
	end if;
	v_host := internal.url_host(p_trigger.target);
	if v_host is null then
		return format('"%s" is no URL for a webhook: https://HOST[:PORT][/PATH], or http:// to localhost', p_trigger.target);
	elsif v_role <> 'admin' and not v_host = any (array(select lower(btrim(x))
			from setting s, unnest(string_to_array(s.value, ',')) x where s.name = 'webhook_hosts')) then
		return format('webhooks to host "%s" are not allowed (setting webhook_hosts)', v_host);
	end if;
	return null;
end $$;
comment on function internal.trigger_objection(rota.trigger) is
	'Returns the reason why a trigger is not allowed now, by the rights of its owner and the settings; null: it is allowed.';

create function internal.trigger_due(p_limit int) returns table (run_id bigint, why text)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_most constant int := internal.setting_int('trigger_tries');
begin
	return query
	select r.run_id, case when r.tries >= v_most then concat_ws(': ', format('given up after %s tries', r.tries), r.message)
		else internal.trigger_objection(t) end
	from "trigger" t
	cross join lateral (select x.* from trigger_run x where x.trigger_id = t.trigger_id and x.ended_at is null
		order by x.run_id limit 1) r
	where t.removed_at is null and r.due_at <= clock_timestamp()
	order by r.due_at, r.run_id
	limit p_limit;
end $$;
comment on function internal.trigger_due(int) is
	'Deliveries that are due, and why a delivery is not to be made; null: it is to be made.';

create function api.trigger_take(p_limit int, p_timeout_s int, p_look boolean)
returns table (run_id bigint, trigger_id bigint, label text, action text, target text, arguments text, secret text, body text,
	event text, job_id text, state text, node text, reason text, user_name text, made_at bigint)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_now constant timestamptz := clock_timestamp();
begin
	if p_look then
		perform internal.trigger_queue();
	end if;
	if not exists (select from trigger_run r where r.ended_at is null and r.due_at <= clock_timestamp()) then
		return;
	end if;
	return query
	with taken as (
		update trigger_run r
		set tries = r.tries + (d.why is null)::int, began_at = case when d.why is null then v_now else r.began_at end,
			-- The delivery is due again after the time limit of the program and a margin, unless it is reported
			-- before.
			due_at = v_now + make_interval(secs => p_timeout_s + 10),
			ended_at = case when d.why is not null then v_now end, status = case when d.why is not null then 'failed' end,
			message = coalesce(d.why, r.message)
		from internal.trigger_due(p_limit) d
		-- Another runnerd may have taken the delivery meanwhile.
		where r.run_id = d.run_id and r.ended_at is null and r.due_at <= clock_timestamp()
		returning r.run_id, r.trigger_id, r.payload, r.made_at, r.ended_at
	)
	select k.run_id, t.trigger_id, format('delivery %s of trigger %s', k.run_id, t.trigger_id), t.action, t.target,
		to_jsonb(t.arguments)::text, t.secret,
		(k.payload || jsonb_build_object('trigger', t.trigger_id, 'delivery', k.run_id))::text, k.payload ->> 'event',
		k.payload ->> 'job_id', k.payload ->> 'state', k.payload ->> 'node', k.payload ->> 'reason', k.payload ->> 'user',
		extract(epoch from k.made_at)::bigint
	from taken k
	join "trigger" t on t.trigger_id = k.trigger_id
	where k.ended_at is null
	order by k.run_id;
end $$;
comment on function api.trigger_take(int, int, boolean) is
	'Take deliveries to be made now, p_limit at most, by a program that is killed after p_timeout_s seconds. A delivery is '
	'due again later unless it is reported. p_look: first fire triggers on the length of the queue.';

create function api.trigger_report(p_runs bigint[], p_codes int[], p_failures text[], p_outputs text[]) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_most constant int := internal.setting_int('trigger_tries');
	v_first constant int := internal.setting_int('trigger_retry_s');
	v_longest constant int := internal.setting_int('trigger_retry_max_s');
begin
	update trigger_run r
	set code = v.code, output = v.output, ended_at = case when x.status is not null then clock_timestamp() end, status = x.status,
		message = v.failure || case when x.status = 'failed' then format('; given up after %s tries', r.tries) else '' end,
		due_at = clock_timestamp() + make_interval(secs => least(v_first * 2.0 ^ least(greatest(r.tries - 1, 0), 20), v_longest))
	from unnest(p_runs, p_codes, p_failures, p_outputs) as v (run_id, code, failure, output)
	cross join lateral (select case when v.failure is null then 'delivered' when o.tries >= v_most then 'failed' end as status
		from trigger_run o where o.run_id = v.run_id) x
	where r.run_id = v.run_id and r.ended_at is null;
end $$;
comment on function api.trigger_report(bigint[], int[], text[], text[]) is
	'The results of deliveries. Without a failure (null), a delivery was made; otherwise it is tried again later, or '
	'given up. Reporting a result again changes nothing.';

create function internal.trigger_tidy() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- Events at the moment of the trigger's removal wrote these deliveries; api.trigger_take ignores them.
	update trigger_run r
	set ended_at = clock_timestamp(), status = 'removed'
	from "trigger" t
	where r.ended_at is null and t.trigger_id = r.trigger_id and t.removed_at is not null;
	delete from trigger_run r
	where r.ended_at < now() - make_interval(days => internal.setting_int('trigger_run_days'));
end $$;
comment on function internal.trigger_tidy() is
	'End deliveries of removed triggers, and delete deliveries that ended longer ago than the setting trigger_run_days says.';
