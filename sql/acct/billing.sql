-- Weights, prices, grants and billed months. All readers see all weights and prices. Readers see the grants of their own accounts
-- and of accounts that they coordinate, and the billed months of their own jobs and of these accounts.

create view acct.billing_weight with (security_barrier) as
select w.partition, w.from_month, w.cpu, w.mem_gib, w.node, w.gres from rota.billing_weight w;
comment on view acct.billing_weight is
	'How many billing units an hour of each resource counts in a partition; a partition without a row counts CPU-hours.';
comment on column acct.billing_weight.partition is 'Name of the partition.';
comment on column acct.billing_weight.from_month is
	'First day of the first month in which the weights are valid; they are valid until a later row of the partition.';
comment on column acct.billing_weight.cpu is 'Billing units of a CPU-hour.';
comment on column acct.billing_weight.mem_gib is 'Billing units of one GiB of memory held for one hour.';
comment on column acct.billing_weight.node is 'Billing units of a node-hour, if the node is held whole or in part.';
comment on column acct.billing_weight.gres is 'Billing units of a device-hour of each generic resource, {"gpu": 20}.';

create view acct.price with (security_barrier) as
select p.price, p.account, p.from_month, p.per_unit, p.currency from rota.price p;
comment on view acct.price is
	'Prices of a billing unit. An account pays the price of the nearest account above it that has one, itself included.';
comment on column acct.price.price is 'Name of the price.';
comment on column acct.price.account is
	'Account that pays the price, with all accounts below it; null: all accounts without a price of their own.';
comment on column acct.price.from_month is
	'First day of the first month in which the price is valid; it is valid until a later price of the account.';
comment on column acct.price.per_unit is 'Price of one billing unit, in the currency.';
comment on column acct.price.currency is 'Currency, by its code of three letters (ISO 4217).';

create view internal.grant_shown as
select g.name, g.account, g.units, coalesce(c.carried, 0) as carried, coalesce(u.used, 0) as used,
	greatest(g.units + coalesce(c.carried, 0) - coalesce(u.used, 0), 0) as left_over, g.first_day, g.last_day, g.carry_over,
	g.at_end, case when t.today < g.first_day then 'planned' when t.today > g.last_day then 'over'
		when g.units + coalesce(c.carried, 0) <= coalesce(u.used, 0) then 'used up' else 'active' end as state
from (select (now() at time zone z.time_zone)::date as today from rota.usage_state z) t
cross join rota.account_grant g
left join internal.grant_carried c on c.grant_id = g.grant_id
left join internal.grant_used u on u.grant_id = g.grant_id;
comment on view internal.grant_shown is
	'Grants, one row each, with the units carried over from the grant before, the units used and the units left.';

create view acct.account_grant with (security_barrier) as
select g.name, g.account, g.units, g.carried, g.used, g.left_over, g.first_day, g.last_day, g.carry_over, g.at_end, g.state
from internal.grant_shown g
where (select m.reads_all from acct.me m) or g.account = any ((select m.accounts from acct.me m)::text[])
	or g.account in (select u.above from rota.association a join internal.account_above u on u.account = a.account
		where a.user_name = current_user);
comment on view acct.account_grant is
	'Grants: the billing units that an account may use between two days, and how many of them are left.';
comment on column acct.account_grant.name is 'Name of the grant.';
comment on column acct.account_grant.account is 'Account that has the grant, for itself and all accounts below it.';
comment on column acct.account_grant.units is 'Billing units granted.';
comment on column acct.account_grant.carried is 'Billing units carried over from the previous grant of the account.';
comment on column acct.account_grant.used is 'Billing units of the allocations that ended within the grant''s days.';
comment on column acct.account_grant.left_over is 'Billing units granted and carried over that are not used; 0 at least.';
comment on column acct.account_grant.first_day is 'First day of the grant, in the time zone of the site.';
comment on column acct.account_grant.last_day is 'Last day of the grant, in the time zone of the site.';
comment on column acct.account_grant.carry_over is 'How many unused units the next grant of the account gets at most.';
comment on column acct.account_grant.at_end is
	'Effect when the grant is used up or its last day is over: refuse (steps do not start, new ones are refused), '
	'low_priority (steps come after those of all others).';
comment on column acct.account_grant.state is 'State of the grant: planned, active, used up or over.';

create view acct.billing_month with (security_barrier) as
select b.month, b.account, b.user_name, b.partition, b.qos, b.units, b.per_unit, b.units * b.per_unit as amount, b.currency
from internal.billing_month b
where (select m.reads_all from acct.me m) or b.user_name = current_user
	or b.account = any ((select m.accounts from acct.me m)::text[]);
comment on view acct.billing_month is
	'Billing units and their cost by account, user, partition and quality of service in each month, live allocations up to '
	'now included.';
comment on column acct.billing_month.month is 'First day of the month, in the time zone of the site.';
comment on column acct.billing_month.account is 'Account that pays; null: none.';
comment on column acct.billing_month.user_name is 'Owner of the jobs.';
comment on column acct.billing_month.partition is 'Partition in which the jobs ran.';
comment on column acct.billing_month.qos is 'Quality of service of the jobs.';
comment on column acct.billing_month.units is 'Billing units, by the weights that the partition has in the month.';
comment on column acct.billing_month.per_unit is 'Price of a unit; null: there is none.';
comment on column acct.billing_month.amount is 'Units times price, in the currency; null: there is no price.';
comment on column acct.billing_month.currency is 'Currency, by its code of three letters (ISO 4217); null: there is no price.';
