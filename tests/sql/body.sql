-- The bodies of functions, which the installation does not look at: each is compiled here, and checked by plpgsql_check.
begin;
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
set client_min_messages = warning;
create extension if not exists pgtap schema tap;
set search_path = public, tap;
select * from no_plan();
create schema t;
create function t.compiles(p_function regprocedure) returns text language plpgsql as $$
begin
	-- To define a function of language sql anew, as it is, has its body parsed and its types checked.
	execute pg_get_functiondef(p_function);
	return pass(p_function || ' compiles');
exception when others then
	return fail(p_function || ': ' || sqlerrm);
end $$;
select t.compiles(p.oid) from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login') and l.lanname in ('sql', 'plpgsql') order by p.oid::regprocedure::text;
create extension if not exists plpgsql_check schema tap;
select is((select string_agg(format('line %s: %s %s', c.lineno, c.message, c.detail), '; ') from plpgsql_check_function_tb(p.oid, other_warnings := false, extra_warnings := false) c),
	null, p.oid::regprocedure || ' is found to be sound')
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login') and l.lanname = 'plpgsql' and p.prorettype <> 'trigger'::regtype order by p.oid::regprocedure::text;
select * from finish();
rollback;
