#!/usr/bin/env bats
# Sub-steps while the disk of their node is full.

load helper

setup_file() {
	need_root
	instance_up 1 --cpus 4 --set node.disk_floor_mb=1
	rota down
	mount -t tmpfs -o size=8m,mode=0751 rota "$ROTA_HOME/node/n1"
	rota up >/dev/null
}

teardown_file() {
	[ -z "${ROTA_HOME:-}" ] || ! mountpoint -q "$ROTA_HOME/node/n1" || rota down
	[ -z "${ROTA_HOME:-}" ] || ! mountpoint -q "$ROTA_HOME/node/n1" || umount "$ROTA_HOME/node/n1"
	instance_down
}

@test "a full disk loses no end of a sub-step, and what is new waits until there is room" {
	cd "$BATS_TEST_TMPDIR"
	cat >job.sh <<-'END'
		#!/bin/bash
		for i in $(seq 20); do
			rota run --name=before sh -c 'touch begun.$0; until [ -e full ]; do sleep 0.3; done; exit 3' "$i" &
		done
		rota run --name=again --retry=1 sh -c 'test -e again || ! touch again' &
		until [ -e full ]; do sleep 0.3; done
		seq 200 | rota run --each sh -c 'echo "$1" >>lines' sh 2>each.err &
		# The records take more space than was reserved before.
		large=$(head -c 100000 /dev/zero | tr '\0' x)
		A=$large B=$large rota run --name=new sh -c 'touch new' 2>new.err &
		until [ -e room ]; do sleep 0.3; done
		wait
		echo over >>finished
		rota run --ntasks=3 --label sh -c 'exit $ROTA_TASK_ID'
		echo "exit $?" >>finished
	END
	job=$(rota submit --parsable --cpus-per-task=4 --output=job.out job.sh)
	begun() { [ "$(find . -name 'begun.*' | wc -l)" -ge 4 ]; }
	eventually begun
	dd if=/dev/zero of="$ROTA_HOME/node/n1/fill" bs=64k 2>/dev/null || true
	filled() { # a daemon may remove a file meanwhile
		dd if=/dev/zero of="$ROTA_HOME/node/n1/rest" bs=512 oflag=append conv=notrunc 2>/dev/null || true
		[ "$(stat -f -c %a "$ROTA_HOME/node/n1")" = 0 ]
	}
	eventually filled
	touch full
	eventually grep -qs 'waits: disk' new.err || { cat new.err; rota steps "$job"; false; }
	ends() { rota sql -At -c "select count(*) from rota.substep where job_id = $job and name = 'before' and state = 'failed' and exit_code = 3"; }
	all() { [ "$(ends)" = 20 ]; }
	eventually all || { rota steps "$job"; false; }
	[ ! -e new ]
	[ ! -e room ]
	rm "$ROTA_HOME/node/n1/fill" "$ROTA_HOME/node/n1/rest"
	touch room
	run rota wait -q --timeout=300 "$job"
	[ "$(cat finished)" = $'over\nexit 2' ] || { cat finished job.out new.err each.err; false; }
	[ -e new ]
	cmp <(sort -n lines) <(seq 200)
	recorded() { [ "$(rota sql -At -c "select state, runs, count(*) from rota.substep where job_id = $job group by 1, 2 order by 1, 2")" = "$1" ]; }
	eventually recorded $'completed|1|201\ncompleted|2|1\nfailed|1|21' || { rota acct --substeps "$job"; false; }
}
