-- Every change of a step's state comes through here: write the states, then follow what they mean for other steps until
-- nothing more follows. The loop ends because each round either finds no moves or takes steps to final states, of which
-- there is a finite number and which nothing leaves.
create function api.step_move(p_actor text, p_moves api.move[])
returns table (job_id bigint, step_id int, attempt int, from_state text, event text, to_state text)
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_moves api.move[] := p_moves;
	v_written jsonb;
	v_final jsonb;
	v_started jsonb;
begin
	while cardinality(v_moves) > 0 loop
		select jsonb_agg(to_jsonb(w)), jsonb_agg(to_jsonb(w)) filter (where w.final),
			jsonb_agg(to_jsonb(w)) filter (where w.event in ('start', 'run', 'expand') and w.array_index is null)
		into v_written, v_final, v_started
		from api.step_write(p_actor, v_moves) w;
		v_moves := '{}';
		if v_written is null then
			exit;
		end if;
		return query
			select w.* from jsonb_to_recordset(v_written)
				as w (job_id bigint, step_id int, attempt int, from_state text, event text, to_state text);
		if v_started is not null then
			v_moves := v_moves || array(select m::api.move from api.step_settle_start(v_started) m);
		end if;
		if v_final is not null then
			v_moves := v_moves || array(select m::api.move from api.step_settle_end(v_final) m);
			perform api.allocation_unkeep(v_final);
			perform api.group_close(v_final);
		end if;
		v_moves := v_moves || array(select m::api.move from api.array_correspond(v_written) m);
	end loop;
end $$;
comment on function api.step_move(text, api.move[]) is
	'Apply events to steps with all that follows from them, and answer every move made. Moves the state machine does not allow are left out. The caller holds api.job_lock. Internal.';
