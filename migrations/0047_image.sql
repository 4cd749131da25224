-- Images of nodes: a step asks for an image, and a node that has another one is booted with it first.
insert into rota.setting (name, value, kind, help) values
	('image_failures', '3', 'int',
		'failures in a row after which no more nodes are booted with an image, and steps that ask for it are held; 0: none'),
	('image_idle_s', '300', 'int', 'seconds for which a node keeps an image that is not its default and that no step waits for');

create table rota.node_image (
	image text primary key constraint node_image_has_name check (image ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	users text[] not null default '{}',
	accounts text[] not null default '{}',
	expected_s int not null default 600 constraint node_image_takes_time check (expected_s > 0),
	failures int not null default 0 constraint node_image_counts check (failures >= 0)
);
comment on table rota.node_image is 'Images that nodes can be booted with.';
comment on column rota.node_image.image is 'Name of the image, an argument of the program hooks.reboot.';
comment on column rota.node_image.users is 'Users who may ask for it; they and accounts empty: everybody.';
comment on column rota.node_image.accounts is 'Accounts whose jobs may ask for it.';
comment on column rota.node_image.expected_s is 'Seconds that a node is expected to take until it serves with the image.';
comment on column rota.node_image.failures is 'Failures in a row to boot nodes with it.';

alter table rota.node
	add column image text constraint node_image_has_name check (image ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	add column default_image text constraint node_default_image_exists references rota.node_image (image);
comment on column rota.node.image is 'Image that the node reported at the latest registration; null: it names none.';
comment on column rota.node.default_image is
	'Image that the node has when no step asks for another one; null: it is never booted with another image.';
create index node_other_image on rota.node (node_id) where image <> default_image;

alter table rota.node_reboot add column image text;
comment on table rota.node_reboot is
	'Reboots of nodes, one row for each node: those that operators asked for, and those for another image.';
comment on column rota.node_reboot.image is 'Image with which the node has to come back; null: any.';
comment on column rota.node_reboot.made_by is
	'Who asked for it: a user''s name, schedule (a step needs the image) or nodemgrd (back to the default image).';

alter table rota.step_request add column image text;
create index step_request_image on rota.step_request (image) where image is not null;
comment on column rota.step_request.image is 'Image of the nodes that the step asks for; null: the default image of each node.';

comment on column rota.plan.reason is
	'Why the step waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, '
	'maintenance, reservation, power, image.';
