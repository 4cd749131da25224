/* substep_remote.c - listens for clients on other machines (substep_remote.h).
 *
 * Called by: stepmgr.c and substep_engine.c; the event loop for connections and their bytes.
 * Invariants:
 * - This process listens only on the first node of the step, and only after the keeper has asked for it.
 * - Each step manager makes a new key and certificate, only in memory. A token names the certificate, so it is of no use to
 *   another server, and no earlier step manager has admitted it.
 * - A connection sends its token first. At most ARRIVALS_MOST connections have not done so, each for ARRIVAL_S seconds at most
 *   and with a few KiB of memory. For a new one beyond that, the oldest is closed.
 * - A token is admitted once. */
#include "procmgr/stepmgr/substep_remote.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/keepalive.h"
#include "lib/step_token.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_link.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { ARRIVALS_MOST = 64, ARRIVAL_S = 10, NONCES_MOST = 4096, CERTIFICATE_S = 10 * 365 * 24 * 3600 };

/* A connection whose client has not sent its token, or whose token was refused. */
struct arrival {
	TAILQ_ENTRY(arrival) next;
	struct bufferevent *stream;
	struct event *late;
	bool is_refused; /* the token was refused; the connection waits until the peer has read the reason */
};

static struct {
	int key_fd;
	struct substep_engine *m;
	struct seal_verify_key *key;
	SSL_CTX *context;
	char fingerprint[SEAL_HEX_SIZE];
	TAILQ_HEAD(, arrival) arrivals; /* the oldest one first */
	int arrival_count;
	struct admitted {
		char nonce[STEP_TOKEN_NONCE_SIZE];
		int64_t expires_at;
	} admitted[NONCES_MOST]; /* tokens that were admitted and have not expired */
	int admitted_count;
} remote = {.key_fd = -1};

void substep_remote_use(int key_fd)
{
	remote.key_fd = key_fd;
}

static void arrival_forget(struct arrival *a)
{
	TAILQ_REMOVE(&remote.arrivals, a, next);
	remote.arrival_count--;
	event_free(a->late);
	free(a);
}

static void arrival_close(struct arrival *a)
{
	bufferevent_free(a->stream);
	arrival_forget(a);
}

static void arrival_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	arrival_close(arg);
}

static void forget_expired(int64_t now)
{
	for (int i = 0; i < remote.admitted_count;)
		if (remote.admitted[i].expires_at < now)
			remote.admitted[i] = remote.admitted[--remote.admitted_count];
		else
			i++;
}

/* Add the token to those that were admitted. Returns false if it was admitted before, or too many were admitted within a
 * minute. */
static bool token_admit_once(const struct step_token *token, struct err *e)
{
	for (int i = 0; i < remote.admitted_count; i++)
		if (strcmp(remote.admitted[i].nonce, token->nonce) == 0)
			return err_set(e, "the token was used before");
	if (remote.admitted_count == NONCES_MOST)
		return err_set(e, "more than %d tokens were used in a minute", NONCES_MOST);
	struct admitted *a = &remote.admitted[remote.admitted_count++];
	strcpy(a->nonce, token->nonce);
	a->expires_at = token->expires_at;
	return true;
}

static bool is_own(const char *variable, int64_t value)
{
	const char *own = getenv(variable);
	return own && strtoll(own, NULL, 10) == value;
}

/* May the client that sends this token connect to this step manager now? */
static bool token_admit(const char *text, size_t size, struct err *e)
{
	struct step_token token;
	const char *node = getenv("ROTA_NODE");
	int64_t now = time(NULL);
	if (!step_token_read(remote.key, text, size, &token, e))
		return false;
	if (!is_own("ROTA_JOB_ID", token.job_id) || !is_own("ROTA_STEP_ID", token.step_id) ||
	    !is_own("ROTA_ATTEMPT", token.attempt) || !node || strcmp(node, token.node) != 0)
		return err_set(e, "the token is for another step");
	if (token.uid != geteuid())
		return err_set(e, "the token is of another user");
	if (strcmp(token.fingerprint, remote.fingerprint) != 0)
		return err_set(e, "the token is for another certificate");
	if (token.expires_at < now)
		return err_set(e, "the token has expired");
	forget_expired(now);
	return token_admit_once(&token, e);
}

/* Send the peer the reason why its token is refused. The connection stays until the peer closes it: closing it here could lose
 * the reason. */
static void arrival_refuse(struct arrival *a, const struct err *e)
{
	json_t *event = json_pack("{s:s, s:i, s:s}", "event", "error", "id", 0, "message", e->message);
	char *text = json_dumps(event, JSON_COMPACT);
	a->is_refused = true;
	evbuffer_add_printf(bufferevent_get_output(a->stream), "%s\n", text ? text : "{}");
	free(text);
	json_decref(event);
	evbuffer_drain(bufferevent_get_input(a->stream), evbuffer_get_length(bufferevent_get_input(a->stream)));
}

