/* substep_link.c - TLS 1.3 with a key that both sides know (substep_link.h).
 *
 * Called by: substep_nodes.c on the first node, substep_agent.c on the others; rota-link.c on both.
 * Invariants:
 * - No side gets through the handshake without the key of the node. A peer that shows a certificate instead is refused.
 * - At most UNPROVEN_MOST connections have not finished their handshake, and each for at most HANDSHAKE_S. */
#include "procmgr/stepmgr/substep_link.h"

#include <ctype.h>
#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <inttypes.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/keepalive.h"
#include "lib/text.h"

enum { UNPROVEN_MOST = 64, HANDSHAKE_S = 10, NODE_SIZE = 256 };

/* The data of one TLS connection. */
struct proof {
	char node[NODE_SIZE];
	struct substep_link_key key; /* set in an agent only; a step manager asks `listening` for the key */
	/* listening socket of the step manager; NULL: this process is an agent, which connects */
	const struct substep_link_listening *listening;
};

static int unproven;	/* handshakes that have not finished */
static int proof_index; /* index of struct proof in the data of a connection; the connection frees it */

struct substep_link_key substep_link_make_key(void)
{
	struct substep_link_key key;
	unsigned char bytes[SUBSTEP_LINK_KEY_BYTES];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		die("could not get random bytes: %m");
	for (int i = 0; i < SUBSTEP_LINK_KEY_BYTES; i++)
		snprintf(key.digits + 2 * i, 3, "%02x", bytes[i]);
	return key;
}

static const char CLIENT[] = " client", VIEW[] = " view ";

bool substep_link_is_client(const char *name)
{
	const char *blank = strchr(name, ' ');
	return blank && strcmp(blank, CLIENT) == 0;
}

char *substep_link_client(const char *node)
{
	return xasprintf("%s%s", node, CLIENT);
}

int64_t substep_link_view_number(const char *name)
{
	const char *blank = strchr(name, ' ');
	char *end;
	if (!blank || strncmp(blank, VIEW, strlen(VIEW)) != 0 || !isdigit((unsigned char)blank[strlen(VIEW)]))
		return -1;
	long long number = strtoll(blank + strlen(VIEW), &end, 10);
	return *end ? -1 : number;
}

char *substep_link_view(const char *node, int64_t number)
{
	return xasprintf("%s%s%" PRId64, node, VIEW, number);
}

/* Write the bytes of a key in hex. Returns their number, 0 if the text is not hex. */
static unsigned key_bytes(const char *digits, unsigned char *bytes, unsigned most)
{
	if (!digits || strlen(digits) != 2 * SUBSTEP_LINK_KEY_BYTES || most < SUBSTEP_LINK_KEY_BYTES)
		return 0;
	for (int i = 0; i < SUBSTEP_LINK_KEY_BYTES; i++)
		if (sscanf(digits + 2 * i, "%2hhx", &bytes[i]) != 1)
			return 0;
	return SUBSTEP_LINK_KEY_BYTES;
}

static unsigned give_server_key(SSL *ssl, const char *identity, unsigned char *bytes, unsigned most)
{
	struct proof *p = SSL_get_ex_data(ssl, proof_index);
	if (strlen(identity) >= sizeof p->node)
		return 0;
	strcpy(p->node, identity);
	return key_bytes(p->listening->key_of(p->node, p->listening->arg), bytes, most);
}

static unsigned give_client_key(SSL *ssl, const char *hint, char *identity, unsigned identity_most, unsigned char *bytes,
				unsigned most)
{
	const struct proof *p = SSL_get_ex_data(ssl, proof_index);
	(void)hint;
	if (strlen(p->node) >= identity_most)
		return 0;
	strcpy(identity, p->node);
	return key_bytes(p->key.digits, bytes, most);
}

/* Make the TLS context of all connections of this process. No session tickets are given out: they would admit a peer without its
 * key. */
static SSL_CTX *make_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_method());
	if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 || SSL_CTX_set_num_tickets(context, 0) != 1)
		die("could not prepare TLS");
	SSL_CTX_set_psk_server_callback(context, give_server_key);
	SSL_CTX_set_psk_client_callback(context, give_client_key);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	return context;
}

static void free_proof(void *parent, void *p, CRYPTO_EX_DATA *data, int index, long one, void *other)
{
	(void)parent;
	(void)data;
	(void)index;
	(void)one;
	(void)other;
	free(p);
}

/* Make the TLS object of a connection; takes ownership of `p`. A false step manager may ignore the key that an agent offers, and show a
 * certificate. The context trusts none, so SSL_VERIFY_PEER refuses it. */
