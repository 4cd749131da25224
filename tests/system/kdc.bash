# kdc.bash - a private KDC for tests: realm KIND.TEST in the folder KDC, on a free port of this host. It reads nothing of /etc.

# free_port: prints a port of this host that no process uses, and that no process gets for a connection that it makes.
free_port() {
	python3 - <<-'END'
		import random, socket
		with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
		    first = int(file.read().split()[0])
		while True:
		    port = random.randrange(min(10000, first - 1), first)
		    try:
		        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
		            tcp.bind(("127.0.0.1", port))
		            udp.bind(("127.0.0.1", port))
		    except OSError:
		        continue
		    print(port)
		    break
	END
}

# kdc_up: make the realm, with the principals `alice`, `bob` and `host/localhost`, whose keys are in $KDC/keytab; start it.
kdc_up() {
	KDC=$(mktemp -d "${TMPDIR:-/tmp}/rota-kdc.XXXXXX")
	chmod 0755 "$KDC"
	export KDC KRB5_CONFIG=$KDC/krb5.conf KRB5_KDC_PROFILE=$KDC/kdc.conf
	local port
	port=$(free_port)
	cat >"$KRB5_CONFIG" <<-END
		[libdefaults]
			default_realm = KIND.TEST
			dns_lookup_kdc = false
			dns_lookup_realm = false
			dns_canonicalize_hostname = false
			rdns = false
			clockskew = 60
		[realms]
			KIND.TEST = {
				kdc = 127.0.0.1:$port
			}
		[domain_realm]
			localhost = KIND.TEST
	END
	cat >"$KRB5_KDC_PROFILE" <<-END
		[kdcdefaults]
			kdc_listen = 127.0.0.1:$port
			kdc_tcp_listen = 127.0.0.1:$port
		[realms]
			KIND.TEST = {
				database_name = $KDC/principal
				key_stash_file = $KDC/stash
				acl_file = $KDC/acl
				max_life = 1h
				max_renewable_life = 1h
			}
		[logging]
			kdc = FILE:$KDC/kdc.log
	END
	kdb5_util create -s -r KIND.TEST -P master >"$KDC/create.log" 2>&1
	local name
	for name in alice bob host/localhost; do
		kadmin.local -q "addprinc -randkey $name" >>"$KDC/create.log" 2>&1
		kadmin.local -q "ktadd -k $KDC/keytab $name" >>"$KDC/create.log" 2>&1
	done
	kdc_start
}

# kdc_start: the KDC answers from then on. kdc_stop: it does not.
kdc_start() {
	krb5kdc -n >"$KDC/out.log" 2>&1 3>&- &
	echo $! >"$KDC/pid"
	disown # bash would otherwise report that it was killed
	eventually kdc_answers
}

kdc_stop() {
	kill -9 "$(cat "$KDC/pid")"
	eventually kdc_is_gone
}

kdc_answers() {
	ticket alice "$KDC/probe"
}

kdc_is_gone() {
	! kill -0 "$(cat "$KDC/pid")" 2>/dev/null
}

kdc_down() {
	[ -n "${KDC:-}" ] || return 0
	kill -9 "$(cat "$KDC/pid")" 2>/dev/null || true
	rm -rf -- "$KDC"
}

# ticket NAME FILE [OPTION OF kinit]...: a ticket cache of this principal.
ticket() {
	local name=$1 file=$2
	shift 2
	rm -f "$file"
	kinit -k -t "$KDC/keytab" -c "FILE:$file" "$@" "$name" 2>"$KDC/kinit.log"
}
