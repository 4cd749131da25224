-- Logins of nodes: process managers connect as roles of their own, and each speaks only for the nodes that name its login.
alter table rota.node
	add column login text check (login ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,52}$'),
	add column login_next text check (login_next ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,52}$');
comment on column rota.node.login is
	'Login of the process manager that speaks for the node: database role rota_node_LOGIN. Null: role rota_node, which all '
	'process managers had before they got logins of their own.';
comment on column rota.node.login_next is
	'Login to which the node moves when it first registers, or renews its lease, with it; until then, both speak for the '
	'node. Null: it does not move.';
create index node_by_login on rota.node (login);
create index node_moving on rota.node (login_next) where login_next is not null;
