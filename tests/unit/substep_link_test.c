/* substep_link_test.c - who gets through the handshake between nodes of a step: only a peer that knows the key. */
#include "tests/unit/unit.h"

#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

#include "procmgr/stepmgr/substep_link.h"

static struct event_base *base;
static struct substep_link_key key;
static struct bufferevent *accepted; /* connection that the step manager has accepted; NULL: none */

static const char *key_of(const char *node, void *arg)
{
	(void)arg;
	return strcmp(node, "n2") == 0 ? key.digits : NULL;
}

static void opened(const char *node, struct bufferevent *stream, void *arg)
{
	(void)arg;
	assert_string_equal(node, "n2");
	accepted = stream;
}

static void handshake_over(struct bufferevent *stream, short what, void *arg)
{
	(void)stream;
	*(short *)arg = what;
	event_base_loopbreak(base);
}

/* Connect to a port as the agent of `node`. Returns whether the handshake succeeded. */
static bool gets_through(int port, const char *node, const struct substep_link_key *own)
{
	struct err e;
	short what = 0;
	struct bufferevent *stream = substep_link_connect(base, "127.0.0.1", port, node, own, &e);
	assert_non_null(stream);
	bufferevent_setcb(stream, NULL, NULL, handshake_over, &what);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	while (what == 0)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	bufferevent_free(stream);
	return what & BEV_EVENT_CONNECTED;
}

static void key_is_proven(void **state)
{
	static const struct substep_link_listening listening = {.key_of = key_of, .opened = opened};
	struct err e;
	struct substep_link_key other = substep_link_make_key();
	int port = substep_link_listen(base, 0, &listening, &e);
	(void)state;
	assert_true(port > 0);
	assert_false(gets_through(port, "n2", &other));
	assert_false(gets_through(port, "n3", &key));
	assert_null(accepted);
	assert_true(gets_through(port, "n2", &key));
	while (!accepted)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	bufferevent_free(accepted);
}

/* Make a TLS server that shows a certificate, which it has signed itself, and knows no key. */
static SSL_CTX *make_false_server(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *own = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), 0));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 3600));
	assert_int_equal(X509_set_pubkey(certificate, own), 1);
	assert_true(X509_sign(certificate, own, EVP_sha256()) > 0);
	assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(context, own), 1);
	X509_free(certificate);
	EVP_PKEY_free(own);
	return context;
}

static void accept_falsely(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *context)
{
	(void)listener;
	(void)address;
	(void)size;
	accepted = bufferevent_openssl_socket_new(base, fd, SSL_new(context), BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_enable(accepted, EV_READ | EV_WRITE);
}

static void certificate_is_refused(void **state)
{
	SSL_CTX *context = make_false_server();
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	struct evconnlistener *listener = evconnlistener_new_bind(base, accept_falsely, context, LEV_OPT_CLOSE_ON_FREE, 1,
								  (struct sockaddr *)&address, sizeof address);
	(void)state;
	assert_int_equal(getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size), 0);
	assert_false(gets_through(ntohs(address.sin_port), "n2", &key));
	assert_non_null(accepted);
	bufferevent_free(accepted);
	evconnlistener_free(listener);
	SSL_CTX_free(context);
}

static void error_at_once_is_reported(void **state)
{
	struct err e;
	(void)state;
	assert_null(substep_link_connect(base, "255.255.255.255", 1, "n2", &key, &e));
	assert_non_null(strstr(e.message, "255.255.255.255"));
}

/* The event base stays until the end of the program, as a step manager has no call that ends its listening. */
static int begin_all(void **state)
{
	(void)state;
	base = event_base_new();
	key = substep_link_make_key();
	return base ? 0 : -1;
}

static int begin(void **state)
{
	(void)state;
	accepted = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(key_is_proven, begin),
		cmocka_unit_test_setup(certificate_is_refused, begin),
		cmocka_unit_test_setup(error_at_once_is_reported, begin),
	};
	return cmocka_run_group_tests(tests, begin_all, NULL);
}
