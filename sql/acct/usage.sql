-- Usage by hour, day and month: the figures that were added up, what has ended since, and what runs now. format() makes the six
-- views from one text, as they differ only in period and in the columns of their key.
do $$
declare
	v_view record;
	v_keys text[];
	v_measures text[];
	v_shown text;
	v_group text;
	v_column record;
begin
	for v_view in
		select kind || '_' || period as name, period, kind = 'node_usage' as of_nodes
		from unnest(array['usage', 'node_usage']) kind
		cross join unnest(array['hour', 'day', 'month']) period
	loop
		select c.keys, c.measures into v_keys, v_measures from internal.usage_columns(v_view.name) c;
		v_group := v_view.period || case when v_view.of_nodes then ', n.name' else $k$, nullif(x.account, ''),
			x.user_name, x.partition, x.qos$k$ end;
		v_shown := v_view.period || case when v_view.of_nodes then ', n.name as node' else $k$,
			nullif(x.account, '') as account, x.user_name, x.partition, x.qos$k$ end;
		execute format($view$
			create view acct.%1$I with (security_barrier) as
			select x.%2$s, %3$s
			from (
				select %4$s, %5$s from rota.%1$I
				union all
				select %6$s from internal.usage_piece p where p.ended_at is null
				union all
				select %6$s
				from internal.usage_pending_key k
				cross join lateral (
					select * from internal.usage_piece p
						where p.job_id = k.job_id and p.step_id = k.step_id and p.attempt = k.attempt
						and p.node_id = k.node_id offset 0
				) p
				where k.held and not k.rebuild
				union all
				select %7$s
				from internal.usage_pending_key k
				cross join lateral (
					select * from internal.usage_used p
						where p.job_id = k.job_id and p.step_id = k.step_id and p.attempt = k.attempt
						and p.node_id = k.node_id offset 0
				) p
				where k.used and not k.rebuild
				%8$s
			) x
			%9$s
			group by x.%10$s$view$,
			v_view.name, v_shown, internal.usage_sums(v_measures), array_to_string(v_keys, ', '),
			array_to_string(v_measures, ', '),
			internal.usage_pick(v_keys, v_measures, '^(cpu_s|node_s|mem_mb_s|gres_s)$'),
			internal.usage_pick(v_keys, v_measures, '^cpu_(used|measured)_s$'),
			case when not v_view.of_nodes then format('union all select %s from internal.usage_pending_key k
					cross join lateral (select * from internal.usage_end p
						where p.job_id = k.job_id and p.step_id = k.step_id offset 0) p
					where not k.rebuild and k.node_id is null', internal.usage_pick(v_keys, v_measures, '^(steps_|wait_)')) end,
			case when v_view.of_nodes then 'join rota.node n on n.node_id = x.node_id'
				else 'where (select m.reads_all from acct.me m) or x.user_name = current_user or x.account = '
					'any ((select m.accounts from acct.me m)::text[])' end,
			v_group);
		execute format('comment on view acct.%I is %L', v_view.name,
			format('What %s used, %s by %s, up to now: of what runs, the part until now; what ended is here at once.',
			case when v_view.of_nodes then 'was of each node'
			else 'accounts, users, partitions and qualities of service' end, v_view.period, v_view.period));
		for v_column in
			select a.attname,
				case a.attname when 'node' then 'Name of the node.'
				when 'account' then 'Account that pays; null: none.'
				else col_description(format('rota.%I', v_view.name)::regclass, t.attnum) end as text
			from pg_attribute a
			left join pg_attribute t on t.attrelid = format('rota.%I', v_view.name)::regclass
				and t.attname = a.attname
			where a.attrelid = format('acct.%I', v_view.name)::regclass and a.attnum > 0
		loop
			execute format('comment on column acct.%I.%I is %L', v_view.name, v_column.attname, v_column.text);
		end loop;
	end loop;
end $$;
