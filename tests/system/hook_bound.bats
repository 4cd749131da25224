#!/usr/bin/env bats
# The bound on the number of programs of all kinds that runnerd runs at once.

load helper
load staging

setup_file() {
	site_make < <(
		recorder
		cat <<-'END'
			local data_in = slurm_bb_data_in
			function slurm_bb_data_in(...)
				os.execute(site .. "/count")
				return data_in(...)
			end
		END
	)
	mkdir -m 0777 "$SITE/running"
	# A program that records how many run at once, and waits for the file go.
	cat >"$SITE/count" <<-'END'
		#!/bin/bash
		site=${0%/*}
		mkdir "$site/running/$$"
		ls "$site/running" | wc -l >>"$site/counts"
		until [ -e "$site/go" ]; do sleep 0.3; done
		rmdir "$site/running/$$"
	END
	chmod 0755 "$SITE/count"
	instance_up 1 "${SITE_OPTIONS[@]}" --set hooks.calls=8 --set controller.prolog="$SITE/count"
}

teardown_file() {
	local status=0
	touch "$SITE/go"
	instance_down || status=1
	site_remove
	return "$status"
}

@test "of all kinds together, no more programs run than hooks.calls, and each kind can run one" {
	local jobs=()
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/bash\ntrue\n' >plain
	for i in 1 2 3 4 5; do
		jobs+=("$(submit stage)" "$(rota submit --parsable --output=/dev/null plain)")
	done
	# Of eight places, one is reserved for each of the five kinds that run no program now.
	full() { [ "$(ls "$SITE/running" | wc -l)" = 3 ]; }
	eventually full
	# The end of a function that ran before may not be stored yet.
	both_kinds() { [ "$(sql "select count(*) between 1 and 2 from rota.staging_call where began_at is not null and ended_at is null")" = t ]; }
	eventually both_kinds
	touch "$SITE/go"
	rota wait --timeout=300 "${jobs[@]}"
	[ "$(sort -n "$SITE/counts" | tail -n 1)" = 3 ]
	[ "$(wc -l <"$SITE/counts")" = 15 ] # five times data_in, ten prologs
}