static void arrival_sent(struct bufferevent *stream, void *arg)
{
	struct arrival *a = arg;
	struct evbuffer *input = bufferevent_get_input(stream);
	struct err e;
	size_t size;
	char *line = a->is_refused ? NULL : evbuffer_readln(input, &size, EVBUFFER_EOL_LF);
	if (a->is_refused) {
		evbuffer_drain(input, evbuffer_get_length(input));
	} else if (line && token_admit(line, size, &e)) {
		arrival_forget(a);
		remote.m->handlers->connected(stream);
	} else if (line) {
		arrival_refuse(a, &e);
	} else if (evbuffer_get_length(input) > STEP_TOKEN_LONGEST) {
		err_set(&e, "the connection did not begin with a token");
		arrival_refuse(a, &e);
	}
	free(line);
}

static void arrival_changed(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	if (!(what & BEV_EVENT_CONNECTED))
		arrival_close(arg);
}

static void accept_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *arg)
{
	static const struct timeval most = {.tv_sec = ARRIVAL_S};
	struct event_base *base = evconnlistener_get_base(listener);
	SSL *ssl = SSL_new(remote.context);
	struct arrival *a = xcalloc(1, sizeof *a);
	(void)address;
	(void)size;
	(void)arg;
	if (remote.arrival_count == ARRIVALS_MOST)
		arrival_close(TAILQ_FIRST(&remote.arrivals));
	a->stream = ssl ? bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE) : NULL;
	a->late = evtimer_new(base, arrival_late, a);
	if (!a->stream || !a->late)
		die("could not prepare TLS");
	TAILQ_INSERT_TAIL(&remote.arrivals, a, next);
	remote.arrival_count++;
	keepalive_watch(fd); /* probe the client: its sub-steps end when its connection does */
	event_add(a->late, &most);
	bufferevent_setcb(a->stream, arrival_sent, NULL, arrival_changed, a);
	bufferevent_setwatermark(a->stream, EV_READ, 0, STEP_TOKEN_LONGEST + 1);
	bufferevent_enable(a->stream, EV_READ | EV_WRITE);
}

/* Make a key, and a certificate for it. The names in the certificate do not matter: clients know its fingerprint. */
static bool make_certificate(SSL_CTX *context)
{
	unsigned char digest[SEAL_HASH_SIZE];
	unsigned size = sizeof digest;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	X509 *certificate = X509_new();
	X509_NAME *name = certificate ? X509_get_subject_name(certificate) : NULL;
	bool made = key && name && X509_set_version(certificate, X509_VERSION_3) &&
		    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) &&
		    X509_gmtime_adj(X509_getm_notBefore(certificate), -24 * 3600) &&
		    X509_gmtime_adj(X509_getm_notAfter(certificate), CERTIFICATE_S) &&
		    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"rota-stepmgr", -1, -1, 0) &&
		    X509_set_issuer_name(certificate, name) && X509_set_pubkey(certificate, key) &&
		    X509_sign(certificate, key, EVP_sha256()) && X509_digest(certificate, EVP_sha256(), digest, &size) &&
		    SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1;
	if (made)
		seal_hex(digest, sizeof digest, remote.fingerprint);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return made;
}

static SSL_CTX *make_context(struct err *e)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	if (context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1 &&
	    make_certificate(context)) {
		SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
		return context;
	}
	SSL_CTX_free(context);
	err_set(e, "could not make a certificate");
	return NULL;
}

/* Load the key sign.pub by a path that names the open file: the user may not have access to the folder of keys. */
static struct seal_verify_key *load_key(struct err *e)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", remote.key_fd);
	return seal_verify_key_load(path, e);
}

static bool open_port(struct event_base *base, int *port, struct err *e)
{
	int fd = substep_link_bind(port);
	if (fd >= 0 &&
	    evconnlistener_new(base, accept_client, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, SOMAXCONN, fd))
		return true;
	err_sys(e, "could not listen at a port");
	if (fd >= 0)
		close(fd);
	return false;
}

void substep_remote_listen(struct substep_engine *m)
{
	struct err e;
	int port = 0;
	if (remote.m || remote.key_fd < 0)
		return;
	remote.key = load_key(&e);
	remote.context = remote.key ? make_context(&e) : NULL;
	TAILQ_INIT(&remote.arrivals);
	if (!remote.context || !open_port(m->base, &port, &e)) {
		/* The record informs people: no program reads it. */
		substep_journal_append(m->journal, "deaf", json_pack("{s:s}", "message", e.message));
		SSL_CTX_free(remote.context);
		seal_verify_key_free(remote.key);
		return;
	}
	remote.m = m;
	substep_journal_append(m->journal, "listen", json_pack("{s:i, s:s}", "port", port, "fingerprint", remote.fingerprint));
}
