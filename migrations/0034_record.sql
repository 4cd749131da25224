-- The command line by which a job was submitted.
alter table rota.job add column submit_line text
	constraint job_submit_line_is_short check (octet_length(submit_line) <= 4096);
comment on column rota.job.submit_line is
	'Command line of the submission, quoted for a shell: the word of the user. It is cut with "..." at 4096 bytes. Null: the '
	'request had none.';
