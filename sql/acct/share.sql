create view acct.account with (security_barrier) as
select a.account, a.parent, a.description, a.shares
from rota.account a
where (select m.reads_all from acct.me m) or a.account = any ((select m.accounts from acct.me m)::text[])
	or exists (select from rota.association x where x.account = a.account and x.user_name = current_user);
comment on view acct.account is 'Accounts, one row each. Accounts pay for jobs, and form a tree.';
comment on column acct.account.account is 'Name of the account.';
comment on column acct.account.parent is 'The account above this one in the tree; null: top.';
comment on column acct.account.description is 'Description for people.';
comment on column acct.account.shares is
	'Number of fair-share shares of the account. The account''s part of what the account above may use is this number divided '
	'by the sum of the numbers of all accounts and users directly below that account.';

create view acct.association with (security_barrier) as
select a.account, a.user_name, a.shares
from rota.association a
where (select m.reads_all from acct.me m) or a.user_name = current_user
	or a.account = any ((select m.accounts from acct.me m)::text[]);
comment on view acct.association is
	'Users who may use accounts, one row for each pair. An account without any row is open to all.';
comment on column acct.association.account is 'Name of the account.';
comment on column acct.association.user_name is 'Login name of a user who may use the account.';
comment on column acct.association.shares is
	'Number of fair-share shares of the user. The user''s part of what the account may use is this number divided by the sum of '
	'the numbers of all users and accounts directly below the account.';

create view acct.qos with (security_barrier) as
select q.qos, q.priority from rota.qos q;
comment on view acct.qos is 'Qualities of service; their limits are in acct.limit.';
comment on column acct.qos.qos is 'Name of the quality of service.';
comment on column acct.qos.priority is 'Points of priority that the quality of service adds to its steps.';

create view acct.share with (security_barrier) as
select t.account, t.user_name, t.parent, t.depth, t.shares, t.share, t.use_s, t.used, t.effective, t.factor
from internal.share_tree t
where (select m.reads_all from acct.me m) or t.user_name = current_user
	or t.account = any ((select m.accounts from acct.me m)::text[]);
comment on view acct.share is
	'Fair share as it is now, one row for each account and each user of an account, with their recent use.';
comment on column acct.share.account is 'The account, or the account of the user; null: none.';
comment on column acct.share.user_name is 'The user''s login name; null: the row is about the account.';
comment on column acct.share.parent is 'The account above the account, or that of the user; null: the top.';
comment on column acct.share.depth is 'Level of the account or user in the tree of accounts; 1: directly below the top.';
comment on column acct.share.shares is 'Number of shares of the account or user.';
comment on column acct.share.share is
	'Part of the whole site that the account or user may use, by the numbers of shares, 0 to 1.';
comment on column acct.share.use_s is
	'CPU-seconds held by the account or user and all below it. Earlier ones count less, half after the setting '
	'fair_share_half_life_s.';
comment on column acct.share.used is 'use_s as a part of the use of the whole site, 0 to 1.';
comment on column acct.share.effective is
	'used, plus part of what the other accounts and users under the same account used, and part of what the siblings of the '
	'accounts above used, 0 to 1.';
comment on column acct.share.factor is
	'Fair share factor, 0 to 1: 2^(-effective / share). Times the setting fair_share_weight_s, this is the number of '
	'seconds by which steps of the account or user come forward in the queue.';

create view acct.limit with (security_barrier) as
select l.limit_id, l.account, coalesce(l.user_name, nullif(l.whose, '')) as user_name, l.qos, l.partition, l.each_user, l.measure,
	nullif(l.period, '') as period,
	l.most, l.held, greatest(l.most - l.held, 0) as left_over, l.starts_at, nullif(l.ends_at, 'infinity') as ends_at
from internal.limit_shown l
where (select m.reads_all from acct.me m) or coalesce(l.user_name, nullif(l.whose, '')) = current_user
	or l.account = any ((select m.accounts from acct.me m)::text[]);
comment on view acct.limit is
	'Limits, one row each, with the amount that is used now. A limit that each user has by himself has one row for each user '
	'who uses something of it.';
comment on column acct.limit.limit_id is
	'Key of the limit; one that holds for each user has a row for each who uses something of it.';
comment on column acct.limit.account is
	'Account of the limit: it counts steps of this account and of all accounts below it; null: of any account.';
comment on column acct.limit.user_name is
	'Login name of the limit''s user: the limit counts steps of this user only; null: of any user.';
comment on column acct.limit.qos is
	'Quality of service of the limit: the limit counts steps under this one only; null: under any.';
comment on column acct.limit.partition is 'Partition of the limit: the limit counts steps in this partition only; null: in any.';
comment on column acct.limit.each_user is 'Whether the limit holds for each user separately.';
comment on column acct.limit.measure is
	'What is limited: running (steps under way), submitted (live steps), cpus, nodes, gres/KIND (held at once), cpu_minutes '
	'(CPU-minutes of the period), time (seconds of the time limit of one step).';
comment on column acct.limit.period is
	'Period of cpu_minutes: day, week, month or year of the site''s time zone, or so many days up to today, like 30days; '
	'null: no period.';
comment on column acct.limit.most is 'The limit: the highest amount, in the unit of the measure.';
comment on column acct.limit.held is
	'Amount that is used now, in the unit of the measure; for cpu_minutes, with all that running steps may still use in '
	'the period. Null: the limit is of time.';
comment on column acct.limit.left_over is 'Amount that is left, in the unit of the measure; null: the limit is of time.';
comment on column acct.limit.starts_at is 'When the limit''s present period began; null: no period.';
comment on column acct.limit.ends_at is
	'When the limit''s present period ends; null: no period, or one of so many days up to today.';
