/* rota_steps_test.c - the C interface for sub-steps (lib/rota.h). The test is the step manager at the other end of a socket. */
#include "tests/unit/unit.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/rota.h"

/* The arguments of all callbacks of one sub-step, as one text. */
struct seen {
	char text[4096];
};

static void seen_add(struct seen *seen, const char *text)
{
	snprintf(seen->text + strlen(seen->text), sizeof seen->text - strlen(seen->text), "%s ", text);
}

static void on_queued(void *data, int substep)
{
	char text[64];
	snprintf(text, sizeof text, "queued:%d", substep);
	seen_add(data, text);
}

static void on_waiting(void *data, const char *reason)
{
	seen_add(data, reason);
}

static void on_started(void *data, int tasks, int run)
{
	char text[64];
	snprintf(text, sizeof text, "started:%d:%d", tasks, run);
	seen_add(data, text);
}

static void on_output(void *data, int task, bool is_error, const char *bytes, size_t size)
{
	char text[256];
	snprintf(text, sizeof text, "%s%d:%.*s", is_error ? "err" : "out", task, (int)size, bytes);
	seen_add(data, text);
}

static void on_skipped(void *data, int task, bool is_error, long long size)
{
	char text[64];
	snprintf(text, sizeof text, "skipped:%s%d:%lld", is_error ? "err" : "out", task, size);
	seen_add(data, text);
}

static void on_ended(void *data, const struct rota_end *end)
{
	char text[256];
	snprintf(text, sizeof text, "%s:%s:%d:%d:%d", end->state, end->cause, end->exit_code, end->signal, end->tasks_failed);
	seen_add(data, text);
}

static void on_refused(void *data, const char *message, const char *hint)
{
	assert_string_equal(hint, "");
	seen_add(data, message);
}

static const struct rota_callbacks callbacks = {on_queued,  on_waiting, on_started, on_output,
						on_skipped, on_ended,	on_refused, NULL};
static const char *const arguments[] = {"echo", "a", NULL};

/* Send text to the client in the role of the step manager, and have the client handle the text. */
static void manager_sends(int fd, struct rota_steps *s, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	assert_true(rota_steps_poll(s, 0));
}

/* Read the bytes that the client has sent. */
static const char *manager_reads(int fd)
{
	static char text[1 << 16];
	ssize_t size = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

static struct rota_steps *pair(int *manager)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	*manager = ends[1];
	return rota_steps_adopt(ends[0]);
}

static void test_requests(void **state)
{
	(void)state;
	int manager;
	struct rota_steps *s = pair(&manager);
	const char *const env[] = {"A=1", NULL};
	const struct rota_program programs[] = {{"0-1", arguments}};
	assert_true(rota_steps_defaults(s, env, "/tmp"));
	assert_true(rota_steps_run(s, &(struct rota_run){.argv = arguments, .key = "k", .ntasks = 2, .mem_mb = 5, .detach = true},
				   NULL, NULL));
	assert_true(rota_steps_run(s, &(struct rota_run){.programs = programs, .program_count = 1, .key = "m", .output = "none"},
				   NULL, NULL));
	assert_string_equal(manager_reads(manager), ""); /* no request yet: requests are sent together */
	assert_true(rota_steps_flush(s));
	assert_string_equal(
		manager_reads(manager),
		"{\"op\":\"defaults\",\"id\":1,\"env\":[\"A=1\"],\"cwd\":\"/tmp\"}\n"
		"{\"op\":\"run\",\"id\":2,\"argv\":[\"echo\",\"a\"],\"key\":\"k\",\"ntasks\":2,\"mem_mb\":5,\"detach\":true}\n"
		"{\"op\":\"run\",\"id\":3,\"multi\":[{\"ranks\":\"0-1\",\"argv\":[\"echo\",\"a\"]}],\"key\":\"m\",\"output\":"
		"\"none\"}\n");
	rota_steps_input(s, 2, "xyz", 3);
	rota_steps_input_end(s, 2);
	rota_steps_send_cancel(s, 9);
	assert_true(rota_steps_flush(s));
	assert_string_equal(manager_reads(manager), "{\"op\":\"input\",\"id\":4,\"run\":2,\"bytes\":3}\nxyz"
						    "{\"op\":\"input\",\"id\":5,\"run\":2,\"eof\":true}\n"
						    "{\"op\":\"cancel\",\"id\":6,\"substep\":9}\n");
	rota_steps_disconnect(s);
	close(manager);
}

