-- Images and preparations for users: each user sees those that his jobs may ask for.
create view internal.setup_offered as
select x.kind, x.name, x.nodes, x.expected_s, x.failures >= f.most and f.most > 0 as failed,
	(x.users, x.accounts) = ('{}', '{}') or exists (select from unnest(x.accounts) a (account)
		where not exists (select from rota.association o where o.account = a.account)) as for_all,
	x.users || array(select o.user_name from rota.association o where o.account = any (x.accounts)) as users
from (
	select 'image' as kind, i.image as name, i.expected_s, i.failures, i.users, i.accounts,
		(select count(*) from rota.node n where n.image = i.image) as nodes
	from rota.node_image i
	union all
	select 'node-prep', p.prep, p.expected_s, p.failures, p.users, p.accounts,
		(select count(*) from rota.node n where split_part(n.prep, ':', 1) = p.prep and n.prep_verified)
	from rota.node_prep p
) x
cross join (select s.value::int as most from rota.setting s where s.name = 'image_failures') f;
comment on view internal.setup_offered is
	'Images and preparations, one row each: how many nodes have them, and who may ask for them (for_all, or users, which '
	'includes those of accounts).';

create function api.setup_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql stable security definer set search_path = rota, pg_temp as $$
	select jsonb_build_object('setups', coalesce(jsonb_agg(jsonb_build_object('kind', o.kind, 'name', o.name, 'nodes', o.nodes,
		'expected_s', o.expected_s, 'failed', o.failed) order by o.kind, o.name), '[]'))
	from internal.setup_offered o
	where o.for_all or p_user = any (o.users) or internal.caller_role(p_uid, p_user) <> 'user';
$$;
comment on function api.setup_list(int, text, jsonb) is
	'Images and preparations that jobs of the caller may ask for; operators get all. Answer {setups: [{kind: image or '
	'node-prep, name, nodes: how many have it, expected_s, failed: whether it has failed too often}]}.';

create function internal.setup_hint(p_user text, p_kind text, p_name text) returns text
language sql stable set search_path = rota, pg_temp as $$
	select coalesce('Did you mean "' || internal.text_nearest(p_name, array(select o.name from internal.setup_offered o
		where o.kind = p_kind and (o.for_all or p_user = any (o.users)) order by o.name)) || '"? ', '')
		|| '"rota nodes --images" lists those that your jobs may ask for.';
$$;
comment on function internal.setup_hint(text, text, text) is
	'A hint for a user who asks for an image or a preparation that does not exist.';
