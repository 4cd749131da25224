# For tests of sub-steps: scripts that run in jobs. The file sets INSIDE, the options of rota submit that all of its jobs have.

# inside [OPTION OF rota submit]... <<END: run the script in a job; its output is in `output`, its exit status in `status`.
inside() {
	{
		echo '#!/bin/bash'
		cat
	} >job.sh
	job=$(rota submit --parsable "${INSIDE[@]}" --output=job.out "$@" job.sh)
	run rota wait -q --timeout=120 "$job"
	output=$(grep -v ' waits: agents$' job.out || true) # a slow machine prints this message
	printf '%s\n' "$output" # shown if the test fails
}
