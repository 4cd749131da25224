-- Clocks of nodes. Each node estimates the time of the database at which its own clock was 0, from the answers that have the
-- time of the database (procmgr/agent/agent_clock.c), and sends it with its reports.

create function internal.clock_us() returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
	return extract(epoch from clock_timestamp()) * 1000000;
end $$;
comment on function internal.clock_us() is 'The time of the database, in microseconds since 1970.';

create function internal.report_boot(p_report jsonb) returns timestamptz
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return to_timestamp((p_report ->> 'boot_us')::bigint / 1e6);
end $$;
comment on function internal.report_boot(jsonb) is 'The time of the database at which the clock of a report''s node was 0.';
