create function internal.job_changes_keep(p_job bigint, p_by text, p_changes jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_changes is null then
		return;
	end if;
	insert into job_change (job_id, change, at, made_by, field, before, after)
	select p_job, coalesce(l.change, 0) + c.nr, now(), p_by, c.one ->> 'field', c.one ->> 'before', c.one ->> 'after'
	from jsonb_array_elements(p_changes) with ordinality c (one, nr)
	cross join (select max(x.change) as change from job_change x where x.job_id = p_job) l;
end $$;
comment on function internal.job_changes_keep(bigint, text, jsonb) is
	'Store the changes that the site''s script job_submit made to a job: [{field, before, after}]; null: no changes. p_by: '
	'the function of the script.';

create function internal.job_changes_json(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	select coalesce(jsonb_agg(jsonb_build_object('at', c.at, 'by', c.made_by, 'field', c.field,
		'before', c.before, 'after', c.after)
		order by c.change), '[]')
	from job_change c
	where c.job_id = p_job);
end $$;
comment on function internal.job_changes_json(bigint) is
	'The changes that the site''s script job_submit made to a job, in their order, as a JSON list.';
