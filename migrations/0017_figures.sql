-- What attempts used: each figure under the name of what it measures.
--
-- Bytes through read and write calls have the kernel's names (proc(5), /proc/PID/io), apart from bytes from and to storage.
alter table rota.task_end rename column read_bytes to rchar;
alter table rota.task_end rename column write_bytes to wchar;
alter table rota.task_end
	add column read_bytes bigint,
	add column write_bytes bigint;
comment on column rota.task_end.rchar is 'Bytes that read calls of the task returned, from any file, pipe or socket.';
comment on column rota.task_end.wchar is 'Bytes that the task passed to write calls, to any file, pipe or socket.';
comment on column rota.task_end.read_bytes is 'Bytes that were read from storage for the task.';
comment on column rota.task_end.write_bytes is 'Bytes that the task caused to be written to storage.';

-- Samples had both kinds in one column, by node. They are not known apart, so they are dropped.
alter table rota.sample drop column read_bytes, drop column write_bytes;
alter table rota.sample
	add column rchar bigint,
	add column wchar bigint,
	add column read_bytes bigint,
	add column write_bytes bigint;
comment on column rota.sample.rchar is 'Bytes that read calls had returned so far.';
comment on column rota.sample.wchar is 'Bytes that had been passed to write calls so far.';
comment on column rota.sample.read_bytes is 'Bytes that had been read from storage so far.';
comment on column rota.sample.write_bytes is 'Bytes that had been written to storage so far.';

alter table rota.sample_total
	drop column read_bytes,
	drop column read_bytes_first,
	drop column read_rate,
	drop column read_rate_max,
	drop column write_bytes,
	drop column write_bytes_first,
	drop column write_rate,
	drop column write_rate_max;
alter table rota.sample_total
	add column rchar bigint,
	add column wchar bigint,
	add column read_bytes bigint,
	add column read_bytes_first bigint,
	add column read_rate double precision,
	add column read_rate_max double precision,
	add column write_bytes bigint,
	add column write_bytes_first bigint,
	add column write_rate double precision,
	add column write_rate_max double precision;
comment on column rota.sample_total.rchar is 'Bytes that read calls had returned up to the latest sample.';
comment on column rota.sample_total.wchar is 'Bytes passed to write calls up to the latest sample.';
comment on column rota.sample_total.read_bytes is 'Bytes read from storage up to the latest sample.';
comment on column rota.sample_total.read_bytes_first is 'Bytes read from storage up to the first sample.';
comment on column rota.sample_total.read_rate is 'Bytes read from storage each second between the latest two samples.';
comment on column rota.sample_total.read_rate_max is
	'Most bytes read from storage each second between two consecutive samples.';
comment on column rota.sample_total.write_bytes is 'Bytes written to storage up to the latest sample.';
comment on column rota.sample_total.write_bytes_first is 'Bytes written to storage up to the first sample.';
comment on column rota.sample_total.write_rate is 'Bytes written to storage each second between the latest two samples.';
comment on column rota.sample_total.write_rate_max is
	'Most bytes written to storage each second between two consecutive samples.';

-- The peak that a memory limit would have met, apart from the cgroup's own, which has cached pages of files.
alter table rota.allocation rename column peak_mb to cgroup_peak_mb;
alter table rota.allocation
	add column peak_mb bigint,
	add column system_usec bigint;
comment on column rota.allocation.cgroup_peak_mb is
	'Most memory of the attempt''s cgroup on the node, cached pages of files included, in MiB; null: no cgroup.';
comment on column rota.allocation.peak_mb is
	'Most memory of the attempt on the node that counts against a limit, in MiB: anonymous and shared memory as it was '
	'measured now and then, or the largest process if that is more; at most the peak of its cgroup. Null: unknown.';
comment on column rota.allocation.cpu_usec is
	'CPU time of all processes of the attempt on the node, in microseconds: as the cgroup counted it, or without a cgroup '
	'the sum of all processes that were waited for. Of a node that was lost, what was known. Null: unknown.';
comment on column rota.allocation.system_usec is 'Part of cpu_usec that was spent in the kernel, in microseconds; null: unknown.';

-- The figures of attempts that have ended come from their tasks where nothing else is known.
update rota.allocation a
set cpu_usec = coalesce(a.cpu_usec, e.cpu_usec), system_usec = least(e.system_usec, coalesce(a.cpu_usec, e.cpu_usec)),
	peak_mb = greatest(a.cgroup_peak_mb, e.max_rss_mb)
from (
	select t.job_id, t.step_id, t.attempt, t.node_id, sum(t.user_usec + t.system_usec)::bigint as cpu_usec,
		sum(t.system_usec)::bigint as system_usec, (max(t.max_rss_kb) + 1023) / 1024 as max_rss_mb
	from rota.task_end t
	group by t.job_id, t.step_id, t.attempt, t.node_id
) e
where a.job_id = e.job_id and a.step_id = e.step_id and a.attempt = e.attempt and a.node_id = e.node_id
	and a.gone_at is not null;

-- Each attempt, not only its step, has a time from which it waited for resources alone.
alter table rota.attempt add column eligible_at timestamptz;
comment on column rota.attempt.eligible_at is
	'When nothing but resources stood in the way of the attempt any more; null: not known.';
update rota.attempt t
set eligible_at = least(s.eligible_at, t.ordered_at)
from rota.step s
where s.job_id = t.job_id and s.step_id = t.step_id and s.attempt = t.attempt;

-- CPU time counts in the hour in which it was used. So all usage figures are computed again.
alter table rota.allocation add column cpu_hours bigint[];
comment on column rota.allocation.cpu_hours is
	'CPU time used in each hour (UTC) that the allocation touches, in microseconds, by its samples; null: within one hour, or '
	'without samples, so used evenly.';
comment on column rota.usage_hour.cpu_used_s is
	'CPU-seconds used by allocations that have ended, where their use is known: what they used in the hour.';
comment on column rota.usage_hour.cpu_measured_s is
	'CPU-seconds held in the hour by the allocations that cpu_used_s counts.';
comment on column rota.node_usage_hour.cpu_used_s is
	'CPU-seconds used by allocations that have ended, where their use is known: what they used in the hour.';
comment on column rota.node_usage_hour.cpu_measured_s is
	'CPU-seconds held in the hour by the allocations that cpu_used_s counts.';
update rota.usage_state set rebuild_at = now() where exists (select from rota.allocation);
