/* route.c - connects to step managers on other machines through `rota tunnel` (route.h).
 *
 * Called by: allocation.c; steps_link.c when it connects.
 * Invariants:
 * - Each connection is a process `rota tunnel` of its own, with a new token. So `rota` itself needs no TLS and starts fast.
 * - A process `rota tunnel` ends when its connection with this process ends. */
#include "bin/rota/steps/route.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/steps_link.h"

enum { LABEL_SIZE = 512 };

static pid_t tunnel; /* pid of the last process `rota tunnel`; 0: none */

enum route route_asked(void)
{
	const char *word = getenv("ROTA_STEP_ROUTE");

	if (!word || !*word)
		return ROUTE_ANY;
	if (!strcmp(word, "local"))
		return ROUTE_LOCAL;
	if (!strcmp(word, "tls"))
		return ROUTE_TLS;
	if (!strcmp(word, "relay"))
		return ROUTE_RELAY;
	fprintf(stderr, "rota: ROTA_STEP_ROUTE is \"%s\"; it must be \"local\", \"tls\" or \"relay\"\n", word);
	exit(EXIT_USAGE);
}

bool route_is_remote(const char *path)
{
	return strncmp(path, STEPS_LINK_REMOTE, sizeof(STEPS_LINK_REMOTE) - 1) == 0;
}

/* In the new process: execute `rota tunnel`, with all signals blocked, since signals of the terminal are for the parent. */
static void tunnel_exec(int stream, int errors, const char *label, const char *attempt)
{
	const char *config = call_config_path(), *argv[8] = {"rota", "tunnel", "--close-stderr"};
	char config_option[4200];
	sigset_t all;
	int count = 3;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	snprintf(config_option, sizeof(config_option), "--config=%s", config ? config : "");
	if (config)
		argv[count++] = config_option;
	argv[count++] = attempt;
	argv[count++] = label;
	if (dup2(stream, STDIN_FILENO) >= 0 && dup2(stream, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", (char **)argv);
	dprintf(errors, "could not execute rota: %s", strerror(errno));
	_exit(EXIT_NO_GATE);
}

/* Read the error of `rota tunnel` until it closes its standard error. Returns true if there is none: it is connected. */
static bool tunnel_ready(int errors, char *error, size_t size)
{
	static const char name[] = "rota: ";
	size_t used = 0;
	ssize_t got;

	while ((got = read(errors, error + used, size - 1 - used)) > 0 || (got < 0 && errno == EINTR))
		used += got > 0 ? (size_t)got : 0;
	while (used && error[used - 1] == '\n')
		used--;
	error[used] = '\0';
	if (!strncmp(error, name, sizeof(name) - 1)) {
		const char *message = error + sizeof(name) - 1;

		memmove(error, message, strlen(message) + 1);
	}
	return !used;
}

/* Start `rota tunnel`. Returns the descriptor of its stream, or -1 with errno set. */
static int tunnel_start(const char *label, const char *attempt, int *errors)
{
	int stream[2], report[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream))
		return -1;
	if (pipe2(report, O_CLOEXEC)) {
		close(stream[0]);
		close(stream[1]);
		return -1;
	}
	tunnel = fork();
	if (!tunnel)
		tunnel_exec(stream[1], report[1], label, attempt);
	close(stream[1]);
	close(report[1]);
	*errors = report[0];
	return stream[0];
}

/* Connects to a path tls:LABEL#ATTEMPT, for steps_link.c. */
static int route_connect(const char *path, char *error, size_t size)
{
	char label[LABEL_SIZE], option[64];
	const char *mark = strrchr(path, '#');
	int fd, errors;

	path += sizeof(STEPS_LINK_REMOTE) - 1;
	if (!mark || mark < path || (size_t)(mark - path) >= sizeof(label)) {
		snprintf(error, size, "it names no step");
		return -1;
	}
	snprintf(label, sizeof(label), "%.*s", (int)(mark - path), path);
	snprintf(option, sizeof(option), "--attempt=%.20s", mark + 1);
	if (tunnel > 0)
		waitpid(tunnel, NULL, WNOHANG);
	fd = tunnel_start(label, option, &errors);
	if (fd < 0 || tunnel < 0) {
		snprintf(error, size, "could not start rota tunnel: %s", strerror(errno));
		return -1;
	}
	if (!tunnel_ready(errors, error, size) || !file_set_blocking(fd, false)) {
		close(fd);
		fd = -1;
	}
	close(errors);
	return fd;
}

char *route_use(const char *label, long long attempt)
{
	steps_link_connect_remote = route_connect;
	return xasprintf("%s%s#%lld", STEPS_LINK_REMOTE, label, attempt);
}
