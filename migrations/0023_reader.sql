-- Whoever only reads keeps no transaction open for long: what it might still see can be cleared away by nobody, and the queue lives in rows
-- that change all the time.
insert into rota.setting (name, value, kind, help) values
	('reader_transaction_s', '600', 'int', 'seconds that a transaction of an analyst or reader may last, whatever it does; then its session is ended; 0: any time');