static void test_wrong_requests(void **state)
{
	(void)state;
	int manager;
	struct rota_steps *s = pair(&manager);
	char *large = malloc(2 << 20);
	memset(large, 'x', 2 << 20);
	large[(2 << 20) - 1] = '\0';
	const char *const latin[] = {"\xff", NULL}, *const much[] = {large, NULL};
	assert_int_equal(rota_steps_run(s, &(struct rota_run){.argv = latin}, NULL, NULL), 0);
	assert_non_null(strstr(rota_steps_error(s), "UTF-8"));
	assert_int_equal(rota_steps_run(s, &(struct rota_run){.argv = much}, NULL, NULL), 0);
	assert_non_null(strstr(rota_steps_error(s), "1 MiB"));
	assert_int_equal(rota_steps_unfinished(s), 0);
	assert_int_equal(rota_steps_unsent(s), 0);
	free(large);
	rota_steps_disconnect(s);
	close(manager);
}

static void test_events(void **state)
{
	(void)state;
	int manager;
	struct seen seen = {0}, other = {0};
	struct rota_steps *s = pair(&manager);
	long long id = rota_steps_run(s, &(struct rota_run){.argv = arguments}, &callbacks, &seen);
	assert_int_equal(id, 1);
	assert_int_equal(rota_steps_run(s, &(struct rota_run){.argv = arguments}, &callbacks, &other), 2);
	manager_sends(manager, s,
		      "{\"event\":\"queued\",\"id\":1,\"substep\":3}\n{\"event\":\"waiting\",\"id\":1,\"substep\":3,\"reason\":"
		      "\"cpus\"}\n");
	manager_sends(manager, s, "{\"event\":\"started\",\"id\":1,\"substep\":3,\"tasks\":2,\"run\":1}\n{\"event\":\"out");
	manager_sends(manager, s, "put\",\"id\":1,\"substep\":3,\"task\":1,\"stream\":\"out\",\"offset\":0,\"bytes\":5}\n{\"a\"");
	manager_sends(manager, s, "\n");
	manager_sends(manager, s,
		      "{\"event\":\"error\",\"id\":2,\"message\":\"no\"}\n{\"event\":\"ended\",\"id\":1,\"substep\":3,"
		      "\"state\":\"failed\",\"exit\":2,\"signal\":0,\"cause\":\"exit\",\"tasks_failed\":1}\n");
	assert_string_equal(seen.text, "queued:3 cpus started:2:1 out1:{\"a\"\n failed:exit:2:0:1 ");
	assert_string_equal(other.text, "no ");
	assert_true(rota_steps_wait(s));
	close(manager);
	rota_steps_disconnect(s);
}

/* Messages that no manager sends end the connection. */
static void test_wrong_messages(void **state)
{
	(void)state;
	static const char *const messages[] = {"x\n", "[]\n", "{\"event\":\"error\",\"id\":0,\"message\":\"no line\"}\n",
					       "{\"event\":\"output\",\"id\":1,\"bytes\":70000}\n", "{\"bytes\":-1}\n"};
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		int manager;
		struct rota_steps *s = pair(&manager);
		assert_int_equal(send(manager, messages[i], strlen(messages[i]), 0), strlen(messages[i]));
		assert_false(rota_steps_poll(s, 0));
		assert_false(rota_steps_handle(s));
		assert_true(strlen(rota_steps_error(s)) > 0);
		close(manager);
		rota_steps_disconnect(s);
	}
}

/* -- a manager that is killed */

static int listener;

static void listener_open(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listener, 4), 0);
}

#define OUTPUT(task, offset, bytes)                                                                                              \
	"{\"event\":\"output\",\"id\":1,\"task\":" #task ",\"stream\":\"out\",\"offset\":" #offset ",\"bytes\":" #bytes "}\n"