static SSL *make_ssl(struct proof *p)
{
	static SSL_CTX *context;
	if (!context) {
		context = make_context();
		proof_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_proof);
	}
	SSL *ssl = SSL_new(context);
	if (!ssl)
		die("could not prepare TLS");
	if (!p->listening)
		SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	SSL_set_ex_data(ssl, proof_index, p);
	return ssl;
}

/* Called when the handshake of an agent's connection has succeeded or failed. */
static void handshake_over(struct bufferevent *stream, short what, void *arg)
{
	struct proof *p = arg;
	unproven--;
	bufferevent_setcb(stream, NULL, NULL, NULL, NULL);
	if (what & BEV_EVENT_CONNECTED) {
		bufferevent_set_timeouts(stream, NULL, NULL);
		bufferevent_disable(stream, EV_READ);
		p->listening->opened(p->node, stream, p->listening->arg);
	} else {
		bufferevent_free(stream);
	}
}

static void accept_agent(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *arg)
{
	static const struct timeval most = {.tv_sec = HANDSHAKE_S};
	(void)address;
	(void)size;
	if (unproven >= UNPROVEN_MOST) {
		close(fd); /* the agent connects again later */
		return;
	}
	struct proof *p = xcalloc(1, sizeof *p);
	p->listening = arg;
	struct bufferevent *stream = bufferevent_openssl_socket_new(evconnlistener_get_base(listener), fd, make_ssl(p),
								    BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (!stream)
		die("could not prepare TLS");
	unproven++;
	keepalive_watch(fd); /* send small packets at once, for the echo of typed keys, and notice that a host is gone */
	bufferevent_setcb(stream, NULL, NULL, handshake_over, p);
	bufferevent_set_timeouts(stream, &most, &most);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
}

/* Bind a socket of a family at any address. Returns it, or -1. */
static int bind_any(int family, int port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = {.six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any}};
	int zero = 0, one = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (family == AF_INET)
		address.four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	if (fd >= 0 && (family == AF_INET || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero) == 0) &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
	    bind(fd, &address.any, family == AF_INET ? sizeof address.four : sizeof address.six) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static struct {
	int first, last; /* 0 and 0: any */
} ports;

void substep_link_use_ports(const char *range)
{
	if (range && !text_range(range, 1, UINT16_MAX, &ports.first, &ports.last))
		die("\"%s\" is no range of ports", range);
}

/* Bind a socket at a port, in both families where the host has both. */
static int bind_port(int port)
{
	int fd = bind_any(AF_INET6, port);
	return fd < 0 ? bind_any(AF_INET, port) : fd;
}

/* Bind a socket at a free port of the range. Step managers begin their search at different ports. */
static int bind_range(void)
{
	unsigned count = (unsigned)(ports.last - ports.first) + 1, begin = (unsigned)getpid();
	int fd = -1;
	for (unsigned i = 0; i < count && fd < 0; i++)
		fd = bind_port(ports.first + (int)((begin + i) % count));
	return fd;
}

int substep_link_bind(int *port)
{
	struct sockaddr_in6 address;
	socklen_t size = sizeof address;
	int fd = *port == 0 && ports.last > 0 ? bind_range() : bind_port(*port);
	if (fd >= 0 && getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		*port = ntohs(address.sin6_port); /* IPv4 and IPv6 addresses have the port at the same place */
	return fd;
}

int substep_link_listen(struct event_base *base, int port, const struct substep_link_listening *listening, struct err *e)
{
	int fd = substep_link_bind(&port);
	if (fd < 0 || !evconnlistener_new(base, accept_agent, (void *)listening, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
					  SOMAXCONN, fd)) {
		err_sys(e, "could not listen for the other nodes");
		if (fd >= 0)
			close(fd);
		return 0;
	}
	return port;
}

struct bufferevent *substep_link_connect(struct event_base *base, const char *host, int port, const char *node,
					 const struct substep_link_key *key, struct err *e)
{
	struct proof *p = xcalloc(1, sizeof *p);
	snprintf(p->node, sizeof p->node, "%s", node);
	p->key = *key;
	SSL *ssl = make_ssl(p);
	struct bufferevent *stream =
		bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
	/* An error that is found at once is reported to a callback, which the caller has not set yet, and leaves no descriptor. */
	if (stream && bufferevent_socket_connect_hostname(stream, NULL, AF_UNSPEC, host, port) == 0 &&
	    bufferevent_getfd(stream) >= 0) {
		/* a task that inherits the descriptor would keep the connection open */
		evutil_make_socket_closeonexec(bufferevent_getfd(stream));
		keepalive_watch(bufferevent_getfd(stream));
		return stream;
	}
	err_set(e, "could not connect to \"%s\"", host);
	if (stream)
		bufferevent_free(stream);
	return NULL;
}
