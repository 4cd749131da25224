-- Judges whether steps that need credentials may start.
--
-- Called by: submissions, rota-credd (api.credential_judge).
-- Invariants:
-- - The system puts a step whose credential is missing or dead on hold, with a reason that begins with "credential". Nothing else
--   lifts such a hold.
-- - rota.credential.judged is the result of the last judgement; a transaction that changes a credential makes it null and raises
--   `changes`. Indexes find credentials that have changed or died, so other credentials and their steps cost nothing. A
--   submission holds its own steps.
-- - An attempt has a row 'credential' in rota.hook_pending until all of its boxes are sealed, so its launch requests wait for
--   them.

create function internal.credential_margin() returns interval
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select interval '5 seconds';
$$;
comment on function internal.credential_margin() is 'A step that starts is not given a credential that expires within this time.';

create function internal.credential_objection(p_need rota.step_credential) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_label constant text := internal.credential_label(p_need);
	v_row credential;
begin
	select * into v_row from credential c where c.uid = p_need.uid and c.name = p_need.name and c.removed_at is null;
	return case
		when v_row is null then format('credential %s: there is none of this name', v_label)
		when p_need.grantee is not null and not internal.credential_granted(v_row.credential_id, p_need.grantee)
			then format('credential %s: its owner does not grant it', v_label)
		when v_row.kind <> p_need.kind
			then format('credential %s: it is of kind %s now, not %s', v_label, v_row.kind, p_need.kind)
		when v_row.broken is not null
			then format('credential %s: rota-credd cannot open it (%s); add it again', v_label, v_row.broken)
		when v_row.version = 0 then format('credential %s: its first upload is not stored yet', v_label)
		when v_row.expires_at <= now() + internal.credential_margin() then format('credential %s: it %s %s', v_label,
			case when v_row.expires_at <= now() then 'expired at' else 'expires at' end,
			to_char(v_row.expires_at, 'YYYY-MM-DD HH24:MI:SS'))
			|| coalesce(', and could not be renewed: ' || v_row.failure, '') end;
end $$;
comment on function internal.credential_objection(rota.step_credential) is
	'Returns the reason why a step that needs this credential must not start now; null: the step may start.';

create function internal.credential_objection(p_credential rota.credential) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_need step_credential;
begin
	v_need.uid := p_credential.uid;
	v_need.name := p_credential.name;
	v_need.kind := p_credential.kind;
	return internal.credential_objection(v_need);
end $$;
comment on function internal.credential_objection(rota.credential) is
	'Returns the reason why steps of the owner that need this credential must not start now; null: they may start.';

-- Return the first objection to a credential that steps of the request need.
create function internal.credential_step(p_job bigint, p_request int) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select o.objection
		from step_credential x
		cross join lateral (select internal.credential_objection(x) as objection) o
		where x.job_id = p_job and x.step_id = p_request and o.objection is not null
		order by x.name
		limit 1);
end $$;
comment on function internal.credential_step(bigint, int) is
	'Returns the reason why a step must not start now because of its credentials; null: no such reason.';

