-- Images and preparations of nodes.
create view acct.node_setup with (security_barrier) as
select o.kind, o.name, o.nodes, o.expected_s, o.failed
from internal.setup_offered o
where (select m.reads_all from acct.me m) or o.for_all or current_user::text = any (o.users);
comment on view acct.node_setup is
	'Images that nodes boot and programs that prepare nodes, one row each: those that your jobs may ask for; analysts see all. '
	'acct.node_reboot has how long each change of a node took, acct.node_upkeep what it cost.';
comment on column acct.node_setup.kind is 'image (--image) or node-prep (--node-prep).';
comment on column acct.node_setup.name is 'Name of the image or the preparation.';
comment on column acct.node_setup.nodes is 'Nodes that have the image or preparation now.';
comment on column acct.node_setup.expected_s is 'Expected seconds until a node that changes to the image or preparation has it.';
comment on column acct.node_setup.failed is
	'Whether the image or preparation has failed so often that no step may ask for it until an administrator opens it again.';
