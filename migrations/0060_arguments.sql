-- Arguments of a script. The node takes them from the signed spec; the column is for people.

alter table rota.job add column arguments text[];
comment on column rota.job.arguments is 'Arguments of the script, as submitted; null: none. What runs has them from step_request.spec, which the authenticator covers.';
