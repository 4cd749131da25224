-- Mails for runnerd: fetch mails that are due, report the result of the mail program.
--
-- Invariants:
-- - A mail is sent at least once: a fetched mail is due again later, in case its runnerd dies.
-- - Several runnerds fetch different mails.

create function internal.mail_text(p_job bigint, p_step int, p_attempt int, p_event text) returns table (subject text, body text)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select format('Rota job %s (%s) %s', j.job_id, j.name, case
			when p_event = 'BEGIN' then o.label || 'began'
			when p_event in ('END', 'FAIL', 'INVALID_DEPEND') then o.label || 'ended: ' || o.state
				|| case
					when o.state <> 'completed'
					and o.exit_code > 0 then format(' (exit code %s)', o.exit_code) else '' end
			when p_event = 'REQUEUE' then o.label || 'was queued again'
			when p_event = 'STAGE_OUT' then 'data was staged out'
			when p_event = 'TIME_LIMIT' then o.label || 'reached its time limit'
			else format('%shas used %s%% of its time limit', o.label, right(p_event, 2)) end),
		concat_ws(E'\n', 'Job:        ' || j.job_id, 'Name:       ' || j.name, 'User:       ' || j.user_name,
			'Step:       ' || internal.step_label(s.job_id, s.step_id),
			'Attempt:    ' || nullif(p_attempt, 0),
			'Partition:  '
			|| coalesce(q.partition,
			(select string_agg(distinct r.partition, ', ') from step_request r where r.job_id = j.job_id)),
			'Nodes:      ' || array_to_string(t.nodes, ','), 'Submitted:  ' || f.submitted, 'Began:      ' || f.began,
			'Ended:      ' || f.ended,
			'State:      ' || o.state, 'Exit code:  ' || o.exit_code, 'Signal:     ' || o.signal,
			'Cause:      ' || o.cause,
			'Time limit: ' || make_interval(secs => nullif(t.time_limit_s, 0)), '', 'More: rota show ' || j.job_id)
	from job j
	left join step s on s.job_id = j.job_id and s.step_id = p_step
	left join step_request q on q.job_id = s.job_id and q.step_id = s.request_id
	left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = p_attempt
	cross join lateral (
		select coalesce('step ' || internal.step_label(s.job_id, s.step_id) || ' ', '') as label,
			case when p_step = -1 then j.started_at else coalesce(t.started_at, s.started_at) end as began_at,
				case when p_step = -1 then j.ended_at else coalesce(t.ended_at, s.ended_at) end as ended_at,
			case when p_step = -1 then j.state when p_attempt > 0 then coalesce(t.state, s.state)
				else s.state end as state,
			case when p_step = -1 then j.exit_code when p_attempt > 0 then t.exit_code
				else s.exit_code end as exit_code,
			case when p_step = -1 then j.signal when p_attempt > 0 then t.signal else s.signal end as signal,
			case when p_step = -1 then j.cause when p_attempt > 0 then t.cause else s.cause end as cause
	) o
	cross join lateral (
		select to_char(j.submit_at, x.form) as submitted, to_char(o.began_at, x.form) as began,
			to_char(o.ended_at, x.form) as ended
		from (values ('YYYY-MM-DD HH24:MI:SS TZ')) x (form)
	) f
	where j.job_id = p_job;
end $$;
comment on function internal.mail_text(bigint, int, int, text) is 'Subject and text of a mail.';

create function internal.mail_objection(p_tries int, p_made timestamptz) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case
		when p_tries >= internal.setting_int('mail_tries') then format('given up after %s tries', p_tries)
		when p_made < clock_timestamp() - make_interval(hours => internal.setting_int('mail_hours'))
			then 'not sent within ' || internal.text_count(internal.setting_int('mail_hours'), 'hour') end;
end $$;
comment on function internal.mail_objection(int, timestamptz) is
	'Returns the reason why a mail is given up: tried often enough, or too old; null: it is not given up.';

create function internal.mail_again(p_tries int, p_more_s int) returns timestamptz
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return clock_timestamp() + make_interval(
		secs => p_more_s + internal.setting_int('mail_retry_s') * 2.0 ^ least(p_tries - 1, 20));
end $$;
comment on function internal.mail_again(int, int) is 'When a mail is tried again after p_tries tries, plus p_more_s seconds.';

