create function internal.step_label(p_job bigint, p_step int) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select p_job || '.' || r.name || coalesce('[' || s.array_index || ']', '')
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where s.job_id = p_job and s.step_id = p_step);
end $$;
comment on function internal.step_label(bigint, int) is 'The label of a step, 812.solve or 812.solve[7]; null: no such step.';
