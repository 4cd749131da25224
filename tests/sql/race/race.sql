-- Races: every two functions that write (calls.psql), in one of the two orders, from two sessions. The first call is made, and
-- its transaction stays open while the second call is made; then both calls start behind a door, a lock on all jobs or all nodes,
-- so that they request their own locks after they have read. What must hold: there is no deadlock, and the rows and the answers
-- are those of one of the two orders, one call after the other (of which tests/sql/random.sql shows that the rows are
-- consistent).
--
-- It works in a database of its own, a copy of the one that tests/sql/run has made, because both sessions commit.
-- The pairs, orders, calls and doors are drawn, so that a run stays short; every call comes at least once. The seed is printed.
-- ROTA_RACE: "all" meetings of two calls, or those with a call whose name matches; ROTA_SEED (-1 to 1): the draw of that seed;
-- ROTA_SOAK: in addition, so many seconds of many calls at once.
\set ON_ERROR_STOP 1
\set QUIET 1
\connect postgres
drop database if exists race with (force);
create database race template rota;
\connect race
alter database race set search_path = public, tap;
alter database race set deadlock_timeout = '20ms';
alter database race set statement_timeout = '30s';
\ir ../world.psql
create extension dblink schema tap;
-- A session may wait at a door for longer than a caller may wait for a lock elsewhere.
select format('alter function %s set lock_timeout = 0', p.oid::regprocedure) from pg_proc p
	where array_to_string(p.proconfig, ' ') ~ 'lock_timeout' \gexec
\ir scene.psql
\ir calls.psql
\set which ''
\getenv which ROTA_RACE
\set soak 0
\getenv soak ROTA_SOAK
-- The seed follows from the bodies of the functions: the same functions give the same draw, any change of them a new one.
select round(hashtext(string_agg(p.prosrc, '' order by p.oid::regprocedure::text))::numeric / 2147483648, 6) as seed from pg_proc p
	where p.pronamespace in ('api'::regnamespace, 'internal'::regnamespace) \gset
\getenv seed ROTA_SEED

