-- Mail to users whose steps outlive a credential, or wait because it is dead.
--
-- Called by: api.credential_judge (makes mails); api.mail_take, api.mail_report (runnerd sends them).
-- Invariants:
-- - A user gets one mail for each event of a version that the owner has uploaded, however often it is renewed, and however many
--   steps need it.
-- - A mail contains only what its recipient may read: the name of the credential, times, counts, and why a renewal failed.

create function internal.credential_lives_until(p_credential rota.credential) returns timestamptz
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when not p_credential.renewable then p_credential.expires_at
		when p_credential.renew_until is not null then greatest(p_credential.renew_until, p_credential.expires_at) end;
$$;
comment on function internal.credential_lives_until(rota.credential) is
	'Until when a credential can be renewed or, if it cannot be renewed, when it expires; null: no known end.';

create function internal.credential_outlived(p_credential rota.credential) returns table (user_name text, steps int)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select w.recipient, count(*)::int
	from internal.credential_need n
	join job j on j.job_id = n.job_id
	cross join lateral (select j.user_name union select p_credential.user_name) as w (recipient)
	where n.credential_id = p_credential.credential_id
		and internal.credential_lives_until(p_credential) < coalesce(n.until_at, 'infinity')
	group by w.recipient;
end $$;
comment on function internal.credential_outlived(rota.credential) is
	'Users to warn, one row each, with the number of steps that outlive the last renewal of a credential, or may: the owner '
	'with all steps, other users with their own.';

create function internal.credential_warn() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_row credential;
	v_again constant interval := '10 minutes';
begin
	for v_row in
		select * from credential c where c.warn_at <= now() order by c.warn_at limit 100 for update skip locked
	loop
		insert into credential_mail (credential_id, uploaded, recipient, event, steps, lives_until, reason)
		select v_row.credential_id, v_row.uploaded, o.user_name, 'EXPIRES', o.steps,
			internal.credential_lives_until(v_row), v_row.failure
		from internal.credential_outlived(v_row) o
		where internal.credential_usable(v_row) -- steps with a dead credential are held
		on conflict (credential_id, uploaded, recipient, event) do nothing;
		-- Plans change, so a credential that no step outlives now may be outlived later.
		update credential c set warn_at = case when internal.credential_usable(v_row) then now() + v_again end
		where c.credential_id = v_row.credential_id;
	end loop;
end $$;
comment on function internal.credential_warn() is
	'Make the mails about credentials that expire soon, to users whose steps outlive them.';

create function internal.credential_tell_held(p_credential rota.credential) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into rota.credential_mail (credential_id, uploaded, recipient, event, steps, lives_until, reason)
	select p_credential.credential_id, p_credential.uploaded, w.recipient, 'HELD', count(*),
		internal.credential_lives_until(p_credential), internal.credential_objection(p_credential)
	from step_credential x
	join step s on s.job_id = x.job_id and s.request_id = x.step_id and s.ended_at is null and s.held = 'system'
		and starts_with(s.held_reason, format('credential %s:', coalesce(x.owner || '/', '') || x.name))
	join job j on j.job_id = x.job_id
	cross join lateral (select j.user_name union select p_credential.user_name) as w (recipient)
	where x.uid = p_credential.uid and x.name = p_credential.name
		and (x.grantee is null or internal.credential_granted(p_credential.credential_id, x.grantee))
	group by w.recipient
	on conflict (credential_id, uploaded, recipient, event) do nothing;
end $$;
comment on function internal.credential_tell_held(rota.credential) is
	'Make the mails to users whose steps wait because this credential is dead.';

create function internal.credential_mail_text(p_mail rota.credential_mail, p_credential rota.credential)
returns table (subject text, body text)
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_form constant text := 'YYYY-MM-DD HH24:MI:SS TZ';
	v_own constant boolean := p_mail.recipient = p_credential.user_name;
	v_label constant text := case when v_own then '' else p_credential.user_name || '/' end || p_credential.name;
	v_steps constant text := p_mail.steps || case p_mail.steps when 1 then ' step' else ' steps' end;
begin
	return query
	select case p_mail.event
			when 'EXPIRES' then format('Rota credential %s ends before %s', v_label, v_steps)
			else format('Rota credential %s is dead: %s held', v_label, v_steps) end,
		concat_ws(E'\n', 'Credential: ' || v_label, 'Owner:      ' || p_credential.user_name, 'Kind:       ' || p_credential.kind,
			'Subject:    ' || p_credential.subject,
			case when p_mail.lives_until > p_credential.expires_at then 'Renewable until: ' else 'Expires:    ' end
				|| to_char(p_mail.lives_until, v_form),
			'Reason:     ' || p_mail.reason, 'Steps:      ' || p_mail.steps, '',
			case p_mail.event when 'EXPIRES' then 'These steps may still run, or wait, when it ends. They are held then.'
				else 'These steps are held, and go on by themselves when it is added anew.' end,
			case when v_own then format('Add it anew: rota cred add %s --kind=%s', p_credential.name, p_credential.kind)
				else format('Only %s can add it anew: ask there, or change your jobs so that they need it no more.',
					p_credential.user_name) end,
			'Which steps: ' || case p_mail.event when 'EXPIRES' then 'rota cred forecast'
				else 'rota queue --user=' || p_mail.recipient end);
end $$;
comment on function internal.credential_mail_text(rota.credential_mail, rota.credential) is
	'Subject and text of a mail about a credential.';

create function internal.credential_mail_take(p_limit int, p_timeout_s int)
returns table (mail_id bigint, label text, recipient text, subject text, body text, key text, made_at bigint)
language plpgsql set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_now constant timestamptz := clock_timestamp();
begin
	update credential_mail m
	set due_at = null, message = concat_ws('; ', m.message, internal.mail_objection(m.tries, m.made_at))
	where m.due_at <= v_now and internal.mail_objection(m.tries, m.made_at) is not null;
	return query
	with due as (
		select m.mail_id from credential_mail m where m.due_at <= v_now order by m.due_at limit p_limit for update skip locked
	), taken as (
		update credential_mail m
		set tries = m.tries + 1, due_at = internal.mail_again(m.tries + 1, p_timeout_s + 30)
		from due d
		where m.mail_id = d.mail_id
		returning m.*
	)
	select t.mail_id, format('mail %s about credential %s', t.event, c.name), t.recipient, x.subject, x.body,
		format('credential.%s.%s.%s.%s', t.credential_id, t.uploaded, t.event, t.recipient), extract(epoch from t.made_at)::bigint
	from taken t
	join credential c on c.credential_id = t.credential_id
	cross join lateral internal.credential_mail_text(t, c) x
	order by t.mail_id;
end $$;
comment on function internal.credential_mail_take(int, int) is
	'Take mails about credentials, as api.mail_take does for other mails.';

create function internal.credential_mail_report(p_mails bigint[], p_failures text[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	update credential_mail m
	set sent_at = case when v.failure is null then clock_timestamp() end,
		due_at = case when v.failure is not null and m.tries < internal.setting_int('mail_tries')
			then internal.mail_again(m.tries, 0) end,
		message = v.failure || case when m.tries < internal.setting_int('mail_tries') then ''
			else format('; given up after %s tries', m.tries) end
	from unnest(p_mails, p_failures) as v (mail_id, failure)
	where m.mail_id = v.mail_id and m.due_at is not null;
end $$;
comment on function internal.credential_mail_report(bigint[], text[]) is
	'Report mails about credentials, as api.mail_report does for other mails.';
