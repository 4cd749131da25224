#!/usr/bin/env bats
# bin/demo and bin/bootstrap as a newcomer runs them: in a copy of the tree with nothing built, below a folder with a space in its
# name that only its owner may enter.

load helper

setup_file() {
	ROTA_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.XXXXXX")
	chmod 0755 "$ROTA_TEST_DIR"
	mkdir -m 1777 "$ROTA_TEST_DIR/tmp"
	mkdir -m 0700 "$ROTA_TEST_DIR/mine alone"
	export ROTA_TEST_DIR ROTA_HOME=$ROTA_TEST_DIR/home TOP="$ROTA_TEST_DIR/mine alone/rota"
	mkdir "$TOP"
	tar -C "$ROTA_SOURCE" --exclude=./build --exclude=./.git --exclude=./.cache -cf - . | tar -C "$TOP" -xf -
	export CCACHE_BASEDIR=$TOP # for bin/check, which builds with ccache
	if ! (cd / && TMPDIR=$ROTA_TEST_DIR/tmp "$TOP/bin/demo" >"$ROTA_TEST_DIR/demo.out" 2>&1); then
		cat "$ROTA_TEST_DIR/demo.out" >&2
		return 1
	fi
}

teardown_file() {
	[ ! -x "$ROTA_HOME/programs/bin/rota" ] || PATH=$ROTA_HOME/programs/bin:$PATH
	instance_down
}

# The demo's last part: the suggested commands that set something up.
typed() {
	sed -n '/^== What to type next/,$p' "$ROTA_TEST_DIR/demo.out" | grep -E '^(cd|export|source) '
}

@test "the demo ends with the result of job 1 and its accounting, in few lines" {
	out=$ROTA_TEST_DIR/demo.out
	grep -Eq '^ +[0-9]+ +[0-9]+  license$' "$out"
	grep -qx 'job 1' "$out"
	grep -Eq '^1\.count\[7\] .* completed ' "$out"
	# The lines that the demo prints before the result.
	[ "$(sed '/^== 5\./q' "$out" | wc -l)" -lt 40 ]
}

@test "the commands that the demo suggests work" {
	typed >"$BATS_TEST_TMPDIR/typed"
	run -0 env PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c 'unset MANPATH
		source "$1"
		command -v rota >/dev/null && complete -p rota && man -w rota-submit && rota show 1 >/dev/null && ls licenses-out/report.txt' bash "$BATS_TEST_TMPDIR/typed"
	[ "${lines[0]}" = "complete -F _rota rota" ]
	[ -s "${lines[1]}" ]
	[ "${lines[2]}" = licenses-out/report.txt ]
	# With MANPATH set, the demo prints it too, and it finds the running instance.
	run -0 env MANPATH=/usr/share/man TMPDIR="$ROTA_TEST_DIR/tmp" "$TOP/bin/demo"
	[[ $output == *"export MANPATH="* && $output == *"PostgreSQL runs"* ]]
	# The demo prints the names of files that it left.
	for folder in "$ROTA_TEST_DIR"/tmp/*; do
		grep -qF "rm -r $folder" "$ROTA_TEST_DIR/demo.out" <(echo "$output")
	done
}

@test "the demo leaves nothing in the tree but build/" {
	left=$(diff -rq --exclude=build --exclude=.git --exclude=.cache "$ROTA_SOURCE" "$TOP" | grep -F "Only in $TOP" || true)
	[ -z "$left" ] || { echo "$left"; false; }
}

@test "a build that fails shows its end and names its log" {
	echo '#error broken on purpose' >>"$TOP/bin/rota/verb/version.c"
	run -1 "$TOP/bin/demo"
	[[ $output == *"broken on purpose"* && $output == *"all of its output is in $TOP/build/demo.log"* ]]
	[ "${#lines[@]}" -lt 40 ]
}

@test "a build whose log cannot be written ends the demo" {
	rm -f "$TOP/build/demo.log"
	mkdir "$TOP/build/demo.log"
	run -1 "$TOP/bin/demo"
	rmdir "$TOP/build/demo.log"
	[[ $output == *"cannot write \"$TOP/build/demo.log\""*"a clone of your own"* && $output != *"rota up"* ]]
}

@test "bootstrap installs the packages for running; with --test, also those for tests" {
	run -0 "$ROTA_SOURCE/bin/bootstrap" --list
	for package in postgresql munge gcc cmake help2man; do
		grep -qx "$package" <<<"$output"
	done
	for package in chromium clang gnuplot-nox libcmocka-dev bats strace; do
		run ! grep -qx "$package" <("$ROTA_SOURCE/bin/bootstrap" --list)
		grep -qx "$package" <("$ROTA_SOURCE/bin/bootstrap" --test --list)
	done
	# All packages are installed here, so bin/bootstrap prints nothing.
	run -0 "$ROTA_SOURCE/bin/bootstrap" --test
	[ -z "$output" ]
	run -2 "$ROTA_SOURCE/bin/bootstrap" --tset
}
