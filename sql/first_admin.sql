-- Whoever installs an instance administers it: the database's user, and the person that "rota" says it acts for.
insert into rota.person (user_name, role)
select distinct x, 'admin'
from unnest(array[session_user, nullif(current_setting('rota.installer', true), '')]) x
where x is not null and not exists (select from rota.person p where p.role = 'admin')
on conflict (user_name) do nothing;
