-- Conversion of values as administrators write them: host lists, times, sizes; and the known value nearest to a wrong one.
create function internal.user_pattern() returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	-- Names that launch orders accept: with a domain before or after, and with the dollar sign of machine accounts.
	select '[A-Za-z0-9_][A-Za-z0-9_.@\\-]*\$?';
$$;
comment on function internal.user_pattern() is 'Regular expression that login names must match.';

create function internal.text_count(p_count numeric, p_noun text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select p_count || ' ' || p_noun || case when p_count = 1 then '' else 's' end
$$;
comment on function internal.text_count(numeric, text) is 'A number with its noun: 1 node, 2 nodes.';

create function internal.text_distance(p_one text, p_two text) returns int
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
	v_row int[] := array(select generate_series(0, length(p_two)));
	v_next int[];
begin
	for i in 1 .. length(p_one) loop
		v_next := array[i];
		for j in 1 .. length(p_two) loop
			v_next[j + 1] := least(v_next[j] + 1, v_row[j + 1] + 1,
				v_row[j] + (substr(p_one, i, 1) <> substr(p_two, j, 1))::int);
		end loop;
		v_row := v_next;
	end loop;
	return v_row[length(p_two) + 1];
end $$;
comment on function internal.text_distance(text, text) is
	'Number of letters to insert, delete or replace to turn one word into the other.';

create function internal.text_nearest(p_word text, p_words text[]) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select w from unnest(p_words) w
	where length(p_word) <= 64 and internal.text_distance(p_word, w) <= greatest(1, length(p_word) / 3)
	order by internal.text_distance(p_word, w), w
	limit 1;
$$;
comment on function internal.text_nearest(text, text[]) is
	'The word of a list that was probably meant by p_word; null: none is similar.';

create function internal.hosts_expand(p_hosts text) returns setof text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
	v_part text;
	v_match text[];
	v_range text;
	v_bound text[];
begin
	if p_hosts !~ '^([^][]|\[[^][]*\])*$' then
		raise exception '"%" is not a list of nodes', p_hosts using errcode = 'RT422',
			hint = 'Write it like n1,n2 or n[1-4,7].';
	end if;
	-- A comma between brackets separates ranges of numbers; any other comma separates names.
	for v_part in select btrim(m[1]) from regexp_matches(p_hosts || ',', '((?:[^,[]|\[[^]]*\])*),', 'g') m
		where btrim(m[1]) <> '' loop
		v_match := regexp_match(v_part, '^([A-Za-z0-9_.-]*)\[([0-9,-]+)\]([A-Za-z0-9_.-]*)$');
		if v_match is null then
			if v_part !~ '^[A-Za-z0-9_.-]+$' then
				raise exception '"%" is not a list of nodes', p_hosts using errcode = 'RT422',
					hint = 'Write it like n1,n2 or n[1-4,7].';
			end if;
			return next v_part;
			continue;
		end if;
		foreach v_range in array string_to_array(v_match[2], ',') loop
			v_bound := regexp_match(v_range, '^([0-9]{1,9})(?:-([0-9]{1,9}))?$');
			if v_bound is null or coalesce(v_bound[2], v_bound[1])::int - v_bound[1]::int not between 0 and 65535 then
				raise exception '"%" is not a range of numbers', v_range using errcode = 'RT422',
					hint = 'Write it like n[1-4,7].';
			end if;
			return query
				select v_match[1] || lpad(i::text, greatest(length(v_bound[1]), length(i::text)), '0')
					|| v_match[3]
				from generate_series(v_bound[1]::int, coalesce(v_bound[2], v_bound[1])::int) i;
		end loop;
	end loop;
end $$;
comment on function internal.hosts_expand(text) is 'The names in a host list like n[1-4,7],m1; numbers keep leading zeros.';

create function internal.text_seconds(p_text text) returns bigint
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select case
		when p_text ~ '^[0-9]{1,9}$' then p_text::bigint * 60
		when p_text ~ '^[0-9]{1,9}:[0-9]{1,2}$'
			then split_part(p_text, ':', 1)::bigint * 60 + split_part(p_text, ':', 2)::int
		when p_text ~ '^[0-9]{1,9}:[0-9]{1,2}:[0-9]{1,2}$'
			then split_part(p_text, ':', 1)::bigint * 3600 + split_part(p_text, ':', 2)::int * 60 + split_part(p_text,
				':', 3)::int
		when p_text ~ '^[0-9]{1,6}-[0-9]{1,2}(:[0-9]{1,2}){0,2}$' then split_part(p_text, '-', 1)::bigint * 86400
			+ split_part(split_part(p_text, '-', 2), ':', 1)::int * 3600
			+ coalesce(nullif(split_part(p_text, ':', 2), '')::int,
				0) * 60 + coalesce(nullif(split_part(p_text, ':', 3), '')::int, 0)
	end;
$$;
comment on function internal.text_seconds(text) is
	'Seconds of a time written as m, m:s, h:m:s, d-h, d-h:m or d-h:m:s; null: not such a time.';

create function internal.text_hours(p_text text) returns jsonb
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
	c_one constant text := '[0-9]{1,2}(-[0-9]{1,2})?:[0-9]{1,9}(\.[0-9]{1,9})?';
begin
	if p_text ~ '^[0-9]{1,9}(\.[0-9]{1,9})?$' then
		return to_jsonb(array_fill(p_text::numeric, array[24]));
	elsif p_text !~ ('^' || c_one || '(,' || c_one || ')*$') then
		return null;
	end if;
	return (
		select jsonb_agg(m[3]::numeric order by h)
		from unnest(string_to_array(p_text, ',')) x
		cross join lateral regexp_match(x, '^(\d+)(?:-(\d+))?:(.*)$') m
		cross join lateral generate_series(m[1]::int, coalesce(m[2], m[1])::int) h
		having array_agg(h order by h) = array(select generate_series(0, 23)));
end $$;
comment on function internal.text_hours(text) is
	'A number for each of the 24 hours of the day, from one number for all hours, 380, or numbers by hours, '
	'0-6:210,7-23:340; null: neither, or an hour is left out or given twice.';

create function internal.text_period(p_text text) returns interval
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select case p_text when 'daily' then interval '1 day' when 'weekly' then interval '7 days'
		when 'monthly' then interval '1 month'
		else case when p_text ~ '^[1-9][0-9]{0,2} ?(day|week|month)s?$' then p_text::interval end end;
$$;
comment on function internal.text_period(text) is
	'An interval of days, weeks or months, written like daily, weekly or 14days; null: not such an interval.';

create function internal.text_mebibytes(p_text text) returns bigint
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select case when p_text ~* '^[0-9]{1,12}[kmgt]?(i?b)?$' then ceil(substring(p_text from '^[0-9]+')::numeric
		* case lower(substring(p_text from '[kmgtKMGT]')) when 'k' then 1.0 / 1024 when 'g' then 1024
			when 't' then 1048576 else 1 end)::bigint end;
$$;
comment on function internal.text_mebibytes(text) is
	'MiB of a size written like 512M, 4G or 1T; a plain number is MiB; null: not such a size.';
