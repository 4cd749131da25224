-- Row security of schema acct.
--
-- Invariants:
-- - Analysts and administrators see all rows; others see those of their own jobs and of accounts that they coordinate.
-- - Each view with rows of users has the same condition on acct.me, which is read once a statement.
create view acct.me with (security_barrier) as
select current_user::text as user_name,
	pg_has_role('rota_analyst', 'member') or pg_has_role('rota_admin', 'member')
		or pg_has_role('rota_owner', 'member') as reads_all,
	array(select c.account from internal.account_coordinated c
		where c.user_name = current_user order by c.account) as accounts;
comment on view acct.me is 'You, as the views of this schema know you.';
comment on column acct.me.user_name is 'Your login name.';
comment on column acct.me.reads_all is
	'Whether you see everybody''s rows, as analysts do; else you see those of your own jobs and of accounts.';
comment on column acct.me.accounts is 'Accounts that you coordinate, with all below them: you see the rows of their jobs.';

create view acct.site with (security_barrier) as
select z.time_zone,
	(select count(*) from rota.usage_pending d where d.rebuild) + case when z.rebuild_at is not null then 1
	else 0 end as rebuild_left
from rota.usage_state z;
comment on view acct.site is 'The site as a whole, one row.';
comment on column acct.site.time_zone is 'Time zone by whose days and months usage is added up.';
comment on column acct.site.rebuild_left is
	'0: the usage figures are whole; else they are being added up anew, and so much of that is still to be done.';
