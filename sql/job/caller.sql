create function internal.caller_role(p_uid int, p_user text) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case when p_uid = 0 then 'admin'
		else coalesce((select p.role from person p where p.user_name = p_user), 'user') end;
end $$;
comment on function internal.caller_role(int, text) is 'user, operator or admin; root is always admin.';

create view internal.account_coordinated as
with recursive below as (
	select c.user_name, c.account from rota.coordinator c
	union
	select b.user_name, a.account from below b join rota.account a on a.parent = b.account
)
select b.user_name, b.account from below b;
comment on view internal.account_coordinated is
	'Who sees the accounting of which account as a coordinator, of it or of one above.';

create function internal.step_only(p_job bigint, p_label text) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_names constant text[] := array(select r.name from step_request r where r.job_id = p_job order by r.step_id limit 2);
begin
	if cardinality(v_names) > 1 then
		raise exception '"%" names no step, and job % has several', p_label, p_job using errcode = 'RT422',
			hint = format('Name one, as %s.%s%s.', p_job, v_names[1],
				regexp_replace(p_label, '^[0-9]+_?\[?([0-9-]+)\]?$', '[\1]'));
	end if;
	return v_names[1];
end $$;
comment on function internal.step_only(bigint, text) is
	'The name of the one step of a job, for a label that names an element and no step. The caller has seen to it that the '
	'job may be read.';

-- Which steps a request means: "812", "812.solve", "812.solve[7]", "812.solve[3-9]", and of a job of one step "812[7]" or
-- "812_7".
create function internal.job_target(p_uid int, p_user text, p_request jsonb, p_write boolean)
returns table (job_id bigint, step_id int, pos int, whole_job boolean, index int)
language plpgsql set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_text text;
	v_part text[];
	v_job job;
	v_request step_request;
	v_array step_array;
	v_spans internal.index_ranges;
	v_spans_of text := '';
	v_positions int[];
	v_names constant text[] := coalesce(internal.request_list(p_request, 'jobs'), '{}');
	-- A limit on the names in one request, so that one user cannot keep the database busy.
	c_names constant int := 10000;
	c_steps constant int := 1000000;
	-- Each becomes a row, while its job is locked.
	c_elements constant int := 10000;
	v_steps bigint := 0;
	v_elements bigint := 0;
	v_found bigint;
begin
	if v_names = '{}' then
		raise exception 'no job named' using errcode = 'RT422', hint = 'Name jobs like 812, 812.solve or 812.solve[7].';
	elsif cardinality(v_names) > c_names then
		raise exception 'more than % jobs and steps named', c_names using errcode = 'RT422',
			hint = 'Ask in several requests.';
	end if;
	-- In order, so that what is known of an array serves for all of its elements that are named.
	for v_text in select distinct coalesce(x, '') from unnest(v_names) x order by 1 loop
		if v_steps > c_steps then
			raise exception 'the jobs named have more than % steps', c_steps using errcode = 'RT422',
				hint = 'Ask in several requests.';
		end if;
		v_part := coalesce(
			regexp_match(v_text,
				'^([0-9]{1,18})(?:\.([A-Za-z][A-Za-z0-9_-]*)(?:\[([0-9]{1,9})(?:-([0-9]{1,9}))?\])?)?$'),
			regexp_match(v_text, '^([0-9]{1,18})()_?\[([0-9]{1,9})(?:-([0-9]{1,9}))?\]$'),
			regexp_match(v_text, '^([0-9]{1,18})()_([0-9]{1,9})()$'));
		if v_part is null then
			raise exception '"%" does not name a job', v_text using errcode = 'RT422',
				hint = 'Name jobs like 812, 812.solve or 812.solve[7].';
		end if;
		select * into v_job from job j where j.job_id = v_part[1]::bigint;
		if not found then
			raise exception 'there is no job %', v_part[1] using errcode = 'RT404';
		end if;
		if v_job.uid <> p_uid and internal.caller_role(p_uid, p_user) = 'user'
			and (p_write or not internal.setting_bool('queue_visible')) then
			raise exception 'job % belongs to %', v_job.job_id,
				case when internal.setting_bool('queue_visible') then '"' || v_job.user_name || '"'
					else 'somebody else' end
				using errcode = 'RT403', hint = 'Only its owner and operators may do that.';
		end if;
		if v_part[2] = '' then
			v_part := array[v_part[1], internal.step_only(v_job.job_id, v_text), v_part[3], nullif(v_part[4], '')];
		end if;
		if v_part[2] is null then
			return query select r.job_id, r.step_id, null::int, true, null::int from step_request r
				where r.job_id = v_job.job_id order by r.step_id;
			get diagnostics v_found = row_count;
			v_steps := v_steps + v_found;
			continue;
		end if;
		select * into v_request from step_request r where r.job_id = v_job.job_id and r.name = v_part[2];
		if not found then
			raise exception 'job % has no step "%"', v_job.job_id, v_part[2] using errcode = 'RT404',
				hint = (select 'Its steps: ' || string_agg(r.name, ', ' order by r.step_id) from step_request r
					where r.job_id = v_job.job_id);
		end if;
		if v_part[3] is null then
			return query select v_request.job_id, v_request.step_id, null::int, false, null::int;
			continue;
		end if;
		select * into v_array from step_array a where a.job_id = v_job.job_id and a.step_id = v_request.step_id;
		if not found then
			raise exception 'step "%" of job % is not an array', v_request.name, v_job.job_id using errcode = 'RT422';
		end if;
		if coalesce(v_part[4], v_part[3])::int - v_part[3]::int not between 0 and c_elements - 1 then
			raise exception '"%" names no elements, or too many', v_text using errcode = 'RT422',
				hint = format('Name at most %s elements in one request, or the whole array.', c_elements);
		end if;
		v_elements := v_elements + coalesce(v_part[4], v_part[3])::int - v_part[3]::int + 1;
		if v_elements > c_elements then
			raise exception 'more than % elements of arrays named', c_elements using errcode = 'RT422',
				hint = 'Ask in several requests, or name the whole array.';
		end if;
		if v_spans_of <> v_part[1] || '.' || v_part[2] then
			v_spans := internal.array_spans(v_array.indices);
			v_spans_of := v_part[1] || '.' || v_part[2];
		end if;
		v_positions := internal.array_positions(v_spans, v_part[3]::int, coalesce(v_part[4], v_part[3])::int);
		if array_position(v_positions, null) is not null then
			raise exception 'array "%" of job % has no index %', v_request.name, v_job.job_id,
				v_part[3]::int + array_position(v_positions, null) - 1 using errcode = 'RT404';
		end if;
		return query
			select v_request.job_id, v_request.step_id + 1 + x.pos, x.pos, false, (v_part[3]::int + x.nr - 1)::int
			from unnest(v_positions) with ordinality x (pos, nr);
	end loop;
end $$;
comment on function internal.job_target(int, text, jsonb, boolean) is
	'The steps that a request''s "jobs" name, after checking that the caller may read or (p_write) change them. Errors: '
	'RT404, RT403, RT422.';
