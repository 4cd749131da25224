/* hook_call_test.c - the client of the hook socket, against a socket on which the test acts as runnerd. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/hook_call.h"

enum { WORDS = 512 };

static struct event_base *base;
static struct hook_client *client;
static int listener, runnerd = -1; /* descriptors of the test's own end */
static int answered, failed;
static int call_seconds; /* seconds that each call may take; 0: the client's default */
static char word[WORDS]; /* "message" of the last answer, or the last error */

static void serve(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, unit_path("sock"));
	unlink(address.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listener, 4), 0);
}

static int set_up(void **state)
{
	if (unit_folder_make(state))
		return -1;
	base = event_base_new();
	client = hook_client_new(base, unit_path("sock"), 1);
	answered = failed = call_seconds = 0;
	listener = runnerd = -1;
	return 0;
}

static int tear_down(void **state)
{
	hook_client_free(client);
	event_base_free(base);
	if (listener >= 0)
		close(listener);
	if (runnerd >= 0)
		close(runnerd);
	return unit_folder_remove(state);
}

static void done(const json_t *answer, const struct err *e, void *arg)
{
	const char *message = json_string_value(json_object_get(answer, "message"));

	assert_true(!answer != !e);
	snprintf(word, sizeof word, "%s", e ? e->message : message);
	*(int *)arg = e ? -1 : (int)json_integer_value(json_object_get(answer, "rc")) + 1;
	answered += answer != NULL;
	failed += e != NULL;
}

/* Call a function with the text as its argument. *end becomes -1 after a failure, otherwise "rc" of the answer, and 1. */
static struct hook_call *ask(const char *text, int *end)
{
	char *body = xasprintf("{\"args\":[\"%s\"]}", text);
	struct hook_request request = {
		.script = "burst_buffer", .function = "slurm_bb_setup", .body = body, .seconds = call_seconds};
	struct hook_call *call = hook_call(client, &request, done, end);

	*end = 0;
	free(body);
	return call;
}

/* Read one request on the test's end. Returns its argument, and its id. */
static char *receive(json_int_t *id)
{
	static const char head[] = " burst_buffer slurm_bb_setup ";
	char line[4096];
	size_t length = 0;
	json_t *request;
	char *text, *body;

	event_base_loop(base, EVLOOP_NONBLOCK);
	if (runnerd < 0)
		runnerd = accept(listener, NULL, NULL);
	do
		assert_int_equal(read(runnerd, line + length, 1), 1);
	while (line[length++] != '\n');
	line[length] = '\0';
	*id = strtoll(line, &body, 10);
	assert_int_equal(strncmp(body, head, strlen(head)), 0);
	request = json_loads(body + strlen(head), 0, NULL);
	text = xstrdup(json_string_value(json_array_get(json_object_get(request, "args"), 0)));
	json_decref(request);
	return text;
}

static void reply(const char *text)
{
	assert_int_equal(write(runnerd, text, strlen(text)), (int)strlen(text));
}

static void loop_until_ended(int *end)
{
	while (!*end)
		event_base_loop(base, EVLOOP_ONCE);
}

static void test_answers(void **state)
{
	int first, second;
	json_int_t ids[2];
	char *texts[2], line[256];

	(void)state;
	serve();
	ask("one", &first);
	ask("two", &second);
	for (int i = 0; i < 2; i++)
		texts[i] = receive(&ids[i]);
	assert_string_equal(texts[0], "one");
	assert_string_equal(texts[1], "two");
	assert_int_not_equal(ids[0], ids[1]);
	snprintf(line, sizeof line, "%d {\"rc\":0,\"message\":\"b\"}\n%d {\"rc\":5,\"message\":\"a\"}\n", (int)ids[1],
		 (int)ids[0]);
	reply(line);
	loop_until_ended(&first);
	assert_int_equal(second, 1);
	assert_int_equal(first, 6);
	assert_string_equal(word, "a");
	for (int i = 0; i < 2; i++)
		free(texts[i]);
}

static void test_broken_script(void **state)
{
	int end;
	json_int_t id;
	char line[256];

	(void)state;
	serve();
	ask("x", &end);
	free(receive(&id));
	snprintf(line, sizeof line, "%d {\"error\":\"a.lua:3: oh\"}\n", (int)id);
	reply(line);
	loop_until_ended(&end);
	assert_int_equal(end, -1);
	assert_string_equal(word, "a.lua:3: oh");
}

static void test_not_there(void **state)
{
	int end;

	(void)state;
	ask("x", &end);
	assert_int_equal(end, 0); /* the callback is never called within hook_call() */
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(end, -1);
	assert_non_null(strstr(word, "could not connect to runnerd"));
	serve();
	ask("y", &end);
	json_int_t id;
	free(receive(&id)); /* the next call connects */
}

