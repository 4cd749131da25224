-- Transfers of data as jobs ask for them, and the reports of rota-mover.
--
-- Invariants:
-- - A report changes only rows of jobs of its sender, and a report of an earlier attempt never changes the row of a later one.
-- - Users may report anything about their own transfers. Only what the owner sees, and what the owner's jobs reuse, depends on
--   these rows.

create function internal.transfer_submit(p_job bigint, p_uid int, p_user text, p_head jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_scratch constant text := replace(replace(p_head ->> 'scratch', '%j', p_job::text), '%u', p_user);
	v_for bigint;
begin
	select x.for_job into v_for
	from jsonb_to_recordset(p_head -> 'transfers') as x (for_job bigint, for_transfer int)
	where x.for_job is not null and not exists (select from transfer t join job j on j.job_id = t.job_id
		where t.job_id = x.for_job and t.transfer = x.for_transfer and j.uid = p_uid)
	limit 1;
	if v_for is not null then
		raise exception '--for: job % has no such transfer of yours', v_for using errcode = 'RT422',
			hint = '"rota stage list" lists your transfers.';
	end if;
	insert into transfer (job_id, transfer, direction, mode, on_fail, source, destination, checksum, reuse, prefer, step_id,
		for_job, for_transfer)
	select p_job, x.transfer, x.direction, x.mode, x.on_fail, internal.transfer_path(x.source, v_scratch),
		internal.transfer_path(x.destination, v_scratch), x.checksum, x.reuse,
		coalesce((p_head ->> 'prefer_data')::boolean, true) and x.direction = 'in' and x.step_id is null, x.step_id, x.for_job,
		x.for_transfer
	from jsonb_to_recordset(p_head -> 'transfers') as x (transfer int, direction text, mode text, on_fail text, source text,
		destination text, checksum boolean, reuse boolean, step_id int, for_job bigint, for_transfer int);
end $$;
comment on function internal.transfer_submit(bigint, int, text, jsonb) is
	'Store the transfers of a new job; p_head: "job" of its plan, with transfers and scratch. RT422: the job repeats a '
	'transfer of another user.';

create function internal.transfer_path(p_path text, p_scratch text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when p_path ~ '^\$ROTA_SCRATCH(/|$)' then p_scratch || substr(p_path, 14) else p_path end;
$$;
comment on function internal.transfer_path(text, text) is
	'A path of a transfer with the folder of the job in place of $ROTA_SCRATCH.';

create function internal.transfer_failed(p_job bigint) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from transfer t join step s on s.job_id = t.job_id and s.step_id = t.step_id
			where t.job_id = p_job and t.direction = 'out' and s.state not in ('completed', 'skipped', 'dependency_failed'))
		or exists (select from transfer_run r where r.job_id = p_job and r.state = 'failed')
		-- A program that was killed or cancelled before or after the tasks of a step has reported no end.
		or exists (select from transfer_run r join transfer t on t.job_id = r.job_id and t.transfer = r.transfer
			where r.job_id = p_job and t.direction = 'out' and r.state = 'running' and not exists (select from attempt a
				where a.job_id = r.by_job and a.step_id = r.step_id and a.attempt = r.attempt and a.state is null));
end $$;
comment on function internal.transfer_failed(bigint) is
	'Whether a stage-out of the job was begun and did not end well, so that its data is still wanted.';

create function internal.transfer_needed(p_job bigint, p_step int, p_node int) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from attempt a
			where a.job_id = p_job and a.step_id <> p_step and a.done_at is null and a.ended_at is null
				and p_node = any (a.node_ids))
		or exists (select from step_edge e join step s on s.job_id = e.job_id and s.step_id = e.step_id
			where e.job_id = p_job and e.peer_job_id = p_job and e.step_id <> p_step and e.kind = 'after'
				and s.state = 'pending' and s.ended_at is null);
