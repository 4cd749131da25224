-- Planner settings of functions that daemons call, and what `offset 0` is for.
--
-- These functions read a few rows first (a request, a report, live steps), and then look up rows by key.
-- `offset 0` keeps the planner from merging a subquery with the query around it. The comment behind it gives the reason:
-- - by key, by node: the subquery finds its rows by an index. Merged, it could become a join that reads a whole table.
-- - once a row (step, set, request): the result is used several times. Merged, each use would compute it again. "and only where"
--   names the condition on which it is computed at all.
-- A row that is found by key and has to be open is written as coalesce(ended_at, 'infinity') = 'infinity'. The plain condition
-- would match a partial index over all open rows, which looks short to a planner with old statistics and would be read once for
-- each row.
do $$
declare
	v_function regprocedure;
begin
	-- enable_seqscan, enable_hashjoin, enable_mergejoin, enable_material = off: they never read a table of history as a whole,
	-- also where statistics are missing or old. random_page_cost = 1.1: what they read is in memory.
	-- max_parallel_workers_per_gather = 0, jit = off: to start workers and to compile takes longer than the query.
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
	-- force_generic_plan: by key, there is one good plan, so it is made once. join_collapse_limit = 1: a query begins from
	-- its arguments, or from what is open, and joins in the order in which it is written, whatever a planner expects of
	-- tables that were empty when it was analysed. enable_bitmapscan = off: an index scan marks entries of dead rows and
	-- skips them from then on; a bitmap visits them each time until the next vacuum.
	for v_function in select p.oid::regprocedure from pg_proc p where p.pronamespace = 'api'::regnamespace and p.prosecdef
		and p.proname ~ '^(schedule_|plan_snapshot|node_(report|apply|orders|renew|sample|substep)|leader_|hook_)'
	loop
		execute format('alter function %s set plan_cache_mode = force_generic_plan', v_function);
		execute format('alter function %s set join_collapse_limit = 1', v_function);
		execute format('alter function %s set enable_bitmapscan = off', v_function);
	end loop;
	-- Other functions have settings in their heads. plan_cache_mode = force_custom_plan: the arguments are arrays, and their
	-- lengths decide which plan is good. enable_hashjoin, enable_material = on: both sides of a join may be long lists (arrays,
	-- live steps); without, the planner would compare each row of one list with each row of the other.
	-- The plan and the nodes are short tables without history, and the arrays that are joined with them may be long.
	alter function api.schedule_plan(bigint, jsonb, bigint[], int[]) set enable_hashjoin = on;
	alter function api.schedule_nodes() set enable_hashjoin = on;
	alter function api.submit_limits(int, text, jsonb) set enable_seqscan = on;
	alter function api.submit_limits(int, text, jsonb) set enable_hashjoin = on;
	alter function api.node_list(int, text, jsonb) set enable_hashjoin = on;
	-- Reports are sums over many rows, and read whole tables if that is cheaper.
	alter function api.report(int, text, jsonb) set enable_seqscan = on;
	alter function api.report(int, text, jsonb) set enable_hashjoin = on;
	alter function api.report(int, text, jsonb) set enable_material = on;
end $$;