static void test_listens(void **state)
{
	(void)state;
	assert_false(hook_call_listens(unit_path("sock")));
	serve();
	assert_true(hook_call_listens(unit_path("sock")));
	close(listener); /* as by a runnerd that was killed: the file is left */
	listener = -1;
	assert_false(hook_call_listens(unit_path("sock")));
}

static void test_lost_is_not_sent_again(void **state)
{
	int first, second;
	json_int_t id;
	char *text;

	(void)state;
	serve();
	ask("one", &first);
	free(receive(&id));
	close(runnerd);
	runnerd = -1;
	loop_until_ended(&first);
	assert_int_equal(first, -1);
	assert_non_null(strstr(word, "lost the connection"));
	ask("two", &second);
	text = receive(&id);
	assert_string_equal(text, "two");
	free(text);
}

static void test_too_slow(void **state)
{
	int end;
	json_int_t id;
	char line[256];

	(void)state;
	serve();
	ask("x", &end);
	free(receive(&id));
	loop_until_ended(&end);
	assert_int_equal(end, -1);
	assert_non_null(strstr(word, "not answered for 1 second"));
	snprintf(line, sizeof line, "%d {\"rc\":0,\"message\":\"late\"}\n", (int)id);
	reply(line);
	event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(answered, 0);
	assert_int_equal(failed, 1);
}

static void test_cancelled(void **state)
{
	int first, second;
	json_int_t ids[2];
	char line[256], expected[64];
	size_t length = 0;

	(void)state;
	serve();
	struct hook_call *call = ask("one", &first);
	ask("two", &second);
	hook_call_cancel(call);
	for (int i = 0; i < 2; i++)
		free(receive(&ids[i]));
	do
		assert_int_equal(read(runnerd, line + length, 1), 1);
	while (line[length++] != '\n');
	line[length] = '\0';
	snprintf(expected, sizeof expected, "%d cancel\n", (int)ids[0]);
	assert_string_equal(line, expected);
	snprintf(line, sizeof line, "%d {\"rc\":0,\"message\":\"a\"}\n%d {\"rc\":0,\"message\":\"b\"}\n", (int)ids[0],
		 (int)ids[1]);
	reply(line);
	loop_until_ended(&second);
	assert_int_equal(first, 0);
	assert_int_equal(answered, 1);
}

static void test_too_long(void **state)
{
	char *text = xmalloc(HOOK_CALL_MOST + 1);
	int end, other;
	json_int_t id;
	char *received;

	(void)state;
	serve();
	memset(text, 'x', HOOK_CALL_MOST);
	text[HOOK_CALL_MOST] = '\0';
	ask(text, &end);
	ask("small", &other);
	received = receive(&id); /* the long call was not sent, and did not harm the connection */
	assert_string_equal(received, "small");
	assert_int_equal(end, -1);
	assert_non_null(strstr(word, "more than"));
	free(received);
	free(text);
}

static void test_reads_nothing(void **state)
{
	enum { CALLS = 40 };
	char *text = xmalloc(HOOK_CALL_MOST);
	int ends[CALLS], refused = 0;

	(void)state;
	serve();
	call_seconds = 60; /* so that only full output refuses them */
	memset(text, 'x', HOOK_CALL_MOST);
	text[HOOK_CALL_MOST - 4096] = '\0';
	for (int i = 0; i < CALLS; i++)
		ask(text, &ends[i]);
	event_base_loop(base, EVLOOP_NONBLOCK);
	for (int i = 0; i < CALLS; i++)
		refused += ends[i] == -1;
	assert_in_range(refused, 1, CALLS - 10); /* the other calls wait for their answers */
	assert_non_null(strstr(word, "reads no requests"));
	free(text);
}

static void test_nonsense(void **state)
{
	int end;
	json_int_t id;

	(void)state;
	serve();
	ask("x", &end);
	free(receive(&id));
	reply("[1]\n");
	loop_until_ended(&end);
	assert_int_equal(end, -1);
	assert_non_null(strstr(word, "no answer"));
}

/* Bytes that a script's process writes to the connection affect only its own call. */
static void test_nonsense_of_one(void **state)
{
	static const char *const bodies[] = {"", "[1]", "{\"rc\":", "{\"rc\":\"0\"}", "null"};
	int end, other;
	json_int_t id, other_id;
	char *line;

	(void)state;
	serve();
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		ask("x", &end);
		ask("y", &other);
		free(receive(&id));
		free(receive(&other_id));
		line = xasprintf("%d %s\n%d {\"rc\":0,\"message\":\"a\"}\n", (int)id, bodies[i], (int)other_id);
		reply(line);
		free(line);
		loop_until_ended(&other);
		assert_int_equal(end, -1);
		assert_int_equal(other, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_broken_script, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_listens, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_is_not_sent_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_slow, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reads_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense_of_one, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
