-- Leadership: one jobmgrd at a time schedules.
--
-- Invariants:
-- - Two jobmgrds cannot both commit. internal.leader_check locks the leader's row in the transaction of each decision, and a
--   claim changes that row. So a claim finds the row locked and claims nothing, or finds it free, and later checks of the old
--   term find no row.
-- - Another jobmgrd may lead when the leader's session is gone, or has waited for its client for longer than the lease. The
--   server records since when a session has waited, so nothing is written or replicated to stay leader. A session at work is not
--   silent: then the database is slow, and another leader would not be faster.
-- - The leader calls api.leader_claim three times within its lease, the other jobmgrds every quarter of a second.
create function internal.leader_silence(p_leader rota.leader) returns interval
language sql stable set search_path = live, rota, pg_temp as $$
	-- A client that hangs has sent nothing (the session waits to read), or reads nothing (the session waits to write).
	-- Setting the clock back makes no client live.
	select case when x.wait_event_type = 'Client' then greatest(d.since, -d.since) else interval '0' end
	from pg_stat_get_activity(p_leader.backend_pid) x
	cross join lateral (select clock_timestamp() - x.state_change as since) d
	where p_leader.backend_pid is not null and x.backend_start = p_leader.backend_start;
$$;
comment on function internal.leader_silence(rota.leader) is
	'Time for which the leader''s session has waited for its jobmgrd; null: that session is gone.';

create function internal.leader_lives() returns boolean
language sql stable set search_path = live, rota, pg_temp as $$
	select exists (select from leader l where l.name = 'schedule' and internal.leader_silence(l) <= l.lease);
$$;
comment on function internal.leader_lives() is 'Whether there is a leader whose session exists and is not silent.';

create function api.leader_claim(p_name text, p_lease_s int, p_prolog boolean default false, p_epilog boolean default false)
	returns bigint
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_leader leader;
	v_start timestamptz := (select x.backend_start from pg_stat_get_activity(pg_backend_pid()) x);
begin
	if session_user = 'rota_runner' and p_name <> 'hook' then
		raise exception 'role "%" does not lead "%"', session_user, p_name using errcode = '28000';
	end if;
	select l.* into v_leader from leader l where l.name = p_name;
	if v_leader.backend_pid = pg_backend_pid() and v_leader.backend_start = v_start then
		return v_leader.term;
	end if;
	if internal.leader_silence(v_leader) <= v_leader.lease then
		return null;
	end if;
	perform internal.incarnation_check();
	perform from leader l where l.name = p_name and l.term = v_leader.term for update skip locked;
	if not found then
		-- The old leader froze inside a transaction that has the row locked: between a call and its end, or while it
		-- reads the answer. Only its client could end that transaction, so the session is ended, and the next claim finds
		-- the row free. A session that waits for its client has not begun to commit.
		perform pg_terminate_backend(x.pid) from pg_stat_get_activity(v_leader.backend_pid) x
		where x.backend_start = v_leader.backend_start and x.wait_event_type = 'Client';
		return null;
	end if;
	update leader
	set term = term + 1, owner = current_setting('application_name') || ' ' || pg_backend_pid(), since = now(),
		backend_pid = pg_backend_pid(), backend_start = v_start, lease = make_interval(secs => p_lease_s),
		prolog = p_prolog, epilog = p_epilog
	where name = p_name
	returning term into v_leader.term;
	return v_leader.term;
end $$;
comment on function api.leader_claim(text, int, boolean, boolean) is
	'Become or stay leader, with a lease of p_lease_s seconds. Returns the term of this session, or null if another session '
	'leads. p_prolog, p_epilog: whether attempts have a controller prolog and epilog, as configured at the scheduling '
	'leader. 28000: rota_runner leads only hooks.';

create function internal.leader_check(p_term bigint, p_decides boolean default true) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if p_decides then
		perform 1 from leader where name = 'schedule' and term = p_term for no key update;
	else
		perform 1 from leader where name = 'schedule' and term = p_term;
	end if;
	if not found then
		raise exception 'the leadership of term % has passed to another process', p_term using errcode = 'RT412',
			hint = 'Another jobmgrd leads now.';
	end if;
end $$;
comment on function internal.leader_check(bigint, boolean) is
	'Fail with RT412 unless p_term is the leader''s term. p_decides: lock the leader''s row, so that a successor, and the '
	'leader''s next decision, wait until this transaction ends.';
