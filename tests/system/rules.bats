#!/usr/bin/env bats
# Rules of CONTRIBUTING.md and ARCHITECTURE.md that can be checked by reading the source.

load helper

# Sources of the daemons: everything but the client, its library, the tests and the examples.
daemon_sources() {
	find "$ROTA_SOURCE"/{lib,jobmgr,procmgr,nodemgr,runner,credmgr,bin} -path "$ROTA_SOURCE/bin/rota" -prune -o -name '*.c' ! -name 'http*.c' ! -name 'rota_steps.c' ! -name 'steps_connection.c' -print
}

@test "daemons contain no blocking call" {
	run grep -nE '\b(PQexec|PQexecParams|PQexecPrepared|PQconnectdb|PQprepare|sleep|system|popen)\(' $(daemon_sources)
	[ "$status" -eq 1 ]
	# Event loops never block; a poll of 0 ms only looks. (A keeper serves one attempt only, the launcher waits in bounded steps where it must,
	# and rota-checkpoint is no daemon.)
	run grep -nP '\b(usleep|nanosleep|select)\(|\bpoll\((?!.*, 0\))' $(daemon_sources | grep -vE 'procmgr/(launcher|keeper|record|checkpoint)/')
	[ "$status" -eq 1 ]
}

@test "no folder includes another daemon's folder" {
	for part in jobmgr procmgr nodemgr runner credmgr; do
		for other in jobmgr procmgr nodemgr runner credmgr; do
			[ "$part" = "$other" ] || run ! grep -rn "include \"$other/" "$ROTA_SOURCE/$part"
		done
	done
	run ! grep -rnE 'include "(jobmgr|procmgr|nodemgr|runner|credmgr|bin)/' "$ROTA_SOURCE/lib"
	# Translator and scheduler do no I/O: they include neither the API, the leader nor the database.
	run ! grep -rnE 'include "(jobmgr/(gate|lead)/|lib/(db|http|auth)\.h)' "$ROTA_SOURCE"/jobmgr/{translate,schedule}
	# procmgrd and the programs that run as root share records only.
	run ! grep -rnE 'include "procmgr/(launcher|keeper)/' "$ROTA_SOURCE/procmgr/agent"
	run ! grep -rnE 'include "procmgr/agent/' "$ROTA_SOURCE"/procmgr/{launcher,keeper,record}
}

@test "C holds no SQL beyond calls of api functions" {
	run grep -nE '"[^"]*\b(insert into|update [a-z_.]+ set|delete from|select [^"]*from) ' $(daemon_sources)
	[ -z "$(grep -v 'select \* from api\.' <<<"$output")" ]
}

@test "programs of root link neither SQL nor TLS nor JSON nor HTTP" {
	run ! grep -E 'libpq|libssl|libjansson|libevent|libmunge' <(ldd "$ROTA_BIN/rota-launcher")
}

@test "every public header compiles alone" {
	for header in $(cd "$ROTA_SOURCE" && find lib jobmgr procmgr nodemgr runner credmgr bin -name '*.h'); do
		printf '#include "%s"\n' "$header" | cc -std=c17 -D_GNU_SOURCE -fsyntax-only -I"$ROTA_SOURCE" -I"$(pg_config --includedir)" $(pkg-config --cflags lua5.4) -x c - || {
			echo "$header"
			return 1
		}
	done
}

@test "nothing is left open in the code" {
	run ! grep -rnE '\b(TODO|FIXME|XXX|HACK)\b|not implemented' --include='*.[ch]' --include='*.sql' "$ROTA_SOURCE"/{lib,jobmgr,procmgr,nodemgr,runner,credmgr,bin,sql,migrations}
}

@test "each offset 0 has its reason beside it" {
	run grep -rnE '^[^-]*\boffset 0\b' "$ROTA_SOURCE/sql"
	[ "$status" -eq 0 ]
	run ! grep -vE -- '-- (by key|by node|once an? [a-z]+)' <<<"$output"
}

