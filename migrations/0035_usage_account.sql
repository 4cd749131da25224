-- An account's usage was read from that of all accounts in the time that is asked for: 40,000 rows of a month for 900. As acct.usage_hour and
-- acct.usage_day say it, '' being none.
create index usage_hour_by_account on rota.usage_hour (nullif(account, ''), hour);
create index usage_day_by_account on rota.usage_day (nullif(account, ''), day);
