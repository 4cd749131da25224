#!/bin/bash
#ROTA --job-name=eternal --comment="primes, for as long as nothing else wants the nodes"
#ROTA --eternal --time=1:00:00 --mem=100M
#ROTA --checkpoint=app --checkpoint-before=2:00
#
# A job without an end: it counts primes whenever a CPU is idle, makes room for every other job, and goes on from where it was. Its progress is
# one line for each thousand numbers, and no number is counted twice.
#
#   rota submit examples/eternal.sh        and, when you have seen enough:        rota cancel JOB
#
# ETERNAL_OUT   where the progress goes (default: ./eternal-out)
# ETERNAL_STOP  stop at this number, for those who cannot wait (default: never)
set -euo pipefail
out=${ETERNAL_OUT:-$PWD/eternal-out}
mkdir -p "$out"
touch "$out/primes"

# The last line says how far it is. Only whole lines count, so a line that was cut short is written again.
sed -i '/ done$/!d' "$out/primes"
next=$(awk 'END { print $2 + 1 }' "$out/primes")

# Asked to save itself, it ends after the thousand that it is at; exit code 85 has it queued again.
trap 'leaving=1' USR1
leaving=

while [ -z "${ETERNAL_STOP:-}" ] || [ "$next" -lt "${ETERNAL_STOP:-0}" ]; do
	last=$((next + 999))
	primes=$(awk -v from="$next" -v to="$last" 'BEGIN {
		for (n = from; n <= to; n++) {
			prime = n > 1
			for (d = 2; prime && d * d <= n; d++)
				prime = n % d
			count += prime > 0
		}
		print count + 0
	}')
	echo "$next $last $primes done" >>"$out/primes"
	next=$((last + 1))
	if [ -n "$leaving" ]; then
		cp "$out/primes" "$ROTA_CHECKPOINT_DIR/primes"
		exit 85
	fi
done
