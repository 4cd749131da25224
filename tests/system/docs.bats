#!/usr/bin/env bats
# The manual is true: these tests take its tables, links, scripts, SQL and curl lines out of the pages and run them. Pages,
# completion and units are installed in the right places.

load helper

setup_file() {
	instance_up 2 --cpus 4 --mem 2000
	cd "$BATS_FILE_TMPDIR"
	# Jobs for the questions of docs/querying.md: completed, failed, cancelled, running and pending ones.
	printf '%s\n' '#!/bin/bash' '#ROTA --job-name=mixed --mem=50M' '#ROTA step good' 'head -c 30M /dev/zero | tail -c 1 >/dev/null' \
		'#ROTA step many --after=good --array=0-5' 'sleep 0.1' '#ROTA step bad --after=many --retry=1' 'exit 3' \
		'#ROTA step never --after=bad' 'true' '#ROTA step last --after=never:any' 'true' >mixed.sh
	printf '%s\n' '#!/bin/bash' 'sleep 3600' >long.sh
	job=$(rota submit --parsable mixed.sh)
	gone=$(rota submit --parsable long.sh)
	rota cancel -q "$gone"
	rota wait -q --timeout=300 "$job" "$gone" || true
	DOCS_RUNNING=$(rota submit --parsable long.sh)
	DOCS_WAITING=$(rota submit --parsable --after="$DOCS_RUNNING" long.sh)
	export DOCS_JOB=$job DOCS_RUNNING DOCS_WAITING
	runs() { [ "$(rota sql -Atc "select state from acct.step where job_id = $DOCS_RUNNING")" = running ]; }
	eventually runs
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# blocks PAGE KIND: prints the blocks ```KIND of a page, each ended by a NUL.
blocks() {
	awk -v open="\`\`\`$2" '$0 == open { on = 1; next } on && $0 == "```" { on = 0; printf "%c", 0; next } on' "$ROTA_SOURCE/$1"
}

@test "tables of the manual equal the programs' tables" {
	"$ROTA_SOURCE/docs/tables" --check
}

@test "the data dictionary is that of the database" {
	"$ROTA_SOURCE/docs/dictionary" | diff "$ROTA_SOURCE/docs/data-dictionary.md" -
}

@test "links lead to pages and headings that are there" {
	cd "$ROTA_SOURCE"
	for page in *.md docs/*.md; do
		grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^https\?:' >"$BATS_TEST_TMPDIR/links" || true
		while read -r link; do
			path=${link%%#*} heading=
			[[ $link != *#* ]] || heading=${link#*#}
			target=${path:+$(dirname "$page")/$path}
			target=${target:-$page}
			[ -e "$target" ] || { echo "$page: no $path"; false; }
			[ -z "$heading" ] || sed -n 's/^##* //p' "$target" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n_-' | grep -qx -- "$heading" ||
				{ echo "$page: no heading $heading in $target"; false; }
		done <"$BATS_TEST_TMPDIR/links"
	done
}

@test "functions and tables that ARCHITECTURE.md names exist in the database" {
	names=$(grep -oE '`(api|internal|acct|rota)\.[a-z_]+(\.[a-z_]+)?`' "$ROTA_SOURCE/ARCHITECTURE.md" | tr -d '`' | grep -v '^rota\.conf$' | sort -u)
	[ "$(wc -l <<<"$names")" -ge 40 ]
	run -0 rota sql -At -v names="$(tr '\n' ' ' <<<"$names")" <<-'END'
		with named as (select n, split_part(n, '.', 1) as schema, split_part(n, '.', 2) as name, split_part(n, '.', 3) as part from regexp_split_to_table(trim(:'names'), ' ') n)
		select n from named
		where not exists (select from pg_proc p where p.pronamespace::regnamespace::text = schema and p.proname = name and part = '')
			and not exists (select from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = part
				where c.relnamespace::regnamespace::text = schema and c.relname = name and (part = '' or a.attname is not null));
	END
	[ -z "$output" ] || { echo "ARCHITECTURE.md names what is not in the database: $output"; false; }
}

@test "the glossary has at most sixty terms, each once" {
	grep -oE '\*\*[^*]+\*\*' "$ROTA_SOURCE/docs/glossary.md" | sort >terms
	[ "$(wc -l <terms)" -le 60 ]
	run -0 uniq -d terms
	[ -z "$output" ]
}

@test "every script on a page is accepted" {
	# Translate without an instance, because the one here is too small for some scripts.
	count=0
	for page in README.md docs/submitting.md docs/checkpointing.md; do
		while IFS= read -r -d '' script; do
			[[ $script == '#!'* ]] || continue
			printf '%s' "$script" >script.sh
			ROTA_HOME=$BATS_TEST_TMPDIR/none rota check script.sh || { cat script.sh; false; }
			count=$((count + 1))
		done < <(blocks "$page" sh)
	done
	[ "$count" -ge 3 ]
}

@test "the administrator's commands and questions work" {
	count=0
	while IFS= read -r line; do
		run -0 bash -c "$line"
		count=$((count + 1))
	done < <(sed -n 's/^    \$ \(rota admin .*\)/\1/p' "$ROTA_SOURCE/docs/administering.md")
	[ "$count" -ge 10 ]
	while IFS= read -r -d '' question; do
		run -0 rota sql -v ON_ERROR_STOP=1 -Atc "$question"
		[ -n "$output" ]
	done < <(blocks docs/administering.md sql)
}

@test "no recipe uses root as the database's superuser" {
	cd "$ROTA_SOURCE"
	! grep -nE '^ *# +(pg_|psql|createdb|dropdb|rota admin db)|psql [^`]*-U postgres' docs/administering.md docs/high-availability.md docs/reliability.md | grep -v 'ROTA_HOME/run'
}

@test "the curl lines work" {
	count=0 first=
	cp "$BATS_FILE_TMPDIR/mixed.sh" pipeline.sh
	while IFS= read -r -d '' block; do
		# The first block defines functions that the other blocks use.
		printf '%s%s' "$first" "$block" >block.sh
		: "${first:=$block}"
		run -0 env job="$DOCS_JOB" bash -euo pipefail block.sh
		[ $count = 0 ] || [ -n "$output" ] || { cat block.sh; false; }
		count=$((count + 1))
	done < <(blocks docs/reporting.md sh)
	[ "$count" -ge 5 ]
}

@test "commands that the pages name have these options" {
	cd "$ROTA_SOURCE"
	# "rota run: ..." is a message, and no command.
	grep -hoE '(^    (\$ )?|`)rota [a-z]+[^`]*' README.md docs/*.md docs/man/*.h2m | sed 's/^    //; s/^\$ //; s/^`//; s/  .*//; s/;.*//' | sort -u |
		grep -vE '^rota [a-z]+: ' >"$BATS_TEST_TMPDIR/commands"
	[ -s "$BATS_TEST_TMPDIR/commands" ]
	while read -r _ verb rest; do
		rota "$verb" --help >"$BATS_TEST_TMPDIR/help" || { echo "no verb $verb"; false; }
		[ "$verb" != admin ] || continue
		for word in $rest; do
			[[ $word == --* ]] || continue
			option=${word%%=*}
			grep -qE -- "(^|[ ,])$option([=, ]|\[|$)" "$BATS_TEST_TMPDIR/help" || { echo "rota $verb has no $option"; false; }
		done
	done <"$BATS_TEST_TMPDIR/commands"
}

@test "an installation has programs, pages, completion, units and examples" {
	prefix=$ROTA_TEST_DIR/usr # a folder that the daemons' account can enter
	run -0 cmake --install "$ROTA_BUILD" --prefix "$prefix"
	for program in bin/rota sbin/jobmgrd sbin/nodemgrd sbin/runnerd sbin/rota-credd sbin/rota-credential sbin/procmgrd sbin/rota-launcher sbin/rota-checkpoint share/rota/examples/licenses.sh; do
		[ -x "$prefix/$program" ]
	done
	for verb in $(rota completion verb); do
		[ -s "$prefix/share/man/man1/rota-$verb.1" ]
	done
	for daemon in jobmgrd nodemgrd runnerd rota-credd procmgrd rota-launcher; do
		[ -s "$prefix/share/man/man8/$daemon.8" ]
	done
	[ -s "$prefix/share/man/man1/rota.1" ]
	[ -s "$prefix/share/doc/rota/submitting.md" ]
	bash -n "$prefix/share/bash-completion/completions/rota"
	grep -q '^u rota ' "$prefix/lib/sysusers.d/rota.conf"
	for unit in rota-jobmgrd.service rota-nodemgrd.service rota-runnerd.service rota-credd.service rota-launcher@.service; do
		program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$prefix/lib/systemd/system/$unit")
		[ -x "$prefix/sbin/${program##*/}" ]
		options=$(sed -n 's/^ExecStart=[^ ]* //p' "$prefix/lib/systemd/system/$unit" | grep -oE -- '--[a-z]+')
		for option in $options; do
			"$prefix/sbin/${program##*/}" --help | grep -qF -- "$option"
		done
	done
	# `rota status` has one row for each machine's daemon, however often it is started.
	for daemon in jobmgrd nodemgrd runnerd; do
		grep -q "^ExecStart=.*/$daemon .*--name %H$" "$prefix/lib/systemd/system/rota-$daemon.service"
	done
	# The installed programs find each other: an instance of them runs a job.
	printf '#!/bin/sh\ntrue\n' >true.sh
	export ROTA_HOME=$ROTA_TEST_DIR/installed PATH=$prefix/bin:$PATH
	run -0 rota up --nodes 1 --cpus 1 --mem 500
	run rota submit --wait true.sh
	rota down --purge --yes
	[ "$status" = 0 ]
}

@test "manual pages have no errors, and each has its parts" {
	"$ROTA_SOURCE/docs/man/make" "$ROTA_BIN" 0.1.0 pages
	for page in pages/man/man?/*; do
		for part in NAME SYNOPSIS DESCRIPTION '"SEE ALSO"'; do
			grep -q "^\.SH $part" "$page" || { echo "$page has no $part"; false; }
		done
		if command -v groff >/dev/null; then
			run -0 groff -man -Tutf8 -ww -z "$page"
			[ -z "$output" ] || { echo "$page: $output"; false; }
		fi
	done
	grep -q '^\.SH DIRECTIVES' pages/man/man1/rota-submit.1
	grep -q 'export and remove old jobs$' pages/man/man1/rota-admin.1 # the end of a NAME of several lines
	for page in pages/man/man8/*; do
		grep -q '^\.SH OPTIONS' "$page" || { echo "$page has no OPTIONS"; false; }
	done
	for verb in $(rota completion verb); do
		grep -A1 '^\.TP' pages/man/man1/rota.1 | grep -qx "$verb" || { echo "rota.1 has no entry of its own for $verb"; false; }
	done
}
