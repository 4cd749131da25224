create function api.leader_claim(p_name text) returns bigint
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_term bigint;
begin
	-- The lock lives and dies with the session, so there is never a leader without a connection; the term tells old from new.
	if not pg_try_advisory_lock(hashtext('rota leader ' || p_name)) then
		return null;
	end if;
	update leader
	set term = term + 1, holder = current_setting('application_name') || ' ' || pg_backend_pid(), since = now()
	where name = p_name
	returning term into v_term;
	return v_term;
end $$;
comment on function api.leader_claim(text) is 'Become leader: the new term, or null where another session leads.';

create function api.leader_check(p_term bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform 1 from leader where name = 'schedule' and term = p_term for share;
	if not found then
		raise exception 'term % is over', p_term using errcode = 'RT412', hint = 'Another jobmgrd leads now.';
	end if;
end $$;
comment on function api.leader_check(bigint) is 'Fail with RT412 unless p_term is the leader''s; the share lock holds off a successor until this transaction ends. Internal.';
