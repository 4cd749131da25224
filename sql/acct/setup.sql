-- Images and preparations of nodes.
create view acct.node_setup with (security_barrier) as
select o.kind, o.name, o.nodes, o.expected_s, o.failed
from internal.setup_offered o
where (select m.reads_all from acct.me m) or o.for_all or current_user::text = any (o.users);
comment on view acct.node_setup is
	'Images and preparations that your jobs may ask for; to analysts all. What changes of nodes took is in acct.node_reboot, '
	'what they cost in acct.node_upkeep.';
comment on column acct.node_setup.kind is 'image (--image) or node-prep (--node-prep).';
comment on column acct.node_setup.name is 'Name of the image or the preparation.';
comment on column acct.node_setup.nodes is 'Nodes that have it now.';
comment on column acct.node_setup.expected_s is 'Seconds that a node is expected to take until it has it.';
comment on column acct.node_setup.failed is
	'Whether it has failed so often that no step may ask for it, before an administrator opens it again.';
