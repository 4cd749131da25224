-- Every change of a step's state comes through here: write the states, then follow what they mean for other steps until
-- nothing more follows. The loop ends because each round either finds no moves or takes steps to final states, of which
-- there is a finite number and which nothing leaves.
create function api.step_move(p_actor text, p_moves api.move[]) returns setof api.moved
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_moves api.move[] := p_moves;
	v_written api.moved[];
	v_final api.moved[];
	v_started api.moved[];
begin
	while cardinality(v_moves) > 0 loop
		v_written := array(select w::api.moved from api.step_write(p_actor, v_moves) w);
		exit when v_written = '{}';
		return query select w.* from unnest(v_written) w;
		v_final := array(select w::api.moved from unnest(v_written) w where w.final);
		v_started := array(select w::api.moved from unnest(v_written) w where w.event in ('start', 'run', 'expand') and w.array_index is null);
		v_moves := '{}';
		if v_started <> '{}' then
			v_moves := v_moves || array(select m::api.move from api.step_settle_start(v_started) m);
		end if;
		if v_final <> '{}' then
			v_moves := v_moves || array(select m::api.move from api.step_settle_end(v_final) m);
			-- Nothing is kept for elements, and a group is over when the heads of its arrays are.
			v_final := array(select w::api.moved from unnest(v_final) w where w.array_index is null);
			if v_final <> '{}' then
				perform api.allocation_unkeep(array(select (w.job_id, w.step_id, 0)::api.attempt_key from unnest(v_final) w));
				perform api.group_close(v_final);
			end if;
		end if;
		v_moves := v_moves || array(select m::api.move from api.array_correspond(v_written) m);
	end loop;
end $$;
comment on function api.step_move(text, api.move[]) is
	'Apply events to steps with all that follows from them, and answer every move made. Moves the state machine does not allow are left out. The caller holds api.job_lock. Internal.';
