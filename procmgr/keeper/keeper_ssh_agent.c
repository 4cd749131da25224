/* keeper_ssh_agent.c - an ssh-agent of the attempt, which has the keys of the step.
 *
 * Called by: keeper_credential.c.
 * Invariants:
 * - ssh-agent and ssh-add run as the owner, in the attempt's cgroup, with the owner's environment.
 * - A key reaches ssh-add by a pipe, and is never in a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

/* The shell program that loads the keys into ssh-agent: each key is a descriptor from 3 on, and $# is the number of keys. */
static const char add_keys[] = "n=3; for k; do ssh-add -q - <&$n || exit 1; n=$((n + 1)); done";
static const char start_agent[] = "ssh-agent -a \"$SSH_AUTH_SOCK\" >/dev/null || exit 1; ";
static const char drop_keys[] = "ssh-add -q -D; ";

int keeper_ssh_agent_pipe(const void *key, size_t size, struct err *e)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		err_sys(e, "could not make a pipe");
		return -1;
	}
	fcntl(ends[1], F_SETPIPE_SZ, (int)size); /* a pipe of the default size (64 KiB) may be too small for the key */
	bool written = write(ends[1], key, size) == (ssize_t)size && fcntl(ends[0], F_SETFL, 0) == 0;
	close(ends[1]);
	if (written)
		return ends[0];
	err_set(e, "the key is too long for a pipe to ssh-add");
	close(ends[0]);
	return -1;
}

/* The environment of the shell that starts ssh-agent as the owner. */
struct shell {
	char *command, *argv[4 + KEEPER_SSH_KEYS_MOST + 1], **environment;
	int keys[KEEPER_SSH_KEYS_MOST];
	struct task_start start;
};

static struct shell *shell_new(struct keeper *k, const char *before, const int *keys, int count)
{
	struct shell *s = xcalloc(1, sizeof *s);
	struct task_facts facts = keeper_place_facts(k, -1);
	facts.credentials = k->delivered;
	int words = 0;
	s->command = xasprintf("%s%s", before, add_keys);
	s->environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	s->argv[words++] = (char *)"/bin/sh";
	s->argv[words++] = (char *)"-c";
	s->argv[words++] = s->command;
	s->argv[words++] = (char *)"sh";
	for (int i = 0; i < count; i++)
		s->argv[words++] = (char *)"key";
	if (count > 0)
		memcpy(s->keys, keys, (size_t)count * sizeof *keys);
	s->start = (struct task_start){.path = s->argv[0], .argv = s->argv, .environment = s->environment};
	keeper_place_process(k, &s->start);
	s->start.folder = "/";
	s->start.passed = s->keys;
	s->start.passed_count = count;
	return s;
}

static void shell_free(struct shell *s)
{
	task_environment_free(s->environment);
	free(s->command);
	free(s);
}

bool keeper_ssh_agent_start(struct keeper *k, const int *keys, int count)
{
	struct shell *s = shell_new(k, start_agent, keys, count);
	bool started = keeper_hook_unrecorded(k, &s->start, k->job->conf->node_hook_timeout);
	shell_free(s);
	return started;
}

void keeper_ssh_agent_reload(struct keeper *k, const int *keys, int count)
{
	struct shell *s = shell_new(k, drop_keys, keys, count);
	struct err e;
	bool in_use;
	int report, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	s->start.out = null;
	keeper_sweep_expect(k);
	if (task_start(&s->start, &report, &in_use, &e) < 0)
		log_warning("attempt %s: ssh-agent keeps its keys: %s", k->name, e.message);
	else
		close(report);
	close(null);
	if (in_use)
		k->has_slow_start = true;
	else
		shell_free(s);
}
