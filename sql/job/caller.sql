create function internal.caller_role(p_uid int, p_user text) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case when current_setting('rota.remote', true) = 'on' then 'user'
		when p_uid = 0 then 'admin'
		else coalesce((select p.role from person p where p.user_name = p_user), 'user') end;
end $$;
comment on function internal.caller_role(int, text) is
	'Role of the caller: user, operator or admin. Root is always admin. Over HTTPS (setting rota.remote) everybody is a '
	'user, since root of any node can make munge credentials of everybody; but requests with a certificate of the user have '
	'sessions without this setting.';

create view internal.account_coordinated as
with recursive below as (
	select c.user_name, c.account from rota.coordinator c
	union
	select b.user_name, a.account from below b join rota.account a on a.parent = b.account
)
select b.user_name, b.account from below b;
comment on view internal.account_coordinated is
	'Pairs of a user and an account whose accounting the user sees as coordinator of that account or of one above it.';

create view internal.account_above as
with recursive above (account, above) as (
	select a.account, a.account from rota.account a
	union all
	select u.account, a.parent from above u join rota.account a on a.account = u.above where a.parent is not null
)
select u.account, u.above from above u;
comment on view internal.account_above is 'Pairs of an account and itself or an account above it.';

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
	'The name of the only step of a job, for a label that names an element and no step. RT422: the job has several steps. '
	'The caller has checked that the job may be read.';

