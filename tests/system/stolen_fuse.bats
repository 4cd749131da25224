#!/usr/bin/env bats
# File systems that a user mounts by FUSE: a step with one works, and one whose server does not answer holds up neither the end of its
# step nor the node. Afterwards no mount is left.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rsfu$$
	users_add "$EVE"
	instance_up 1 --cpus 4 --mem 4000 --set launcher.min_uid=1000
	export FOLDER=$ROTA_TEST_DIR/$EVE FIRST=$ROTA_TEST_DIR
	folders_add "$EVE"
	# Users can open the device as Debian's udev has it; a machine without udev may differ.
	[ -c /dev/fuse ] || return 0
	FUSE_MODE=$(stat -c %a /dev/fuse)
	export FUSE_MODE
	chmod 666 /dev/fuse
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	[ -z "${FUSE_MODE:-}" ] || chmod "$FUSE_MODE" /dev/fuse
	instance_users_down "$EVE" || status=1
	return "$status"
}

setup() {
	need_root
	[ -c /dev/fuse ] || skip "the kernel has no FUSE"
	mkdir -p "$FOLDER/plain" "$FOLDER/mount"
	chown "$EVE:" "$FOLDER/plain" "$FOLDER/mount"
}

teardown() {
	local left
	umount "$FIRST/site" 2>/dev/null || true
	[ "${ROTA_TEST_DIR:-}" = "${FIRST:-}" ] || instance_down
	left=$(mounts)
	[ -z "$left" ] || { echo "left mounted: $left" >&2; umount -l $left; return 1; }
}

# mounts: prints the mount points of EVE's FUSE mounts.
mounts() {
	awk -v user=",user_id=$(id -u "$EVE")," '/ - fuse/ && index($0, user) { print $5 }' /proc/self/mountinfo
}

# node_works: the node accepts jobs, and runs the next one.
node_works() {
	[ "$(rota nodes --json | jq -r '.nodes[0].state')" = up ]
	run_as_eve <<-'END'
		#!/bin/bash
		echo next
	END
	[ "$output" = next ]
}

@test "a step uses a file system of its own, which ends with it" {
	run_as_eve <<-END
		#!/bin/bash
		cd /
		bindfs --no-allow-other "$FOLDER/plain" "$FOLDER/mount" || exit
		echo text >"$FOLDER/mount/file"
		cat "$FOLDER/mount/file"
	END
	[ "$output" = text ]
	[ "$(cat "$FOLDER/plain/file")" = text ]
	eventually not_mounted
	node_works
}

not_mounted() {
	[ -z "$(mounts)" ]
}

@test "a stopped server over the step's own folder does not hold up the node" {
	run_as_eve <<-END
		#!/bin/bash
		echo before
		(cd / && exec bindfs --no-allow-other -o nonempty "$FOLDER/plain" "$FOLDER") || exit
		pkill -STOP -u "$EVE" bindfs
		(cd / && ls "$FOLDER") &
		echo after
	END
	[ "$output" = "$(printf 'before\nafter')" ]
	eventually not_mounted
	node_works
}

@test "a process that waits for its own server is killed, at the end of the step and by cancelling" {
	cp "$BATS_TEST_DIRNAME/fuse_stuck.py" "$FOLDER/"
	run_as_eve <<-END
		#!/bin/bash
		python3 "$FOLDER/fuse_stuck.py" "$FOLDER/mount" stop >"$FOLDER/stuck" &
		until grep -qs stuck "$FOLDER/stuck"; do sleep 0.1; done
		echo end
	END
	[ "$output" = end ]
	[ "$(rota show --json "$job" | jq -r '.jobs[0].state')" = completed ]
	eventually not_mounted
	node_works
	cat >"$FOLDER/script.sh" <<-END
		#!/bin/bash
		exec python3 "$FOLDER/fuse_stuck.py" "$FOLDER/mount"
	END
	cd "$FOLDER"
	job=$(as "$EVE" rota submit --parsable --output="$FOLDER/%j.out" script.sh)
	eventually grep -qs stuck "$FOLDER/$job.out"
	as "$EVE" rota cancel "$job"
	rota wait "$job" || true
	eventually not_mounted
	node_works
}

@test "file systems of other users and of root stay as they are" {
	mkdir "$ROTA_TEST_DIR/site" "$ROTA_TEST_DIR/site.files"
	touch "$ROTA_TEST_DIR/site.files/file"
	bindfs "$ROTA_TEST_DIR/site.files" "$ROTA_TEST_DIR/site"
	run_as_eve <<-END
		#!/bin/bash
		cd /
		bindfs --no-allow-other "$FOLDER/plain" "$FOLDER/mount" && pkill -KILL -u "$EVE" bindfs
		ls "$FOLDER/mount" 2>/dev/null || echo dead
	END
	[ "$output" = dead ]
	eventually not_mounted
	[ -e "$ROTA_TEST_DIR/site/file" ]
	umount "$ROTA_TEST_DIR/site"
	node_works
}

@test "a step with a /tmp of its own leaves no mount in it, and nothing of it" {
	TMPDIR=/var/tmp instance_up 1 --cpus 4 --mem 4000 --set launcher.min_uid=1000 --set launcher.private_tmp=1
	FOLDER=$ROTA_TEST_DIR/$EVE
	folders_add "$EVE"
	cp "$BATS_TEST_DIRNAME/fuse_stuck.py" "$FOLDER/"
	run_as_eve <<-END
		#!/bin/bash
		awk '\$5 == "/tmp" { print \$4 }' /proc/self/mountinfo >"$FOLDER/private"
		mkdir /tmp/mount /tmp/stuck /tmp/plain
		bindfs --no-allow-other /tmp/plain /tmp/mount && touch /tmp/mount/file && ls /tmp/plain
		python3 "$FOLDER/fuse_stuck.py" /tmp/stuck stop >"$FOLDER/stuck" &
		until grep -qs stuck "$FOLDER/stuck"; do sleep 0.1; done
		echo end
	END
	[ "$output" = "$(printf 'file\nend')" ]
	private=$(sed -n 's,.*/\(rota-private\.[^/]*\)/.*,\1,p' "$FOLDER/private")
	[ -n "$private" ]
	eventually test ! -e "/tmp/$private"
	node_works
}
