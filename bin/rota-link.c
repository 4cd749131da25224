/* rota-link.c - main of the program that connects processes of a step on several nodes to the DMTCP coordinator on the first one.
 *
 * Called by: procmgr/checkpoint/dmtcp_guard.c on the first node, procmgr/checkpoint/dmtcp_nodes.c on the others.
 * On the first node it passes connections of other nodes on to the guard. On another node it has a port of the loopback interface, and
 * passes connections of processes of the owner on to the first node, by TLS.
 * Invariants:
 * - It ends when its standard input does.
 * - Whoever connects over the network proves that he knows the key of the attempt, or gets nothing. So does the first node.
 * - Nothing of a local connection is read before its owner is known. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/conf.h"
#include "lib/err.h"
#include "procmgr/checkpoint/dmtcp_peer.h"
#include "procmgr/stepmgr/substep_link.h"

/* TRIES, AGAIN_MS: how often, and how soon, a node tries to reach the first node, whose unproven connections others may use up. */
enum { BUFFER_MOST = 65536, TRIES = 100, AGAIN_MS = 200 };

static struct {
	struct event_base *base;
	const char *folder; /* folder of the attempt's coordinator */
	const char *node;   /* number of this node in the step, as text */
	const char *host;   /* host of the first node */
	const char *first;  /* process of this node's first task, as text */
	int port;	    /* port of the guard; on another node, port of the first node's program */
	struct substep_link_key key;
} own;

/* Two connections between which bytes are passed on: side[0] came, and side[1] was made for it. */
struct pair {
	struct bufferevent *side[2];
	struct event *again; /* timer of the next try to connect side[1] */
	int tries;
	bool is_open, is_ending; /* is_open: bytes may pass; is_ending: one side has ended, and the other one gets the rest */
};

static void pair_free(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		if (p->side[i])
			bufferevent_free(p->side[i]);
	if (p->again)
		event_free(p->again);
	free(p);
}

static struct bufferevent *pair_other(const struct pair *p, const struct bufferevent *side)
{
	return p->side[side == p->side[0]];
}

static void pair_read(struct bufferevent *from, void *arg)
{
	struct pair *p = arg;
	struct bufferevent *to = pair_other(p, from);
	if (!p->is_open)
		return;
	bufferevent_write_buffer(to, bufferevent_get_input(from));
	if (evbuffer_get_length(bufferevent_get_output(to)) > BUFFER_MOST)
		bufferevent_disable(from, EV_READ);
}

static void pair_written(struct bufferevent *to, void *arg)
{
	struct pair *p = arg;
	if (!p->is_open)
		return;
	if (p->is_ending)
		pair_free(p);
	else
		bufferevent_enable(pair_other(p, to), EV_READ);
}

static void pair_connect(struct pair *p);

static void pair_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pair_connect(arg);
}

/* Try again to reach the first node, or give up. */
static void pair_retry(struct pair *p)
{
	static const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
	if (p->side[1])
		bufferevent_free(p->side[1]);
	p->side[1] = NULL;
	if (++p->tries >= TRIES) {
		fputs("rota-link: could not reach the first node of the step\n", stderr);
		pair_free(p);
		return;
	}
	if (!p->again)
		p->again = event_new(own.base, -1, 0, pair_again, p);
	event_add(p->again, &pause);
}

static void pair_open(struct pair *p)
{
	p->is_open = true;
	bufferevent_enable(p->side[0], EV_READ | EV_WRITE);
	bufferevent_enable(p->side[1], EV_READ | EV_WRITE);
}

static void pair_event(struct bufferevent *side, short what, void *arg)
{
	struct pair *p = arg;
	if (what & BEV_EVENT_CONNECTED) {
		pair_open(p);
	} else if (!p->is_open && side == p->side[1]) {
		pair_retry(p);
	} else if (!p->is_open || p->is_ending) {
		pair_free(p);
	} else {
		struct bufferevent *to = pair_other(p, side);
		pair_read(side, p);
		p->is_ending = true;
		bufferevent_disable(side, EV_READ | EV_WRITE);
		bufferevent_disable(to, EV_READ);
		if (evbuffer_get_length(bufferevent_get_output(to)) == 0)
			pair_free(p);
	}
}

/* Make side[1]: to the guard of this node, or to the first node. */
static void pair_connect(struct pair *p)
{
	struct sockaddr_in guard = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct err e;
	guard.sin_port = htons((uint16_t)own.port);
	if (own.host)
		p->side[1] = substep_link_connect(own.base, own.host, own.port, own.node, &own.key, &e);
	else
		p->side[1] = bufferevent_socket_new(own.base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!p->side[1]) {
		pair_retry(p);
		return;
	}
	bufferevent_setcb(p->side[1], pair_read, pair_written, pair_event, p);
	if (!own.host)
		bufferevent_socket_connect(p->side[1], (struct sockaddr *)&guard, sizeof guard);
}