create function internal.mail_give_up() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_now constant timestamptz := clock_timestamp();
begin
	update mail m
	set due_at = null, message = concat_ws('; ', m.message, internal.mail_objection(m.tries, m.made_at))
	where m.due_at <= v_now and internal.mail_objection(m.tries, m.made_at) is not null;
end $$;
comment on function internal.mail_give_up() is 'Give up mails that were tried often enough, or are too old.';

create function api.mail_take(p_limit int, p_timeout_s int)
returns table (mail_id bigint, label text, recipient text, subject text, body text, key text, made_at bigint)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_most constant int := internal.setting_int('mail_job_max');
	v_now constant timestamptz := clock_timestamp();
	v_taken int;
begin
	perform internal.mail_poll();
	perform internal.mail_give_up();
	return query
	with due as (
		select m.job_id, m.step_id, m.attempt, m.event, m.tries
		from mail m
		where m.due_at <= v_now
		order by m.due_at
		limit p_limit
		for update skip locked
	), judged as (
		-- A job's own mails are few, and most users wait for the mail about its end.
		select d.*,
			d.step_id >= 0 and d.tries = 0
			and (select count(*) from mail o
			where o.job_id = d.job_id and o.step_id >= 0 and o.tries > 0) >= v_most as over
		from due d
	), taken as (
		update mail m
		set tries = m.tries + (not d.over)::int, recipient = coalesce(j.mail_user, j.user_name),
			-- The mail is due again after the time limit of the program and a margin, unless it is reported before.
			due_at = case when not d.over then internal.mail_again(m.tries + 1, p_timeout_s + 30) end,
			message = case when d.over then format('given up: job %s has had %s mails', d.job_id, v_most)
				else m.message end
		from judged d
		join job j on j.job_id = d.job_id
		where m.job_id = d.job_id and m.step_id = d.step_id and m.attempt = d.attempt and m.event = d.event
		returning m.mail_id, m.job_id, m.step_id, m.attempt, m.event, m.recipient, m.made_at, d.over
	)
	select t.mail_id, format('mail %s about job %s', t.event, t.job_id), t.recipient, x.subject, x.body,
		format('%s.%s.%s.%s.%s', t.job_id, t.step_id, t.attempt, t.event, extract(epoch from t.made_at)::bigint),
			extract(epoch from t.made_at)::bigint
	from taken t
	cross join lateral internal.mail_text(t.job_id, t.step_id, t.attempt, t.event) x
	where not t.over
	order by t.mail_id;
	get diagnostics v_taken = row_count;
	return query select * from internal.credential_mail_take(p_limit - v_taken, p_timeout_s);
end $$;
comment on function api.mail_take(int, int) is
	'Take mails to be sent now, p_limit at most, by a program that is killed after p_timeout_s seconds. key: the same for '
	'all tries of a mail. A mail is due again later unless it is reported.';

create function api.mail_report(p_mails bigint[], p_failures text[]) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	update mail m
	set sent_at = case when v.failure is null then clock_timestamp() end,
		due_at = case
			when v.failure is not null
			and x.again then internal.mail_again(m.tries, 0) end,
		message = v.failure || case when x.again then '' else format('; given up after %s tries', m.tries) end
	from unnest(p_mails, p_failures) as v (mail_id, failure)
	cross join lateral (select o.tries < internal.setting_int('mail_tries') as again from mail o
		where o.mail_id = v.mail_id and o.due_at is not null) x
	where m.mail_id = v.mail_id and m.due_at is not null;
	perform internal.credential_mail_report(p_mails, p_failures);
end $$;
comment on function api.mail_report(bigint[], text[]) is
	'Report the results of the mail program. A failure of null: the program accepted the mail; otherwise the reason, and the '
	'mail is due again later or given up. A repeated report changes nothing.';

create function internal.mails_json(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('event', m.event, 'step',
			case when m.step_id >= 0 then internal.step_label(m.job_id, m.step_id) end, 'attempt',
			nullif(m.attempt, 0),
			'recipient', m.recipient, 'made_at', m.made_at, 'sent_at', m.sent_at, 'due_at', m.due_at, 'tries',
			m.tries, 'message', m.message) order by m.mail_id), '[]')
		from mail m
		where m.job_id = p_job);
end $$;
comment on function internal.mails_json(bigint) is 'The mails about a job, sent or not, as a JSON list.';
