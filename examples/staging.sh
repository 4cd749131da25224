#!/bin/bash
#ROTA --job-name=staging --comment="counts words of files that are brought to the job, and takes the counts back"
#ROTA --time=10:00 --mem=200M
#ROTA stage-in  staging-in/           -> $ROTA_SCRATCH/in/    --mode=rsync --checksum
#ROTA stage-out $ROTA_SCRATCH/counts/ -> staging-out/         --checksum --on-fail=out
#
# A job with data: its input is brought from one folder tree to the folder of the job, and its results are taken to another. An instance
# of rota up has such a folder; else staging.scratch in rota.conf names it.
#
#   mkdir staging-in && cp /usr/share/common-licenses/* staging-in/
#   rota submit --wait examples/staging.sh
#   rota stage show JOB
set -euo pipefail

# split: how often each word occurs in each file, two files at a time
#ROTA step count --array=0-1
mkdir -p "$ROTA_SCRATCH/counts"
number=0
for file in "$ROTA_SCRATCH"/in/*; do
	if [ $((number++ % 2)) = "$ROTA_ARRAY_INDEX" ]; then
		tr -cs '[:alpha:]' '\n' <"$file" | tr '[:upper:]' '[:lower:]' | LC_ALL=C sort | uniq -c | LC_ALL=C sort -rn >"$ROTA_SCRATCH/counts/${file##*/}"
	fi
done

# sum: the words of all files together
#ROTA step sum --after=count
awk '{ n[$2] += $1 } END { for (w in n) print n[w], w }' "$ROTA_SCRATCH"/counts/* | LC_ALL=C sort -rn -k 1,1 -k 2 >"$ROTA_SCRATCH/counts/all"
