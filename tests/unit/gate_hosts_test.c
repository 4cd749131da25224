/* gate_hosts_test.c - lists of hosts: addresses and networks of both kinds, against real connections. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jobmgr/gate/gate_hosts.h"

/* A TCP connection over the loopback interface. */
struct connection {
	int listener, client, server;
};

static struct connection connection_open(int family, const char *from)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
	bool both = family == AF_INET6;
	struct sockaddr *address = both ? (struct sockaddr *)&in6 : (struct sockaddr *)&in;
	socklen_t size = both ? sizeof in6 : sizeof in;
	struct connection made = {.listener = socket(family, SOCK_STREAM, 0), .client = socket(AF_INET, SOCK_STREAM, 0)};
	struct sockaddr_in own = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
	int off = 0;

	in.sin_addr.s_addr = htonl(INADDR_ANY);
	if (both)
		assert_return_code(setsockopt(made.listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off), errno);
	assert_return_code(bind(made.listener, address, size), errno);
	assert_return_code(listen(made.listener, 1), errno);
	assert_return_code(getsockname(made.listener, address, &size), errno);
	own.sin_addr.s_addr = inet_addr(from);
	assert_return_code(bind(made.client, (struct sockaddr *)&own, sizeof own), errno);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = both ? in6.sin6_port : in.sin_port;
	assert_return_code(connect(made.client, (struct sockaddr *)&to, sizeof to), errno);
	made.server = accept(made.listener, NULL, NULL);
	assert_return_code(made.server, errno);
	return made;
}

static void connection_close(struct connection *c)
{
	close(c->server);
	close(c->client);
	close(c->listener);
}

static bool list_has(const char *list, int family, const char *from)
{
	struct err e = {0};
	struct gate_hosts *hosts = gate_hosts_new(list, &e);
	struct connection c = connection_open(family, from);
	bool found;

	assert_non_null(hosts);
	found = gate_hosts_have(hosts, c.server);
	connection_close(&c);
	gate_hosts_free(hosts);
	return found;
}

static void test_addresses(void **state)
{
	(void)state;
	for (const int *family = (const int[]){AF_INET, AF_INET6, 0}; *family; family++) { /* AF_INET6: ::ffff:127.0.0.5 */
		assert_true(list_has("127.0.0.5", *family, "127.0.0.5"));
		assert_true(list_has("10.0.0.1, fd00::/64,127.0.0.5", *family, "127.0.0.5"));
		assert_false(list_has("127.0.0.5", *family, "127.0.0.6"));
		assert_false(list_has("::1", *family, "127.0.0.1"));
		assert_false(list_has("", *family, "127.0.0.1"));
	}
}

static void test_networks(void **state)
{
	(void)state;
	assert_true(list_has("127.0.0.0/29", AF_INET, "127.0.0.7"));
	assert_false(list_has("127.0.0.0/29", AF_INET, "127.0.0.8"));
	assert_true(list_has("127.3.0.0/16", AF_INET, "127.3.9.9"));
	assert_false(list_has("127.3.0.0/16", AF_INET, "127.4.0.0"));
	assert_true(list_has("0.0.0.0/0", AF_INET6, "127.0.0.1"));
	assert_true(list_has("::/0", AF_INET, "127.0.0.1"));
	assert_true(list_has("::ffff:127.0.0.0/104", AF_INET, "127.9.9.9"));
	assert_false(list_has("::/96", AF_INET, "127.0.0.1"));
}

static void test_malformed(void **state)
{
	const char *const lists[] = {
		"host",	      "10.0.0",	      "10.0.0.0/33",	   "10.0.0.0/-1", "10.0.0.0/",	       "10.0.0.0/8x",
		"fd00::/129", "10.0.0.0/8/8", "10.0.0.1;10.0.0.2", "/8",	  "1.2.3.4, 256.1.1.1"};

	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct err e = {0};

		assert_null(gate_hosts_new(lists[i], &e));
		assert_non_null(strstr(e.message, "is neither an address nor a network"));
	}
}

static void test_none(void **state)
{
	struct err e = {0};
	struct gate_hosts *none = gate_hosts_new(" ,\t", &e), *one = gate_hosts_new("10.0.0.1", &e);
	int pair[2];

	(void)state;
	assert_true(gate_hosts_are_none(none));
	assert_false(gate_hosts_are_none(one));
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), errno);
	assert_false(gate_hosts_have(one, pair[0])); /* a Unix socket has no host */
	close(pair[0]);
	close(pair[1]);
	gate_hosts_free(none);
	gate_hosts_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
