-- Everything is described: schemas, tables, columns, functions, types, views.
begin;
\ir world.psql
drop schema t cascade;
select * from no_plan();
select is_empty($$select relnamespace::regnamespace || '.' || relname from pg_class
	where relnamespace::regnamespace::text in ('rota', 'api', 'internal', 'live', 'acct') and relkind in ('r', 'p', 'v', 'm') and not relispartition
		and obj_description(oid, 'pg_class') is null$$, 'tables and views');
select is_empty($$select c.relnamespace::regnamespace || '.' || c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
	where c.relnamespace::regnamespace::text in ('rota', 'acct') and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition and a.attnum > 0 and not a.attisdropped
		and col_description(c.oid, a.attnum) is null$$, 'columns');
select is_empty($$select oid::regprocedure from pg_proc where pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login') and obj_description(oid, 'pg_proc') is null$$, 'functions');
select is_empty($$select oid::regtype from pg_type where typnamespace::regnamespace::text in ('api', 'internal', 'acct') and typtype in ('c', 'e', 'd') and typrelid not in
	(select oid from pg_class where relkind <> 'c') and obj_description(oid, 'pg_type') is null$$, 'types');
select is_empty($$select nspname from pg_namespace where nspname in ('rota', 'api', 'internal', 'live', 'acct', 'login') and obj_description(oid, 'pg_namespace') is null$$, 'schemas');
select is_empty($$select rolname from pg_roles where rolname like 'rota\_%' and shobj_description(oid, 'pg_authid') is null$$, 'roles');
select is_empty($$select p.oid::regprocedure from pg_proc p where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login')
	and p.prokind <> 'a' and not exists (select from unnest(p.proconfig) c where c like 'search_path=%') and p.prosqlbody is null$$, 'every function has its search_path pinned, or its names bound when it was made');
select is_empty($$select p.oid::regprocedure from pg_proc p cross join unnest(p.proconfig) c where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login')
	and c like 'search_path=%' and c !~ 'pg_temp$'$$, 'with pg_temp last');
select is_empty($$select p.oid::regprocedure from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login')
	and l.lanname = 'plpgsql' and p.prosrc ~* 'raise exception' and p.prosrc !~* 'errcode'$$, 'no raise without an errcode');
select is_empty($$select relname from pg_class c where relnamespace::regnamespace::text = 'acct' and relkind = 'v' and not coalesce('security_barrier=true' = any (reloptions), false)
	and not (pg_get_viewdef(oid) ~* 'union all' and (select bool_and(coalesce('security_barrier=true' = any (p.reloptions), false)) and count(*) = 3 from pg_class p
		where p.relnamespace::regnamespace::text = 'internal' and p.relname in ('acct_' || c.relname || '_all', 'acct_' || c.relname || '_own', 'acct_' || c.relname || '_account')))$$,
	'views of acct are security barriers, or unions of three of them');
select is_empty($$select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relnamespace::regnamespace::text = 'acct'
	and a.attname in ('script', 'environment', 'spec', 'auth', 'body', 'script_hash', 'environment_hash', 'workdir', 'comment', 'submit_line', 'submitline')
	and c.relname || '.' || a.attname not in ('job.workdir', 'job.comment', 'job.submit_line', 'sacct.submitline')$$, 'nothing private in acct but what tests/sql/usage.sql shows to be the owner''s only');
select is_empty($$select tgrelid::regclass || '.' || tgname from pg_trigger where not tgisinternal and tgtype & 1 = 1
	and tgrelid in (select oid from pg_class where relnamespace::regnamespace::text = 'rota')$$, 'no row triggers');
select is_empty($$select oid::regclass from pg_class where relkind = 'S' and relpersistence = 'u' and relnamespace::regnamespace::text in ('rota', 'api', 'internal')$$,
	'no unlogged sequence: PostgreSQL 15 cannot read one on a promoted standby');
select * from finish();
rollback;
