-- Nodes compare numbers of boxes, which grow also after the database was restored: versions then start again from an older one.
alter table rota.credential_use add column box_number bigint not null default 0;
comment on column rota.credential_use.box_number is
	'Number of the box, which is higher than that of each earlier box of the attempt, '
	'also if the database was restored in between; 0: it has none.';
update rota.credential_use set box_number = boxed where boxed > 0;
