#!/usr/bin/env bats
# rota-terminal: a command on a pty, to which clients attach over its socket. terminal_client.py is the client.

load helper

client() {
	timeout 1000 python3 "$BATS_TEST_DIRNAME/terminal_client.py" "$1"
}

@test "input reaches the command, output the client" {
	client echo
}

@test "a client gets nothing before it attaches" {
	client silent
}

@test "the size of a client reaches the command and the other clients" {
	client size
}

@test "Ctrl-C, Ctrl-Z and Ctrl-\\ are signals for the foreground process group" {
	client keys
}

@test "it exits as its command did, and says why a command was not executed" {
	client codes
}

@test "signals are forwarded" {
	client signals
}

@test "nothing keeps the pty when the terminal is killed" {
	client hangup
}

@test "the command has the pty and no other descriptor" {
	client descriptors
}

@test "a client gets all output of a command that has ended" {
	client rest
}

@test "who attaches after a short command has ended sees its output" {
	client late
}

@test "text of screen and scrollback, and the lines that follow" {
	client text
}

@test "a client that does not read delays nobody" {
	client flood
}

@test "a command that does not read stops its client only" {
	client input
}

@test "a malformed frame ends its connection only" {
	client malformed
}

@test "a stranger is refused" {
	[ "$EUID" = 0 ] || skip "needs root, to become another user"
	client stranger
}

@test "a client that attaches in the middle sees the same screen" {
	client editor
}

@test "the screen answers queries while no client is attached" {
	client query
}
