-- Jobs that wait for the teardown of another job's data: afterburstbuffer, as Slurm calls it.
alter domain rota.step_edge_valid drop constraint step_edge_is_known;
alter domain rota.step_edge_valid add constraint step_edge_is_known check (
	(value).kind in ('after', 'with', 'same_nodes', 'other_nodes')
	and (value).condition in ('ok', 'any', 'fail', 'start', 'corr', 'teardown')
	and (value).state in ('waiting', 'met', 'failed', 'not_needed')
	and ((value).condition <> 'teardown' or ((value).kind = 'after' and (value).peer_step_id = -1)));
comment on column rota.step_edge.condition is
	'For kind after, what must happen to the peer: ok (it completes), any (it ends), fail (it ends in another state '
	'than completed), start (it starts), corr (each element waits for the corresponding element), teardown (it ends, and '
	'what burst_buffer.lua does with its data, too; of a whole job).';
