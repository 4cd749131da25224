/* dmtcp_guard.c - the DMTCP coordinator of an attempt, and the guard, through which only processes of the owner reach it.
 *
 * A coordinator of DMTCP obeys everybody who connects to its TCP port. So the coordinator of an attempt has none: it listens at a
 * Unix socket in a folder of the owner. The guard has a port of the loopback interface, and passes on messages that processes of
 * the owner send there.
 *
 * Called by: driver_dmtcp.c, dmtcp_nodes.c; bin/rota-checkpoint.c, for drivers of the site that start MANA.
 * Invariants:
 * - Guard and coordinator block all signals but SIGKILL and SIGSTOP. A signal for the step is for its program.
 * - Nothing of a connection is read before its owner is known. */
#include "procmgr/checkpoint/dmtcp_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/err.h"
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/dmtcp_peer.h"

/* Descriptor at which DMTCP's coordinator expects a listening socket (its PROTECTED_COORD_FD). A coordinator that uses another
 * descriptor tries to listen at the port of the guard, and fails. */
enum { COORDINATOR_FD = 821 };
enum { BUFFER_SIZE = 4096, BACKLOG = 128, FIXED_FDS = 2, NUMBER_SIZE = 16 };

/* A message of DMTCP begins with `message_begin`, and has its kind, an int, at offset MESSAGE_KIND_AT. While saved processes
 * are about to go on, the coordinator rejects new processes by a message of kind MESSAGE_REJECT_NOT_RUNNING. DMTCP would then end
 * the process that starts a new one. */
static const char message_begin[] = "DMTCP_CKPT_V0\n";
enum { MESSAGE_KIND_AT = 96, MESSAGE_REJECT_NOT_RUNNING = 7, AGAIN_MS = 10 };

/* A connection that the guard passes on. fd[0] is connected to a process of the step, fd[1] to the coordinator. Direction i leads
 * from fd[i] to the other descriptor. */
struct relay {
	int fd[2];
	size_t at[2], size[2];
	bool ended[2]; /* no more bytes come from fd[i] */
	char bytes[2][BUFFER_SIZE];
	bool is_new; /* the coordinator has not answered the first message of the process, which is in `hello` */
	char hello[BUFFER_SIZE];
	size_t hello_size;
};

struct guard {
	int listener, folder, coordinator; /* coordinator: the read end of a pipe that ends with it */
	struct relay **relays;
	int count;
};

static int listen_loopback(int *port, struct err *e)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
		*port = ntohs(address.sin_port);
		return fd;
	}
	err_sys(e, "could not listen on the loopback interface");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Returns the address of the coordinator's socket. The address names the folder by its descriptor, so it is short enough for any
 * folder. */
static struct sockaddr_un coordinator_address(int folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/coordinator", folder);
	return address;
}

