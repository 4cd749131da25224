# provisioner.bash - nodes that are torn down and made anew, as the program hooks.reboot asks. Each node is a tree of processes in
# namespaces of its own, with a boot id and a root file system of its own: below SITE/os, a node sees what is in SITE/images/IMAGE.

# site_new: make the folder SITE, which the daemons' account can enter.
site_new() {
	SITE=$(mktemp -d /tmp/rota-site.XXXXXX)
	export SITE
}

# site_make: the folders, and the program hooks.reboot, in SITE.
site_make() {
	chmod 0755 "$SITE"
	mkdir -m 0777 "$SITE/ask" "$SITE/calls"
	mkdir -m 0755 "$SITE/now" "$SITE/boot" "$SITE/programs" "$SITE/os" "$SITE/images"
	cat >"$SITE/programs/reboot" <<-END
		#!/bin/bash
		# reboot NODE [IMAGE]: files in now/ set the behaviour of the machine.
		echo "\$*" >"$SITE/calls/\$1.\$\$"
		while [ -e "$SITE/now/hangs" ]; do sleep 0.3; done
		if [ -e "$SITE/now/\$1.fails" ]; then echo "the controller of \$1 does not answer"; exit 3; fi
		echo "\${2:-}" >"$SITE/ask/.\$1"
		mv "$SITE/ask/.\$1" "$SITE/ask/\$1"
		while [ -e "$SITE/ask/\$1" ]; do sleep 0.3; done
		echo "booting \$1"
	END
	chmod 0755 "$SITE/programs/reboot"
	image_make none
	rm "$SITE/images/none/image"
}

# prep_make: the programs of the preparation `mode`, which writes into SITE/prepared/NODE how the node is prepared, and of the image `boot`.
prep_make() {
	mkdir -m 0777 "$SITE/prepared"
	ln -s reboot "$SITE/programs/boot"
	cat >"$SITE/programs/mode" <<-END
		#!/bin/bash
		# mode prepare|undo|verify NODE PREP [ARGS]: files in now/ set the behaviour of the machine.
		echo "\$*" >"$SITE/calls/\$2.\$\$"
		while [ -e "$SITE/now/hangs" ]; do sleep 0.3; done
		if [ -e "$SITE/now/\$2.\$1.fails" ] || [ -e "$SITE/now/\$4.fails" ]; then echo "\$1 fails"; exit 3; fi
		case \$1 in
		prepare) echo "\$3\${4:+ \$4}" >"$SITE/prepared/\$2" ;;
		undo) rm -f "$SITE/prepared/\$2" ;;
		verify) grep -qxF "\$3\${4:+ \$4}" "$SITE/prepared/\$2" ;;
		esac
	END
	chmod 0755 "$SITE/programs/mode"
}

# image_make IMAGE: a root file system that has its name in the file `image`.
image_make() {
	mkdir -m 0755 "$SITE/images/$1"
	echo "$1" >"$SITE/images/$1/image"
}

# node_start NODE IMAGE: start the node with this image, with a boot id that no node has had.
node_start() {
	cat /proc/sys/kernel/random/uuid >"$SITE/boot/$1.new"
	chmod 0644 "$SITE/boot/$1.new"
	mv "$SITE/boot/$1.new" "$SITE/boot/$1"
	setsid unshare --mount --uts --ipc --fork sh -c 'mount --bind "$0" /proc/sys/kernel/random/boot_id && mount --bind "$1" "$2" &&
		hostname "$3" && shift 3 && exec "$@"' "$SITE/boot/$1" "$SITE/images/$2" "$SITE/os" "$1" \
		rota-launcher --config "$ROTA_HOME/etc/rota.conf" --node "$1" >>"$ROTA_HOME/log/launcher.$1.log" 2>&1 3>&- &
}

# node_has_come NODE: the node has registered since it was started. Until its lease is over, one that does not run counts as up.
node_has_come() {
	[ "$(superuser "select boot_id from rota.node where name = '$1'")" = "$(cat "$SITE/boot/$1")" ]
}

# provisioner [IMAGE]: make nodes anew, as the program asks, with this image if it names none. With now/NODE.dead, the node does not
# come; with now/NODE.stuck, it stays as it is; with now/NODE.image, it has the image that this file names, whatever was asked for.
provisioner() {
	local ask node image pids
	while [ ! -e "$SITE/stop" ]; do
		for ask in "$SITE"/ask/*; do
			[ -e "$ask" ] || continue
			node=${ask##*/}
			image=$(cat "$ask")
			[ ! -e "$SITE/now/$node.image" ] || image=$(cat "$SITE/now/$node.image")
			if [ ! -e "$SITE/now/$node.stuck" ]; then
				while pids=$(node_processes "$node") && [ -n "$pids" ]; do
					kill -9 $pids 2>/dev/null || true
					sleep 0.3
				done
				[ -e "$SITE/now/$node.dead" ] || node_start "$node" "${image:-${1:-none}}"
			fi
			rm "$ask"
		done
		sleep 0.3
	done
}

# nodes_up NODES IMAGE [OPTION OF rota up]...: an instance with so many nodes, whose machines a provisioner makes anew. They have the default
# leases: no node must be lost because this machine is slow.
nodes_up() {
	local nodes=$1 image=$2
	shift 2
	instance_up "$nodes" --cpus 2 --mem 2000 --set node.grace=1 --set nodemgr.period=1 \
		--set hooks.reboot="$SITE/programs/reboot" --set hooks.power_timeout=600 "$@"
	rota admin setting change flap_count --value=0
	provisioner "$image" 3>&- &
	PROVISIONER=$!
	export PROVISIONER
}

# nodes_serve NODES [CONDITION]: resume the nodes n1 to nNODES until all of them are up and meet the condition on acct.node.
nodes_serve() {
	are_resumed() {
		rota admin node resume "n[1-$1]" >/dev/null 2>&1 || true
		[ "$(sql "select count(*) from acct.node where state = 'up' and ${2:-true}")" = "$1" ]
	}
	eventually are_resumed "$@"
}

# nodes_down USER...: end the provisioner and the instance, and remove the users and SITE.
nodes_down() {
	local status=0
	if [ "$EUID" = 0 ]; then
		touch "$SITE/stop"
		wait "$PROVISIONER" || status=1
		instance_users_down "$@" || status=1
	fi
	rm -rf -- "$SITE"
	return "$status"
}