create function t.says(p_call text, p_other text default null) returns text language sql as $$ select p_call || case p_call when p_other then '''s twin' else '' end || ' answers' $$;
-- Make one call in this session; returns its answer, or the SQLSTATE of its error.
create function t.answer_here(p_sql text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	execute p_sql into v_answer;
	return v_answer;
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;
create function t.sql(p_call text) returns text language sql as $$ select sql from t.call where name = p_call $$;
create function t.again(p_call text) returns boolean language sql as $$ select again from t.call where name = p_call $$;
-- The calls that are made again after a meeting, twice: the second call then does what it left out in the meeting because of
-- locks, and the first one may have to go on with the result.
create function t.repeated(p_first text, p_second text) returns text[] language sql as $$
	select coalesce(array_agg(x.name order by x.nr), '{}')
	from unnest(array[p_first, p_second, p_first, p_second]) with ordinality as x (name, nr)
	where t.again(x.name);
$$;
-- The answers of two calls, apart from calls that are made again.
create function t.seen(p_first text, p_one text, p_second text, p_two text) returns jsonb language sql as $$
	select case when t.again(p_first) then '{}' else jsonb_build_object(t.says(p_first), p_one) end || case when t.again(p_second) then '{}' else jsonb_build_object(t.says(p_second, p_first), p_two) end $$;
-- Put the scene back, for all sessions at once.
create function t.scene() returns void language plpgsql as $$
begin
	perform from dblink('door', 'select t.rows()') as x (done text);
	perform t.sequences();
end $$;
-- One call after the other on the scene, then rolled back: the answers of both, and the digest of the rows that they left.
create function t.in_turn(p_first text, p_second text) returns jsonb language plpgsql as $$
declare
	v_one text;
	v_two text;
begin
	v_one := t.answer_here(t.sql(p_first));
	v_two := t.answer_here(t.sql(p_second));
	perform t.answer_here(t.sql(x)) from unnest(t.repeated(p_first, p_second)) x;
	raise sqlstate 'T0001' using message = (t.seen(p_first, v_one, p_second, v_two) || t.digest())::text;
exception when sqlstate 'T0001' then
	return sqlerrm::jsonb;
end $$;

-- The answer of a call on the scene. The call is rolled back, so the scene stays as it is.
create function t.alone(p_call text) returns text language plpgsql as $$
begin
	perform t.sequences();
	raise sqlstate 'T0001' using message = coalesce(t.answer_here(t.sql(p_call)), '');
exception when sqlstate 'T0001' then
	return sqlerrm;
end $$;
create function t.answer_of(p_session text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	select x.answer into v_answer from dblink_get_result(p_session) as x (answer text);
	perform from dblink_get_result(p_session) as x (answer text);
	return v_answer;
exception when others then
	perform from dblink_get_result(p_session) as x (answer text);
	return sqlstate || ' ' || sqlerrm;
end $$;
-- Wait until the session has its answer, or waits for a lock of another session.
create function t.settles(p_session text, p_pid int) returns void language plpgsql as $$
begin
	while dblink_is_busy(p_session) = 1 and pg_blocking_pids(p_pid) = '{}' loop
		perform pg_sleep(0.001);
	end loop;
end $$;

create table t.session as
	select x.name, dblink_connect(x.name, 'dbname=race host=' || current_setting('unix_socket_directories') || ' user=postgres'),
		(select y.pid from dblink(x.name, 'select pg_backend_pid()') as y (pid int)) as pid
	from unnest(array['one', 'two', 'door']) as x (name);
select dblink_exec('door', 'set session_replication_role = replica') \g /dev/null

create function t.meet(p_first text, p_second text, p_door text) returns jsonb language plpgsql as $$
declare
	v_one int := (select pid from t.session where name = 'one');
	v_two int := (select pid from t.session where name = 'two');
	v_first text;
	v_second text;
begin
	if p_door <> '' then
		perform dblink_exec('door', 'begin');
		perform from dblink('door', format('select count(*) from (select from rota.%1$I order by %1$I_id for no key update) x', p_door)) as x (n bigint);
	end if;
	perform dblink_exec('one', 'begin');
	perform dblink_send_query('one', t.sql(p_first));
	perform t.settles('one', v_one);
	perform dblink_send_query('two', t.sql(p_second));
	perform t.settles('two', v_two);
	if p_door <> '' then
		perform dblink_exec('door', 'commit');
	end if;
	v_first := t.answer_of('one');
	perform dblink_exec('one', 'commit');
	v_second := t.answer_of('two');
	perform dblink_send_query('one', t.sql(x)), t.answer_of('one') from unnest(t.repeated(p_first, p_second)) x;
	return t.seen(p_first, v_first, p_second, v_second);
end $$;

-- The differences of two digests, in a few words.
create function t.differs(p_one jsonb, p_two jsonb) returns text language sql as $$
	select string_agg(k || ': ' || left(coalesce((select string_agg(x::text, ' ') from jsonb_array_elements(case jsonb_typeof(p_one -> k) when 'array' then p_one -> k else jsonb_build_array(p_one -> k) end) x
			where case jsonb_typeof(p_two -> k) when 'array' then not p_two -> k @> jsonb_build_array(x) else true end), ''), 300)
		|| ' where one after the other gives ' || left(coalesce((select string_agg(x::text, ' ') from jsonb_array_elements(case jsonb_typeof(p_two -> k) when 'array' then p_two -> k else jsonb_build_array(p_two -> k) end) x
			where case jsonb_typeof(p_one -> k) when 'array' then not p_one -> k @> jsonb_build_array(x) else true end), ''), 300), E'\n')
	from jsonb_object_keys(p_two || p_one) k where p_one -> k is distinct from p_two -> k;
$$;

create table t.met (first text, second text, door text, wrong text);
create procedure t.race(p_first text, p_second text, p_door text) language plpgsql as $$
declare
	v_seen jsonb;
	v_turn jsonb;
	v_wrong text;
begin
	perform t.scene();
	v_turn := t.in_turn(p_first, p_second);
	perform t.sequences();
	commit;
	v_seen := t.meet(p_first, p_second, p_door) || t.digest();
	if v_seen is distinct from v_turn then
		v_wrong := t.differs(v_seen, v_turn);
		perform t.scene();
		if v_seen = t.in_turn(p_second, p_first) then
			v_wrong := null;
		end if;
	end if;
	insert into t.met values (p_first, p_second, p_door, v_wrong);
	commit;
end $$;
-- Of every two functions one meeting, in either order, but of 1000 pairs at most, because their number grows with the square of that of the functions.
-- The calls of a function take turns. The first pairs of each function, as many as it has calls, are always among them, so that each call comes.
create function t.draw() returns table (first text, second text, door text) language sql as $$
	with function as materialized (select function as name, count(*) as calls from t.call group by 1 order by 1),
	every as materialized (
		select a.name as one, b.name as two, random() as luck, a.calls as one_calls, b.calls as two_calls
		from function a join function b on a.name <= b.name order by 1, 2),
	ranked as (
		select one, two, luck, row_number() over (partition by one order by luck) <= one_calls
			or row_number() over (partition by two order by luck) <= two_calls as is_needed
		from every),
	pair as materialized (
		select row_number() over (order by one, two) as nr, case when random() < 0.5 then array[one, two] else array[two, one] end as functions,
			(array['', 'job', 'node'])[1 + floor(3 * random())::int] as door
		from (select one, two from ranked order by is_needed desc, luck limit 1000) x),
	side as materialized (
		select p.nr, p.door, s.side, s.function, row_number() over (partition by s.function order by random()) as turn
		from pair p cross join unnest(p.functions) with ordinality s (function, side)),
	call as materialized (
		select c.name, c.function, row_number() over (partition by c.function order by random()) - 1 as nr, count(*) over (partition by c.function) as calls from t.call c)
	select max(c.name) filter (where s.side = 1), max(c.name) filter (where s.side = 2), s.door
	from side s join call c on c.function = s.function and c.nr = s.turn % c.calls
	group by s.nr, s.door order by s.nr;
$$;
-- p_which: "all", or a pattern of names, for all meetings of such calls; else those that are drawn.
create procedure t.races(p_which text, p_seed float) language plpgsql as $$
declare
	v_one record;
	v_count int := 0;
begin
	perform setseed(p_seed);
	if p_which not in ('', 'all') and not exists (select from t.call c where c.name ~ p_which) then
		raise exception 'ROTA_RACE: no call of tests/sql/race/calls.psql has a name that matches "%"', p_which;
	end if;
	for v_one in
		select a.name as first, b.name as second, d.door
		from t.call a cross join t.call b cross join unnest(array['', 'job', 'node']) as d (door)
		where p_which <> '' and (p_which = 'all' or a.name ~ p_which or b.name ~ p_which)
		union all
		select d.* from t.draw() d where p_which = ''
	loop
		call t.race(v_one.first, v_one.second, v_one.door);
		v_count := v_count + 1;
		if v_count % 100 = 0 then
			perform dblink_exec('door', 'vacuum');
		end if;
	end loop;
end $$;

-- Many calls at once: in rounds that begin with the scene, eight sessions make drawn calls, each as fast as it gets answers.
-- Returns the answers that no client should get, and the rows that are inconsistent after a round.
create procedure t.soak(p_seconds int) language plpgsql as $$
declare
	v_until timestamptz := clock_timestamp() + make_interval(secs => p_seconds);
	v_call text;
	v_calls text[];
	v_rounds int := 0;
begin
	perform dblink_connect('s' || i, 'dbname=race host=' || current_setting('unix_socket_directories') || ' user=postgres') from generate_series(1, 8 * (p_seconds > 0)::int) i;
	while clock_timestamp() < v_until loop
		perform t.scene();
		commit;
		v_calls := '{}';
		for turn in 1 .. 5 loop
			for i in 1 .. 8 loop
				if turn > 1 then
					insert into t.met select v_calls[i], 'others', 'soak', x from t.answer_of('s' || i) x where x ~ '^(40P01|57014|XX...|42...|25...) ';
				end if;
				select name into v_call from t.call order by random() limit 1;
				v_calls[i] := v_call;
				perform dblink_send_query('s' || i, t.sql(v_call));
			end loop;
		end loop;
		for i in 1 .. 8 loop
			insert into t.met select v_calls[i], 'others', 'soak', x from t.answer_of('s' || i) x where x ~ '^(40P01|57014|XX...|42...|25...) ';
		end loop;
		commit;
		insert into t.met select array_to_string(v_calls, ', '), 'others', 'soak', x from t.wrong() x limit 3;
		v_rounds := v_rounds + 1;
		commit;
	end loop;
	insert into t.met select 'rounds', v_rounds::text, 'soak', null where p_seconds > 0;
end $$;

select * from no_plan();
-- All meetings are one statement; each of their calls has 30 s.
set statement_timeout = '30min';
select is_empty($$select p.oid::regprocedure from pg_proc p
	where p.pronamespace = 'api'::regnamespace and p.provolatile = 'v' and p.proname not in (select function from t.call)
		and exists (select from unnest('{rota_jobmgr,rota_jobmgr_leader,rota_jobmgr_admin,rota_node,rota_nodemgr,rota_runner}'::regrole[]) r where has_function_privilege(r, p.oid, 'execute'))$$,
	'every function that daemons call and that writes is in tests/sql/race/calls.psql');
select is_empty($$select c.name, x.says from t.call c cross join lateral (select t.alone(c.name) as says) x where x.says ~ '^[0-9A-Z]{5} ' and c.name <> 'dead'$$,
	'every call by itself is a good one (but that a node is lost has to be seen first)');
select diag('ROTA_SEED=' || :'seed');
call t.races(:'which', :seed);
select is_empty($$select c.name from t.call c where c.name not in (select first from t.met) and c.name not in (select second from t.met)$$, 'every call has met another one')
where :'which' in ('', 'all');
call t.soak(:soak);
select ok(not bool_or(wrong is not null), count(*) || ' meetings of ' || (select count(*) from t.call) || ' calls') from t.met;
select diag(format('%s, %s%s:', first, second, ', behind a door of ' || nullif(door, '') || 's') || E'\n' || wrong) from t.met where wrong is not null order by first, second, door limit 100;
select * from finish();
\connect postgres
drop database race with (force);