@test "CONTRIBUTING.md names all files of the client that hold SQL, and all its folders" {
	cd "$ROTA_SOURCE"
	named=$(sed -n '/Other SQL is only in/,/^- /p' CONTRIBUTING.md | grep -oE 'bin/rota/[a-z_/]+\.c' | sort)
	[ "$(grep -rlw -E 'PQexec|PQexecParams' bin/rota | sort)" = "$named" ]
	named=$(sed -n '/another folder of `bin/,/No file in these/p' CONTRIBUTING.md | grep -oE '`[a-z]+/`' | tr -d '`/' | sort)
	[ "$(find bin/rota -mindepth 1 -maxdepth 1 -type d ! -name verb -printf '%f\n' | sort)" = "$named" ]
}

# Prints the SQL functions that have a statement with this pattern, one a line.
functions_with() {
	find "$ROTA_SOURCE/sql" -name '*.sql' -exec awk -v pattern="$1" '
		/^create (or replace )?function / { match($0, /(internal|api)\.[a-z_]+/); name = substr($0, RSTART, RLENGTH); next }
		/^(comment on|create|alter) / { name = "" }
		name != "" && $0 !~ /^[ \t]*--/ && $0 ~ pattern { print name }' {} + | sort -u
}

@test "ARCHITECTURE.md names the functions that change states of nodes and what is used of them" {
	cd "$ROTA_SOURCE"
	named=$(sed -n '/^### How a node changes/,/^## /p' ARCHITECTURE.md | grep '^| `' | cut -d'|' -f3 | grep -oE '(internal|api)\.[a-z_]+' | sort -u)
	[ "$(functions_with 'internal\.node_state_set\(')" = "$named" ]
	named=$(sed -n '/takes resources of nodes/,/`rota.node_used`/p' ARCHITECTURE.md | sed 's/.*\(`internal.allocation_take\)/\1/' | grep -oE 'internal\.[a-z_]+' | sort -u)
	[ "$(functions_with 'update node_used')" = "$named" ]
}

@test "files, functions and channels that ARCHITECTURE.md and CONTRIBUTING.md name exist" {
	cd "$ROTA_SOURCE"
	missing=
	# NAME and NNNN stand for any name and number.
	for path in $(grep -ohE '`(lib|jobmgr|procmgr|nodemgr|runner|credmgr|sql|migrations|bin|acct|docs|tests)/[^` ]*`' ARCHITECTURE.md CONTRIBUTING.md |
		tr -d '`' | sed 's/NAME\|NNNN_subject/*/' | sort -u); do
		compgen -G "$path" >/dev/null || missing+=" $path"
	done
	for name in $(grep -oE '`[a-z_0-9]+\(\)`' ARCHITECTURE.md | tr -d '`()' | sort -u); do
		grep -rqE --include='*.c' "^[a-z].*\b$name\(" lib jobmgr procmgr nodemgr runner credmgr bin || missing+=" $name()"
	done
	# NOTIFY channels: those of the SQL, and no others. A name that ends in "_" is followed by a node's number.
	channels=$(grep -rhoE "(^|[^_])notify rota_[a-z_]+|pg_notify\\('rota_[a-z_]+" sql | grep -oE 'rota_[a-z_]+' | sort -u)
	[ "$(grep -oE '^\| `rota_[a-zN_]+`' ARCHITECTURE.md | grep -oE 'rota_[a-z_]+' | sort -u)" = "$channels" ]
	[ -z "$missing" ] || { echo "named, and not there:$missing"; false; }
}

@test "a number and its noun agree by one helper, and a CPU is written so" {
	cd "$ROTA_SOURCE"
	# No file writes the ending of a plural itself: text_plural() and internal.text_count() do.
	run grep -rnE '== 1 \? "" : "s"|!= 1 \? "s" : ""' --include=*.c bin jobmgr lib nodemgr procmgr runner credmgr
	echo "$output"
	[ "$(grep -vc '^lib/text.c:' <<<"$output")" = 0 ]
	run grep -rnE "<> 1 then 's'|= 1 then '' else 's'" --include=*.sql sql
	echo "$output"
	[ "$(grep -vc '^sql/cluster/text.sql:' <<<"$output")" = 0 ]
	# A number in front of the word, or a unit behind "a".
	run grep -rnE '"[^"]*(%[a-z]+|" ?PRI[a-z0-9]+ ?"|[^a-z]a) cpus?\>[^=]' --include=*.c bin jobmgr lib nodemgr procmgr runner credmgr
	echo "$output"
	[ "$status" = 1 ]
	run grep -rnE "'[^']*% ?s? cpus?\>" --include=*.sql sql
	echo "$output"
	[ "$status" = 1 ]
}
