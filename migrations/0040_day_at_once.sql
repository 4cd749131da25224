-- Of two that find the table of a day missing at once, the second failed. Behind the lock it asked by name, which a session may answer from what
-- it remembers; a look at the catalog sees what has been committed. Also, the moment of a stray is always given.

create or replace function rota.day_range(p_table text, p_day date) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name text := p_table || '_' || to_char(p_day, 'YYYYMMDD');
begin
	if to_regclass('rota.' || v_name) is not null then
		return;
	end if;
	perform pg_advisory_xact_lock(hashtext('rota day_range'));
	-- Whoever came first has made it, if we had to wait.
	if exists (select from pg_class c where c.relnamespace = 'rota'::regnamespace and c.relname = v_name) then
		return;
	end if;
	-- Made first and attached then: so nobody who reads or writes the others is waited for.
	execute format('create table rota.%I (like rota.%I including all excluding identity)', v_name, p_table);
	execute format('alter table rota.%I attach partition rota.%I for values from (%L) to (%L)', p_table, v_name,
		to_char(p_day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(p_day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
end $$;
alter table rota.stray alter column at drop default;
