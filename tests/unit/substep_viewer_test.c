/* substep_viewer_test.c - a step manager speaks only with a terminal of its own user. */
#include "tests/unit/unit.h"

#include <event2/event.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_viewer.h"

enum { NOBODY = 65534, TURNS = 10 };

static bool has_room(void *arg)
{
	(void)arg;
	return true;
}

static void ended(void *arg)
{
	++*(int *)arg;
}

static const struct substep_viewer_handlers handlers = {.has_room = has_room, .ended = ended};

/* Listen at the abstract name as the user of this process. Returns -1 if another process listens there. */
static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int size = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
	if (bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)) == 0 &&
	    listen(fd, 100) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Take the name as another user for some connections. The exit code says whether a client sent anything. */
static pid_t start_thief(const char *name, int *ready)
{
	int is_ready[2];
	assert_int_equal(pipe(is_ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte = 0;
		ssize_t sent = 0;
		int fd = setuid(NOBODY) == 0 ? listen_at(name) : -1;
		if (fd < 0 || write(is_ready[1], &byte, 1) != 1)
			_exit(2);
		for (int i = 0; i < TURNS; i++) {
			int client = accept(fd, NULL, NULL);
			sent += recv(client, &byte, 1, 0) > 0;
			close(client);
		}
		_exit(sent > 0);
	}
	close(is_ready[1]);
	*ready = is_ready[0];
	return pid;
}

static void test_another_user(void **state)
{
	char name[64], byte;
	int ready, status, ends = 0;
	struct substep_view view = {'l', 0};
	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(name, sizeof name, "rota-terminal-test-%ld", (long)getpid());
	pid_t thief = start_thief(name, &ready);
	assert_int_equal(read(ready, &byte, 1), 1);
	struct event_base *base = event_base_new();
	struct substep_viewer *v = substep_viewer_new(base, name, &view, &handlers, &ends);
	substep_viewer_input(v, "password", 8);
	/* The step manager tries again until the name is free, and sends the other user nothing. */
	while (waitpid(thief, &status, WNOHANG) == 0) {
		event_base_loop(base, EVLOOP_ONCE);
		assert_false(substep_viewer_may_come(v));
	}
	assert_int_equal(status, 0);
	int own = listen_at(name);
	assert_true(own >= 0);
	while (!substep_viewer_may_come(v))
		event_base_loop(base, EVLOOP_ONCE);
	int client = accept(own, NULL, NULL);
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(recv(client, &byte, 1, 0), 1);
	assert_int_equal(byte, 'a');
	assert_int_equal(ends, 0);
	substep_viewer_free(v);
	event_base_free(base);
	close(client);
	close(own);
	close(ready);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_user),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
