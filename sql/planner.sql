-- How the planner is to see the functions that daemons call. They begin from a few rows (a request, a report, what is live) and
-- go on by key; to read a table that keeps all history as a whole, by itself or for a join, is never what is wanted, even where
-- statistics are missing or old, or the table was empty when the plan was made, so that it looked cheap. What they read is in
-- memory. Where a row is found by key and has to be open besides, that is written as coalesce(ended_at, 'infinity') = 'infinity':
-- said plainly it fits a partial index over all that is open, which looks short to a planner whose statistics were made when
-- little was, and so is read once for each row. Compiling plans, and starting workers, takes longer than running these.
do $$
declare
	v_function regprocedure;
begin
	for v_function in select p.oid::regprocedure from pg_proc p
		where p.pronamespace = 'api'::regnamespace and p.prosecdef loop
		execute format('alter function %s set enable_seqscan = off', v_function);
		execute format('alter function %s set enable_hashjoin = off', v_function);
		execute format('alter function %s set enable_mergejoin = off', v_function);
		execute format('alter function %s set enable_material = off', v_function);
		execute format('alter function %s set random_page_cost = 1.1', v_function);
		execute format('alter function %s set max_parallel_workers_per_gather = 0', v_function);
		execute format('alter function %s set jit = off', v_function);
	end loop;
	-- What goes on all the time is planned once: by key, there is one good plan. It begins from what it is given, or from
	-- what is open, and each join says by which key to go on: in that order, whatever it looks like to a planner that knows
	-- the tables as they were when empty, or believes that there is little of each job. It goes along an index and makes no
	-- bitmap of it: entries of versions that are gone are marked and passed over from then on, where a bitmap meets all of
	-- them each time until the next vacuum.
	for v_function in select p.oid::regprocedure from pg_proc p where p.pronamespace = 'api'::regnamespace and p.prosecdef
		and p.proname ~ '^(schedule_|node_(report|apply|orders|renew|sample)|leader_|hook_)'
	loop
		execute format('alter function %s set plan_cache_mode = force_generic_plan', v_function);
		execute format('alter function %s set join_collapse_limit = 1', v_function);
		execute format('alter function %s set enable_bitmapscan = off', v_function);
	end loop;
	-- The plan and the nodes are no history, and what is joined with them is long.
	alter function api.schedule_plan(bigint, jsonb, bigint[], int[]) set enable_hashjoin = on;
	alter function api.schedule_nodes() set enable_hashjoin = on;
	alter function api.submit_limits(int, text, jsonb) set enable_seqscan = on;
	alter function api.submit_limits(int, text, jsonb) set enable_hashjoin = on;
	alter function api.node_list(int, text, jsonb) set enable_hashjoin = on;
	-- Reports are sums over much: read as a whole where that is cheaper.
	alter function api.report(int, text, jsonb) set enable_seqscan = on;
	alter function api.report(int, text, jsonb) set enable_hashjoin = on;
	alter function api.report(int, text, jsonb) set enable_material = on;
end $$;
