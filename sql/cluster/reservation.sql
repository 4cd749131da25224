-- Reservations: the requests of administrators to write them, and of all users to see them.
create function internal.admin_reservation_nodes(p_name text, p_hosts text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_names text[] := case when lower(p_hosts) = 'all' then array(select n.name from node n)
		else array(select internal.hosts_expand(p_hosts)) end;
	v_id int := (select r.reservation_id from reservation r where r.name = p_name);
begin
	perform internal.object_need('node', v_names);
	delete from reservation_node rn using node n
		where rn.reservation_id = v_id and n.node_id = rn.node_id and n.name <> all (v_names);
	insert into reservation_node (reservation_id, node_id) select v_id, n.node_id from node n
		where n.name = any (v_names) on conflict do nothing;
	if not exists (select from reservation_node rn where rn.reservation_id = v_id) then
		raise exception 'a reservation needs nodes' using errcode = 'RT422';
	end if;
end $$;
comment on function internal.admin_reservation_nodes(text, text) is 'Set the nodes of a reservation: a host list, or "all".';

create function internal.admin_reservation(p_user text, p_name text, p_set jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_old reservation;
	v_starts_at timestamptz;
	v_ends_at timestamptz;
begin
	select * into v_old from reservation r where r.name = p_name;
	if p_set ?& array['ends_at', '+duration'] then
		raise exception 'a reservation takes an end or a duration, not both' using errcode = 'RT422';
	elsif v_old.name is null
		and (p_set ->> 'starts_at' is null or not p_set ? '+nodes'
		or coalesce(p_set ->> 'ends_at', p_set ->> '+duration') is null) then
		raise exception 'a reservation needs "start", "nodes", and "end" or "duration"' using errcode = 'RT422';
	end if;
	v_starts_at := coalesce((p_set ->> 'starts_at')::timestamptz, v_old.starts_at);
	-- If only the start is changed, the reservation keeps its length.
	v_ends_at := coalesce((p_set ->> 'ends_at')::timestamptz,
		v_starts_at + make_interval(secs => (p_set ->> '+duration')::bigint),
		v_starts_at + (v_old.ends_at - v_old.starts_at));
	if v_ends_at <= v_starts_at then
		raise exception 'the reservation would end before it begins' using errcode = 'RT422';
	elsif v_ends_at <= now() and p_set ?| array['starts_at', 'ends_at', '+duration']
		and coalesce(p_set -> 'recurs', to_jsonb(v_old.recurs), 'null') = 'null' then
		raise exception 'the reservation would be over already' using errcode = 'RT422';
	elsif v_ends_at
		- v_starts_at > (case when p_set ? 'recurs' then (p_set ->> 'recurs')::interval else v_old.recurs end) then
		raise exception 'the reservation would recur before it is over' using errcode = 'RT422';
	elsif p_set ->> 'time_zone' is not null
		and not exists (select from pg_timezone_names z where z.name = p_set ->> 'time_zone') then
		raise exception 'there is no time zone "%"', p_set ->> 'time_zone' using errcode = 'RT422',
			hint = 'Write it like Europe/Prague or UTC.';
	end if;
	if jsonb_typeof(p_set -> 'accounts') = 'array' then
		perform internal.object_need('account', array(select jsonb_array_elements_text(p_set -> 'accounts')));
	end if;
	return p_set
		|| jsonb_build_object('starts_at', v_starts_at, 'ends_at', v_ends_at, 'created_by',
		coalesce(v_old.created_by, p_user));
end $$;
comment on function internal.admin_reservation(text, text, jsonb) is
	'The values of a reservation, with its end computed; RT422: the values do not fit together.';

create function api.reservation_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_names constant text[] := internal.request_list(p_request, 'names');
begin
	perform internal.object_need('reservation', v_names);
	return (
	select jsonb_build_object('reservations', coalesce(jsonb_agg(jsonb_build_object('name', r.name,
		'state', case when t.starts_at <= now() then 'active' when t.starts_at is not null then 'planned' else 'over' end,
		'starts_at', coalesce(t.starts_at, r.starts_at), 'ends_at', coalesce(t.ends_at, r.ends_at), 'recurs', r.recurs,
		'time_zone', r.time_zone,
		'nodes', n.names, 'users', to_jsonb(r.users), 'accounts', to_jsonb(r.accounts), 'end_steps', r.end_steps,
		'reason', r.reason,
		'created_by', r.created_by, 'created_at', r.created_at, 'steps', a.steps)
		order by coalesce(t.starts_at, r.starts_at), r.name), '[]'))
	from reservation r
	left join internal.reservation_time t on t.reservation_id = r.reservation_id and t.next
	cross join lateral (
		select coalesce(jsonb_agg(n.name order by regexp_replace(n.name, '[0-9]+$', ''), length(n.name), n.name),
			'[]') as names
		from reservation_node rn join node n on n.node_id = rn.node_id where rn.reservation_id = r.reservation_id
	) n
	cross join lateral (
		-- Running steps whose time limits end after the start of the reservation.
		select count(distinct (a.job_id, a.step_id)) as steps
		from reservation_node rn
		join allocation a on a.node_id = rn.node_id and a.ended_at is null and a.attempt > 0
		join attempt m on m.job_id = a.job_id and m.step_id = a.step_id and m.attempt = a.attempt
		where rn.reservation_id = r.reservation_id
			and (m.time_limit_s = 0
				or coalesce(m.started_at,
				m.ordered_at) + make_interval(secs => m.time_limit_s + m.suspended_s) > t.starts_at)
	) a
	where (t.starts_at is not null or internal.request_bool(p_request, 'all'))
		and (v_names is null or r.name = any (v_names)));
end $$;
comment on function api.reservation_list(int, text, jsonb) is
	'Reservations that are not over, with their next period. Request {names, all}. Answer {reservations: [{name, state, '
	'starts_at, ends_at, recurs, nodes, users, accounts, reason, steps, ...}]}; steps: the number of running steps whose '
	'time limits end after the period begins.';
