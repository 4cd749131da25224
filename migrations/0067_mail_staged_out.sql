-- Mail about data that was staged out.
alter table rota.mail
	drop constraint mail_event_check,
	add constraint mail_event_check
		check (event in ('BEGIN', 'END', 'FAIL', 'REQUEUE', 'INVALID_DEPEND', 'STAGE_OUT', 'TIME_LIMIT',
			'TIME_LIMIT_90', 'TIME_LIMIT_80', 'TIME_LIMIT_50'));
