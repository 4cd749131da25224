-- The state machine: every pair of state and event, generated from the tables, moves a step as they say or changes nothing.
begin;
\ir world.psql
select * from no_plan();

-- t.in_state: a job with a step whose state is written by hand, because this file tests only the state machine.
create function t.in_state(p_state text) returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a"}]');
begin
	update rota.step s set state = p_state, ended_at = case when st.stage = 'final' then now() end, attempt = (st.stage <> 'waiting')::int
	from rota.step_state st where s.job_id = v_job and st.state = p_state;
	return v_job;
end $$;
create table t.pair as
select s.state, e.event, x.to_state, t.in_state(s.state) as job_id
from rota.step_state s
cross join (select distinct event from rota.step_transition union select 'nonsense') e
left join rota.step_transition x on x.from_state = s.state and x.event = e.event;
alter table t.pair add wrote text, add events bigint;
update t.pair p set wrote = (select w.from_state || ' ' || w.event || ' ' || w.to_state
	from internal.step_write('test', array[(p.job_id, 0, p.event, null, 'cause', 1, null, 'message')::internal.move]) w);
update t.pair p set events = (select count(*) from rota.event e where e.job_id = p.job_id and e.event = p.event and e.actor = 'test'
	and e.from_state = p.state and e.to_state = p.to_state);
select is((select count(*) from t.pair), (select count(*) * (select count(distinct event) + 1 from rota.step_transition) from rota.step_state), 'every pair of state and event is tried');
select is((select s.state from rota.step s where s.job_id = p.job_id), coalesce(p.to_state, p.state),
	format('%s: %s %s', p.state, p.event, coalesce('leads to ' || p.to_state, 'changes nothing'))) from t.pair p order by p.state, p.event;
select is(p.wrote, p.state || ' ' || p.event || ' ' || p.to_state, format('%s: %s is answered', p.state, p.event)) from t.pair p order by p.state, p.event;
select is(p.events, (p.to_state is not null)::int::bigint, format('%s: %s is logged', p.state, p.event)) from t.pair p order by p.state, p.event;
select is((select count(*) from t.pair p join rota.step s on s.job_id = p.job_id join rota.step_state t on t.state = s.state where (t.stage = 'final') <> (s.ended_at is not null)),
	0::bigint, 'final states, and only they, have an end');
select is((select count(*) from rota.step_transition t join rota.step_state s on s.state = t.from_state and s.stage = 'final' where t.event <> 'rerun'), 0::bigint, 'nothing but a requeue leaves a final state');
select is((select count(*) from rota.step_state s where s.state <> 'pending' and not exists (select from rota.step_transition t where t.to_state = s.state)), 0::bigint, 'every state can be reached');
select is((select count(*) from rota.step_state s where s.stage <> 'final' and not exists (
	select from rota.step_transition t join rota.step_state f on f.state = t.to_state and f.stage = 'final' where t.from_state = s.state)), 0::bigint, 'every other state has a way to an end');
-- Only the first transition of a step in one call counts; transitions of unknown steps change nothing.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select is((select array_agg(w.event) from internal.step_write('test', array[(:j, 0, 'cancel', null, null, null, null, null)::internal.move, (:j, 0, 'start', null, null, null, null, null)::internal.move,
	(99999, 0, 'cancel', null, null, null, null, null)::internal.move]) w), '{cancel}', 'the first move counts');
select * from finish();
rollback;
