#!/usr/bin/env bats
# How directives reach the site's burst_buffer.lua: under another name, by --bb and --bbf of rota submit, rota check, rota run and rota
# shell, and by links.

load helper
load staging

setup_file() {
	export EVE=rbse$$ ANN=rbsa$$
	[ "$EUID" != 0 ] || users_add "$EVE" "$ANN"
	site_make < <(recorder)
	echo 'function slurm_job_submit() return 0 end' >"$SITE/job_submit.lua"
	instance_up 1 "${SITE_OPTIONS[@]}" --set hooks.directive=DATA --set hooks.job_submit="$SITE/job_submit.lua"
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ "$EUID" != 0 ] || users_remove "$EVE" "$ANN" || status=1
	site_remove
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/bash\ntrue\n' >plain
}

directives() {
	sql "select directives from rota.staging where job_id = $1"
}

latest() {
	sql "select max(job_id) from rota.job"
}

@test "directives have the name of the setting, and lines with the usual one are comments" {
	printf '#!/bin/bash\n#BB_LUA not one\n#DATA one \\\n#DATA two\n[ "$BB_PATH" = "/fast/$ROTA_JOB_ID" ]\n' >named
	job=$(rota submit --parsable --output=/dev/null --bb="#DATA zero" named)
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	[ "$(directives "$job")" = "#DATA zero
#DATA one  two" ]
	[ "$(called "$job")" = "$ALL" ]
	job=$(rota submit --parsable --output=/dev/null <<<$'#!/bin/bash\n#BB_LUA one\n' -)
	rota wait --timeout=300 "$job"
	[ "$(sql "select count(*) from rota.staging where job_id = $job")" = 0 ]
}

@test "--strict refuses a --bb that is no directive, which is otherwise only a warning" {
	run -0 rota submit --output=/dev/null --bb="#BB_LUA one" plain
	[[ "$output" == *"warning: --bb: has no effect where it is no directive"* ]]
	refused "has no effect where it is no directive" rota submit --strict --bb="#BB_LUA one" plain
	refused "has no effect where it is no directive" rota check --strict --bb="one" plain
}

@test "job_submit.lua sets directives: by the field burst_buffer, and by another script" {
	cat >"$SITE/job_submit.lua" <<-'END'
		function slurm_job_submit(desc)
			if desc.comment == "field" then
				slurm.log_user("had %s", desc.burst_buffer)
				desc.burst_buffer = "#DATA by field"
			elseif desc.comment == "script" then
				desc.script = desc.script:gsub("\n", "\n#DATA by script\n", 1)
			end
			return 0
		end
	END
	run -0 --separate-stderr rota submit --parsable --output=/dev/null --comment=field --bb="#DATA mine" plain
	job=$output
	[[ "$stderr" == *"had #DATA mine"* ]]
	other=$(rota submit --parsable --output=/dev/null --comment=script plain)
	rota wait --timeout=300 "$job" "$other"
	[ "$(directives "$job") $(directives "$other")" = "#DATA by field #DATA by script" ]
	for job in "$job" "$other"; do
		eventually is_staging "$job" complete
		[ "$(called "$job")" = "$ALL" ]
	done
	echo 'function slurm_job_submit() return 0 end' >"$SITE/job_submit.lua"
}

@test "rota run and rota shell: the data is there before the command, and is staged out after it" {
	run -0 --separate-stderr rota run --bb="#DATA two" sh -c 'echo "$ROTA_JOB_ID $BB_PATH"'
	job=${output%% *}
	[ "$output" = "$job /fast/$job" ]
	eventually is_staging "$job" complete
	[ "$(called "$job")" = "$ALL" ]
	[ "$(directives "$job")" = "#DATA two" ]
	# The script of such a job has the directives after its first line.
	[ "$(head -n 2 "$SITE/script.$job.setup")" = $'#!/bin/sh\n#DATA two' ]
	# The variables of the function paths replace those of the client.
	run -0 --separate-stderr env BB_PATH=mine BB_OWN=mine rota run --bb="#DATA two" sh -c 'echo "$ROTA_JOB_ID $BB_PATH $BB_SIGN $BB_OWN"'
	[[ $output =~ ^([0-9]+)\ /fast/([0-9]+)\ a=b\ mine$ && ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	printf '#DATA three\n#DATA four\n' >file
	run -0 --separate-stderr rota run --bbf=file -n 2 sh -c 'echo "$BB_PATH"'
	job=$(latest)
	[ "$output" = "/fast/$job"$'\n'"/fast/$job" ]
	eventually is_staging "$job" complete
	[ "$(directives "$job")" = "#DATA three
#DATA four" ]
	SHELL=/bin/sh script -qec "rota shell --bb='#DATA five'" /dev/null <<<'echo "path:$BB_PATH"; exit' >typed
	job=$(latest)
	grep -q "path:/fast/$job" typed
	eventually is_staging "$job" complete
	[ "$(directives "$job")" = "#DATA five" ]
}

@test "rota run: a stage-in that fails is said, and a release lets the command go on" {
	rota run --bb="#DATA fail=data_in" true 2>said 3>&- &
	client=$!
	eventually grep -q "is held: burst_buffer.lua: data_in: data_in says no" said
	job=$(latest)
	grep -qF "hint: \"rota release $job\"" said
	touch "$SITE/healed.$job"
	rota release "$job"
	wait "$client"
	eventually is_staging "$job" complete
}

@test "rota run: what is wrong with --bb and --bbf is said, and leaves no job" {
	before=$(latest)
	refused "no regular file" rota run --bbf=/dev/zero true
	refused "could not read" rota run --bbf=nowhere true
	refused "cannot be combined" rota run --bb="#DATA a" --bbf=plain true
	printf '#DATA a\0b\n' >nul
	refused "NUL" rota run --bbf=nul true
	printf '#DATA \xff\n' >bytes
	refused "not UTF-8" rota run --bbf=bytes true
	refused "not UTF-8" rota submit --bbf=bytes plain
	refused "there is no pool" rota run --bb="#DATA pool=none capacity=1" true
	[ "$(latest)" = "$before" ]
	run -2 rota run sh -c 'rota run --bb="#DATA a" true'
	[[ "$output" == *"--bb is for a new job, and this job runs already"* ]]
}

@test "rota check takes --bbf, as rota submit does, and leaves no job" {
	before=$(latest)
	printf '#DATA checked\n' >good
	run -0 rota check --bbf good plain
	printf '#DATA pool=none capacity=1\n' >pool
	refused "there is no pool" rota check --bbf=pool plain
	refused "could not read" rota check --bbf=nowhere plain
	run -2 rota check --bbf
	[[ $output == *'option "--bbf" needs a value'* ]]
	[ "$(latest)" = "$before" ]
}

@test "--bbf by a link: it leads nowhere where the user may not read" {
	need_root
	printf '#DATA linked\n' >open
	chmod 755 . && chmod 644 open
	ln -s open link
	job=$(rota submit --parsable --output=/dev/null --bbf=link plain)
	rota wait --timeout=300 "$job"
	[ "$(directives "$job")" = "#DATA linked" ]
	before=$(latest)
	folder=$(mktemp -d /tmp/rota-link.XXXXXX)
	chown "$EVE" "$folder"
	printf '#DATA secret\n' >"$folder/secret"
	chmod 600 "$folder/secret"
	as "$EVE" ln -s "$folder/secret" "$folder/link"
	as "$EVE" ln -s /etc/shadow "$folder/shadow"
	cp plain "$folder/plain"
	for link in link shadow; do
		refused "Permission denied" as "$EVE" rota submit --bbf="$folder/$link" "$folder/plain"
		[[ "$output" != *secret\ * ]]
		refused "Permission denied" as "$EVE" rota run --bbf="$folder/$link" true
	done
	rm -r "$folder"
	[ "$(latest)" = "$before" ]
}
