-- A job that has ended may be requeued: the only event that leaves a final state.
insert into rota.step_transition (from_state, event, to_state)
select state, 'rerun', 'pending' from rota.step_state where stage = 'final';
comment on column rota.step_state.stage is 'waiting: holds no node; live: holds its allocation; final: the end, which only the requeue of its job leaves.';

-- As 0036_sound.sql makes it, with the new rows.
alter domain rota.event_sound drop constraint event_is_move;
do $$
begin
	execute format($sql$alter domain rota.event_sound add constraint event_is_move check (
		(value).from_state || ' ' || (value).event || ' ' || (value).to_state in (%s)) not valid$sql$, (
			select string_agg(quote_literal(concat_ws(' ', t.from_state, t.event, t.to_state)), ', '
				order by array_position('{submit,start,complete,run,prolog,end,fail,cancel}', t.event) nulls last, t.event, t.from_state)
			from rota.step_transition t));
end $$;
