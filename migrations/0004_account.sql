-- Accounts, qualities of service, and people.

create table rota.account (
	account text primary key check (account ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	parent text references rota.account,
	description text,
	shares int not null default 1 check (shares >= 0)
);
comment on table rota.account is 'Who pays: accounts form a tree.';
comment on column rota.account.account is 'Name.';
comment on column rota.account.parent is 'The account above; null: the top.';
comment on column rota.account.description is 'For people.';
comment on column rota.account.shares is 'Its part of what its parent may use, among the accounts and users there; 0: none.';

create table rota.qos (
	qos text primary key check (qos ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	priority int not null default 0
);
comment on table rota.qos is 'Qualities of service a job can ask for.';
comment on column rota.qos.qos is 'Name.';
comment on column rota.qos.priority is 'Points of priority that it adds.';
insert into rota.qos (qos, priority) values ('normal', 0);

create table rota.person (
	user_name text primary key,
	role text not null default 'user' check (role in ('user', 'operator', 'admin')),
	default_account text references rota.account,
	analyst boolean not null default false,
	reader boolean not null default false
);
comment on table rota.person is 'Users with something special about them; anyone else is an ordinary user.';
comment on column rota.person.user_name is 'Login name.';
comment on column rota.person.role is 'user: own jobs; operator: all jobs; admin: all jobs and the cluster.';
comment on column rota.person.default_account is 'Account of jobs that name none.';
comment on column rota.person.analyst is 'Whether a database login of this name reads schema acct.';
comment on column rota.person.reader is
	'Whether a database login of this name reads schema acct: own rows, and those of accounts that it coordinates.';

create table rota.association (
	account text not null references rota.account on delete cascade,
	user_name text not null,
	shares int not null default 1 check (shares >= 0),
	primary key (account, user_name)
);
comment on table rota.association is 'Who may use an account. An account without any row is open to all.';
comment on column rota.association.account is 'The account.';
comment on column rota.association.user_name is 'Who may use it.';
comment on column rota.association.shares is
	'The user''s part of what the account may use, among its users and the accounts below it; 0: none.';

create table rota.coordinator (
	account text not null references rota.account on delete cascade,
	user_name text not null,
	primary key (account, user_name)
);
comment on table rota.coordinator is 'Who sees the accounting of an account, and of all accounts below it.';
comment on column rota.coordinator.account is 'The account.';
comment on column rota.coordinator.user_name is 'Login name of who sees it.';