static void test_manager_killed(void **state)
{
	(void)state;
	struct seen seen = {0};
	char error[256], *first;
	listener_open(unit_path("steps"));
	struct rota_steps *s = rota_steps_connect(unit_path("steps"), error, sizeof error);
	assert_non_null(s);
	int manager = accept(listener, NULL, NULL);
	assert_int_equal(rota_steps_run(s, &(struct rota_run){.argv = arguments}, &callbacks, &seen), 1);
	assert_true(rota_steps_flush(s));
	first = strdup(manager_reads(manager));
	manager_sends(
		manager, s,
		"{\"event\":\"queued\",\"id\":1,\"substep\":1}\n{\"event\":\"started\",\"id\":1,\"tasks\":2,\"run\":1}\n" OUTPUT(
			0, 0, 4) "abcd" OUTPUT(1, 0, 2) "xy");
	close(manager);
	assert_true(rota_steps_poll(s, 0)); /* the client finds the end of the connection, and connects again */
	manager = accept(listener, NULL, NULL);
	assert_true(rota_steps_flush(s));
	assert_string_equal(manager_reads(manager), first); /* the same request with the same key */
	assert_non_null(strstr(first, "\"key\":\""));
	manager_sends(
		manager, s,
		"{\"event\":\"queued\",\"id\":1,\"substep\":1}\n{\"event\":\"started\",\"id\":1,\"tasks\":2,\"run\":1}\n" OUTPUT(
			0, 0, 6) "abcdef" OUTPUT(1, 0, 2) "xy" OUTPUT(1, 5, 1) "!");
	manager_sends(manager, s, "{\"event\":\"started\",\"id\":1,\"tasks\":2,\"run\":2}\n" OUTPUT(0, 0, 1) "A");
	manager_sends(manager, s, "{\"event\":\"ended\",\"id\":1,\"state\":\"completed\",\"cause\":\"exit\"}\n");
	assert_string_equal(seen.text, "queued:1 started:2:1 out0:abcd out1:xy out0:ef skipped:out1:3 out1:! started:2:2 out0:A "
				       "completed:exit:0:0:0 ");
	free(first);
	close(manager);
	close(listener);
	rota_steps_disconnect(s);
}

static void test_manager_closes(void **state)
{
	(void)state;
	int manager;
	struct seen seen = {0};
	struct rota_steps *s = pair(&manager);
	assert_int_equal(rota_steps_run(s, &(struct rota_run){.argv = arguments}, &callbacks, &seen), 1);
	close(manager);
	while (rota_steps_poll(s, -1))
		;
	assert_string_equal(rota_steps_error(s), "the step manager has closed the connection");
	assert_string_equal(seen.text, "");
	rota_steps_disconnect(s);
}

/* The step manager's spool no longer has the beginning of a stream. */
static void test_skipped(void **state)
{
	(void)state;
	int manager;
	struct seen seen = {0};
	struct rota_steps *s = pair(&manager);
	assert_int_equal(rota_steps_run(s, &(struct rota_run){.argv = arguments}, &callbacks, &seen), 1);
	manager_sends(manager, s,
		      "{\"event\":\"skipped\",\"id\":1,\"task\":0,\"stream\":\"err\",\"bytes_skipped\":7}\n"
		      "{\"event\":\"output\",\"id\":1,\"task\":0,\"stream\":\"err\",\"offset\":7,\"bytes\":1}\nz");
	assert_string_equal(seen.text, "skipped:err0:7 err0:z ");
	close(manager);
	rota_steps_disconnect(s);
}

static void test_long_path(void **state)
{
	(void)state;
	char error[256], here[256], folder[160], path[512];
	memset(folder, 'd', sizeof folder);
	folder[sizeof folder - 1] = '\0';
	snprintf(path, sizeof path, "%s/%s", unit_folder, folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(path), 0);
	listener_open("steps");
	assert_int_equal(chdir(here), 0);
	strcat(path, "/steps");
	struct rota_steps *s = rota_steps_connect(path, error, sizeof error);
	assert_non_null(s);
	rota_steps_disconnect(s);
	close(listener);
	assert_null(rota_steps_connect("/nonexistent/steps", error, sizeof error));
	assert_non_null(strstr(error, "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_wrong_requests),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_wrong_messages),
		cmocka_unit_test_setup_teardown(test_manager_killed, unit_folder_make, unit_folder_remove),
		cmocka_unit_test(test_manager_closes),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test_setup_teardown(test_long_path, unit_folder_make, unit_folder_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
