# terminal.bash - a person at a real terminal (tmux), for system tests; loaded beside helper.bash. A test has one person at a time: the last
# one that came. teardown calls hang_up.

# person: a new terminal of 100 x 30 with a shell in this folder, in which somebody types. Each has a server of its own: one that ends would
# take the session of the next one with it. The shell of sessions reads no profile of this machine, which may take long.
person() {
	local shell=$BATS_TEST_TMPDIR/shell
	printf '#!/bin/sh\nexec /bin/bash --noprofile --norc\n' >"$shell"
	chmod 0755 "$shell"
	TMUX_SOCKET=$(mktemp -u "$BATS_TEST_TMPDIR/tmux.XXXXXX")
	tmux -S "$TMUX_SOCKET" -f /dev/null new-session -d -x 100 -y 30 -c "$PWD" "env SHELL=$shell PS1='outside> ' bash --norc --noprofile"
	see 'outside>'
}

# keys KEY...: type these keys, as tmux names them.
keys() {
	tmux -S "$TMUX_SOCKET" send-keys "$@"
}

# screen [-J]: print the screen; -J: with lines that are wider than the terminal joined.
screen() {
	tmux -S "$TMUX_SOCKET" capture-pane -p "$@"
}

# resize COLUMNS LINES: change the size of the terminal.
resize() {
	tmux -S "$TMUX_SOCKET" resize-window -x "$1" -y "$2"
}

# hang_up: close the terminal, if it is still there.
hang_up() {
	[ -z "${TMUX_SOCKET:-}" ] || tmux -S "$TMUX_SOCKET" kill-server 2>/dev/null || true
}

# see TEXT: wait until the screen has the text.
see() {
	local until=$((SECONDS + 120))
	until [[ $(screen -J | sed "s, *$,,") == *"$1"* ]]; do
		[ "$SECONDS" -lt "$until" ] || {
			echo "the screen does not show \"$1\":" >&2
			screen >&2
			return 1
		}
		sleep 0.1
	done
}

# sleeps [COMMAND]: type the command and then a long sleep, and wait until the shell has started the sleep in the foreground.
sleeps() {
	naps=$((${naps:-0} + 1))
	keys "${1:+$1; }sleep 1000.$$$naps" Enter
	eventually pgrep -fx "sleep 1000\\.$$$naps"
}

# typescript COMMAND: run it on a terminal of which all output is kept, control sequences too, in the file `typescript`. typescript_end KEYS: type
# them and wait for its end; what was written is in `output`.
typescript() {
	mkfifo "$BATS_TEST_TMPDIR/keys"
	script -qec "$1" /dev/null <"$BATS_TEST_TMPDIR/keys" >"$BATS_TEST_TMPDIR/typescript" 3>&- &
	TYPESCRIPT=$!
	exec {TYPESCRIPT_KEYS}>"$BATS_TEST_TMPDIR/keys"
}

typescript_end() {
	printf %s "$1" >&"$TYPESCRIPT_KEYS"
	wait "$TYPESCRIPT"
	exec {TYPESCRIPT_KEYS}>&-
	output=$(<"$BATS_TEST_TMPDIR/typescript")
}
