-- Setups of nodes: a setup is an image and a preparation. Nodes get the setup that a step asks for, and go back to their default
-- image without a preparation when no step needs the other setup. sql/node/reboot.sql has the stages of a change.
--
-- Called by: the leader (api.schedule_setup) and nodemgrd (api.reboot_judge).
--
-- Invariants:
-- - A node that is to have another setup is idle and up, and is drained under its lock. So a step runs with the setup with which
--   it started.
-- - Only a node that has a default image, and reports its image, is booted with another one.
-- - A preparation that is not verified suits no step. It is taken back before the node is prepared again, or runs steps without a
--   preparation.
-- - Arguments that have never worked count against the steps that ask for them, never against nodes or the preparation.

create function internal.prep_name(p_prep text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select split_part(p_prep, ':', 1);
$$;
comment on function internal.prep_name(text) is 'Name of a preparation that is written as NAME:ARGS.';

create function internal.prep_args(p_prep text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select substr(p_prep, length(split_part(p_prep, ':', 1)) + 2);
$$;
comment on function internal.prep_args(text) is 'Arguments of a preparation that is written as NAME:ARGS; empty: none.';

create function internal.image_failed(p_image rota.node_image) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select internal.setting_int('image_failures') between 1 and (p_image).failures;
$$;
comment on function internal.image_failed(rota.node_image) is
	'Whether an image has failed to boot on nodes as often as the setting image_failures says.';

create function internal.prep_failed(p_prep rota.node_prep) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select internal.setting_int('image_failures') between 1 and (p_prep).failures;
$$;
comment on function internal.prep_failed(rota.node_prep) is
	'Whether a preparation has failed on nodes as often as the setting image_failures says.';

create function internal.prep_is_tried(p_prep text) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select internal.prep_args(p_prep) = '' or exists (select from node_prep_args a
		where a.prep = internal.prep_name(p_prep) and a.args = internal.prep_args(p_prep) and a.worked_at is not null);
$$;
comment on function internal.prep_is_tried(text) is 'Whether a preparation has no arguments, or has worked with these arguments.';

create function internal.setup_judged() returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select exists (select from node n where n.image <> n.default_image)
		or exists (select from node n where n.prep is not null)
		or exists (select from node_image i where i.failures > 0)
		or exists (select from node_prep p where p.failures > 0)
		or exists (select from node_prep_args a where a.failed_at is not null);
$$;
comment on function internal.setup_judged() is
	'Whether nodemgrd has work with setups: a node has another setup than its default one, or an image or preparation has '
	'failed.';

-- Changes of setups.

create function internal.setup_is_open(p_image text, p_prep text) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select (p_image is null or exists (select from node_image i where i.image = p_image and not internal.image_failed(i)))
		and (p_prep is null or exists (select from node_prep p
			where p.prep = internal.prep_name(p_prep) and not internal.prep_failed(p)))
		and not exists (select from node_prep_args a
			where a.prep = internal.prep_name(p_prep) and a.args = internal.prep_args(p_prep) and a.failed_at is not null);
$$;
comment on function internal.setup_is_open(text, text) is
	'Whether nodes may get an image (null: none) and a preparation (null: none): they exist, and have not failed too often.';

create function internal.setup_change(p_node rota.node, p_image text, p_prep text, p_actor text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_image constant text := case when p_image is distinct from p_node.image then p_image end;
	v_undo constant text := case
		when v_image is not null or not p_node.prep_verified or p_prep is distinct from p_node.prep then p_node.prep end;
	v_prep constant text := case when v_undo is not null or p_node.prep is null then p_prep end;
	v_reboot node_reboot;
begin
	-- The lock keeps image and preparation from being deleted until the change is stored.
	perform from node_image i where i.image = v_image for key share;
	perform from node_prep p where p.prep = internal.prep_name(v_prep) for key share;
	if p_node.state <> 'up' or p_node.power <> 'on' or num_nonnulls(v_image, v_undo, v_prep) = 0
		or (v_image is not null and num_nulls(p_node.default_image, p_node.image) > 0)
		or not internal.setup_is_open(v_image, v_prep)
		or internal.node_in_use(p_node.node_id)
		or exists (select from power_run r where r.node_id = p_node.node_id and r.ended_at is null)
		or (internal.reboot_open(p_node.node_id)).reboot_id is not null then
		return false;
	end if;
	insert into node_reboot (node_id, node, reason, made_by, asap, image, boots, undo, prep)
	values (p_node.node_id, p_node.name, concat_ws(', ', 'image ' || v_image, 'preparation ' || v_prep,
		case when v_prep is null and v_undo is not null then 'no preparation' end), p_actor, true, v_image,
		v_image is not null, v_undo, v_prep)
	returning * into v_reboot;
	perform internal.reboot_begin(v_reboot, p_actor);
	return true;
end $$;
comment on function internal.setup_change(rota.node, text, text, text) is
	'Have an idle node changed to an image and a preparation (null: none). Returns false if the node is busy, already has '
	'this setup, or may not get it. The caller has locked the node.';

create function api.schedule_setup(p_term bigint, p_nodes int[], p_images text[], p_preps text[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
declare
	v_asked int;
begin
	perform internal.leader_check(p_term);
	perform internal.node_lock(p_nodes);
	select count(*) filter (where internal.setup_change(n, v.image, v.prep, 'schedule')) into v_asked
	from unnest(p_nodes, p_images, p_preps) as v (node_id, image, prep)
	join node n on n.node_id = v.node_id;
	return v_asked;
end $$;
comment on function api.schedule_setup(bigint, int[], text[], text[]) is
	'Have nodes booted with images and prepared as steps need them. Nodes that internal.setup_change refuses, for example '
	'since they are in use by now, are left out. Returns the number of the others. RT412: no longer leader.';

create function internal.setup_idle() returns setof rota.node
language sql stable set search_path = live, rota, pg_temp as $$
	select n.*
	from node n
	where (n.image <> n.default_image or n.prep is not null) and n.state = 'up' and n.power = 'on'
		and not internal.node_in_use(n.node_id)
		and not exists (select from node_reboot r where r.node_id = n.node_id
			and coalesce(r.ended_at, 'infinity') > now() - make_interval(secs => internal.setting_int('image_idle_s')))
		and not exists (select from step_request q
			join step s on s.job_id = q.job_id and s.request_id = q.step_id and s.state = 'pending' and s.held = ''
			where q.image = n.image and n.image <> n.default_image)
		and not exists (select from step_request q
			join step s on s.job_id = q.job_id and s.request_id = q.step_id and s.state = 'pending' and s.held = ''
			where q.prep = n.prep and n.prep_verified)
		and not exists (select from plan p where p.reason in ('power', 'image', 'prep') and n.node_id = any (p.nodes));
$$;
comment on function internal.setup_idle() is
	'Idle nodes with a setup other than their default one, if no pending step asks for that setup.';

create function internal.setup_constraint(p_constraint text, p_prep text) returns text
language sql stable set search_path = rota, pg_temp as $$
	select concat_ws('&', '(' || nullif(p_constraint, '') || ')',
		(select p.feature from node_prep p where p.prep = internal.prep_name(p_prep)));
$$;
comment on function internal.setup_constraint(text, text) is
	'The features that the nodes of a step with a preparation need: those that the step asks for, and that of nodes that can '
	'be prepared.';

-- Steps that cannot have their setup.

create function internal.setup_barred() returns table (job_id bigint, request_id int, message text)
language sql stable set search_path = live, rota, pg_temp as $$
	select q.job_id, q.step_id, format('nodes could not be booted with image %s %s times in a row', i.image, i.failures)
	from node_image i
	join step_request q on q.image = i.image
	where internal.image_failed(i)
	union all
	select q.job_id, q.step_id, format('nodes could not be prepared with %s %s times in a row', p.prep, p.failures)
	from node_prep p
	join step_request q on internal.prep_name(q.prep) = p.prep and q.prep is not null
	where internal.prep_failed(p);
$$;
comment on function internal.setup_barred() is
	'Requests of steps for an image or a preparation that has failed too often, one row each.';

create function internal.setup_hold() returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[];
	v_held internal.attempt_key[];
begin
	v_jobs := array(
		select distinct s.job_id
		from internal.setup_barred() b
		join step s on s.job_id = b.job_id and s.request_id = b.request_id and s.ended_at is null
			and s.state = 'pending' and s.held <> 'admin');
	if v_jobs = '{}' then
		return false;
	end if;
	perform internal.job_lock(v_jobs);
	with held as (
		update step s
		set held = 'admin', held_reason = b.message
		from (
			select distinct on (x.job_id, x.request_id) x.* from internal.setup_barred() x
			order by x.job_id, x.request_id, x.message) b
		where s.job_id = any (v_jobs) and s.job_id = b.job_id and s.request_id = b.request_id
			and s.ended_at is null and s.state = 'pending' and s.held <> 'admin'
		returning s.job_id, s.step_id
	)
	select array_agg((h.job_id, h.step_id, 0)::internal.attempt_key order by h.job_id, h.step_id) into v_held from held h;
	if v_held is not null then
		perform internal.allocation_unreserve(v_held);
		perform internal.step_move('nodemgrd',
			array(select internal.move_of(job_id => v.job_id, step_id => v.step_id, event => 'hold') from unnest(v_held) v));
	end if;
	return v_held is not null;
end $$;
comment on function internal.setup_hold() is
	'Hold the steps that ask for an image or a preparation that has failed too often, so that they do not drain one node '
	'after the other. Returns whether there were any. Locks jobs, then nodes.';

create function internal.setup_refuse() returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_failed node_prep_args[];
	v_jobs bigint[];
	v_requests int[];
	v_reasons text[];
begin
	v_failed := array(select a from node_prep_args a where a.failed_at is not null);
	if v_failed = '{}' then
		return false;
	end if;
	v_jobs := array(
		select distinct s.job_id from unnest(v_failed) a
		join step_request q on q.prep = a.prep || ':' || a.args
		join step s on s.job_id = q.job_id and s.request_id = q.step_id and s.ended_at is null and s.state = 'pending');
	perform internal.job_lock(v_jobs);
	-- The states of the steps are known only under the lock.
	select coalesce(array_agg(x.job_id), '{}'), coalesce(array_agg(x.request_id), '{}'), coalesce(array_agg(x.reason), '{}')
	into v_jobs, v_requests, v_reasons
	from (
		select distinct s.job_id, s.request_id,
			format('preparation "%s" has failed with arguments "%s", which never worked: %s', a.prep, a.args, a.message) as reason
		from unnest(v_failed) a
		join step_request q on q.job_id = any (v_jobs) and q.prep = a.prep || ':' || a.args
		join step s on s.job_id = q.job_id and s.request_id = q.step_id and s.ended_at is null
			and s.state = 'pending' and s.held = ''
	) x;
	perform internal.step_refuse('nodemgrd', v_jobs, v_requests, v_reasons);
	delete from node_prep_args a using unnest(v_failed) f where a.prep = f.prep and a.args = f.args and a.failed_at = f.failed_at;
	return true;
end $$;
comment on function internal.setup_refuse() is
	'End the steps that ask for a preparation with arguments that have failed and never worked. Returns whether there were '
	'such arguments. Locks jobs.';

create function internal.setup_is_wrong(p_decided internal.start_decision[]) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (exists (select from node_image) or exists (select from node_prep)) and exists (
		select from unnest(p_decided) v
		cross join lateral unnest(v.node_ids) x (node_id)
		join node n on n.node_id = x.node_id
		join step_request r on r.job_id = v.job_id and r.step_id = v.request_id
		where coalesce(r.image, n.default_image, n.image) <> n.image or (r.image is not null and n.image is null)
			or r.prep is distinct from n.prep or not n.prep_verified);
end $$;
comment on function internal.setup_is_wrong(internal.start_decision[]) is
	'Whether a step is to start on a node with a wrong image or preparation. The image must be the one that the step asks '
	'for, or if it asks for none the default image; the preparation must be the one that it asks for.';
