-- Adds to a generated history what the generator leaves out: weights, prices and grants, why steps waited, energy, and carbon. Equal
-- histories get equal rows. Run it once.
insert into rota.billing_weight (partition, from_month, cpu, mem_gib, node, gres) values
	('gpu', '2026-01-01', 1, 0.1, 0, '{"gpu": 20}'), ('wide', '2026-01-01', 1, 0, 2, '{}'), ('wide', '2026-10-01', 1.5, 0, 2, '{}');
insert into rota.price (price, account, from_month, per_unit, currency) values
	('tariff-2026', null, '2026-01-01', 0.02, 'EUR'), ('medicine-2026', 'medicine', '2026-07-01', 0.05, 'EUR');
insert into rota.account_grant (name, account, units, first_day, last_day) values
	('physics-2026', 'physics', 1500, '2026-07-01', '2026-10-31'), ('maths-autumn', 'maths', 4000, '2026-09-01', '2026-10-31'),
	('climate-2026', 'climate', 500, '2026-07-01', '2026-10-31');
-- Reasons of steps that waited for a minute or longer: a limit for one in five, the job with the number before for the others.
insert into rota.wait_reason (job_id, step_id, from_at, until_at, reason, blocker)
select s.job_id, s.step_id, s.eligible_at, s.started_at,
	case s.job_id % 5 when 0 then 'priority' when 1 then 'limit' else 'resources' end,
	case when s.job_id % 5 <> 1 then (s.job_id - 1)::text end
from rota.step s
where s.array_index is null and s.started_at > s.eligible_at + interval '1 minute' and s.job_id > 1;
-- The energy of three nodes in four is known: 9 J for each CPU second that is held, and 11 J more for each that is used.
update rota.allocation a
set energy_j = round(9 * acct.cpu_held_s(a.cpus, a.started_at, a.ended_at, a.without_cpus) + 11 * a.cpu_usec / 1e6, 1)
where a.ended_at is not null and a.cpu_usec is not null and a.node_id % 4 <> 0;
-- The carbon intensity is lowest at noon.
insert into rota.carbon_intensity (name, from_month, g_per_kwh)
select 'grid-2026', '2026-01-01', array_agg(round(380 - 190 * exp(-power((h - 12) / 4.0, 2))) order by h) from generate_series(0, 23) h;
