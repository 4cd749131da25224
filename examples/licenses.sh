#!/bin/bash
#ROTA --job-name=licenses --comment="the words of the licence texts, counted"
#ROTA --time=10:00 --mem=100M
#
# A map-reduce over the licence texts of Debian. Rota runs the eight counters side by side, on the nodes that are free. Plain bash runs
# the same steps one after the other and writes the same report.
#
#   rota submit examples/licenses.sh        or        bash examples/licenses.sh
#
# LICENSES_DIR  the folder of texts (default: Debian's common licences)
# LICENSES_OUT  where the report goes (default: ./licenses-out)
#
# These lines, up to the first step, are the preamble: every step runs them first.
set -euo pipefail
export LC_ALL=C
texts=${LICENSES_DIR:-/usr/share/common-licenses}
out=${LICENSES_OUT:-$PWD/licenses-out}
work=$out/work

# split: list the texts, so that all steps use the same list. A link is left out: it is the same text under another name.
#ROTA step split
rm -rf "$out"
mkdir -p "$work"
find "$texts" -maxdepth 1 -type f -printf '%f\n' | sort >"$work/list"
[ -s "$work/list" ] || { echo "there are no texts in $texts" >&2; exit 1; }
echo "$(wc -l <"$work/list") texts in $texts"

# count: element i counts the words of every eighth text, from the i-th on, into one file of "count word" for each text.
#ROTA step count --after=split --array=0-7 --retry=1
for ROTA_ARRAY_INDEX in ${ROTA_ARRAY_INDEX:-$(seq 0 7)}; do
	awk -v index_="$ROTA_ARRAY_INDEX" '(NR - 1) % 8 == index_' "$work/list" | while IFS= read -r text; do
		tr -cs '[:alpha:]' '\n' <"$texts/$text" | tr '[:upper:]' '[:lower:]' | { grep . || true; } |
			sort | uniq -c >"$work/$text.counts"
		echo "$text: $(wc -l <"$work/$text.counts") different words"
	done
done

# merge: add up all counts as "occurrences texts word", most frequent first, on the node of split.
#ROTA step merge --after=count --same-nodes=split
cat "$work"/*.counts | awk '{ occurrences[$2] += $1; texts[$2]++ }
	END { for (word in texts) print occurrences[word], texts[word], word }' | sort -k1,1nr -k3,3 >"$work/merged"
echo "$(wc -l <"$work/merged") different words in all"

# report: print the most frequent words of five letters and more; shorter ones say nothing about a licence.
#ROTA step report --after=merge --same-nodes=merge
{
	echo "$(wc -l <"$work/list") texts, $(awk '{ n += $1 } END { print n }' "$work/merged") words," \
		"$(wc -l <"$work/merged") of them different. The most frequent of five letters and more:"
	echo
	printf '%12s %12s  %s\n' occurrences 'in texts' word
	awk 'length($3) >= 5 && n++ < 20 { printf "%12d %12d  %s\n", $1, $2, $3 }' "$work/merged"
} >"$out/report.txt"
cat "$out/report.txt"

# tidy: runs in any case, also when an earlier step failed.
#ROTA step tidy --after=report:any
rm -rf "$work"