/* Connect `side`, a connection that was accepted, to the guard or to the first node, and pass bytes on in both directions. */
static void pair_begin(struct bufferevent *side)
{
	struct pair *p = xcalloc(1, sizeof *p);
	p->side[0] = side;
	bufferevent_setcb(side, pair_read, pair_written, pair_event, p);
	pair_connect(p);
}

static void local_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *arg)
{
	(void)listener;
	(void)address;
	(void)size;
	(void)arg;
	if (dmtcp_peer_is_own(fd))
		pair_begin(bufferevent_socket_new(own.base, fd, BEV_OPT_CLOSE_ON_FREE));
	else
		close(fd);
}

static const char *key_of(const char *node, void *arg)
{
	(void)node;
	(void)arg;
	return own.key.digits;
}

static void node_opened(const char *node, struct bufferevent *stream, void *arg)
{
	(void)node;
	(void)arg;
	pair_begin(stream);
}

/* Write `line` to the file `name` of the attempt's folder, which only the owner can read. */
static bool file_write(const char *name, const char *line)
{
	char *part = xasprintf("%s/%s.part", own.folder, name), *path = xasprintf("%s/%s", own.folder, name);
	int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
	if (fd >= 0)
		good = close(fd) == 0 && good;
	good = good && rename(part, path) == 0;
	if (!good)
		fprintf(stderr, "rota-link: could not write \"%s\": %m\n", path);
	free(part);
	free(path);
	return good;
}

/* On the first node: listen for the others, and write the file "link" with the port and the key, which they read. */
static bool first_begin(const char *config)
{
	static struct substep_link_listening listening = {.key_of = key_of, .opened = node_opened};
	struct conf conf;
	struct err e;
	own.key = substep_link_make_key();
	if (conf_load(&conf, config, &e))
		substep_link_use_ports(*conf.node_step_ports ? conf.node_step_ports : NULL);
	else
		return fprintf(stderr, "rota-link: %s\n", e.message) < 0;
	int port = substep_link_listen(own.base, 0, &listening, &e);
	char *line = xasprintf("%d %s\n", port, own.key.digits);
	bool good = port > 0 ? file_write("link", line) : fprintf(stderr, "rota-link: %s\n", e.message) < 0;
	free(line);
	return good;
}

static bool link_read(void)
{
	char *path = xasprintf("%s/link", own.folder);
	FILE *file = fopen(path, "re");
	bool good = file && fscanf(file, "%d %64s", &own.port, own.key.digits) == 2;
	if (!good)
		fprintf(stderr,
			"rota-link: could not read \"%s\": task 0 has not made it, or --checkpoint-dir is not one folder for all "
			"nodes\n",
			path);
	if (file)
		fclose(file);
	free(path);
	return good;
}

/* On another node: listen for processes of this node, and write the file "port.NODE" with the port and the process of the node's first
 * task. */
static bool other_begin(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	struct evconnlistener *listener = !link_read() ? NULL
						       : evconnlistener_new_bind(own.base, local_accept, NULL,
										 LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
										 -1, (struct sockaddr *)&address, sizeof address);
	if (!listener || getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size) < 0)
		return false;
	char *name = xasprintf("port.%s", own.node), *line = xasprintf("%d %s\n", ntohs(address.sin_port), own.first);
	bool good = file_write(name, line);
	free(name);
	free(line);
	return good;
}

static void input_ended(evutil_socket_t fd, short what, void *arg)
{
	char byte;
	(void)what;
	(void)arg;
	if (read(fd, &byte, 1) <= 0)
		event_base_loopbreak(own.base);
}

int main(int argc, char **argv)
{
	bool is_first = argc == 5 && strcmp(argv[1], "first") == 0;
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("rota-link %s\n", ROTA_VERSION) < 0;
	if (!is_first && (argc != 6 || strcmp(argv[1], "other") != 0)) {
		fputs("usage: rota-link first CONFIG FOLDER PORT\n"
		      "       rota-link other FOLDER NODE HOST PROCESS\n",
		      stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	own.base = event_base_new();
	if (!own.base)
		die("could not prepare the event loop");
	own.folder = argv[is_first ? 3 : 2];
	own.node = is_first ? "0" : argv[3];
	own.host = is_first ? NULL : argv[4];
	own.first = is_first ? NULL : argv[5];
	own.port = is_first ? atoi(argv[4]) : 0;
	if (!(is_first ? first_begin(argv[2]) : other_begin()))
		return 1;
	struct event *input = event_new(own.base, STDIN_FILENO, EV_READ | EV_PERSIST, input_ended, NULL);
	event_add(input, NULL);
	event_base_dispatch(own.base);
	return 0;
}
