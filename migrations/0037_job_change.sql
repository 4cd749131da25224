-- What the site's script job_submit has set in jobs.
create table rota.job_change (
	job_id bigint not null,
	change int not null,
	at timestamptz not null,
	made_by text not null,
	field text not null,
	before text,
	after text,
	primary key (job_id, change),
	constraint job_change_has_a_number check (change > 0),
	constraint job_change_is_made_by_a_function check (made_by in ('job_submit', 'job_modify')),
	constraint job_change_has_a_field check (field <> '' and length(field) <= 4096),
	constraint job_change_is_short check (length(before) <= 4096 and length(after) <= 4096)
) partition by range (job_id);
comment on table rota.job_change is
	'What the site''s script job_submit has set in jobs, one row for each field that it changed. A job has what the rows say '
	'only as far as nobody has modified it later.';
comment on column rota.job_change.job_id is 'Job that was changed.';
comment on column rota.job_change.change is 'Number of the change in its job, from 1.';
comment on column rota.job_change.at is 'When the change was made: at the submission, or at a modification.';
comment on column rota.job_change.made_by is 'The function that made it: job_submit or job_modify.';
comment on column rota.job_change.field is
	'The field that was set, as the script calls it; environment.NAME: a variable of the environment; '
	'admin_comment: a comment of the site, which is kept only here.';
comment on column rota.job_change.before is
	'What the user had asked for, or what the job had, at most 4096 characters; of a script, its '
	'number of lines and its digest; null: nothing, or a variable, whose value may be a secret.';
comment on column rota.job_change.after is
	'What the script has set, in the same form; null: as if the user had not asked.';

-- Make the partitions of the new table for the ranges of jobs that exist.
select rota.range_complete();