end $$;
comment on function internal.transfer_needed(bigint, int, int) is
	'Whether another step of the job uses the folder of the job on this node, or waits for a step that may have left data in '
	'it.';

create function internal.transfer_kept(p_job bigint, p_transfer rota.transfer) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return internal.transfer_failed(p_job) or (p_transfer.on_fail = 'keep' and p_transfer.step_id is null and exists (
		select from step s join step_state st on st.state = s.state
		where s.job_id = p_job and st.stage = 'final' and s.state not in ('completed', 'skipped')));
end $$;
comment on function internal.transfer_kept(bigint, rota.transfer) is
	'Whether the folder of a job must stay, though p_transfer is its removal. A failed stage-out keeps it. So does on_fail = '
	'keep, if nodes and not a step remove the folder, and a step of the job was neither completed nor skipped.';

create function internal.transfer_target(p_uid int, p_place text, p_destination text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select encode(sha256(convert_to(concat_ws(E'\n', p_uid, p_place, p_destination), 'UTF8')), 'hex');
$$;
comment on function internal.transfer_target(int, text, text) is
	'The destination of a stage-in of this user, in the form of the column target of rota.transfer_run.';

create function internal.transfer_known(p_uid int, p_transfer rota.transfer, p_place text, p_print text) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_known boolean;
begin
	select t.source = p_transfer.source and r.print = p_print and r.state in ('done', 'reused') into v_known
	from (select r.job_id, r.transfer, r.print, r.state
		from transfer_run r
		where r.target = internal.transfer_target(p_uid, p_place, p_transfer.destination)
			and (r.job_id, r.transfer) <> (p_transfer.job_id, p_transfer.transfer)
		order by r.began_at desc
		limit 1) r
	join transfer t on t.job_id = r.job_id and t.transfer = r.transfer;
	return coalesce(v_known, false);
end $$;
comment on function internal.transfer_known(int, rota.transfer, text, text) is
	'Whether the latest transfer of this user to the same destination came from the same source, which has not changed, and '
	'ended well.';

create function internal.transfer_nodes(p_job bigint, p_uid int) returns int[]
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select array_agg(distinct n.node_id order by n.node_id)
		from transfer t
		join transfer o on o.job_id = t.job_id and o.transfer = t.transfer
			or t.reuse and o.direction = 'in' and md5(o.destination) = md5(t.destination) and o.destination = t.destination
				and o.source = t.source
		join job j on j.job_id = o.job_id and j.uid = p_uid
		join transfer_run r on r.job_id = o.job_id and r.transfer = o.transfer and r.state in ('done', 'reused')
		join node n on n.name = r.place
		where t.job_id = p_job and t.prefer);
end $$;
comment on function internal.transfer_nodes(bigint, int) is
	'Nodes that have data of a job of this user in folders of their own: from an earlier attempt, or from another job of the '
	'user whose data may be reused; null: none.';

create function internal.transfer_find(p_uid int, p_request jsonb) returns rota.transfer
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_job constant bigint := internal.request_int(p_request, 'job', 9223372036854775807);
	v_for constant text := nullif(internal.request_text(p_request, 'for'), '');
	v_transfer rota.transfer;
begin
	select t.* into v_transfer
	from job j
	join transfer o on o.job_id = j.job_id and o.transfer = internal.request_int(p_request, 'transfer')
		and v_for is not distinct from o.for_job || '.' || o.for_transfer
	join transfer t on t.job_id = coalesce(o.for_job, o.job_id) and t.transfer = coalesce(o.for_transfer, o.transfer)
	where j.job_id = v_job and j.uid = p_uid;
	if not found then
		raise exception 'job % has no such transfer of yours', coalesce(v_job::text, '') using errcode = 'RT404',
			hint = 'Only rota-mover reports transfers.';
	end if;
	return v_transfer;
end $$;
comment on function internal.transfer_find(int, jsonb) is
	'The transfer that a report {job, transfer, for} of this user is about: of the job, or the transfer of another job that '
	'it repeats. RT404: no such transfer.';

