/* launcher_agent.c - starts procmgrd, the unprivileged half of the node, reads its messages and restarts it.
 *
 * Called by: launcher.c; launcher_control.c to answer.
 * Invariants:
 * - procmgrd runs as node.account. Of the launcher's descriptors it has only one end of a socket pair, as descriptor 3.
 * - Messages of procmgrd are checked as if they came from an attacker.
 * - procmgrd is restarted after a pause, which doubles each time that procmgrd ends soon after its start.
 * - The launcher waits for procmgrd only at its own end. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

enum { AGENT_FD = 3, PAUSE_FIRST = 100000, PAUSE_LONGEST = 5000000, STAYED_UP = 2000000, STOP_TRIES = 500, AT_ONCE = 256 };

struct launcher_agent {
	char *program;	     /* path of procmgrd */
	launcher_take *take; /* the function for messages of procmgrd */
	pid_t pid;	     /* process of procmgrd; 0 if it does not run */
	int socket;	     /* socket to procmgrd; -1 if it does not run */
	int64_t started_at;
	int64_t start_at; /* when procmgrd may be started again */
	int64_t pause;	  /* pause before the next start */
};

bool launcher_agent_find(struct launcher *l, launcher_take *take, struct err *e)
{
	char *program = daemon_beside("procmgrd", e);
	if (!program)
		return false;
	l->agent = xcalloc(1, sizeof *l->agent);
	l->agent->program = program;
	l->agent->take = take;
	l->agent->pause = PAUSE_FIRST;
	l->agent->socket = -1;
	return access(l->agent->program, X_OK) == 0 || err_sys(e, "could not find \"%s\"", l->agent->program);
}

void launcher_agent_free(struct launcher *l)
{
	if (l->agent)
		free(l->agent->program);
	free(l->agent);
}

pid_t launcher_agent_pid(const struct launcher *l)
{
	return l->agent->pid;
}

int launcher_agent_socket(const struct launcher *l)
{
	return l->agent->socket;
}

int64_t launcher_agent_next(const struct launcher *l)
{
	return l->agent->pid > 0 ? INT64_MAX : l->agent->start_at;
}

static bool become_agent(const struct launcher *l, int fd, struct err *e)
{
	sigset_t none;
	char virtual[16];
	char *const argv[] = {(char *)"procmgrd",
			      (char *)"--config",
			      l->conf->path,
			      (char *)"--node",
			      (char *)l->node,
			      (char *)"--launcher-fd",
			      (char *)"3",
			      (char *)"--virtual",
			      virtual,
			      l->dry ? (char *)"--dry-run" : NULL,
			      NULL};
	snprintf(virtual, sizeof virtual, "%d", l->conf->launcher_virtual);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (fd == AGENT_FD ? fcntl(fd, F_SETFD, 0) < 0 : dup2(fd, AGENT_FD) < 0)
		return err_sys(e, "could not give procmgrd its socket");
	close_range(AGENT_FD + 1, ~0U, 0);
	if (!daemon_become(conf_node_account(l->conf), e))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execv(l->agent->program, argv);
	return err_sys(e, "could not execute \"%s\"", l->agent->program);
}

static void start_agent(struct launcher *l)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		log_error("could not make a socket pair for procmgrd: %m");
		return;
	}
	l->agent->pid = fork();
	if (l->agent->pid == 0) {
		struct err e;
		become_agent(l, ends[1], &e);
		log_error("%s", e.message);
		_exit(1);
	}
	close(ends[1]);
	if (l->agent->pid < 0) {
		log_error("could not fork procmgrd: %m");
		close(ends[0]);
		l->agent->pid = 0;
		return;
	}
	l->agent->socket = ends[0];
	l->agent->started_at = clock_boot_us();
}

void launcher_agent_poll(struct launcher *l)
{
	if (l->agent->pid > 0 || l->stop || clock_boot_us() < l->agent->start_at)
		return;
	start_agent(l);
	l->agent->start_at = clock_boot_us() + l->agent->pause;
}

void launcher_agent_reaped(struct launcher *l)
{
	launcher_agent_read(l, true);
	l->agent->pid = 0;
	if (l->agent->socket >= 0)
		close(l->agent->socket);
	l->agent->socket = -1;
	if (l->stop)
		return;
	int64_t now = clock_boot_us();
	bool stayed = now - l->agent->started_at >= STAYED_UP;
	l->agent->pause = stayed ? PAUSE_FIRST : l->agent->pause * 2 < PAUSE_LONGEST ? l->agent->pause * 2 : PAUSE_LONGEST;
	l->agent->start_at = now + l->agent->pause;
	log_warning("procmgrd has ended; it is restarted in %lld ms", (long long)l->agent->pause / 1000);
}

/* Read messages of procmgrd: all of them, or at most AT_ONCE. */
void launcher_agent_read(struct launcher *l, bool all)
{
	static char text[LAUNCHER_MESSAGE_LARGEST + 1];
	for (int i = 0; l->agent->socket >= 0 && (all || i < AT_ONCE); i++) {
		ssize_t size = recv(l->agent->socket, text, sizeof text, MSG_DONTWAIT);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno == EAGAIN)
			return;
		if (size <= 0) {
			close(l->agent->socket);
			l->agent->socket = -1;
			return;
		}
		if (size > LAUNCHER_MESSAGE_LARGEST)
			log_warning("message of procmgrd ignored: it has more than %d bytes", LAUNCHER_MESSAGE_LARGEST);
		else
			l->agent->take(l, text, (size_t)size);
	}
}

/* Answer a control message of procmgrd. If the socket is full of unread answers, the answer is lost and procmgrd sends the
 * message again. */
void launcher_agent_answer(const struct launcher *l, int64_t id, bool taken)
{
	size_t size;
	struct fields *message = fields_new();
	fields_add_int(message, "id", id);
	fields_add_int(message, "taken", taken);
	const char *text = fields_text(message, &size);
	if (send(l->agent->socket, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("could not answer procmgrd: %m");
	fields_free(message);
}

void launcher_agent_stop(struct launcher *l)
{
	if (l->agent->pid > 0)
		kill(l->agent->pid, SIGTERM);
	for (int try = 0; l->agent->pid > 0 && try < STOP_TRIES; try++) {
		launcher_agent_read(l, true);
		if (waitpid(l->agent->pid, NULL, WNOHANG) == l->agent->pid)
			launcher_agent_reaped(l);
		else
			usleep(10000);
	}
	if (l->agent->pid > 0) {
		kill(l->agent->pid, SIGKILL);
		waitpid(l->agent->pid, NULL, 0);
		launcher_agent_reaped(l);
	}
}
