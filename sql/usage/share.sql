-- Fair share: the recent use of each account and user, compared with their shares.
--
-- Invariants:
-- - Factor = 2^(-effective use / share): one half for a user who has used exactly his share, 1 for no use. Effective use includes
--   part of the use of siblings, all the way up the tree.
-- - The factor becomes a time (between 0 and fair_share_weight_s) that is added to the rank of whole queue lines
--   (sql/schedule/pending.sql). Steps that are submitted later have a lower rank, so a step is passed only by steps that are
--   submitted within that time: none starves.
-- - The leader's tick computes the factors from time to time, and stores them in rota.association_share.

create view internal.share_use as
select x.account, x.user_name,
	sum(x.cpu_s * power(0.5, greatest(0, extract(epoch from now() - x.until)) / h.half_life_s))::double precision as use_s
from (select s.value::double precision as half_life_s from rota.setting s where s.name = 'fair_share_half_life_s') h
cross join rota.usage_state z
cross join lateral (
	-- Read days, or hours if the half-life is short. Use that is ten half-lives old counts a thousandth, and is left out.
	select d.account, d.user_name, d.cpu_s, (d.day + 1)::timestamp at time zone z.time_zone as until
	from rota.usage_day d where h.half_life_s > 172800 and d.day > current_date - (10 * h.half_life_s / 86400)::int - 2
	union all
	select u.account, u.user_name, u.cpu_s, u.hour + interval '1 hour'
	from rota.usage_hour u where h.half_life_s <= 172800 and u.hour > now() - make_interval(secs => 10 * h.half_life_s)
	union all
	-- Live allocations, with the decay of their use computed continuously instead of hour by hour.
	select r.account, r.user_name,
		-- For an allocation whose step was suspended, the time without CPUs is subtracted in proportion, whenever it was.
		acct.cpu_held_s(r.cpus, r.started_at, r.until, r.without_cpus)
			/ greatest(extract(epoch from r.until - r.started_at), 0.000001) * h.half_life_s / ln(2)
			* (1 - power(0.5, extract(epoch from r.until - r.started_at) / h.half_life_s)),
		now()
	from internal.usage_held r where r.ended_at is null
	union all
	select p.account, p.user_name, p.cpu_s, p.hour + interval '1 hour'
	from internal.usage_pending_piece p
) x
group by x.account, x.user_name;
comment on view internal.share_use is
	'CPU-seconds that users held on accounts (empty: none), one row for each pair; older use counts less.';

create view internal.share_tree as
with recursive person as (
	-- Users of accounts that are open to all have one share each, once they have submitted anything.
	select a.account, a.user_name, a.shares from rota.association a
	union all
	select coalesce(c.account, ''), c.user_name, 1
	from (select distinct c.account, c.user_name from rota.association_share c) c
	where not exists (select from rota.association a where a.account = c.account)
), leaf as (
	select p.account, p.user_name, p.shares,
		coalesce(u.use_s, 0) as use_s from person p
		left join internal.share_use u on u.account = p.account and u.user_name = p.user_name
), node as (
	select l.account as parent, l.account, l.user_name, l.shares, l.use_s from leaf l
	union all
	select coalesce(a.parent, ''), a.account, null, a.shares,
		coalesce((select sum(l.use_s) from leaf l join internal.account_above u on u.account = l.account
		where u.above = a.account), 0)
	from rota.account a
), part as (
	select n.*, coalesce(n.shares / nullif(sum(n.shares) over (partition by n.parent), 0)::double precision, 0) as part
	from node n
), total as (
	select coalesce(nullif(sum(l.use_s), 0), 1) as use_s, (sum(l.use_s) > 0)::int::double precision as any_use from leaf l
), tree as (
	select p.*, 1 as depth, p.part as share, p.use_s / t.use_s as used,
		p.use_s / t.use_s + (t.any_use - p.use_s / t.use_s) * p.part as effective,
		-- Users of an account sort after the account and before the accounts below it.
		case when p.user_name is null then array[p.account, ''] else array['', p.user_name] end as path
	from part p cross join total t
	where p.parent = ''
	union all
	select p.*, u.depth + 1, u.share * p.part, p.use_s / t.use_s,
		p.use_s / t.use_s + (u.effective - p.use_s / t.use_s) * p.part,
		u.path || case when p.user_name is null then array[p.account, ''] else array['', p.user_name] end
	from tree u join part p on p.parent = u.account and u.user_name is null cross join total t
)
select nullif(t.account, '') as account, t.user_name, nullif(t.parent, '') as parent, t.depth, t.shares, t.share, t.use_s, t.used,
	t.effective,
	case when t.share > 0 then power(2, - t.effective / t.share) else 0 end as factor, t.path
from tree t;
comment on view internal.share_tree is 'Accounts and their users with shares, use and fair share factor, one row each.';

create function internal.share_expired() returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return exists (select from setting s where s.name = 'fair_share_weight_s' and s.value <> '0')
		and (exists (select from share_state x
			where coalesce(x.computed_at < now() - make_interval(secs => internal.setting_int('fair_share_period_s')),
			true))
			or exists (select from association_share c where c.boost_ms is null));
end $$;
comment on function internal.share_expired() is 'Whether fair share has to be computed anew.';

create function internal.share_refresh() returns void
language plpgsql set enable_hashjoin = on set search_path = rota, pg_temp as $$
declare
	v_weight numeric := internal.setting_int('fair_share_weight_s');
begin
	update share_state set computed_at = now();
	update association_share c
	set boost_ms = b.boost_ms
	from (
		-- Values are rounded to thousandths of the weight, so that not every change is written. A user who may no longer
		-- use the account is not in the tree.
		select x.association_id, coalesce(round(t.factor::numeric, 3) * v_weight * 1000, 0) as boost_ms
		from association_share x
		left join internal.share_tree t on t.user_name = x.user_name and t.account is not distinct from x.account
	) b
	where b.association_id = c.association_id and b.boost_ms is distinct from c.boost_ms;
end $$;
comment on function internal.share_refresh() is
	'Compute the time by which fair share moves the steps of each association forward in the queue. The caller has locked '
	'the leader''s row.';
