-- Leases of nodes: until when a node may run steps that would start elsewhere if the node were lost.
--
-- Called by: procmgrd, which renews them; nodemgrd, which judges them.
--
-- Invariants:
-- - A node counts its lease from before its request for it, so the lease ends on the node first.
-- - When the margin after the end of the lease is over, the node has ended the tasks of attempts with ends_on_node_loss.

create function api.node_renew(p_nodes int[]) returns table (node_id int, server_us bigint)
language sql security definer set search_path = live, rota, pg_temp as $$
	select internal.node_need(p_nodes), internal.node_move(p_nodes);
	-- A lost lease stays lost, and the lease of a node whose inventory is wanted is not renewed: the node registers anew, and
	-- so proves what it still has. Leases are locked in order of nodes.
	with mine as materialized (
		select m.node_id from node_lease m
			where m.node_id = any (p_nodes) and m.lost_at is null and not m.inventory_wanted
			order by m.node_id for no key update
	)
	update node_lease l
	set renewed_at = now(), expires_at = now() + make_interval(secs => l.lease_s)
	from mine
	where l.node_id = mine.node_id
	returning l.node_id, internal.clock_us();
$$;
comment on function api.node_renew(int[]) is
	'Renew the leases of nodes. Returns the nodes whose lease was renewed; the others have to register. server_us: as in '
	'api.node_report. 28000: the session does not speak for all of the nodes.';

create function internal.prolog_owner_lost(p_lost jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update allocation a
	set gone_at = greatest(a.ended_at, now()), phase = 'ended', lost_at = now()
	from jsonb_to_recordset(p_lost) as v (job_id bigint, step_id int, attempt int, node_id int)
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id
		and a.prolog_owner and a.gone_at is null and a.ended_at is not null;
end $$;
comment on function internal.prolog_owner_lost(jsonb) is
	'Clear the prolog owner of job groups if it was one of these attempts [{job_id, step_id, attempt, node_id}].';

create function internal.node_end(p_nodes int[], p_jobs bigint[], p_all boolean, p_message text, p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_lost jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt, 'node_id', a.node_id))
	into v_lost
	from allocation a
	join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
		and (p_all or t.ends_on_node_loss)
	where a.node_id = any (p_nodes)
		and (a.ended_at is null and a.job_id = any (p_jobs)
		or a.prolog_owner and a.gone_at is null and a.ended_at is not null);
	perform internal.attempt_lost(v_lost, p_message, p_actor);
	perform internal.prolog_owner_lost(v_lost);
	-- Attempts that were placed there during the wait for the locks are checked by the next call.
	update node_lease l set loss_ended_at = now()
	where l.node_id = any (p_nodes)
		and not exists (select from allocation a
			where a.node_id = l.node_id and a.ended_at is null and a.attempt > 0 and a.job_id <> all (p_jobs));
end $$;
comment on function internal.node_end(int[], bigint[], boolean, text, text) is
	'End attempts of these jobs on lost nodes: those with ends_on_node_loss, or all. The caller holds the locks of jobs and '
	'nodes.';

create function internal.node_end_lost(p_nodes int[], p_watched_s int, p_all boolean, p_message text, p_actor text)
	returns table (node_id int, fresh boolean)
language plpgsql set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_jobs bigint[];
	v_fresh int[];
	v_lost int[];
	v_over int[];
