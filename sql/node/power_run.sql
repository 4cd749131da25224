-- Runs of the programs that power, boot and prepare nodes.
--
-- Called by: runnerd (api.power_take, api.power_report), and upkeep (internal.power_tidy).
--
-- Invariants:
-- - If a runnerd dies before it reports the end of a program, the next one runs the program again.

create function internal.power_label(p_run rota.power_run, p_image text, p_prep text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case (p_run).action
		when 'reboot' then concat_ws(' with image ', 'reboot of node ' || (p_run).node, p_image)
		when 'undo' then format('undo of preparation %s of node %s', p_prep, (p_run).node)
		when 'prepare' then format('preparation %s of node %s', p_prep, (p_run).node)
		when 'verify' then format('verification of preparation %s of node %s', p_prep, (p_run).node)
		else format('power_%s of node %s', (p_run).action, (p_run).node) end;
$$;
comment on function internal.power_label(rota.power_run, text, text) is
	'Name of a run of a power, boot or preparation program, for the log: "reboot of node n3".';

create function api.power_take(p_term bigint, p_have bigint[], p_limit int)
returns table (run_id bigint, action text, node text, image text, prep text, args text, program text, timeout_s int, label text)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	perform internal.staging_leader(p_term, false);
	if not exists (select from power_run r where r.ended_at is null and r.run_id <> all (p_have)) then
		return;
	end if;
	-- A runnerd that led before may still report one of these runs.
	perform internal.staging_leader(p_term, true);
	return query
	with due as (
		select r.run_id from power_run r
		where r.ended_at is null and r.run_id <> all (p_have)
		order by r.action <> 'on', r.run_id
		limit p_limit
	), taken as (
		update power_run r
		set tries = r.tries + 1, began_at = clock_timestamp()
		from due d
		where r.run_id = d.run_id and r.ended_at is null
		returning r
	)
	select (t.r).run_id, (t.r).action, (t.r).node, i.image, p.prep,
		case when (t.r).action <> 'undo' then nullif(internal.prep_args(c.prep), '') end,
		case (t.r).action when 'reboot' then i.program when 'verify' then p.verify else p.program end, p.timeout_s,
		internal.power_label(t.r, i.image, c.prep)
	from taken t
	left join node_reboot b on b.node_id = (t.r).node_id and b.run_id = (t.r).run_id
	cross join lateral (select case (t.r).action when 'undo' then b.undo when 'reboot' then null else b.prep end as prep) c
	left join node_image i on (t.r).action = 'reboot' and i.image = b.image
	left join node_prep p on p.prep = internal.prep_name(c.prep)
	order by (t.r).run_id;
end $$;
comment on function api.power_take(bigint, bigint[], int) is
	'Take pending runs of programs that power, boot or prepare nodes: p_limit at most, power-ons first. p_have: runs that the '
	'leading runnerd already executes, which are left out. Runs that an earlier runnerd took and did not finish are included. '
	'program: file in hooks.node_folder; a null program or timeout_s means that of the configuration. RT412: no longer leader.';

create function internal.power_ended(p_run rota.power_run) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
	v_silent constant boolean := not exists (select from node_lease l where l.node_id = p_run.node_id and l.lost_at is null);
	v_reason constant text := format('could not be powered %s: %s', p_run.action, p_run.message);
begin
	select * into v_node from node n where n.node_id = p_run.node_id;
	if p_run.action not in ('on', 'off') then
		perform internal.reboot_ended(p_run);
	elsif v_node.power is distinct from 'powering_' || p_run.action then
		return; -- the node was deleted, or its power has changed since
	elsif p_run.action = 'on' then
		perform internal.power_fail(v_node.node_id, 'runnerd', v_reason) where p_run.status = 'failed';
	elsif p_run.status = 'done' then
		perform internal.power_set(v_node.node_id, 'off', 'runnerd', null) where v_silent;
	else
		-- A node without a lease is set down here: api.node_judge has left it out while its power was changing.
		perform internal.node_state_set(v_node.node_id, 'down', 'runnerd', v_reason) where v_silent and v_node.state <> 'drain';
		perform internal.power_set(v_node.node_id, 'on', 'runnerd', v_reason);
	end if;
end $$;
comment on function internal.power_ended(rota.power_run) is
	'A program has ended: change the power of its node. After a failed power-off, the node is on again, and down if it '
	'has no lease. The caller has locked the node.';

create function api.power_report(p_term bigint, p_runs bigint[], p_codes int[], p_failures text[], p_outputs text[]) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_run power_run;
begin
	perform internal.staging_leader(p_term, true);
	perform internal.node_lock(array(select r.node_id from power_run r where r.run_id = any (p_runs) and r.ended_at is null));
	for v_run in
		update power_run r
		set ended_at = clock_timestamp(), status = case when v.failure is null then 'done' else 'failed' end, code = v.code,
			message = v.failure, output = nullif(v.output, '')
		from unnest(p_runs, p_codes, p_failures, p_outputs) as v (run_id, code, failure, output)
		where r.run_id = v.run_id and r.ended_at is null
		returning r.*
	loop
		perform internal.power_ended(v_run);
	end loop;
end $$;
comment on function api.power_report(bigint, bigint[], int[], text[], text[]) is
	'Store the ends of programs that power, boot or prepare nodes. p_failures: null for a success. Reporting an end '
	'again changes nothing. RT412: no longer leader.';

create function internal.power_tidy() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	delete from power_run r where r.ended_at < now() - make_interval(days => internal.setting_int('power_run_days'));
	delete from node_off o where o.on_at < now() - make_interval(days => internal.setting_int('reboot_days'));
end $$;
comment on function internal.power_tidy() is
	'Delete programs that ended more than power_run_days ago, and periods of powered-off nodes that ended more than '
	'reboot_days ago.';

create function internal.power_runs_json(p_names text[]) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('run', r.run_id, 'node', r.node, 'action', r.action, 'made_by', r.made_by,
			'made_at', r.made_at, 'tries', r.tries, 'began_at', r.began_at, 'ended_at', r.ended_at, 'status', r.status,
			'code', r.code, 'message', r.message, 'output', r.output) order by r.run_id desc), '[]')
		from (select x.* from power_run x where p_names = '{}' or x.node = any (p_names) order by x.run_id desc limit 50) r);
end $$;
comment on function internal.power_runs_json(text[]) is
	'The last 50 programs that powered, booted or prepared these nodes ({}: any node), the newest first.';
