-- Accounts, qualities of service, and users with their roles and associations.

create table rota.account (
	account text primary key check (account ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	parent text references rota.account,
	description text,
	shares int not null default 1 check (shares >= 0)
);
comment on table rota.account is 'Accounts, which pay for jobs and form a tree.';
comment on column rota.account.account is 'Name of the account.';
comment on column rota.account.parent is 'Parent of the account in the tree; null: the account is at the top.';
comment on column rota.account.description is 'Description of the account, for people.';
comment on column rota.account.shares is
	'The account''s part of what its parent may use, relative to the shares of the other accounts and users of that '
	'parent; 0: no part.';

create table rota.qos (
	qos text primary key check (qos ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	priority int not null default 0,
	idle_timeout_s int,
	tier int not null default 0 constraint qos_tier_is_small check (tier between -20 and 20),
	preempt text constraint qos_preempt_is_known check (preempt in ('off', 'requeue', 'checkpoint', 'suspend', 'cancel')),
	preempt_after_s int constraint qos_preempt_after_is_positive check (preempt_after_s > 0),
	allow_users text[],
	allow_accounts text[],
	constraint qos_idle_timeout_is_positive check (idle_timeout_s > 0)
);
comment on table rota.qos is 'Qualities of service that a job can ask for.';
comment on column rota.qos.qos is 'Name of the quality of service.';
comment on column rota.qos.priority is 'Points of priority that the quality of service adds to a job.';
comment on column rota.qos.idle_timeout_s is
	'Seconds without keys and output after which a session of a job with the quality of service is ended, for steps that '
	'start from now on; null: never.';
comment on column rota.qos.tier is 'What it adds to the tier of a step''s partition, for jobs that are submitted from now on.';
comment on column rota.qos.preempt is
	'What becomes of its steps when they are preempted, instead of what their partition says; null: that.';
comment on column rota.qos.preempt_after_s is
	'Seconds that its steps run, each time that they start, before they may be preempted, '
	'if that is more than in their partition; null: no more.';
comment on column rota.qos.allow_users is 'Login names of users who may use the quality of service; null: all users.';
comment on column rota.qos.allow_accounts is 'Accounts that may use the quality of service; null: all accounts.';
insert into rota.qos (qos, priority) values ('normal', 0);

create table rota.person (
	user_name text primary key,
	role text not null default 'user' check (role in ('user', 'operator', 'admin')),
	default_account text references rota.account,
	analyst boolean not null default false,
	reader boolean not null default false
);
comment on table rota.person is 'Users with a role, a default account or a database login. Anyone else is an ordinary user.';
comment on column rota.person.user_name is 'Login name of the user.';
comment on column rota.person.role is
	'Role of the user. user: may control own jobs; operator: all jobs; admin: all jobs and the cluster.';
comment on column rota.person.default_account is 'Account of the user''s jobs that name no account.';
comment on column rota.person.analyst is 'Whether a database login of this name may read all rows of schema acct.';
comment on column rota.person.reader is
	'Whether a database login of this name may read schema acct: the rows of the user''s own jobs, and those of '
	'accounts that the user coordinates.';

create table rota.association (
	account text not null references rota.account on delete cascade,
	user_name text not null,
	shares int not null default 1 check (shares >= 0),
	primary key (account, user_name)
);
comment on table rota.association is 'Users who may use an account. An account without any row is open to all users.';
comment on column rota.association.account is 'Account that the user may use.';
comment on column rota.association.user_name is 'Login name of the user who may use the account.';
comment on column rota.association.shares is
	'The user''s part of what the account may use, relative to the shares of its other users and of the accounts '
	'below it; 0: no part.';

create table rota.coordinator (
	account text not null references rota.account on delete cascade,
	user_name text not null,
	primary key (account, user_name)
);
comment on table rota.coordinator is 'Users who see the accounting of an account and of all accounts below it.';
comment on column rota.coordinator.account is 'Account whose accounting the user sees.';
comment on column rota.coordinator.user_name is 'Login name of the user who sees the accounting.';
