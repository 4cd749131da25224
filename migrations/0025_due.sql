-- Comments that the rows of a rebuild had made untrue.
comment on table rota.usage_due is 'What has ended and is not in the usage figures yet: a row for each transaction that ended something, and, while figures are added up anew, rows for what had ended before. It goes in the transaction that adds it up.';
comment on column rota.usage_due.due_id is 'The order in which they are added up: those of what has just ended from 1 on, as they were made; behind them those of a rebuild (rebuild), from -1 down.';
