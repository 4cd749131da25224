#!/bin/bash
# The program as people use it: program_test.sh TALLY. Checks it against sort and uniq.
set -u
tally=$1
failed=0

check() {
	if [ "$2" = "$3" ]; then
		echo "ok - $1"
	else
		printf 'not ok - %s\nexpected:\n%s\nfound:\n%s\n' "$1" "$3" "$2"
		failed=1
	fi
}

input=$(awk 'BEGIN { for (i = 1; i <= 5000; i++) print "line " (i * i) % 97 }')
by_hand() {
	sort | uniq -c | sort -s -k1,1nr
}

check "agrees with sort | uniq -c | sort" "$("$tally" <<<"$input")" "$(by_hand <<<"$input")"
check "-n limits the lines" "$("$tally" -n 3 <<<"$input")" "$(by_hand <<<"$input" | head -n 3)"
check "-r turns the order" "$(printf 'a\nb\nb\n' | "$tally" -r)" "$(printf '      1 a\n      2 b')"
check "a last line needs no newline" "$(printf 'a\na' | "$tally")" "      2 a"
check "files are added up" "$("$tally" <(echo a) <(echo a))" "      2 a"
check "no input, no output" "$("$tally" </dev/null)" ""
"$tally" -n 0 </dev/null 2>/dev/null
check "a wrong number is wrong use" $? 2
"$tally" /nowhere/at/all 2>/dev/null
check "a file that is not there" $? 1
exit $failed