create function api.transfer_report(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_transfer constant rota.transfer := internal.transfer_find(p_uid, p_request);
	v_by constant bigint := internal.request_int(p_request, 'job', 9223372036854775807);
	v_state constant text := coalesce(internal.request_text(p_request, 'state'), '');
	v_step constant int := internal.request_int(p_request, 'step_id');
	v_attempt constant int := internal.request_int(p_request, 'attempt');
	v_node constant text := coalesce(internal.request_text(p_request, 'node'), '');
	v_node_id constant int := (select n.node_id from node n where n.name = v_node);
	v_drops boolean;
	v_place constant text := case when v_transfer.step_id is null then v_node else '' end;
	v_print constant text := nullif(left(internal.request_text(p_request, 'print'), 64), '');
begin
	if v_state not in ('running', 'done', 'reused', 'failed', 'kept', 'dropped') then
		raise exception 'a transfer has no state "%"', v_state using errcode = 'RT422';
	elsif v_step is null or v_attempt is null then
		raise exception 'a report must name its step and attempt' using errcode = 'RT422';
	elsif v_node_id is null then
		raise exception 'there is no node "%"', v_node using errcode = 'RT422';
	end if;
	insert into transfer_run as r (job_id, transfer, place, state, by_job, step_id, attempt, node, print, files, bytes, checksum,
		message, ended_at, target)
	values (v_transfer.job_id, v_transfer.transfer, v_place, v_state, v_by, v_step, v_attempt, v_node, v_print,
		internal.request_int(p_request, 'files', 9223372036854775807),
		internal.request_int(p_request, 'bytes', 9223372036854775807),
		nullif(left(internal.request_text(p_request, 'checksum'), 64), ''),
		nullif(left(internal.request_text(p_request, 'message'), 400), ''),
		case when v_state <> 'running' then clock_timestamp() end,
		case when v_transfer.direction = 'in' then internal.transfer_target(p_uid, v_place, v_transfer.destination) end)
	on conflict (job_id, transfer, place) do update
	set state = excluded.state, by_job = excluded.by_job, step_id = excluded.step_id, attempt = excluded.attempt,
		node = excluded.node, tries = r.tries
			+ (excluded.state = 'running' and (r.state, r.by_job, r.step_id, r.attempt)
				<> ('running', excluded.by_job, excluded.step_id, excluded.attempt))::int,
		print = excluded.print, files = excluded.files, bytes = excluded.bytes, checksum = excluded.checksum,
		message = excluded.message, ended_at = excluded.ended_at,
		began_at = case when excluded.state = 'running' then excluded.began_at else r.began_at end
	-- A late report of an attempt that was given up does not change the row of a later attempt.
	where excluded.attempt >= r.attempt or (excluded.by_job, excluded.step_id) <> (r.by_job, r.step_id);
	notify rota_event;
	v_drops := v_state = 'running' and v_transfer.direction = 'drop' and v_by = v_transfer.job_id;
	return jsonb_strip_nulls(jsonb_build_object(
		'reuse', nullif(v_state = 'running' and v_transfer.reuse
			and internal.transfer_known(p_uid, v_transfer, v_place, v_print), false),
		'keep', nullif(v_drops and internal.transfer_kept(v_by, v_transfer), false),
		'used', nullif(v_drops and v_transfer.step_id is null and internal.transfer_needed(v_by, v_step, v_node_id), false)));
end $$;
comment on function api.transfer_report(int, text, jsonb) is
	'Report of rota-mover about a transfer of a job of the caller. Request {job, step_id, attempt, node, transfer, for, '
	'state, print, files, bytes, checksum, message}. Answer {reuse: whether the data is there already, keep: whether a drop '
	'must not be made, used: whether a drop has to wait, since the folder is in use}. RT404: the caller has no such '
	'transfer.';
