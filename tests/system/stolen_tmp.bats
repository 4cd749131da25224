#!/usr/bin/env bats
# What a step leaves in /tmp and /dev/shm: with launcher.private_tmp no other step sees it, and nothing stays.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rstm$$ TMPDIR=/var/tmp # the instance must not be in a folder that is hidden from steps
	users_add "$EVE"
	instance_up 1 --cpus 4 --mem 4000 --set launcher.min_uid=1000 --set launcher.private_tmp=1
	export FOLDER=$ROTA_TEST_DIR/$EVE
	folders_add "$EVE"
}

teardown_file() {
	instance_users_down "$EVE"
}

setup() {
	need_root
}

@test "each step has a /tmp and a /dev/shm of its own, which all of its tasks share" {
	touch "/tmp/$EVE.public" "/dev/shm/$EVE.public"
	run_as_eve --ntasks=2 --run=tasks <<-END
		#!/bin/bash
		for folder in /tmp /dev/shm; do
			[ -e "\$folder/$EVE.public" ] && echo "sees \$folder"
			touch "\$folder/$EVE.\$ROTA_TASK_ID"
			until [ -e "\$folder/$EVE.0" ] && [ -e "\$folder/$EVE.1" ]; do sleep 0.1; done
		done
		echo end
	END
	rm "/tmp/$EVE.public" "/dev/shm/$EVE.public"
	[ "$output" = "$(printf 'end\nend')" ]
	[ ! -e "/tmp/$EVE.0" ] && [ ! -e "/dev/shm/$EVE.0" ]
	run_as_eve <<-END
		#!/bin/bash
		ls -A /tmp /dev/shm | grep -c "$EVE"
	END
	[ "$output" = 0 ]
}

@test "what a step leaves is removed, however deep, and no link of it is followed" {
	mkdir "$FOLDER/kept"
	touch "$FOLDER/kept/file"
	chown -R root: "$FOLDER/kept"
	run_as_eve <<-END
		#!/bin/bash
		awk '\$5 == "/tmp" || \$5 == "/dev/shm" { print \$4 }' /proc/self/mountinfo >"$FOLDER/private"
		cd /tmp && ln -s "$FOLDER/kept" link && mkdir -p a/b closed/c && ln -s "$FOLDER/kept" a/b/link && touch closed/c/file
		chmod 000 closed/c closed
		for i in {1..300}; do mkdir deep && cd deep || exit; done
		touch /dev/shm/file
		echo end
	END
	[ "$output" = end ]
	[ -e "$FOLDER/kept/file" ]
	private=$(sed -n 's,.*/\(rota-private\.[^/]*\)/.*,\1,p' "$FOLDER/private")
	[ "$(wc -l <<<"$private")" = 2 ]
	for name in $private; do
		eventually test ! -e "/tmp/$name"
		eventually test ! -e "/dev/shm/$name"
	done
}
