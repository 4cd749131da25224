create function api.share_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_all boolean := internal.sees_all(p_uid, p_user);
	v_every boolean := internal.caller_role(p_uid, p_user) <> 'user'
		and coalesce(internal.request_bool(p_request, 'all'), false);
begin
	return jsonb_build_object(
		'weight_s', internal.setting_int('fair_share_weight_s'), 'half_life_s',
			internal.setting_int('fair_share_half_life_s'),
		'names', jsonb_build_object(
			'account', (select coalesce(jsonb_agg(a.account order by a.account), '[]') from account a
				where internal.caller_role(p_uid, p_user) <> 'user'
					or not exists (select from association s where s.account = a.account)
					or exists (select from association s where s.account = a.account and s.user_name = p_user)),
			'qos', (select coalesce(jsonb_agg(q.qos order by q.qos), '[]') from qos q),
			'license', (select coalesce(jsonb_agg(l.license order by l.license), '[]') from license l)),
		'shares', (
			select coalesce(jsonb_agg(jsonb_build_object('account', t.account, 'user', t.user_name, 'parent',
				t.parent, 'depth', t.depth, 'shares', t.shares, 'share', t.share,
				'use_s', t.use_s, 'used', t.used, 'effective', t.effective, 'factor', t.factor) order by t.path),
				'[]')
			from internal.share_tree t
			where v_all or t.user_name = p_user or (t.user_name is null and t.account in (
				select u.above from association_share c join internal.account_above u on u.account = c.account
					where c.user_name = p_user
				union all
				select u.above from association a join internal.account_above u on u.account = a.account
					where a.user_name = p_user))),
		'grants', (
			select coalesce(jsonb_agg(to_jsonb(g) order by g.account, g.first_day), '[]')
			from internal.grant_shown g
			where v_all or g.account = any (internal.report_accounts(p_user))
				or g.account in (select u.above from association a join internal.account_above u on u.account = a.account
					where a.user_name = p_user)),
		'limits', (
			select coalesce(jsonb_agg(jsonb_build_object('account', l.account, 'user',
				coalesce(l.user_name, nullif(l.whose, '')), 'qos', l.qos, 'partition', l.partition,
				'each_user', l.each_user, 'measure', l.measure, 'period', nullif(l.period, ''), 'most', l.most,
				'held', case when l.held < 'infinity' then round(l.held, 3) end,
				'ends_at', nullif(l.ends_at, 'infinity')) order by l.limit_id, l.whose), '[]')
			from internal.limit_shown l
			where v_every or (l.whose in ('', p_user) and (l.user_name = p_user
				or exists (select from association_share c
					join internal.limit_association x on x.association_id = c.association_id
					where c.user_name = p_user and x.limit_id = l.limit_id)))));
end $$;
comment on function api.share_list(int, text, jsonb) is
	'Fair share of accounts and users, grants, and the limits that the caller is under, with what is used. Request {all}: '
	'operators see every limit. Answer {weight_s, half_life_s, names: {account, qos, license} (lists of what a submission '
	'may name), shares: [{account, user, parent, depth, shares, share, '
	'use_s, used, effective, factor}], grants: [{name, account, units, carried, used, left_over, first_day, last_day, '
	'carry_over, at_end, state}], limits: [{account, user, qos, partition, each_user, measure, period, most, held, '
	'ends_at}]}.';
