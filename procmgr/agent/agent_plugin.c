/* agent_plugin.c - the site's program for figures of devices, run for one round of samples.
 *
 * Called by agent_sample.c. What always holds: one runs at a time, in a process group of its own, and is killed when its time is over; the
 * agent never waits for it; what it prints beyond PLUGIN_MOST bytes is not read. */
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

#include "lib/log.h"
#include "procmgr/agent/agent_parts.h"

enum { PLUGIN_MOST = 65536 };

struct agent_plugin {
	pid_t pid;
	bool late; /* it was killed for it */
	char *text;
	size_t size;
	struct event *readable, *ended, *timer;
	agent_plugin_done *done;
	void *arg;
};

static bool is_name(const char *name)
{
	return *name && strlen(name) <= 64 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == strlen(name);
}

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

/* Lines of NAME=number; others say nothing. */
static json_t *read_lines(char *text)
{
	json_t *figures = json_object();
	for (char *line; (line = strsep(&text, "\n"));) {
		char *value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		json_t *number = is_name(line) ? number_json(value) : NULL;
		if (number)
			json_object_set_new(figures, line, number);
	}
	return figures;
}

json_t *agent_plugin_read(char *text)
{
	json_t *said = json_loads(text, 0, NULL), *figures, *value;
	const char *name;
	if (!json_is_object(said)) {
		json_decref(said);
		return read_lines(text);
	}
	figures = json_object();
	json_object_foreach (said, name, value)
		if (is_name(name) && json_is_number(value))
			json_object_set(figures, name, value);
	json_decref(said);
	return figures;
}

/* A full pipe is emptied whether or not there is room for what it holds, so that nobody waits who could end. */
static void take_output(struct agent_plugin *p)
{
	char more[4096];
	ssize_t n;
	while ((n = read(event_get_fd(p->readable), more, sizeof more)) > 0) {
		size_t room = PLUGIN_MOST - p->size, taken = (size_t)n < room ? (size_t)n : room;
		memcpy(p->text + p->size, more, taken);
		p->size += taken;
	}
	if (n == 0)
		event_del(p->readable);
}

static void output(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	take_output(arg);
}

static void overdue(evutil_socket_t fd, short what, void *arg)
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

static void ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct agent_plugin *p = arg;
	int status = 0;
	json_t *figures = NULL;
	kill(-p->pid, SIGKILL); /* what it has left behind; the number is not another's before it is waited for */
	if (waitpid(p->pid, &status, WNOHANG) == 0)
		return;
	p->pid = 0;
	take_output(p);
	p->text[p->size] = '\0';
	if (p->late)
		log_warning("node.sample_command did not end in time and was killed");
	else if (status != 0)
		log_warning("node.sample_command failed (%s %d)", WIFSIGNALED(status) ? "signal" : "exit code",
			    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	else
		figures = agent_plugin_read(p->text);
	agent_plugin_done *done = p->done;
	void *whom = p->arg;
	agent_plugin_free(p);
	done(figures, whom);
}

/* posix_spawn does not copy the process that calls it. */
static pid_t spawn(const char *command, const char *node, int out)
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

struct agent_plugin *agent_plugin_start(struct agent *a, agent_plugin_done *done, void *arg)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC) < 0)
		return NULL;
	pid_t pid = spawn(a->conf->node_sample_command, a->node, out[1]);
	close(out[1]);
	int fd = pid > 0 ? pidfd_open(pid, 0) : -1;
	if (fd < 0) {
		log_warning("could not run node.sample_command \"%s\": %m", a->conf->node_sample_command);
		close(out[0]);
		if (pid > 0) {
			kill(-pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		return NULL;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	struct agent_plugin *p = xcalloc(1, sizeof *p);
	p->pid = pid;
	p->text = xmalloc(PLUGIN_MOST + 1);
	p->done = done;
	p->arg = arg;
	p->readable = event_new(a->base, out[0], EV_READ | EV_PERSIST, output, p);
	p->ended = event_new(a->base, fd, EV_READ | EV_PERSIST, ended, p);
	p->timer = evtimer_new(a->base, overdue, p);
	event_add(p->readable, NULL);
	event_add(p->ended, NULL);
	event_add(p->timer, &(struct timeval){a->conf->node_sample_timeout, 0});
	return p;
}
