-- Grants: billing units that an account, with all below it, may use in a time (rota.account_grant).
--
-- Invariants:
-- - An account that has grants uses granted units only. Its grant in force is the latest one that has begun, or its first one if
--   none has begun. A grant that is over, or has not begun, has 0 units.
-- - A grant in force is a limit (internal.limit_any). at_end "refuse": a limit of measure "billing", which steps do not exceed;
--   "low_priority": a limit of measure "grant", which blocks no step and moves steps to the end of the queue when it is used up.

create view internal.grant_used as
select g.grant_id, sum(acct.billing_units(w.weight, u.cpu_s, u.mem_mb_s, u.node_s, u.gres_s)) as used
from rota.account_grant g
join internal.span_usage u on u.limit_id = -g.grant_id
	and u.account in (select a.account from internal.account_above a where a.above = g.account)
left join internal.billing_weight_span w on w.partition = u.partition and u.month >= w.from_month and u.month < w.until_month
group by g.grant_id;
comment on view internal.grant_used is
	'Billing units that ended allocations used of each grant, one row each. A grant that was not used has no row.';

create view internal.grant_carried as
select g.grant_id, coalesce(least(p.carry_over, greatest(0, floor(p.units - coalesce(x.used, 0)))), 0)::bigint as carried
from rota.account_grant g
left join lateral (select y.* from rota.account_grant y where y.account = g.account and y.first_day < g.first_day
	order by y.first_day desc limit 1) p on p.carry_over > 0
		and p.last_day < (select (now() at time zone z.time_zone)::date from rota.usage_state z)
left join lateral (select sum(u.used) as used from internal.grant_used u where u.grant_id = p.grant_id) x on true;
comment on view internal.grant_carried is 'Billing units that each grant got from the grant before it, one row each.';

create view internal.grant_now as
select g.grant_id, g.name, g.account, g.at_end, g.first_day, g.last_day,
	case when t.today between g.first_day and g.last_day then g.units + c.carried else 0 end as most
from (select (now() at time zone z.time_zone)::date as today from rota.usage_state z) t
cross join lateral (
	select distinct on (x.account) x.* from rota.account_grant x
	order by x.account, x.first_day > t.today, abs(x.first_day - t.today)
) g
cross join lateral (select y.carried from internal.grant_carried y where y.grant_id = g.grant_id offset 0) c; -- by key
comment on view internal.grant_now is
	'The grant in force of each account that has grants, one row each, with its present billing units (most).';

create view internal.limit_any as
select l.limit_id, l.account, l.user_name, l.qos, l.partition, l.each_user, l.measure, l.period, l.most
from rota.usage_limit l
union all
select -g.grant_id, g.account, null, null, null, false, case g.at_end when 'refuse' then 'billing' else 'grant' end, 'grant',
	g.most
from internal.grant_now g;
comment on view internal.limit_any is
	'Limits, and the grants in force, which are limits on all steps of their accounts. limit_id of a grant: its number, '
	'negative.';