static int listen_coordinator(int folder, struct err *e)
{
	struct sockaddr_un address = coordinator_address(folder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err_sys(e, "could not listen for a coordinator");
	if (fd >= 0)
		close(fd);
	return -1;
}

static void coordinator_execute(const struct dmtcp_guard *guard, int socket, int alive, int port)
{
	char number[NUMBER_SIZE], *program = xasprintf("%s/dmtcp_coordinator", guard->programs);
	const char *argv[] = {program,	      "--quiet",   "--quiet",	"--exit-on-last", "--stale-timeout",
			      "-1",	      "--ckptdir", guard->path, "--tmpdir",	  guard->path,
			      "--coord-port", "",	   NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(number, sizeof number, "%d", port);
	argv[11] = number;
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	fcntl(alive, F_SETFD, 0);
	if (dup2(socket, COORDINATOR_FD) == COORDINATOR_FD)
		execv(program, (char *const *)argv);
	_exit(127);
}

static void relay_free(struct relay *r)
{
	close(r->fd[0]);
	if (r->fd[1] >= 0)
		close(r->fd[1]);
	free(r);
}

static int coordinator_connect(const struct guard *g)
{
	struct sockaddr_un address = coordinator_address(g->folder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Accept a connection at the guard's port, and connect it to the coordinator. A connection of another user's process is
 * closed. */
static void guard_accept(struct guard *g)
{
	int fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC);
	int other = fd >= 0 && dmtcp_peer_is_own(fd) ? coordinator_connect(g) : -1;
	if (other < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	struct relay *r = xcalloc(1, sizeof *r);
	r->fd[0] = fd;
	r->fd[1] = other;
	r->is_new = true;
	g->relays = xrealloc(g->relays, ((unsigned long)g->count + 1) * sizeof(struct relay *));
	g->relays[g->count++] = r;
}

/* Does the coordinator's answer reject a new process for now? */
static bool is_rejection(const char *bytes, size_t size)
{
	int kind;
	if (size < MESSAGE_KIND_AT + sizeof kind || memcmp(bytes, message_begin, sizeof message_begin) != 0)
		return false;
	memcpy(&kind, bytes + MESSAGE_KIND_AT, sizeof kind);
	return kind == MESSAGE_REJECT_NOT_RUNNING;
}

/* Handle bytes of a relay whose coordinator has not answered yet. The first message of the process is kept, and if the
 * coordinator rejects the process for now, the connection to it is closed, so that the message is sent again on a new one. */
static void relay_open(struct relay *r, int i)
{
	size_t size = r->size[i];
	if (i == 0 && size > 0 && r->hello_size + size <= BUFFER_SIZE) {
		memcpy(r->hello + r->hello_size, r->bytes[0], size);
		r->hello_size += size;
	} else if (i == 1 && is_rejection(r->bytes[1], size)) {
		close(r->fd[1]);
		r->fd[1] = -1;
		r->size[1] = 0;
	} else if (size > 0) {
		r->is_new = false;
	}
}

static void relay_again(const struct guard *g, struct relay *r)
{
	r->fd[1] = coordinator_connect(g);
	r->ended[1] = r->fd[1] < 0;
	memcpy(r->bytes[0], r->hello, r->hello_size);
	r->at[0] = 0;
	r->size[0] = r->hello_size;
}

/* Move the bytes of direction i that can be read and written now. */
static void relay_move(struct relay *r, int i)
{
	if (r->size[i] == 0 && !r->ended[i]) {
		ssize_t got = recv(r->fd[i], r->bytes[i], BUFFER_SIZE, MSG_DONTWAIT);
		r->at[i] = 0;
		r->size[i] = got > 0 ? (size_t)got : 0;
		r->ended[i] = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
		if (r->ended[i])
			shutdown(r->fd[1 - i], SHUT_WR);
		if (r->is_new)
			relay_open(r, i);
	}
	if (r->size[i] > 0) {
		ssize_t put = send(r->fd[1 - i], r->bytes[i] + r->at[i], r->size[i], MSG_DONTWAIT | MSG_NOSIGNAL);
		if (put < 0 && errno != EAGAIN && errno != EINTR)
			r->ended[0] = r->ended[1] = true;
		r->at[i] += put > 0 ? (size_t)put : 0;
		r->size[i] -= put > 0 ? (size_t)put : 0;
	}
}

static void relays_move(struct guard *g)
{
	int kept = 0;
	for (int n = 0; n < g->count; n++) {
		struct relay *r = g->relays[n];
		if (r->fd[1] < 0)
			relay_again(g, r);
		relay_move(r, 0);
		if (r->fd[1] >= 0)
			relay_move(r, 1);
		if (r->ended[0] && (r->ended[1] || r->fd[1] < 0))
			relay_free(r);
		else
			g->relays[kept++] = r;
	}
	g->count = kept;
}

/* Returns the poll events of fd[i]: POLLIN if no bytes from it are buffered, POLLOUT if bytes for it are buffered. */
static struct pollfd relay_wish(const struct relay *r, int i)
{
	short events = (short)((r->size[i] == 0 && !r->ended[i] ? POLLIN : 0) | (r->size[1 - i] > 0 ? POLLOUT : 0));
	return (struct pollfd){.fd = events ? r->fd[i] : -1, .events = events};
}

/* Accept connections, and pass bytes on between processes and the coordinator, until the coordinator has ended. */
static void guard_run(struct guard *g)
{
	struct pollfd *p = NULL;
	do {
		p = xrealloc(p, (FIXED_FDS + 2 * (unsigned long)g->count) * sizeof *p);
		p[0] = (struct pollfd){.fd = g->coordinator, .events = POLLIN};
		p[1] = (struct pollfd){.fd = g->listener, .events = POLLIN};
		int timeout = -1;
		for (int n = 0; n < g->count; n++) {
			for (int i = 0; i < 2; i++)
				p[FIXED_FDS + 2 * n + i] = relay_wish(g->relays[n], i);
			timeout = g->relays[n]->fd[1] < 0 ? AGAIN_MS : timeout;
		}
		if (poll(p, FIXED_FDS + 2 * (nfds_t)g->count, timeout) < 0)
			continue;
		relays_move(g);
		if (p[1].revents)
			guard_accept(g);
	} while (!p[0].revents);
	free(p);
}

/* Allow as many descriptors as the step may have: the guard and the coordinator have some for each process of the step. */
static void raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void dmtcp_guard_detach(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	raise_descriptors();
}

/* Execute rota-link, whose standard input ends with the coordinator. */
static void link_execute(const struct dmtcp_guard *guard, int alive, int port)
{
	char number[NUMBER_SIZE];
	const char *argv[] = {guard->link, "first", guard->config, guard->path, number, NULL};
	snprintf(number, sizeof number, "%d", port);
	if (dup2(alive, STDIN_FILENO) == STDIN_FILENO)
		execv(guard->link, (char *const *)argv);
	_exit(127);
}

/* Runs in the process of the guard: starts the coordinator, rota-link and the process of guard->watch, and passes messages on until
 * the coordinator ends. */
static void guard_main(const struct dmtcp_guard *guard, struct guard *g, int socket, int port)
{
	int alive[2];
	dmtcp_guard_detach();
	signal(SIGCHLD, SIG_IGN);
	if (pipe2(alive, O_CLOEXEC) < 0)
		_exit(1);
	pid_t pid = fork();
	if (pid == 0)
		coordinator_execute(guard, socket, alive[1], port);
	close(socket);
	close(alive[1]);
	if (pid > 0 && guard->link && fork() == 0)
		link_execute(guard, alive[0], port);
	if (pid > 0 && guard->watch && fork() == 0) {
		close(g->listener);
		signal(SIGCHLD, SIG_DFL); /* the watching process waits for the programs that it starts */
		guard->watch(port, guard->arg);
		_exit(0);
	}
	g->coordinator = alive[0];
	if (pid > 0)
		guard_run(g);
	_exit(pid > 0 ? 0 : 1);
}

int dmtcp_guard_start(const struct dmtcp_guard *guard, struct err *e)
{
	struct guard g = {.listener = -1, .folder = folder_open_own(AT_FDCWD, guard->path, true, e)};
	int port = -1, socket = -1, status = 1;
	if (g.folder >= 0 && (g.listener = listen_loopback(&port, e)) >= 0)
		socket = listen_coordinator(g.folder, e);
	pid_t pid = socket >= 0 ? fork() : -1;
	if (pid == 0 && fork() == 0)
		guard_main(guard, &g, socket, port);
	if (pid == 0)
		_exit(0);
	if (socket >= 0 && (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0))
		err_sys(e, "could not start a coordinator");
	for (int *fd = (int[]){g.listener, g.folder, socket, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	return status == 0 ? port : -1;
}