create function internal.target_names(p_request jsonb) returns text[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_names constant text[] := coalesce(internal.request_list(p_request, 'jobs'), '{}');
	-- Limit the names, so that one user cannot keep the database busy.
	c_names constant int := 10000;
begin
	if v_names = '{}' then
		raise exception 'no job named' using errcode = 'RT422', hint = 'Name jobs like 812, 812.solve or 812.solve[7].';
	elsif cardinality(v_names) > c_names then
		raise exception 'more than % jobs and steps named', c_names using errcode = 'RT422',
			hint = 'Ask in several requests.';
	end if;
	return v_names;
end $$;
comment on function internal.target_names(jsonb) is
	'The names of jobs and steps in the member "jobs" of a request. RT422: no name, or too many.';

create function internal.target_parts(p_name text) returns text[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_part constant text[] := coalesce(
		regexp_match(p_name, '^([0-9]{1,18})(?:\.([A-Za-z][A-Za-z0-9_-]*)(?:\[([0-9]{1,9})(?:-([0-9]{1,9}))?\])?)?$'),
		regexp_match(p_name, '^([0-9]{1,18})()_?\[([0-9]{1,9})(?:-([0-9]{1,9}))?\]$'),
		regexp_match(p_name, '^([0-9]{1,18})()_([0-9]{1,9})()$'));
begin
	if v_part is null then
		raise exception '"%" does not name a job', p_name using errcode = 'RT422',
			hint = case when p_name ~ '^[0-9]+(\.\w+)?[,-]' then 'Separate jobs by blanks, as in 812 813.'
				else 'Name jobs like 812, 812.solve or 812.solve[7].' end;
	end if;
	return v_part;
end $$;
comment on function internal.target_parts(text) is
	'The parts of a name in a request: job, step, first and last index. The step is null for a whole job, and empty for '
	'elements of a job''s only step, "812[7]" or "812_7".';

create function internal.target_job(p_uid int, p_user text, p_job bigint, p_write boolean) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_job job;
begin
	select * into v_job from job j where j.job_id = p_job;
	if not found then
		raise exception 'there is no job %', p_job using errcode = 'RT404';
	end if;
	if v_job.uid <> p_uid and internal.caller_role(p_uid, p_user) = 'user'
		and (p_write or not internal.setting_bool('queue_visible')) then
		raise exception 'job % belongs to %', v_job.job_id,
			case when internal.setting_bool('queue_visible') then '"' || v_job.user_name || '"'
				else 'somebody else' end
			using errcode = 'RT403', hint = 'Only its owner and operators may do that.';
	end if;
end $$;
comment on function internal.target_job(int, text, bigint, boolean) is
	'Refuse a job that does not exist (RT404), or that the caller may not read or (p_write) change (RT403).';

create function internal.target_request(p_job bigint, p_name text) returns rota.step_request
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_request step_request;
begin
	select * into v_request from step_request r where r.job_id = p_job and r.name = p_name;
	if not found then
		raise exception 'job % has no step "%"', p_job, p_name using errcode = 'RT404',
			hint = (select 'Its steps: ' || string_agg(r.name, ', ' order by r.step_id) from step_request r
				where r.job_id = p_job);
	end if;
	return v_request;
end $$;
comment on function internal.target_request(bigint, text) is 'The step of a job with this name; RT404: no such step.';

create function internal.target_spans(p_request rota.step_request) returns internal.index_ranges
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_array step_array;
begin
	select * into v_array from step_array a where a.job_id = p_request.job_id and a.step_id = p_request.step_id;
	if not found then
		raise exception 'step "%" of job % is not an array', p_request.name, p_request.job_id using errcode = 'RT422';
	end if;
	return internal.array_spans(v_array.indices);
end $$;
comment on function internal.target_spans(rota.step_request) is
	'The index ranges of an array step; RT422: the step is not an array.';

create function internal.target_elements(p_name text, p_low int, p_high int, p_before bigint) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	-- Each named element gets a row, while its job is locked.
	c_elements constant int := 10000;
begin
	if p_high - p_low not between 0 and c_elements - 1 then
		raise exception '"%" names no array elements, or too many', p_name using errcode = 'RT422',
			hint = format('Name at most %s elements in one request, or the whole array.', c_elements);
	elsif p_before + p_high - p_low + 1 > c_elements then
		raise exception 'more than % elements of arrays named', c_elements using errcode = 'RT422',
			hint = 'Ask in several requests, or name the whole array.';
	end if;
	return p_before + p_high - p_low + 1;
end $$;
comment on function internal.target_elements(text, int, int, bigint) is
	'Number of elements that a request names, p_before plus those of one more range of indices; RT422: too many.';

create function internal.job_target(p_uid int, p_user text, p_request jsonb, p_write boolean)
returns table (job_id bigint, step_id int, pos int, whole_job boolean, index int)
language plpgsql set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_text text;
	v_part text[];
	v_job bigint;
	v_request step_request;
	v_spans internal.index_ranges;
	v_spans_of text := '';
	v_low int;
	v_high int;
	v_positions int[];
	c_steps constant int := 1000000;
	v_steps bigint := 0;
	v_elements bigint := 0;
	v_found bigint;
begin
	-- Names are handled in order, so that the data of an array is read once for all of its named elements.
	for v_text in select distinct coalesce(x, '') from unnest(internal.target_names(p_request)) x order by 1 loop
		if v_steps > c_steps then
			raise exception 'the jobs named have more than % steps', c_steps using errcode = 'RT422',
				hint = 'Ask in several requests.';
		end if;
		v_part := internal.target_parts(v_text);
		v_job := v_part[1];
		perform internal.target_job(p_uid, p_user, v_job, p_write);
		if v_part[2] = '' then
			v_part := array[v_part[1], internal.step_only(v_job, v_text), v_part[3], nullif(v_part[4], '')];
		end if;
		if v_part[2] is null then
			return query select r.job_id, r.step_id, null::int, true, null::int from step_request r
				where r.job_id = v_job order by r.step_id;
			get diagnostics v_found = row_count;
			v_steps := v_steps + v_found;
			continue;
		end if;
		v_request := internal.target_request(v_job, v_part[2]);
		if v_part[3] is null then
			return query select v_request.job_id, v_request.step_id, null::int, false, null::int;
			continue;
		end if;
		if v_spans_of <> v_part[1] || '.' || v_part[2] then
			v_spans := internal.target_spans(v_request);
			v_spans_of := v_part[1] || '.' || v_part[2];
		end if;
		v_low := v_part[3];
		v_high := coalesce(v_part[4], v_part[3]);
		v_elements := internal.target_elements(v_text, v_low, v_high, v_elements);
		v_positions := internal.array_positions(v_spans, v_low, v_high);
		if array_position(v_positions, null) is not null then
			raise exception 'array "%" of job % has no index %', v_request.name, v_job,
				v_low + array_position(v_positions, null) - 1 using errcode = 'RT404';
		end if;
		return query
			select v_request.job_id, v_request.step_id + 1 + x.pos, x.pos, false, (v_low + x.nr - 1)::int
			from unnest(v_positions) with ordinality x (pos, nr);
	end loop;
end $$;
comment on function internal.job_target(int, text, jsonb, boolean) is
	'The steps that the member "jobs" of a request names, after checking that the caller may read or (p_write) change them. '
	'Errors: RT404, RT403, RT422.';