create function internal.credential_hold(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_steps internal.move[];
	v_move text;
begin
	update step s
	set held_reason = o.objection
	from (
		select h.job_id, h.step_id, internal.credential_step(h.job_id, h.request_id) as objection
		from step h
		where h.job_id = any (p_jobs) and h.ended_at is null and h.held = 'system' and h.held_reason like 'credential %') o
	where s.job_id = o.job_id and s.step_id = o.step_id and o.objection <> s.held_reason;
	foreach v_move in array array['hold', 'release'] loop
		with judged as materialized (
			select s.job_id, s.step_id, internal.credential_step(s.job_id, s.request_id) as objection
			from step s
			where s.job_id = any (p_jobs) and s.ended_at is null and (s.state = 'pending' or s.attempt = 0)
				and case v_move when 'hold' then s.held = '' else s.held = 'system' and s.held_reason like 'credential %' end
				and exists (select from step_credential x where x.job_id = s.job_id and x.step_id = s.request_id)
		), moved as (
			update step s
			set held = case v_move when 'hold' then 'system' else '' end, held_reason = j.objection
			from judged j
			where s.job_id = j.job_id and s.step_id = j.step_id and (j.objection is not null) = (v_move = 'hold')
			returning s.job_id, s.step_id, j.objection
		)
		select array_agg(internal.move_of(job_id => m.job_id, step_id => m.step_id, event => v_move,
			message => m.objection))
		into v_steps from moved m;
		if v_steps is not null then
			perform internal.allocation_unreserve(array(
				select ((m).job_id, (m).step_id, 0)::internal.attempt_key from unnest(v_steps) m));
			perform internal.step_move('credd', v_steps);
			notify rota_schedule;
			notify rota_event;
		end if;
	end loop;
end $$;
comment on function internal.credential_hold(bigint[]) is
	'Hold the steps of these jobs whose credentials are missing or dead, and release those that were held for that reason '
	'and no longer need to be. The caller has locked the jobs.';

create type internal.credential_look as (credential_id bigint, renews boolean, warns boolean);
comment on type internal.credential_look is 'A credential that rota-credd is to renew, or whose users are to be warned.';

create function internal.credential_needed_now(p_job bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_due internal.credential_look[];
begin
	v_due := array(
		select distinct (o.credential_id, w.renews, w.warns)::internal.credential_look
		from step_credential x
		join credential o on o.uid = x.uid and o.name = x.name and o.removed_at is null and o.expires_at is not null
		cross join lateral (select
			internal.credential_can_renew(o) and o.failures = 0 and coalesce(o.taken_until <= now(), true)
				and o.expires_at - internal.credential_early(o.changed_at, o.expires_at) <= now()
				and coalesce(o.renew_at > now(), true) as renews,
			coalesce(o.warn_at > now() and internal.credential_lives_until(o)
				<= now() + make_interval(hours => internal.setting_int('credential_warn_hours')), false) as warns) w
		where x.job_id = p_job and (w.renews or w.warns));
	if v_due = '{}' then
		return;
	end if;
	perform from credential c
	where c.credential_id in (select (d).credential_id from unnest(v_due) d)
	order by c.credential_id
	for no key update;
	update credential c
	set renew_at = case when d.renews then now() else c.renew_at end, warn_at = case when d.warns then now() else c.warn_at end
	from unnest(v_due) d
	where c.credential_id = d.credential_id;
	notify rota_credential;
end $$;
comment on function internal.credential_needed_now(bigint) is
	'Have those credentials of a new job that expire soon renewed, or their users warned, if the job needs them for longer.';

create function internal.credential_named(p_uid int, p_name text) returns rota.step_credential
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_owner constant text := nullif(split_part(p_name, '@', 2), '');
	v_need step_credential;
begin
	if v_owner is null then
		select c.uid, c.name, c.kind into v_need.uid, v_need.name, v_need.kind
		from credential c
		where c.uid = p_uid and c.name = p_name and c.removed_at is null;
		return v_need;
	end if;
	select c.uid, c.name, c.kind into v_need.uid, v_need.name, v_need.kind
	from credential_grant g
	join credential c on c.credential_id = g.credential_id and c.uid <> p_uid and c.user_name = v_owner
		and c.name = split_part(p_name, '@', 1) and c.removed_at is null
	where g.uid = p_uid and g.revoked_at is null and coalesce(g.until_at > now(), true);
	if found then
		v_need.owner := v_owner;
		v_need.grantee := p_uid;
	end if;
	return v_need;
end $$;
comment on function internal.credential_named(int, text) is
	'The credential that a user means by NAME, or by NAME@OWNER if another user granted it; name null: no such credential. '
	'Job and step of the answer are not set yet.';

create function internal.credential_lack_hint(p_job bigint, p_uid int, p_name text) returns text
language sql stable set search_path = rota, pg_temp as $$
	select case
		when p_name like '%@%' then '"rota cred list" lists those that others have granted to you.'
		when exists (select from credential_default d where d.uid = p_uid and p_name = any (string_to_array(d.names, ',')))
			then 'It is one of your defaults ("rota cred default"). Add it, or submit with --cred=none.'
		else coalesce((
			select format('Partition "%s" has it as a default. Add it: rota cred add %s --kind=KIND, or submit with --cred=none.',
				p.partition, p_name)
			from step_request q
			join partition p on p.partition = q.partition
			where q.job_id = p_job and p_name = any (string_to_array(p.credentials, ','))
			limit 1),
			format('Add it: rota cred add %s --kind=KIND. "rota cred list" lists those that you have.', p_name)) end;
$$;
comment on function internal.credential_lack_hint(bigint, int, text) is
	'What the user may do whose new job needs a credential that he does not have, also where a default asks for it.';

create function internal.credential_submit(p_job bigint, p_uid int, p_plan jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name text;
begin
	with asked as materialized (
		select (s.step ->> 'step_id')::int as step_id, n.name, internal.credential_named(p_uid, n.name) as need
		from jsonb_array_elements(p_plan -> 'steps') as s (step)
		cross join lateral string_to_table(coalesce(s.step ->> 'credentials', p_plan #>> '{common,credentials}'), ',') as n (name)
	), put as (
		insert into step_credential (job_id, step_id, uid, name, kind, owner, grantee)
		select p_job, a.step_id, (a.need).uid, (a.need).name, (a.need).kind, (a.need).owner, (a.need).grantee
		from asked a
		where (a.need).name is not null
	)
	select a.name into v_name
	from asked a
	where (a.need).name is null and not coalesce(p_plan #> '{job,forward}' ? a.name, false)
	order by a.step_id
	limit 1;
	if v_name is not null then
		raise exception '--cred: you have no credential "%"', regexp_replace(v_name, '^([^@]*)@(.*)$', '\2/\1')
			using errcode = 'RT422', hint = internal.credential_lack_hint(p_job, p_uid, v_name);
	end if;
	perform internal.credential_hold(array[p_job]);
	perform internal.credential_needed_now(p_job);
end $$;
comment on function internal.credential_submit(bigint, int, jsonb) is
	'Store which credentials the steps of a new job need, according to its plan. Steps whose credentials are dead are held. '
	'A job that is only tried stores in job.forward the credentials that it would upload with it. RT422: the owner has no '
	'credential of a name.';

create function internal.credential_place(p_decided internal.start_decision[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- Either the next version is stored before these rows of rota.credential_use are made, or storing it sees these rows.
	perform from credential c
	where c.removed_at is null and (c.uid, c.name) in (
		select x.uid, x.name
		from unnest(p_decided) v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		join step_credential x on x.job_id = s.job_id and x.step_id = s.request_id)
	order by c.credential_id
	for share;
	with needed as materialized (
		select v.job_id, v.step_id, v.attempt, x.uid, x.name, x.kind, x.grantee,
			x.name || coalesce('@' || x.owner, '') as delivered
		from unnest(p_decided) v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		join step_credential x on x.job_id = s.job_id and x.step_id = s.request_id
	), used as (
		insert into credential_use (job_id, step_id, attempt, node_id, name, kind, credential_id, wanted)
		select n.job_id, n.step_id, n.attempt, a.node_id, n.delivered, n.kind, c.credential_id, c.version
		from needed n
		join credential c on c.uid = n.uid and c.name = n.name and c.kind = n.kind and c.removed_at is null and c.version > 0
			and (n.grantee is null or internal.credential_granted(c.credential_id, n.grantee))
		join allocation a on a.job_id = n.job_id and a.step_id = n.step_id and a.attempt = n.attempt
	)
	insert into hook_pending (job_id, step_id, attempt, hook)
	select distinct n.job_id, n.step_id, n.attempt, 'credential' from needed n;
	notify rota_credential_box;
end $$;
comment on function internal.credential_place(internal.start_decision[]) is
	'Handle the starts of steps that need credentials: their launch requests wait until rota-credd has sealed the '
	'credentials for their nodes.';

create function internal.credential_undeliverable(p_job bigint, p_step int, p_attempt int, p_request int) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return coalesce((
		select format('credential %s: it was removed, or its grant revoked, meanwhile', internal.credential_label(x))
		from rota.step_credential x
		where x.job_id = p_job and x.step_id = p_request
			and not exists (select from credential_use u
				where u.job_id = p_job and u.step_id = p_step and u.attempt = p_attempt
					and u.name = internal.credential_delivered(x) and u.removed_at is null)
		order by x.name
		limit 1), (
		select case when u.failure is not null then format('credential %s: %s', u.name, u.failure)
			else format('credential %s: rota-credd has no key of node %s', u.name, n.name) end
		from credential_use u
		join node n on n.node_id = u.node_id
		where u.job_id = p_job and u.step_id = p_step and u.attempt = p_attempt and u.boxed = 0
			and (u.failure is not null
				-- A node's new key is known within credentials.period.
				or (u.ordered_at < now() - interval '15 seconds'
					and not exists (select from credential_node k where k.node = n.name)))
		order by u.name, u.node_id
		limit 1));
end $$;
comment on function internal.credential_undeliverable(bigint, int, int, int) is
	'Returns the reason why the credentials that a step needs cannot be delivered to an attempt now; null: they can. The '
	'credentials may be valid all the same.';

-- Give up the attempts that wait for boxes that will never come.
create function internal.credential_stop() returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_hooks bigint[];
	v_messages text[];
begin
	select array_agg(h.hook_id), array_agg(w.why)
	into v_hooks, v_messages
	from hook_pending h
	join step s on s.job_id = h.job_id and s.step_id = h.step_id
	cross join lateral (select coalesce(
		case when not internal.hook_wanted(h.job_id, h.step_id, h.attempt) then 'the attempt is to end' end,
		internal.credential_step(h.job_id, s.request_id),
		internal.credential_undeliverable(h.job_id, h.step_id, h.attempt, s.request_id)) as why) w
	where h.hook = 'credential' and w.why is not null;
	if v_hooks is not null then
		perform internal.hook_stop(v_hooks, v_messages);
		delete from hook_pending h where h.hook_id = any (v_hooks);
	end if;
	return v_hooks is not null;
end $$;
comment on function internal.credential_stop() is
	'Close the attempts that wait for a credential that is dead or revoked by now, or that cannot be sealed. Their steps are '
	'held. Returns whether there were any. Locks jobs, nodes, licences.';

-- A transaction that changes several rows of rota.credential_use locks the credential first, and then these rows in this order.
create function internal.credential_use_lock(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform from rota.credential_use u
	where u.job_id = any (p_jobs) and u.gone_at is null
	order by u.job_id, u.step_id, u.attempt, u.node_id, u.name
	for update;
end $$;
comment on function internal.credential_use_lock(bigint[]) is
	'Lock the rows of rota.credential_use of attempts of these jobs that have not left their nodes.';

create type internal.credential_use_key as (job_id bigint, step_id int, attempt int, node_id int, name text);
comment on type internal.credential_use_key is 'Key of rota.credential_use.';

create function internal.credential_use_take_back(p_uses internal.credential_use_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_node int;
begin
	perform internal.credential_use_lock(array(select distinct (k).job_id from unnest(p_uses) k));
	for v_node in
		with gone as (
			update credential_use u set removed_at = now(), box = null
			from unnest(p_uses) k
			where u.job_id = k.job_id and u.step_id = k.step_id and u.attempt = k.attempt
				and u.node_id = k.node_id and u.name = k.name and u.gone_at is null and u.removed_at is null
			returning u.node_id
		)
		select distinct coalesce(l.notify_node_id, g.node_id) from gone g left join node_lease l on l.node_id = g.node_id
	loop
		perform pg_notify('rota_node_' || v_node, '');
	end loop;
end $$;
comment on function internal.credential_use_take_back(internal.credential_use_key[]) is
	'Have nodes destroy the credentials that attempts have by these uses.';

create function internal.credential_leave() returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.credential_use_lock(array(select u.job_id from credential_use u where u.gone_at is null
		and not exists (select from allocation a where a.job_id = u.job_id and a.step_id = u.step_id and a.attempt = u.attempt
			and a.node_id = u.node_id and a.gone_at is null)));
	update credential_use u
	set gone_at = coalesce((select a.gone_at from allocation a where a.job_id = u.job_id and a.step_id = u.step_id
		and a.attempt = u.attempt and a.node_id = u.node_id), now()), box = null
	where u.gone_at is null and not exists (select from allocation a where a.job_id = u.job_id and a.step_id = u.step_id
		and a.attempt = u.attempt and a.node_id = u.node_id and a.gone_at is null);
end $$;
comment on function internal.credential_leave() is 'Delete the boxes of attempts that have left their nodes.';

create function internal.credential_usable(p_credential rota.credential) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
	select p_credential.removed_at is null and p_credential.version > 0 and p_credential.broken is null
		and coalesce(p_credential.expires_at > now() + internal.credential_margin(), true);
$$;
comment on function internal.credential_usable(rota.credential) is 'Whether steps may start with the credential now.';

create function internal.credential_unjudged() returns rota.credential
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_row credential;
begin
	select * into v_row from credential c where c.judged is null order by c.credential_id limit 1;
	if v_row.credential_id is null then
		select * into v_row from credential c
		where c.judged and c.expires_at <= now() + internal.credential_margin()
		order by c.expires_at limit 1;
	end if;
	return v_row;
end $$;
comment on function internal.credential_unjudged() is
	'The next credential that has changed or died since its steps were judged; null: none.';

create function internal.credential_judge_jobs(p_credential rota.credential, p_most int) returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select distinct x.job_id
		from step_credential x
		join step s on s.job_id = x.job_id and s.request_id = x.step_id and s.ended_at is null
			and (s.state = 'pending' or s.attempt = 0)
			and (s.held = '' or (s.held = 'system' and s.held_reason like 'credential %'))
		where x.uid = p_credential.uid and x.name = p_credential.name
			and internal.credential_step(x.job_id, x.step_id) is distinct from nullif(s.held_reason, '')
		order by x.job_id
		limit p_most);
end $$;
comment on function internal.credential_judge_jobs(rota.credential, int) is
	'Jobs with steps that are to be held or released because of the present state of the credential and its grants; p_most '
	'at most.';

create function api.credential_judge() returns table (wait_s double precision, key_wanted int)
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_row credential;
	v_most constant int := 1000;
	v_jobs bigint[];
begin
	-- Credentials and nodes are locked after jobs, so a transaction that ends grants or closes attempts does nothing else.
	if internal.credential_grants_over() or internal.credential_stop() then
		return query select 0::double precision, internal.setting_int('credential_key');
		return;
	end if;
	v_row := internal.credential_unjudged();
	delete from credential_upload u where u.done_at < now() - interval '1 hour';
	if v_row.credential_id is not null then
		v_jobs := internal.credential_judge_jobs(v_row, v_most);
		perform internal.job_lock(v_jobs);
		perform internal.credential_hold(v_jobs);
		if cardinality(v_jobs) < v_most then
			-- A credential that has changed meanwhile is judged once more.
			update credential c set judged = internal.credential_usable(v_row)
			where c.credential_id = v_row.credential_id and c.changes = v_row.changes;
			if not internal.credential_usable(v_row) and v_row.removed_at is null then
				perform internal.credential_tell_held(v_row);
			end if;
		end if;
		return query select 0::double precision, internal.setting_int('credential_key');
		return;
	end if;
	perform internal.credential_warn();
	perform internal.credential_leave();
	return query
	select greatest(extract(epoch from least((select min(c.renew_at) from credential c where c.renew_at is not null),
		(select min(c.warn_at) from credential c where c.warn_at is not null),
		(select min(g.until_at) from credential_grant g where g.revoked_at is null and g.until_at is not null),
		(select min(c.expires_at) from credential c where c.judged and c.expires_at is not null)
			- internal.credential_margin()) - now()),
			1)::double precision,
		internal.setting_int('credential_key');
end $$;
comment on function api.credential_judge() is
	'Hold steps whose credentials are dead, release steps whose credentials live again, close attempts that wait for '
	'dead credentials, and make mails. A call judges a limited number of jobs. wait_s: seconds until the next call; 0: '
	'at once, null: not before something changes. key_wanted: number of the key that is to seal.';
