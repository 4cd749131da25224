-- The file or folder that a stage-in wrote to. By its index, the latest transfer to a place is found without reading
-- the earlier ones.
alter table rota.transfer_run add column target text;
comment on column rota.transfer_run.target is
	'Of a stage-in: SHA-256 of its owner, place and destination, hex (internal.transfer_target); null: it is none.';
update rota.transfer_run r
set target = encode(sha256(convert_to(concat_ws(E'\n', j.uid, r.place, t.destination), 'UTF8')), 'hex')
from rota.transfer t
join rota.job j on j.job_id = t.job_id
where t.job_id = r.job_id and t.transfer = r.transfer and t.direction = 'in';
create index transfer_run_to on rota.transfer_run (target, began_at) where target is not null;
