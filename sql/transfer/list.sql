-- Transfers of jobs as users see them.

create function internal.transfers_json(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select jsonb_agg(to_jsonb(v) - '{user_name,account}'::text[] order by v.transfer, v.place)
		from internal.transfer_now v
		where v.job_id = p_job);
end $$;
comment on function internal.transfers_json(bigint) is
	'The transfers of a job, with the columns of acct.transfer; null: no transfers.';

create function api.transfer_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_job constant bigint := internal.request_int(p_request, 'job', 9223372036854775807);
	v_all constant boolean := coalesce(internal.request_bool(p_request, 'all'), false);
begin
	if v_job is not null and not exists (select from job j
		where j.job_id = v_job and (j.uid = p_uid or internal.caller_role(p_uid, p_user) <> 'user')) then
		raise exception 'there is no job % of yours', v_job using errcode = 'RT404', hint = 'rota stage list';
	elsif v_job is not null then
		return jsonb_build_object('transfers', coalesce(internal.transfers_json(v_job), '[]'));
	end if;
	return jsonb_build_object('transfers', (
		select coalesce(jsonb_agg(to_jsonb(v) - '{user_name,account}'::text[] order by v.job_id, v.transfer, v.place), '[]')
		from (select n.*
			from internal.transfer_now n
			join job j on j.job_id = n.job_id
			where j.uid = p_uid and (v_all or n.state in ('running', 'failed', 'interrupted', 'cancelled', 'kept')
				or (n.state = 'pending' and j.ended_at is null))
				and (v_all or j.ended_at is null or not exists (select from internal.transfer_now d
					where d.job_id = n.job_id and d.place = n.place and d.direction = 'drop' and d.state = 'dropped'))
			order by n.job_id desc
			limit 1000) v));
end $$;
comment on function api.transfer_list(int, text, jsonb) is
	'Transfers of the caller, or (for operators too) of a job. Request {job, all}. Without a job: transfers that wait, run, '
	'have failed or whose data is kept, until the data is dropped; all: other ones too, the latest 1000. Answer {transfers: '
	'[{...}]}, the columns of acct.transfer.';
