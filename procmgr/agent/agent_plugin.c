/* agent_plugin.c - runs the site's program for figures of devices, once for each round of samples, and for figures of energy.
 *
 * Called by: agent_sample.c, agent_energy.c.
 * Invariants:
 * - The program has a process group of its own, which is killed when the program ends or its time limit is over.
 * - The agent never waits for the program.
 * - Output after PLUGIN_MOST bytes is dropped. */
#include "procmgr/agent/agent_plugin.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/log.h"
#include "lib/order_valid.h"

enum { PLUGIN_MOST = 65536 };

struct agent_plugin {
	pid_t pid;
	bool late; /* the program was killed at its time limit */
	char *text;
	size_t size;
	struct event *readable, *ended, *timer;
	agent_plugin_done *done;
	void *arg;
};

static json_t *number_json(const char *text)
{
	char *end;
	double number = strtod(text, &end);
	while (isspace((unsigned char)*end))
		end++;
	if (!*text || *end || !isfinite(number))
		return NULL;
	bool whole = number > -1e15 && number < 1e15 && (double)(json_int_t)number == number;
	return whole ? json_integer((json_int_t)number) : json_real(number);
}

/* Read lines of NAME=number. Other lines are skipped. */
static json_t *read_lines(char *text)
{
	json_t *figures = json_object();
	for (char *line; (line = strsep(&text, "\n"));) {
		char *value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		json_t *number = order_valid_name(line) ? number_json(value) : NULL;
		if (number)
			json_object_set_new(figures, line, number);
	}
	return figures;
}

json_t *agent_plugin_read(char *text)
{
	json_t *output = json_loads(text, 0, NULL), *figures, *value;
	const char *name;
	if (!json_is_object(output)) {
		json_decref(output);
		return read_lines(text);
	}
	figures = json_object();
	json_object_foreach (output, name, value)
		if (order_valid_name(name) && json_is_number(value))
			json_object_set(figures, name, value);
	json_decref(output);
	return figures;
}

/* Read the pipe to its end even when the buffer is full, so that the program never blocks in write(). */
static void read_output(struct agent_plugin *p)
{
	char more[4096];
	ssize_t n;
	while ((n = read(event_get_fd(p->readable), more, sizeof more)) > 0) {
		size_t left = PLUGIN_MOST - p->size, taken = (size_t)n < left ? (size_t)n : left;
		memcpy(p->text + p->size, more, taken);
		p->size += taken;
	}
	if (n == 0)
		event_del(p->readable);
}

static void handle_output(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_output(arg);
}

static void kill_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent_plugin *p = arg;
	p->late = true;
	kill(-p->pid, SIGKILL);
}

void agent_plugin_free(struct agent_plugin *p)
{
	if (!p)
		return;
	if (p->pid > 0) {
		kill(-p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	close(event_get_fd(p->readable));
	close(event_get_fd(p->ended));
	event_free(p->readable);
	event_free(p->ended);
	event_free(p->timer);
	free(p->text);
	free(p);
}

static void handle_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent_plugin *p = arg;
	int status = 0;
	json_t *figures = NULL;
	kill(-p->pid, SIGKILL); /* kill the program's descendants; the process group's number cannot be reused before waitpid */
	if (waitpid(p->pid, &status, WNOHANG) == 0)
		return;
	p->pid = 0;
	read_output(p);
	p->text[p->size] = '\0';
	if (p->late)
		log_warning("node.sample_command was killed: it ran longer than node.sample_timeout");
	else if (status != 0)
		log_warning("node.sample_command failed (%s %d)", WIFSIGNALED(status) ? "signal" : "exit code",
			    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	else
		figures = agent_plugin_read(p->text);
	agent_plugin_done *done = p->done;
	void *arg_done = p->arg;
	agent_plugin_free(p);
	done(figures, arg_done);
}

/* Start the site's program by posix_spawn, which does not copy the memory of procmgrd. */
static pid_t spawn_plugin(const char *command, const char *node, int out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	pid_t pid = -1;
	char *name = xasprintf("ROTA_NODE=%s", node);
	char *argv[] = {(char *)command, NULL},
	     *environment[] = {(char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", name, NULL};
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	errno = posix_spawn(&pid, command, &actions, &attributes, argv, environment);
	if (errno)
		pid = -1;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(name);
	return pid;
}

struct agent_plugin *agent_plugin_start(const struct agent_context *c, agent_plugin_done *done, void *arg)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC) < 0)
		return NULL;
	pid_t pid = spawn_plugin(c->conf->node_sample_command, c->node, out[1]);
	close(out[1]);
	int fd = pid > 0 ? pidfd_open(pid, 0) : -1;
	if (fd < 0) {
		log_warning("could not run node.sample_command \"%s\": %m", c->conf->node_sample_command);
		close(out[0]);
		if (pid > 0) {
			kill(-pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		return NULL;
	}
	file_set_blocking(out[0], false);
	struct agent_plugin *p = xcalloc(1, sizeof *p);
	p->pid = pid;
	p->text = xmalloc(PLUGIN_MOST + 1);
	p->done = done;
	p->arg = arg;
	p->readable = event_new(c->base, out[0], EV_READ | EV_PERSIST, handle_output, p);
	p->ended = event_new(c->base, fd, EV_READ | EV_PERSIST, handle_end, p);
	p->timer = evtimer_new(c->base, kill_late, p);
	event_add(p->readable, NULL);
	event_add(p->ended, NULL);
	event_add(p->timer, &(struct timeval){c->conf->node_sample_timeout, 0});
	return p;
}
