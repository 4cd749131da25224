"""Long queues: any number of one-step jobs that differ from jobs of `rota submit` only in id and rank.

A million submissions would take longer than the measurement for which the queue is needed. So one job is submitted, held, and its rows
(job, step_request, step, event) are copied by one statement for each table, as superuser, without triggers and foreign keys; the copies
are not held. The settings that limit how many jobs may be pending are raised. Then the tables are vacuumed and a checkpoint is made, so
that neither happens during a measurement.
"""

COPY = """
update rota.setting set value = 100000000 where name in ('max_submitted', 'max_submitted_all');
set session_replication_role = replica;
select last_value + 1 as low, last_value + :count as high from rota.job_job_id_seq \\gset
select setval('rota.job_job_id_seq', :high) \\g /dev/null
select api.range_ensure() \\g /dev/null
select format('insert into rota.%1$I (job_id, %2$s) overriding system value select id, %3$s from rota.%1$I, generate_series(%4$s, %5$s) id where job_id = %6$s',
	c.table_name, string_agg(quote_ident(c.column_name), ', '), string_agg(case c.column_name when 'held' then '''''' when 'held_reason' then 'null'
		when 'retry_key' then 'null' when 'rank' then 'rank - (id - ' || :low || ')' else quote_ident(c.column_name) end, ', '), :low, :high, :job)
from information_schema.columns c
where c.table_schema = 'rota' and c.table_name in ('job', 'step_request', 'step', 'event') and c.column_name not in ('job_id', 'event_id', 'xid')
group by c.table_name order by array_position(array['job', 'step_request', 'step', 'event'], c.table_name::text) \\gexec
vacuum (analyze) rota.job, rota.step, rota.step_request, rota.event;
checkpoint;
notify rota_schedule;
"""


def put(instance, path, count, *options):
    """Queue COUNT jobs as `rota submit OPTIONS PATH` would."""
    job = instance.rota("submit", "--parsable", "--hold", *options, path).strip()
    instance.sql(f"\\set job {job}\n\\set count {count}\n{COPY}")