begin
	v_jobs := array(
		select distinct a.job_id
		from node_lease l
		join allocation a on a.node_id = l.node_id and a.ended_at is null and a.attempt > 0
		where l.node_id = any (p_nodes) and l.expires_at + make_interval(secs => l.margin_s) < now());
	perform internal.job_lock(v_jobs);
	perform internal.node_lock(array(
		select unnest(p_nodes)
		union
		select x from attempt t cross join lateral unnest(t.node_ids) x
			where t.job_id = any (v_jobs) and t.ended_at is null));
	perform from node_lease l where l.node_id = any (p_nodes) order by l.node_id for no key update;
	-- With the locks held, none of these nodes can register. A node that registered or renewed its lease before is not lost.
	with lost as (
		update node_lease l set lost_at = now()
		where l.node_id = any (p_nodes) and l.lost_at is null and l.expires_at < now()
		returning l.node_id
	)
	select array_agg(l.node_id) into v_fresh from lost l;
	v_lost := array(select l.node_id from node_lease l where l.node_id = any (p_nodes) and l.lost_at is not null);
	v_over := array(select l.node_id from node_lease l
		where l.node_id = any (v_lost) and l.expires_at + make_interval(secs => l.margin_s) < now()
		and l.lease_s + l.margin_s <= p_watched_s);
	-- Nothing is reserved on a lost node for successors any more.
	perform internal.allocation_free(array(
		select internal.allocation_end_of(job_id => a.job_id, step_id => a.step_id, attempt => 0,
			node_id => a.node_id, gone => true)
		from allocation a
		where a.node_id = any (v_fresh) and a.ended_at is null and a.attempt = 0));
	if v_over <> '{}' then
		perform internal.node_end(v_over, v_jobs, p_all, p_message, p_actor);
	end if;
	return query select l, coalesce(l = any (v_fresh), false) from unnest(v_lost) l;
end $$;
comment on function internal.node_end_lost(int[], int, boolean, text, text) is
	'Mark leases that have run out as lost. On nodes for which the margin is over too, end attempts with ends_on_node_loss, '
	'or all. Returns the lost nodes, and which of them became lost just now.';

create function api.node_judge(p_latest bigint, p_watched_s int)
	returns table (clock bigint, node text, from_state text, to_state text, reason text)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_clock bigint := extract(epoch from now()) * 1000000;
	v_due int[] := array[]::int[];
	v_one record;
	v_name text;
	v_state text;
	v_power text;
	v_reason text;
begin
	-- Leases are times of this database's clock: they mean something only while that clock ran as steadily as the caller's.
	if v_clock <= p_latest then
		v_due := array(
			select l.node_id from node_lease l
			where case when l.lost_at is null then l.expires_at < now() and l.lease_s <= p_watched_s
				else l.loss_ended_at is null and l.expires_at + make_interval(secs => l.margin_s) < now()
					and l.lease_s + l.margin_s <= p_watched_s end);
	end if;
	for v_one in
		select f.node_id
			from internal.node_end_lost(v_due, p_watched_s, false, 'the node did not renew its lease', 'nodemgrd') f
		where v_due <> '{}' and f.fresh
		order by f.node_id
	loop
		select n.name, n.state, n.power, 'lease not renewed since ' || to_char(l.renewed_at, 'YYYY-MM-DD HH24:MI:SS')
		into v_name, v_state, v_power, v_reason
		from node n join node_lease l on l.node_id = n.node_id
		where n.node_id = v_one.node_id;
		-- Drained nodes can be lost too; they stay drained. A node that is being powered off or on is silent meanwhile.
		if v_state in ('up', 'invalid') and v_power = 'on'
			and internal.node_state_set(v_one.node_id, 'down', 'nodemgrd', v_reason) then
			return query select v_clock, v_name, v_state, 'down'::text, v_reason;
		end if;
	end loop;
	return query select v_clock, null::text, null::text, null::text, null::text;
end $$;
comment on function api.node_judge(bigint, int) is
	'Judge leases. Lost nodes go down; when the margin is over, attempts that the nodes have ended by themselves are ended '
	'in the database too. No node is judged if the database''s clock is later than p_latest (microseconds since 1970; null: '
	'never judge), or for silence longer than p_watched_s seconds, the time for which the caller has watched that clock run '
	'steadily. Returns one row for each change, and a last empty row; each has the clock of the database.';

