-- Row security of schema acct.
--
-- Invariants:
-- - Analysts and administrators see all rows; others see those of their own jobs and of accounts that they coordinate.
-- - internal.owner_view makes each view with rows of jobs, so that all have the same condition on acct.me, which is read once a
--   statement. Views of other rows have a condition of their own.
create view acct.me with (security_barrier) as
select current_user::text as user_name,
	pg_has_role('rota_analyst', 'member') or pg_has_role('rota_admin', 'member')
		or pg_has_role('rota_owner', 'member') as reads_all,
	array(select c.account from internal.account_coordinated c
		where c.user_name = current_user order by c.account) as accounts;
comment on view acct.me is 'The caller, one row: your login name, and which rows you see in the views of this schema.';
comment on column acct.me.user_name is 'Your login name.';
comment on column acct.me.reads_all is
	'Whether you see the rows of all users, as analysts do. If not, you see those of your own jobs and of your accounts.';
comment on column acct.me.accounts is 'Accounts that you coordinate, with all below them: you see the rows of their jobs.';

create function internal.owner_view(p_view text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
	v_part record;
begin
	-- In parts, each with a plan of its own: the index on owners serves who sees few rows, and whole tables are read for
	-- who sees all. A part that is not the caller's is not executed. Each part is a security barrier; the view of all parts
	-- is not, so that columns that a query does not use are not computed. The index has the collation of type text, not that
	-- of type name.
	for v_part in
		select format('acct_%s_%s', p_view, x.suffix) as name, x.condition
		from (values
			('all', '(select m.reads_all from acct.me m)'),
			('own', 'not (select m.reads_all from acct.me m) and v.user_name = current_user::text collate "default"'),
			('account', $q$(select not m.reads_all and m.accounts <> '{}' from acct.me m)
				and v.user_name <> current_user::text collate "default"
				and v.account = any ((select m.accounts from acct.me m)::text[])$q$)) x (suffix, condition)
	loop
		execute format('create view internal.%I with (security_barrier) as select v.* from internal.%I v where %s',
			v_part.name, 'acct_' || p_view, v_part.condition);
		execute format('comment on view internal.%I is %L', v_part.name, format('Part of acct.%s.', p_view));
	end loop;
	execute format('create view acct.%I as select * from internal.%I union all select * from internal.%I '
		'union all select * from internal.%I', p_view, format('acct_%s_all', p_view), format('acct_%s_own', p_view),
		format('acct_%s_account', p_view));
	execute format('comment on view internal.%I is %L', 'acct_' || p_view,
		format('Rows of acct.%s, of all users.', p_view));
end $$;
comment on function internal.owner_view(text) is
	'Make the view acct.NAME of internal.acct_NAME, with the rows that the caller may see: all, or those of his jobs and of '
	'the accounts that he coordinates. The columns user_name and account of internal.acct_NAME name the owner of a row.';

create view acct.site with (security_barrier) as
select z.time_zone,
	(select count(*) from rota.usage_pending d where d.rebuild) + case when z.rebuild_at is not null then 1
	else 0 end as rebuild_left
from rota.usage_state z;
comment on view acct.site is 'The site as a whole, one row.';
comment on column acct.site.time_zone is 'Time zone whose days and months the usage figures have.';
comment on column acct.site.rebuild_left is
	'Remaining work of a recomputation of the usage figures; 0: the figures are complete.';
