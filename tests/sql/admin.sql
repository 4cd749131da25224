-- rota admin: every action on every object, types of values, objects in use that cannot be deleted, permissions, and the record
-- of changes.
begin;
\ir world.psql
select * from no_plan();
create function t.admin(p_object text, p_action text, p_name text, p_values jsonb default '{}', p_user text default 'root') returns text language plpgsql as $$
declare
	v_hint text;
	v_state text;
begin
	return api.admin_change(case p_user when 'root' then 0 else t.uid(p_user) end, p_user,
		jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed';
exception when others then
	get stacked diagnostics v_hint = pg_exception_hint, v_state = returned_sqlstate;
	return concat_ws(' | ', v_state, sqlerrm, nullif(v_hint, ''));
end $$;

create function t.shown(p_object text, p_name text, p_key text) returns jsonb language sql as
$$select api.admin_change(0, 'root', jsonb_build_object('object', p_object, 'action', 'show', 'name', p_name)) -> 'row' -> p_key$$;

-- Which users may call api.admin_change.
select t.admin('user', 'create', 'olga', '{"role": "operator"}'), t.admin('user', 'create', 'zoe', '{"role": "admin"}') \g /dev/null
select matches(t.admin('partition', 'create', 'p', '{}', 'alice'), '^RT403', 'a user changes nothing');
select matches(t.admin('partition', 'create', 'p', '{}', 'olga'), '^RT403', 'nor does an operator');
select matches(t.admin('node', 'drain', 'n1', '{"reason": "x"}', 'alice'), '^RT403', 'a user drains nothing');
-- Sessions for calls by HTTPS.
set local rota.remote = 'on';
select is(array(select internal.caller_role(v.uid, v.name) from (values (0, 'root'), (1, 'zoe'), (2, 'olga'), (3, 'alice')) v (uid, name)),
	'{user,user,user,user}', 'by HTTPS everybody is a user');
select matches(t.admin('node', 'drain', 'n1', '{"reason": "x"}', 'olga'), '^RT403', 'so nobody drains');
set local rota.remote = '';
select is(array(select internal.caller_role(v.uid, v.name) from (values (0, 'root'), (1, 'zoe'), (2, 'olga'), (3, 'alice')) v (uid, name)),
	'{admin,admin,operator,user}', 'elsewhere each has their role');
select is(t.admin('node', 'drain', 'n1', '{"reason": "x"}', 'olga'), 'true', 'an operator drains');
select is(t.admin('node', 'drain', 'n1', '{"reason": "x"}', 'olga'), 'false', 'again: no change');
select is(t.admin('node', 'drain', 'n1', '{"reason": "y"}', 'olga'), 'true', 'for another reason');
select is((select concat_ws(' ', state, reason, reason_by, reason_at is not null) from rota.node where name = 'n1'), 'drain y olga t', 'reason');
select is(t.admin('node', 'resume', 'n1', '{}', 'olga'), 'true', 'and resumes');
select is((select concat_ws(' ', state, reason) from rota.node where name = 'n1'), 'up', 'up again');
select is(t.admin('node', 'resume', 'n1', '{}', 'olga'), 'false', 'again: no change');
select is(t.admin('partition', 'create', 'p', '{}', 'zoe'), 'true', 'an admin creates');
select is(t.admin('partition', 'delete', 'p', '{}', 'zoe'), 'true', 'and deletes');

-- Without a name, all objects are shown, but not all nodes.
select is((select array_agg(r ->> 'qos') from jsonb_array_elements(api.admin_change(0, 'root', '{"object": "qos", "action": "show"}') -> 'rows') r),
	array(select q.qos from rota.qos q order by 1), 'all of a kind');
select is(api.admin_change(0, 'root', '{"object": "check", "action": "show"}') -> 'rows', '[]', 'of which there may be none');
select matches(t.admin('node', 'show', null), '^RT422.*name the node', 'nodes are named');
select matches(t.admin('qos', 'delete', null), '^RT422.*name the qos', 'and what is changed is named');
select matches(t.admin('qos', 'show', null, '{}', 'alice'), '^RT403', 'a user sees nothing');

-- Unknown objects, actions and keys.
select matches(t.admin('cheese', 'create', 'x'), '^RT422.*there is no object "cheese"', 'no such object');
select matches(t.admin('node', 'paint', 'n1'), '^RT422.*no action "paint"', 'no such action');
select matches(t.admin('qos', 'drain', 'normal'), '^RT422.*no action "drain"', 'not an action of this object');
select matches(t.admin('partition', 'create', ''), '^RT422.*name the partition', 'no name');
select is(t.admin('partition', 'create', 'p', '{"max_tme": "5"}'), 'RT422 | a partition has no "max_tme" | Did you mean "max_time"? It has: state, default, is_default, priority, max_time, max_time_s, default_time, default_time_s, keep_idle, max_nodes, default_mem_per_cpu, default_mem_per_cpu_mb, allow_users, allow_groups, allow_accounts, sample, nodes, cred, idle_timeout, idle_timeout_s, tier, preempt, preempt_otherwise, preempt_after, preempt_after_s, preempt_grace, preempt_grace_s, billing, billing_from, max_running, max_submitted, max_cpus, max_gres, max_cpu_minutes, max_gres_minutes, max_billing, max_running_per_user, max_submitted_per_user, max_cpus_per_user, max_gres_per_user, max_cpu_minutes_per_user, max_gres_minutes_per_user, max_billing_per_user, max_nodes_per_user.', 'an unknown key');
select matches(t.admin('partition', 'create', 'p', '{"state": "sleepy"}'), '^RT422.*"sleepy" is no value for "state".*up, down, drain, inactive', 'not one of the words');
select matches(t.admin('partition', 'create', 'p', '{"priority": "high"}'), '^RT422.*no value for "priority"', 'not a number');
select matches(t.admin('partition', 'create', 'p', '{"default": "perhaps"}'), '^RT422.*true or false', 'not a truth');
select matches(t.admin('partition', 'create', 'p', '{"max_time": "1:2:3:4"}'), '^RT422.*no value for "max_time"', 'not a time');
select matches(t.admin('partition', 'create', 'p', '{"default_mem_per_cpu": "much"}'), '^RT422.*no value for', 'not a size');
select matches(t.admin('partition', 'create', 'p', '{"max_nodes": -1}'), '^RT422.*no value for "max_nodes".*from 1 to 2147483647', 'a number out of range');
select matches(t.admin('partition', 'create', 'a b'), '^RT422.*no partition can have the name "a b".*letters, digits', 'not a name');
select matches(t.admin('partition', 'create', 'main'), '^RT409.*already', 'a name that is taken');
select matches(t.admin('partition', 'change', 'man', '{"priority": 1}'), '^RT404.*Did you mean "main"', 'a name that is not there');
select matches(t.admin('partition', 'create', 'p', '{"nodes": "n[1-9]"}'), '^RT404.*no node "n5"', 'nodes that are not there');
select matches(t.admin('partition', 'create', 'p', '{"nodes": "n[1-"}'), '^RT422', 'not a list of nodes');
select matches(t.admin('node', 'create', 'm1'), '^RT422.*needs "cpus" and "mem"', 'a node without a size');
select matches(t.admin('node', 'create', 'm1', '{"cpus": 0, "mem": 1}'), '^RT422.*no value for "cpus".*from 1 to 65536', 'a node without CPUs');
select matches(t.admin('node', 'change', 'n1', '{"reason": "x"}'), '^RT422.*can be given with "drain" only', 'a reason for nothing');
select matches(t.admin('node', 'drain', 'n1'), '^RT422.*say why', 'no reason');
select matches(t.admin('node', 'drain', 'n1', '{"reason": "x", "cpus": 3}'), '^RT422', 'drain changes nothing else');
select matches(t.admin('license', 'create', 'x'), '^RT422.*needs "total"', 'a licence without a number');
select is_empty($$select * from rota.partition where partition = 'p'$$, 'nothing is left of what was refused');

-- A wrong value or name is refused with its key and the allowed values, before any other check and before the database refuses
-- it.
select matches(t.admin(o, a, n, v::jsonb), '^RT422 . (' || w || ')', concat_ws(' ', o, a, n, v)) from (values
	('node', 'change', 'n1', '{"cpus": 99999999999}', '"99999999999" is no value for "cpus" . Give a whole number from 1 to 65536.$'),
	('node', 'change', 'n1', '{"cpus": -4}', '"-4" is no value for "cpus"'), ('node', 'change', 'n1', '{"cpus": "none"}', '"cpus" needs a value'),
	('node', 'create', 'm1', '{"cpus": "none", "mem": "1G"}', '"cpus" needs a value'), ('node', 'change', 'n1', '{"mem": ""}', '"mem" needs a value'),
	('node', 'change', 'n1', '{"weight": "9999999999"}', '.*no value for "weight" . Give a whole number from -2147483648 to 2147483647'),
	('node', 'change', 'n1', '{"mem_mb": -1}', '.*no value for "mem_mb" . Give a whole number from 0 up'), ('node', 'create', repeat('n', 64), '{"cpus": 1, "mem": 1}', 'no node can have the name.*63 at most'),
	('account', 'create', 'a', '{"max_cpus": -1}', '"-1" is no value for "max_cpus"'), ('account', 'create', 'a', '{"shares": -1}', '.*for "shares"'), ('account', 'create', 'a/b', '{}', 'no account can have the name'),
	('license', 'create', 'l', '{"total": -1}', '.*for "total"'), ('license', 'create', '1l', '{"total": 1}', 'no license can .*begin with a letter.$'), ('qos', 'create', 'q', '{"priority": 3000000000}', '.*for "priority"'),
	('partition', 'change', 'main', '{"idle_timeout_s": 0}', '.*from 1 to 2147483647'), ('qos', 'change', 'normal', '{"idle_timeout": "99999999999"}', '.*no value for "idle_timeout"'),
	('partition', 'change', 'main', '{"default_mem_per_cpu": 0}', '.*for "default_mem_per_cpu"'), ('partition', 'change', 'main', '{"sample": 86401}', '.*from 0 to 86400'), ('partition', 'change', 'main', '{"state": "none"}', '"state" needs a value'),
	('user', 'create', 'bad user', '{}', 'no user can have the name "bad user"'), ('association', 'create', 'nobody', '{}', '.*Write it like physics/alice'),
	('setting', 'change', 'sample_min_s', '{"value": -1}', '"-1" is no value for "sample_min_s" . Give a whole number from 0 to 2147483647'), ('setting', 'change', 'sample_min_s', '{"value": "none"}', '"sample_min_s" needs a value'),
	('setting', 'change', 'max_steps', '{"value": 3000000000}', '.*no value for "max_steps"'), ('setting', 'change', 'fair_share_half_life_s', '{"value": 0}', '.*from 1 to'), ('setting', 'change', 'range_size', '{"value": 9999}', '.*from 10000 to'),
	('reservation', 'create', 'r', '{"start": "now", "nodes": "n1", "duration": 0}', '"0" is no value for "duration" . Give a time like 30'),
	('reservation', 'create', 'r', '{"start": "now", "nodes": "n1", "duration": "none"}', 'a reservation needs'), ('reservation', 'create', 'r', '{"start": "infinity", "nodes": "n1", "duration": 5}', '"infinity" is no value for "start"'),
	('reservation', 'create', 'r', '{"start": "now+999999999weeks", "nodes": "n1", "duration": 5}', '"start" must be a time'), ('reservation', 'create', 'r', '{"start": "2040-01-01 10:00 Foo/Bar", "nodes": "n1", "duration": 5}', '"start" must be a time'),
	('reservation', 'create', 'r', '{"start": "now", "nodes": "n1", "duration": 5, "time_zone": "Foo"}', 'there is no time zone "Foo"'),
	('reservation', 'create', 'bad name', '{"start": "now", "nodes": "n1", "duration": 5}', 'no reservation can have')) x (o, a, n, v, w);

select is(t.admin('user', 'create', u), 'true', 'a user with a domain or a dollar: ' || u) from unnest(array['al@corp.example', 'CORP\al', 'node7$']) u;
select is(t.admin('user', 'delete', u), 'true', 'gone again') from unnest(array['al@corp.example', 'CORP\al', 'node7$']) u;

-- Partitions.
select is(t.admin('partition', 'create', 'big', '{"max_time": "2-12", "default_time": "1:30:00", "default_mem_per_cpu": "2G", "nodes": "n[1-2],n4", "priority": "7", "allow_users": "a,b", "max_nodes": 3, "idle_timeout": "20", "default": "yes"}'), 'true', 'a partition');
select is((select (p.*)::text from rota.partition p where partition = 'big'), '(big,up,t,7,216000,5400,3,2048,"{a,b}",,,30,1200,0,0,off,,,,requeue)', 'as written');
select is((select array_agg(partition) from rota.partition where is_default), '{big}', 'the default moves');
select is((select array_agg(node_id order by node_id) from rota.partition_node where partition = 'big'), '{1,2,4}', 'its nodes');
select is(t.admin('partition', 'change', 'big', '{"nodes": "all", "allow_users": "none", "max_time": "none", "default_time": 0, "idle_timeout": 0}'), 'true', 'changed');
select is((select (p.*)::text from rota.partition p where partition = 'big'), '(big,up,t,7,,,3,2048,,,,30,,0,0,off,,,,requeue)', 'none is none');
select is((select count(*) from rota.partition_node where partition = 'big'), 4::bigint, 'all nodes');
select is(t.admin('partition', 'change', 'big', '{"priority": 7}'), 'false', 'nothing to change');
select is(t.admin('partition', 'change', 'big', '{"max_time_s": 90}'), 'true', 'in seconds');
select is((select max_time_s from rota.partition where partition = 'big'), 90::bigint, 'as seconds');
select is(internal.text_seconds(w), s, 'time ' || w) from unnest('{5,5:30,1:00:00,1-0,1-2:3,1-2:3:4,x,1:2:3:4,-5}'::text[], '{300,330,3600,86400,93780,93784,null,null,null}'::bigint[]) x (w, s);
select is(internal.text_mebibytes(w), s, 'size ' || w) from unnest('{5,5M,2G,1t,512K,2GiB,x,-1}'::text[], '{5,5,2048,1048576,1,2048,null,null}'::bigint[]) x (w, s);
select is(array(select internal.hosts_expand(w)), s::text[], 'hosts ' || w) from (values ('n1', '{n1}'), ('n1,m2', '{n1,m2}'), ('n[1-3]', '{n1,n2,n3}'), ('n[08-10,12]-ib, x', '{n08-ib,n09-ib,n10-ib,n12-ib,x}'), ('', '{}')) x (w, s);
select t.submit('alice', '[{"name": "a", "partition": "big", "time_limit_s": 30}]') as j \gset
select matches(t.admin('partition', 'delete', 'big'), '^RT409.*in use by ' || :'j' || '.a', 'not while a step waits for it');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select is(t.admin('partition', 'delete', 'big'), 'true', 'deleted');

-- Nodes.
select is(t.admin('node', 'create', 'm[01-03]', '{"cpus": 8, "mem": "4G", "features": "ib,avx", "weight": 3, "gres": "gpu:2,fpga:1", "hardware_check": "no", "partitions": "main"}'), 'true', 'three nodes at once');
select is((select array_agg(name || ' ' || cpus || ' ' || mem_mb || ' ' || features::text || ' ' || weight || ' ' || state order by name) from rota.node where name like 'm%'),
	'{"m01 8 4096 {ib,avx} 3 unknown","m02 8 4096 {ib,avx} 3 unknown","m03 8 4096 {ib,avx} 3 unknown"}', 'as written');
select is((select string_agg(gres || unit, ' ' order by gres, unit) from rota.node_gres g join rota.node using (node_id) where name = 'm02'), 'fpga0 gpu0 gpu1', 'its units');
select is(t.admin('node', 'change', 'm02', '{"gres": "gpu:1"}'), 'true', 'fewer units');
select is((select string_agg(gres || unit, ' ' order by gres, unit) from rota.node_gres g join rota.node using (node_id) where name = 'm02'), 'gpu0', 'gone');
select is(t.admin('node', 'change', 'm02', '{"partitions": "", "features": ""}'), 'true', 'out of all partitions');
select matches(t.admin('node', 'change', 'm02', '{"gres": "gpu two"}'), '^RT422', 'not a unit');
select matches(t.admin('node', 'change', 'm02', '{"partitions": "nix"}'), '^RT404', 'no such partition');
select is(t.admin('node', 'delete', 'm[01-03]'), 'true', 'deleted');
select t.admin('partition', 'change', 'main', '{"default": true}') \g /dev/null
select t.submit('alice', '[{"name": "a", "cpus_per_task": 3, "mem_mb": 1000}]') as j \gset
select t.start(:'j' || '.a', '{2}', '{"gres": {"gpu": [1]}}') \g /dev/null
select matches(t.admin('node', 'change', 'n2', '{"cpus": 2}'), '^RT409.*node "n2" cannot get fewer CPUs than the 3 that', 'CPUs in use');
select matches(t.admin('node', 'change', 'n2', '{"mem": "999"}'), '^RT409.*node "n2" cannot get less memory than the 1000 MiB that', 'memory in use');
select matches(t.admin('node', 'change', 'n2', '{"gres": "gpu:1"}'), '^RT409.*device 1 of "gpu" on node "n2" is in use by ' || :'j' || '.a', 'a unit in use');
select matches(t.admin('node', 'delete', 'n2'), '^RT409.*in use by ' || :'j' || '.a', 'a node in use');
select is(t.admin('node', 'change', 'n2', '{"cpus": 3, "mem": 1000, "gres": "gpu:2,fpga:1"}'), 'true', 'down to what is used');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select matches(t.admin('node', 'delete', 'n2'), '^RT409.*history.*Drain it', 'a node that history names');
select t.right('changes under load');
-- A node configured with more CPUs than were found is not used; with fewer CPUs, it is used again.
select is(t.admin('node', 'change', 'n3', '{"cpus": 64}'), 'true', 'more than it has');
select is((select state || ': ' || reason from rota.node where name = 'n3'), 'invalid: 4 CPUs found, 64 prescribed', 'is not used');
select is(t.admin('node', 'change', 'n3', '{"hardware_check": "false"}'), 'true', 'unless nobody looks');
select is((select state from rota.node where name = 'n3'), 'up', 'used');
select t.admin('node', 'change', 'n3', '{"cpus": 4, "hardware_check": "true"}') \g /dev/null

-- Accounts, users, qualities of service, licences.
select is(t.admin('account', 'create', 'uni', '{"description": "the university"}'), 'true', 'an account');
select is(t.admin('account', 'create', 'phys', '{"parent": "uni", "users": "alice,bob:5"}'), 'true', 'below it another, for two users');
select is((select array_agg(user_name || coalesce(':' || most, '') order by user_name) from rota.association left join rota.usage_limit using (account, user_name) where account = 'phys'), '{alice,bob:5}', 'with limits');
select matches(t.admin('account', 'change', 'uni', '{"parent": "phys"}'), '^RT422.*own ancestor', 'no circles');
select matches(t.admin('account', 'create', 'x', '{"parent": "nix"}'), '^RT404', 'no such parent');
select matches(t.admin('account', 'delete', 'uni'), '^RT409', 'a parent stays');
select matches(t.admin('account', 'change', 'phys', '{"users": "a b"}'), '^RT422', 'not a name');
select is(t.admin('user', 'create', 'carl', '{"accounts": "phys:2,uni", "default_account": "phys"}'), 'true', 'a user');
select is((select array_agg(account || coalesce(':' || most, '') order by account) from rota.association left join rota.usage_limit using (account, user_name) where user_name = 'carl'), '{phys:2,uni}', 'with accounts');
select is(t.admin('user', 'change', 'carl', '{"accounts": "uni"}'), 'true', 'with one');
select is((select array_agg(account) from rota.association where user_name = 'carl'), '{uni}', 'left');
select matches(t.admin('user', 'change', 'carl', '{"role": "god"}'), '^RT422', 'no such role');
select matches(t.admin('user', 'change', 'carl', '{"default_account": "nix"}'), '^RT404', 'no such account');
-- An account without users is open to all. So its last user cannot be removed, unless the change says so.
select is(t.admin(o, a, n, v::jsonb), 'RT409 | account "uni" would be left without users, and so open to all | Give it another user first, delete it, or open it: rota admin account change uni --users=none.', concat_ws(' ', 'refused:', o, a, n, v))
from (values ('user', 'delete', 'carl', '{}'), ('association', 'delete', 'uni/carl', '{}'), ('user', 'change', 'carl', '{"accounts": "phys"}'), ('user', 'change', 'carl', '{"accounts": "none"}')) x (o, a, n, v);
select is(t.shown('account', 'uni', 'users') ? 'carl', true, 'the last user stays');
select is(t.admin('account', 'change', 'uni', '{"users": "carl,dan"}'), 'true', 'with another one');
select is(t.admin('association', 'delete', 'uni/dan'), 'true', 'who may go');
-- Custom plans, as in a session that has made few objects.
set local plan_cache_mode = force_custom_plan;
select is(t.admin('association', 'create', 'uni/dan'), 'true', 'its name is no login of a node');
select is(t.admin('association', 'create', 'uni/dan') like '%there is an association "uni/dan" already%', true, 'once');
reset plan_cache_mode;
select is(t.admin('association', 'delete', 'uni/dan'), 'true', 'who may go again');
select is(t.admin('account', 'change', 'uni', '{"users": "none"}'), 'true', 'or where it is said so');
select is(t.admin('user', 'delete', 'carl'), 'true', 'gone');
select is((select count(*) from rota.association where user_name = 'carl'), 0::bigint, 'with his accounts');
-- A user or account that a pending job names cannot be deleted: the limits of its parent accounts are found by its name.
select is(t.admin('account', 'change', 'uni', '{"max_running": 1}'), 'true', 'a limit above');
select t.submit('alice', '[{"name": "a"}]', '[]', '{"account": "phys"}') as j \gset
select is(t.admin('account', 'delete', 'phys'), 'RT409 | account "phys" is in use by job ' || :'j' || ' | Wait for what uses it to end, or cancel that.', 'not while a job names it');
select t.admin('user', 'create', 'alice') \g /dev/null
select matches(t.admin('user', 'delete', 'alice'), '^RT409.*user "alice" is in use by job ' || :'j', 'nor whose job it is');
select is((select count(*) from rota.association where account = 'phys' and user_name = 'alice'), 1::bigint, 'who may use it as before');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select is(t.admin('account', 'delete', 'phys'), 'true', 'an account goes');
select is(t.admin('qos', 'create', 'fast', '{"priority": 5, "max_time": "1:00:00", "max_running_per_user": 3}'), 'true', 'a quality of service');
select is((select (q.*)::text || internal.admin_limits('qos', 'fast') from rota.qos q where qos = 'fast'), '(fast,5,,0,,,,){"max_time_s": 3600, "max_running_per_user": 3}', 'as written');
select is(t.admin('qos', 'delete', 'fast'), 'true', 'gone');
select matches(t.admin('qos', 'delete', 'normal'), '^RT409', 'one stays');
select is(t.admin('license', 'create', 'lic', '{"total": 2}'), 'true', 'a licence');
update rota.license set used = 1;
select matches(t.admin('license', 'change', 'lic', '{"total": 0}'), '^RT409.*licence "lic" cannot get a total below the 1 that', 'in use');
select matches(t.admin('license', 'delete', 'lic'), '^RT409.*in use', 'in use');
update rota.license set used = 0;
select is(t.admin('license', 'delete', 'lic'), 'true', 'gone');

-- Settings.
select is(t.admin('setting', 'change', 'requeue_max', '{"value": "9"}'), 'true', 'a setting');
select is(internal.setting_int('requeue_max'), 9, 'counts');
select matches(t.admin('setting', 'change', 'requeue_max', '{"value": "often"}'), '^RT422', 'not its kind');
select matches(t.admin('setting', 'change', 'requeue_max', '{"value": "-1"}'), '^RT422', 'below nothing');
select matches(t.admin('setting', 'change', 'requeue_max', '{"value": ""}'), '^RT422', 'no value');
select matches(t.admin('setting', 'change', 'requeue_mx', '{"value": "9"}'), '^RT404.*Did you mean "requeue_max"', 'a near one');
select matches(t.admin('setting', 'create', 'mine', '{"value": "9"}'), '^RT422', 'none is made');
select matches(t.admin('setting', 'delete', 'requeue_max'), '^RT409', 'none goes');
-- The record of changes.
select is((select concat_ws(' ', actor, object, action, name, given, before ->> 'value', after ->> 'value') from rota.admin_event order by admin_event_id desc limit 1),
	'root setting change requeue_max {"value": "9"} 5 9', 'who changed what, from what to what');
select is((select count(*) from rota.admin_event where object = 'node' and name like 'm0%' and action = 'create'), 3::bigint, 'each node for itself');
select is((select count(*) from rota.admin_event where before is not distinct from after), 0::bigint, 'and nothing that changed nothing');
-- Each key of each object, once changed, is shown and recorded. Values are chosen by key for words, and by type for others.
select t.admin('account', 'create', 'above'), t.admin('account', 'create', 'team', '{"users": "udo"}'), t.admin('user', 'create', 'udo'), t.admin('user', 'create', 'una'),
	t.admin('qos', 'create', 'mine'), t.admin('license', 'create', 'mine', '{"total": 2}'), t.admin('partition', 'create', 'mine'), t.admin('node', 'create', 'mine', '{"cpus": 8, "mem": "4G"}'),
	t.admin('image', 'create', 'mine'), t.admin('prep', 'create', 'mine', '{"program": "old"}'), t.admin('check', 'create', 'mine', '{"program": "old"}'),
	t.admin('reservation', 'create', 'mine', '{"start": "now+1hours", "duration": "1:00", "nodes": "n1"}'),
	t.admin('price', 'create', 'mine', '{"from": "2030-01", "per_unit": "1"}'), t.admin('carbon', 'create', 'mine', '{"from": "2030-01", "g_per_kwh": "1"}'),
	t.admin('grant', 'create', 'mine', '{"account": "team", "units": "1", "first_day": "2030-01-01", "last_day": "2030-12-31"}') \g /dev/null
update rota.node_image set failures = 2 where image = 'mine';
update rota.node_prep set failures = 2 where prep = 'mine';
create temporary table given as
select k.object, k.key, k.n, case k.object when 'account' then 'team' when 'user' then 'udo' when 'association' then 'team/udo' when 'setting' then 'sample_days' else 'mine' end as name,
	coalesce(v.value, case split_part(k.kind, ' ', 1) when 'int' then (1000 + k.n)::text when 'time' then (100 + k.n)::text when 'size' then (5000 + k.n)::text when 'bool' then 'true' when 'list' then 'x,y' when 'word' then 'why' when 'file' then 'do-it'
		when 'amounts' then 'gpu:' || k.n when 'budgets' then k.n || '/day' when 'gres_budgets' then 'gpu:' || k.n || '/day'
		when 'weights' then 'cpu:' || k.n when 'rate' then k.n::text when 'hours' then k.n::text end) as value
from (select x.*, row_number() over (order by x.object, x.key) as n from internal.admin_key_list() x) k
left join (values ('state', 'down'), ('role', 'operator'), ('is_default', 'false'), ('hardware_check', 'false'), ('power_saving', 'false'), ('partitions', 'mine'), ('nodes', 'n2'), ('gres', 'gpu:3'), ('parent', 'above'),
	('description', 'of ours'), ('users', 'udo:4,una'), ('coordinators', 'udo'), ('default_account', 'team'), ('accounts', 'team'), ('value', '77'), ('start', 'now+2hours'), ('end', 'now+4hours'),
	('recurs', 'daily'), ('time_zone', 'Asia/Tokyo'), ('failing_at', 'now+2hours'), ('from', '2031-02'), ('currency', 'USD'), ('account', 'above'),
	('first_day', '2030-02-01'), ('last_day', '2030-11-30'), ('at_end', 'low_priority'), ('default_image', 'mine'), ('failures', '0'), ('tier', '7'), ('preempt', 'cancel'), ('preempt_otherwise', 'spare'), ('action', 'drain')) v (key, value) using (key)
where (k.object <> 'node' or k.key not in ('reason', 'deadline', 'end_steps', 'login'))
	-- This key is accepted only together with billing.
	and k.key <> 'billing_from';
select is((select string_agg(concat_ws(' ', g.object, g.key, a.answer), '; ') from given g cross join lateral (select t.admin(g.object, 'change', g.name, jsonb_build_object(g.key, g.value)) as answer offset 0) a
	where a.answer <> 'true'), null, 'every key changes what is seen of its object');
select is((select string_agg(g.object || ' ' || g.key, ', ') from given g where not exists (select from rota.admin_event e where e.object = g.object and e.name = g.name and e.given = jsonb_build_object(g.key, g.value))),
	null, 'and each is recorded');
select is((select e.after -> 'coordinators' from rota.admin_event e where e.given ? 'coordinators'), '["udo"]', 'so are coordinators');
select is(t.admin('account', 'change', 'team', '{"coordinators": "udo"}'), 'false', 'who are what they were');
select is((select jsonb_build_array(e.before -> 'is_default', e.after -> 'is_default', e.name) from rota.admin_event e where e.given = '{"default": false}' order by e.admin_event_id desc limit 1),
	'[true, false, "main"]', 'a partition that is the default no more has that recorded, too');
-- The users of an account are shown with and without a limit. Deleting a user or an account records what is deleted with it.
select t.admin('account', 'change', 'team', '{"users": "una,udo:4"}') \g /dev/null
select is(jsonb_build_array(u -> 'udo' -> 'max_running', u -> 'una'), '[4, {"shares": 1}]', 'users without a limit are shown') from t.shown('account', 'team', 'users') u;
select is((select array_agg(r ->> 'account' || '/' || (r ->> 'user_name')) from jsonb_array_elements(api.admin_change(t.uid('olga'), 'olga', '{"object": "association", "action": "show", "name": ""}') -> 'rows') r),
	array(select a.account || '/' || a.user_name from rota.association a order by 1), 'all associations, which have two names, to an operator');
select is(t.shown('user', 'una', 'accounts'), '{"team": {"shares": 1}}', 'as are their accounts');
select is(t.shown('account', 'above', 'users'), null, 'an open account has none');
select is(t.shown('user', 'udo', 'coordinates'), '["team"]', 'a user shows what he coordinates');
select is(t.admin('user', 'delete', 'udo'), 'true', 'he goes');
select is((select e.before -> 'coordinates' from rota.admin_event e where e.object = 'user' and e.action = 'delete' order by e.admin_event_id desc limit 1), '["team"]', 'with what he coordinated, on record');
select is(t.shown('account', 'team', 'coordinators'), '[]', 'and is coordinator no more');
select throws_ok('update rota.admin_event set actor = null', '23001', null, 'the record is not changed');
select throws_ok('delete from rota.admin_event', '23001', null, 'nor shortened');
select * from finish();
rollback;
