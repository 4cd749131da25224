/* socket_peer_test.c - who is at the other end of a socket. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/socket_peer.h"

static void test_unix(void **state)
{
	(void)state;
	int ends[2];
	struct ucred peer;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(socket_peer_read(ends[i], &peer));
		assert_int_equal(peer.pid, getpid());
		assert_int_equal(peer.uid, geteuid());
		assert_int_equal(peer.gid, getegid());
		close(ends[i]);
	}
}

static void assert_has_none(int fd)
{
	struct ucred peer = {1, 2, 3};
	assert_false(socket_peer_read(fd, &peer));
	assert_int_equal(peer.pid, 1);
	assert_int_equal(peer.uid, 2);
	assert_int_equal(peer.gid, 3);
}

/* A TCP connection, a Unix socket that is not connected, and a descriptor that is closed. */
static void test_none(void **state)
{
	(void)state;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
	int served = accept(listener, NULL, NULL);
	assert_true(served >= 0);
	assert_has_none(client);
	assert_has_none(served);
	close(served);
	close(client);
	close(listener);
	int alone = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(alone >= 0);
	assert_has_none(alone);
	close(alone);
	assert_has_none(alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_unix), cmocka_unit_test(test_none)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
