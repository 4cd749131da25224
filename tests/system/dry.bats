#!/usr/bin/env bats
# An instance that starts nothing (launcher.dry_run), for measurements: orders, journal, reports and accounting are the real ones.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 3 --cpus 4 --mem 2000 --set launcher.dry_run=1 --set node.grace=1
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# rows SQL ANSWER: the answer of a query of the views.
rows() {
	[ "$(superuser "$1")" = "$2" ] || { superuser "$1"; return 1; }
}

@test "a dry instance is reported as one" {
	grep -q 'steps are reported as completed, but nothing is run' "$ROTA_TEST_DIR/up.log"
	[ "$(rota status --json | jq '[.processes[] | select(.role == "procmgrd" and (.version | contains("dry run")))] | length')" = 3 ]
	grep -q 'dry run' "$ROTA_HOME/log/launcher.n1.log"
}

@test "a step is over at once, with every record and without a process" {
	printf '%s\n' '#!/bin/bash' "touch '$PWD/was-run'" 'exit 3' >job.sh
	job=$(rota submit --parsable --array=0-99 job.sh)
	rota wait --timeout=300 "$job"
	[ ! -e was-run ]
	rows "select count(*), sum(exit_code) from rota.task_end where job_id = $job" '100|0'
	eventually rows "select count(*) from rota.allocation where job_id = $job and gone_at is not null and phase = 'ended'" 100
	rows "select distinct state from rota.attempt where job_id = $job" completed
}

@test "steps over several nodes wait for each other, and groups for their last step" {
	printf '%s\n' '#!/bin/bash' '#ROTA step wide --nodes=3 --run=tasks --ntasks=6' 'true' '#ROTA step once --nodes=2 --after=wide' 'true' \
		'#ROTA step a --group=g --after=once' 'true' '#ROTA step b --group=g --after=a --same-nodes=a' 'true' >wide.sh
	job=$(rota submit --parsable wide.sh)
	rota wait --timeout=300 "$job"
	rows "select count(*) from rota.task_end where job_id = $job" 9
	eventually rows "select count(*) from rota.allocation where job_id = $job and gone_at is null" 0
	rows 'select count(*) from rota.rejected_report' 0
}

@test "an order with a wrong signature is refused as ever" {
	printf '%s\n' '#!/bin/bash' true >job.sh
	pid=$(pid_of procmgrd n1)
	kill -STOP "$pid"
	job=$(rota submit --parsable --nodelist=n1 job.sh)
	eventually rows "select count(*) from rota.node_order where job_id = $job" 1
	superuser "update rota.node_order set signature = set_byte(signature, 5, get_byte(signature, 5) # 1) where job_id = $job"
	kill -CONT "$pid"
	rota wait --timeout=300 "$job" || true
	rows "select distinct cause from rota.attempt where job_id = $job" refused
}

@test "a waiting attempt whose launcher is stopped runs again" {
	printf '%s\n' '#!/bin/bash' true >job.sh
	pid=$(pid_of launcher n2)
	kill -STOP "$pid"
	job=$(rota submit --parsable --nodes=3 job.sh)
	eventually rows "select count(*) from rota.allocation where job_id = $job and phase = 'ready'" 2
	other=$(pid_of launcher n1)
	# The launcher ends before the third node is ready, so no message to go on reaches it.
	kill -TERM "$other"
	eventually are_dead "$other"
	kill -CONT "$pid"
	rota up -q
	rota wait --timeout=300 "$job"
	rows "select count(*) > 1 from rota.attempt where job_id = $job" t
}

@test "one process manager serves many virtual nodes" {
	rota down
	more='insert into rota.node (name, cpus, mem_mb, hardware_check, login) select $$n$$ || i, 4, 2000, false, $$n$$ from generate_series(4, 40) i'
	rota up -q --set launcher.dry_run=0 --set launcher.virtual=40
	superuser "$more"
	superuser "insert into rota.partition_node (partition, node_id) select 'main', n.node_id from rota.node n where n.name not in ('n1', 'n2', 'n3')"
	# The nodes' leases from before the restart may last, so nodes can be up before their new process manager has connected.
	eventually rows "select count(*) from rota.daemon where role = 'procmgrd' and name = 'n'" 1
	kill "$(pid_of procmgrd n)"
	eventually rows "select count(*) from rota.node where state = 'up'" 40
	rows "select count(*), count(distinct notify_node_id) from rota.node_lease" '40|1'
	printf '%s\n' '#!/bin/bash' true >job.sh
	wide=$(rota submit --parsable --nodes=40 --run=tasks --ntasks=80 job.sh)
	many=$(rota submit --parsable --array=0-399 job.sh)
	rota wait --timeout=300 "$wide" "$many"
	rows "select count(*), count(distinct node_id) from rota.task_end where job_id = $wide" '80|40'
	rows "select count(*) from rota.task_end where job_id = $many" 400
	eventually rows "select count(*) from rota.allocation where job_id in ($wide, $many) and gone_at is null" 0
}
