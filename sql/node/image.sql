-- Images of nodes: nodes are booted with the image that a step asks for, and with their default image when nothing needs the other.
--
-- Called by: the leader (api.schedule_image) and nodemgrd (api.reboot_judge).
--
-- Invariants:
-- - A node that is to have another image is idle and up, and is drained under its lock. So what runs on a node has the image it started with.
-- - Only a node that has a default image, and reports which image it has, is booted with another one.

create function internal.image_failed(p_image rota.node_image) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select internal.setting_int('image_failures') between 1 and (p_image).failures;
$$;
comment on function internal.image_failed(rota.node_image) is 'Whether nodes could not be booted with an image as often as the setting image_failures says.';

create function internal.image_judged() returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select exists (select from node n where n.image <> n.default_image)
		or exists (select from node_image i where i.failures > 0);
$$;
comment on function internal.image_judged() is 'Whether a node has another image than its default one, or an image has failed.';

create function internal.image_change(p_node rota.node, p_image text, p_actor text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_reboot node_reboot;
begin
	if p_node.default_image is null or p_node.state <> 'up' or p_node.power <> 'on' or p_node.image is null or p_node.image = p_image
		or not exists (select from node_image i where i.image = p_image and not internal.image_failed(i))
		or internal.node_in_use(p_node.node_id)
		or exists (select from power_run r where r.node_id = p_node.node_id and r.ended_at is null)
		or (internal.reboot_open(p_node.node_id)).reboot_id is not null then
		return false;
	end if;
	insert into node_reboot (node_id, node, reason, made_by, asap, image)
	values (p_node.node_id, p_node.name, 'image ' || p_image, p_actor, true, p_image)
	returning * into v_reboot;
	perform internal.reboot_begin(v_reboot, p_actor);
	return true;
end $$;
comment on function internal.image_change(rota.node, text, text) is
	'Have an idle node booted with an image; false: it is not idle, or has it, or may not have it. The caller has locked the node.';

create function api.schedule_image(p_term bigint, p_nodes int[], p_images text[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
declare
	v_asked int;
begin
	perform internal.leader_check(p_term);
	perform internal.node_lock(p_nodes);
	select count(*) filter (where internal.image_change(n, v.image, 'schedule')) into v_asked
	from unnest(p_nodes, p_images) as v (node_id, image)
	join node n on n.node_id = v.node_id;
	return v_asked;
end $$;
comment on function api.schedule_image(bigint, int[], text[]) is
	'Have nodes booted with images that steps are to start with, unless they are in use meanwhile. Answers how many. RT412: no longer '
	'leader.';

create function internal.image_idle() returns setof rota.node
language sql stable set search_path = live, rota, pg_temp as $$
	select n.*
	from node n
	where n.image <> n.default_image and n.state = 'up' and n.power = 'on'
		and not internal.node_in_use(n.node_id)
		and not exists (select from node_reboot r where r.node_id = n.node_id
			and coalesce(r.ended_at, 'infinity') > now() - make_interval(secs => internal.setting_int('image_idle_s')))
		and not exists (select from step_request q
			join step s on s.job_id = q.job_id and s.request_id = q.step_id and s.state = 'pending' and s.held = ''
			where q.image = n.image)
		and not exists (select from plan p where p.reason in ('power', 'image') and n.node_id = any (p.nodes));
$$;
comment on function internal.image_idle() is
	'Idle nodes with another image than their default one that no pending step asks for.';

create function internal.image_hold() returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[];
	v_held internal.attempt_key[];
begin
	v_jobs := array(
		select distinct s.job_id
		from node_image i
		join step_request q on q.image = i.image
		join step s on s.job_id = q.job_id and s.request_id = q.step_id and s.ended_at is null and s.state = 'pending' and s.held <> 'admin'
		where internal.image_failed(i));
	if v_jobs = '{}' then
		return false;
	end if;
	perform internal.job_lock(v_jobs);
	with held as (
		update step s
		set held = 'admin', held_reason = format('nodes could not be booted with image %s %s times in a row', i.image, i.failures)
		from node_image i
		join step_request q on q.image = i.image
		where internal.image_failed(i) and s.job_id = any (v_jobs) and s.job_id = q.job_id and s.request_id = q.step_id
			and s.ended_at is null and s.state = 'pending' and s.held <> 'admin'
		returning s.job_id, s.step_id
	)
	select array_agg((h.job_id, h.step_id, 0)::internal.attempt_key order by h.job_id, h.step_id) into v_held from held h;
	if v_held is not null then
		perform internal.allocation_unreserve(v_held);
		perform internal.step_move('nodemgrd',
			array(select (v.job_id, v.step_id, 'hold', null, null, null, null, null)::internal.move from unnest(v_held) v));
	end if;
	return v_held is not null;
end $$;
comment on function internal.image_hold() is
	'Hold the steps that ask for an image with which nodes could not be booted too often, so that they do not drain one node after the '
	'other; whether there were any. Locks jobs, then nodes.';

create function internal.image_is_wrong(p_decided internal.start_decision[]) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from node_image) and exists (
		select from unnest(p_decided) v
		cross join lateral unnest(v.node_ids) x (node_id)
		join node n on n.node_id = x.node_id
		join step_request r on r.job_id = v.job_id and r.step_id = v.request_id
		where coalesce(r.image, n.default_image, n.image) <> n.image or (r.image is not null and n.image is null));
end $$;
comment on function internal.image_is_wrong(internal.start_decision[]) is
	'Whether a step is to start on a node whose image is neither the one that it asks for nor, if it asks for none, the default one.';
