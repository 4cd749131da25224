-- Make the first administrator of an instance: the user who runs "rota", or else the database's user.
insert into rota.person (user_name, role)
select coalesce(nullif(current_setting('rota.installer', true), ''), session_user), 'admin'
where not exists (select from rota.person p where p.role = 'admin')
on conflict (user_name) do nothing;