create function internal.node_dead(p_user text, p_name text, p_reason text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_node node;
	v_lease node_lease;
	v_wait int;
begin
	select * into v_node from node n where n.name = p_name;
	select * into v_lease from node_lease l where l.node_id = v_node.node_id;
	v_wait := ceil(extract(epoch from v_lease.expires_at + make_interval(secs => v_lease.margin_s) - now()));
	if v_lease.lost_at is null then
		raise exception 'node "%" is not lost', p_name using errcode = 'RT409',
			hint = 'Only a node that did not renew its lease in time can be declared dead.';
	elsif v_wait >= 0 then
		raise exception 'node "%" may still be ending its steps', p_name using errcode = 'RT409',
			hint = format('Repeat the command in %s.', internal.text_count(v_wait + 1, 'second'));
	end if;
	if not exists (select from internal.node_end_lost(array[v_node.node_id], 2147483647, true,
		format('the node was declared dead by %s: %s', p_user, p_reason), p_user)) then
		raise exception 'node "%" has come back', p_name using errcode = 'RT409';
	end if;
	if v_node.state <> 'drain' then
		perform internal.node_state_set(v_node.node_id, 'down', p_user, 'declared dead: ' || p_reason);
	end if;
end $$;
comment on function internal.node_dead(text, text, text) is
	'Declare a lost node dead, because an administrator says so: end the attempts that it had, and those that waited for its '
	'return.';

create function internal.step_lost(p_job bigint, p_step int, p_attempt int) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select string_agg(n.name, ',' order by a.node_index) || case when bool_or(t.ends_on_node_loss)
			then ' is lost: it is ended there, and run again where it may'
			else ' is lost: it may still run there, and is not run again before the node is back or declared dead' end
		from allocation a
		join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
		join node_lease l on l.node_id = a.node_id and l.lost_at is not null
		join node n on n.node_id = a.node_id
		where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.attempt > 0 and a.ended_at is null);
end $$;
comment on function internal.step_lost(bigint, int, int) is 'Nodes of a live attempt that are lost, as text; null: none.';

-- Attempts whose launch request the node has fetched more than a minute ago, without any report about them since.
create function internal.unanswered_nodes() returns int[]
language sql stable set search_path = live, rota, pg_temp as $$
	select array(
		select distinct a.node_id
		from attempt t
		join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.phase = 'ordered'
			and a.ended_at is null
		join node_lease l on l.node_id = a.node_id and l.lost_at is null and not l.inventory_wanted
		where t.ended_at is null and t.ordered_at < now() - interval '1 minute'
			and not exists (select from node_order o where o.node_id = a.node_id and o.kind = 'launch' and o.job_id = a.job_id
				and a.step_id = any (o.step_id || o.also) and o.attempt = a.attempt));
$$;
comment on function internal.unanswered_nodes() is
	'Nodes that have reported nothing about an attempt for a minute after its launch request was fetched.';

create function internal.inventory_ask(p_nodes int[]) returns void
language sql set search_path = rota, pg_temp as $$
	with asked as materialized (
		select l.node_id from node_lease l where l.node_id = any (p_nodes) order by l.node_id for no key update
	)
	update node_lease l set inventory_wanted = true from asked a where l.node_id = a.node_id;
$$;
comment on function internal.inventory_ask(int[]) is
	'Have nodes register when they next renew their leases: attempts that are not in their inventory are ended then '
	'(internal.node_missing).';

create function internal.step_unanswered(p_job bigint, p_step int, p_attempt int) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select string_agg(n.name, ',' order by a.node_index)
			|| format(' received the launch request of %s and has not reported; '
				'Rota is requesting its inventory', to_char(min(t.ordered_at), 'YYYY-MM-DD HH24:MI:SS TZ'))
		from allocation a
		join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
		join node n on n.node_id = a.node_id
		where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.attempt > 0 and a.phase = 'ordered'
			and a.ended_at is null and t.ordered_at < now() - interval '1 minute'
			and not exists (select from node_order o where o.node_id = a.node_id and o.kind = 'launch' and o.job_id = a.job_id
				and a.step_id = any (o.step_id || o.also) and o.attempt = a.attempt));
end $$;
comment on function internal.step_unanswered(bigint, int, int) is
	'Nodes that have reported nothing about a live attempt for a minute, as text; null: none.';
