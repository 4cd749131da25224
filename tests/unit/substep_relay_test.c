/* substep_relay_test.c - streams that are passed on between an agent's node and the step manager, and names of connections. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_link.h"
#include "procmgr/stepmgr/substep_relay.h"

enum { LOOPS = 8 };

/* A relay between two socket pairs, of which the test has the other ends. */
struct ends {
	struct event_base *base;
	int near, far;
};

static struct bufferevent *make_side(struct event_base *base, int *end)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	*end = pair[0];
	return bufferevent_socket_new(base, pair[1], BEV_OPT_CLOSE_ON_FREE);
}

static struct ends make_relay(void (*begin)(struct bufferevent *near, struct bufferevent *far))
{
	struct ends e = {.base = event_base_new()};
	struct bufferevent *near = make_side(e.base, &e.near), *far = make_side(e.base, &e.far);
	begin(near, far);
	return e;
}

static void run(const struct ends *e)
{
	for (int i = 0; i < LOOPS; i++)
		event_base_loop(e->base, EVLOOP_NONBLOCK);
}

static void free_relay(struct ends *e)
{
	close(e->near);
	close(e->far);
	run(e);
	event_base_free(e->base);
}

/* Read at most `size` bytes, of which no more are there. Returns -1 if there are none, 0 at the end. */
static ssize_t get(int fd, char *bytes, size_t size)
{
	ssize_t got = recv(fd, bytes, size, MSG_DONTWAIT);
	if (got < 0)
		assert_int_equal(errno, EAGAIN);
	return got;
}

static void test_both_ways(void **state)
{
	char bytes[16];
	struct ends e = make_relay(substep_relay_begin);
	(void)state;
	assert_int_equal(write(e.near, "one", 3), 3);
	assert_int_equal(write(e.far, "other", 5), 5);
	run(&e);
	assert_int_equal(get(e.near, bytes, sizeof bytes), 5);
	assert_int_equal(get(e.far, bytes, sizeof bytes), 3);
	assert_int_equal(get(e.far, bytes, sizeof bytes), -1);
	free_relay(&e);
}

/* A side whose other end has stopped reading may still write. */
static void test_near_reads_no_more(void **state)
{
	char bytes[16];
	struct ends e = make_relay(substep_relay_join);
	(void)state;
	assert_int_equal(shutdown(e.near, SHUT_RD), 0);
	assert_int_equal(write(e.far, "key", 3), 3);
	run(&e);
	assert_int_equal(write(e.near, "rest", 4), 4);
	run(&e);
	assert_int_equal(get(e.far, bytes, sizeof bytes), 4);
	free_relay(&e);
}

static void test_who_closes(void **state)
{
	char bytes[16];
	void (*const begins[])(struct bufferevent * near, struct bufferevent * far) = {substep_relay_begin, substep_relay_join};
	(void)state;
	for (int lingers = 0; lingers < 2; lingers++) {
		struct ends e = make_relay(begins[lingers]);
		assert_int_equal(write(e.near, "last", 4), 4);
		assert_int_equal(shutdown(e.near, SHUT_WR), 0);
		run(&e);
		assert_int_equal(get(e.far, bytes, sizeof bytes), 4);
		run(&e);
		assert_int_equal(get(e.far, bytes, sizeof bytes), lingers ? -1 : 0);
		assert_int_equal(shutdown(e.far, SHUT_WR), 0);
		run(&e);
		assert_int_equal(get(e.far, bytes, sizeof bytes), 0);
		free_relay(&e);
	}
}

static void test_far_ends_first(void **state)
{
	char bytes[16];
	struct ends e = make_relay(substep_relay_join);
	(void)state;
	assert_int_equal(write(e.far, "key", 3), 3);
	close(e.far);
	run(&e);
	assert_int_equal(get(e.near, bytes, sizeof bytes), 3);
	run(&e);
	assert_int_equal(get(e.near, bytes, sizeof bytes), 0);
	e.far = dup(e.near);
	free_relay(&e);
}

/* At most a small buffer is kept for a side that does not read. */
static void test_bound(void **state)
{
	enum { PIECE = 65536, MOST = 4 << 20, ALL = 64 << 20 };
	char *piece = calloc(1, PIECE);
	size_t sent = 0;
	struct ends e = make_relay(substep_relay_join);
	(void)state;
	for (int idle = 0; idle < 4 && sent < ALL;) {
		ssize_t size = write(e.near, piece, PIECE);
		idle = size > 0 ? 0 : idle + 1;
		sent += size > 0 ? (size_t)size : 0;
		run(&e);
	}
	assert_true(sent < MOST);
	close(e.near);
	for (size_t got = 0; got < sent;) {
		run(&e);
		ssize_t size = get(e.far, piece, PIECE);
		assert_int_not_equal(size, 0);
		got += size > 0 ? (size_t)size : 0;
	}
	e.near = dup(e.far);
	free_relay(&e);
	free(piece);
}

static void test_names(void **state)
{
	char *name = substep_link_view("n2/812.0.1", 17);
	(void)state;
	assert_string_equal(name, "n2/812.0.1 view 17");
	assert_int_equal(substep_link_view_number(name), 17);
	assert_false(substep_link_is_client(name));
	free(name);
	assert_int_equal(substep_link_view_number("n2 view 0"), 0);
	const char *const others[] = {"n2",	   "n2 client",	 "n2 view",    "n2 view ",
				      "n2 view x", "n2 view 1x", "n2 view -1", "n2 viewer 1"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_int_equal(substep_link_view_number(others[i]), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),  cmocka_unit_test(test_near_reads_no_more),
		cmocka_unit_test(test_who_closes), cmocka_unit_test(test_far_ends_first),
		cmocka_unit_test(test_bound),	   cmocka_unit_test(test_names),
	};
	signal(SIGPIPE, SIG_IGN); /* as the step manager does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
