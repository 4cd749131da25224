-- What the nodes of a wide step are ordered to do differs in their place and the ranks of their tasks, which the order's text gives for all of
-- them: it is stored once. Ten thousand copies of it took half of the time in which such a step began.
create table rota.launch_text (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	body text not null,
	signature bytea not null,
	primary key (job_id, step_id, attempt, node_id)
);
comment on table rota.launch_text is 'Launch orders that are for several nodes of an attempt; a row goes when the attempt is over.';
comment on column rota.launch_text.job_id is 'The job.';
comment on column rota.launch_text.step_id is 'The step.';
comment on column rota.launch_text.attempt is 'The attempt.';
comment on column rota.launch_text.node_id is 'The first of the nodes.';
comment on column rota.launch_text.body is 'Text of the order.';
comment on column rota.launch_text.signature is 'By jobmgrd, as in rota.node_order.';

alter table rota.node_order add text_node int;
comment on column rota.node_order.text_node is 'Launch without a body: it is that of the attempt''s launch_text with this node.';
alter table rota.node_order drop constraint node_order_check;
alter table rota.node_order add constraint node_order_check check ((kind = 'launch') = (coalesce(body, text_node::text) is not null))
	, add constraint node_order_is_signed check ((body is null) = (signature is null));
