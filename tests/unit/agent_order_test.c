/* agent_order_test.c - in which order procmgrd sends orders to the launcher while the node registers again. The functions of this
 * file take the place of those of lib/db.c, which the linker then leaves out. */
#include "tests/unit/unit.h"

#include <event2/event.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/clock.h"
#include "procmgr/agent/agent_launcher.h"
#include "procmgr/agent/agent_lease.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/agent/agent_order.h"

enum { KNOWN_SIZE = 64 };

/* The database call under way. */
static struct {
	db_answer *answer;
	void *arg;
	char known[KNOWN_SIZE]; /* orders that procmgrd named as known, which the answer leaves out */
} call;

bool db_is_up(const struct db *db)
{
	(void)db;
	return true;
}

void db_call(struct db *db, enum api_function function, const struct db_param *params, int count, db_answer *answer, void *arg)
{
	(void)db;
	assert_int_equal(function, API_node_orders);
	assert_int_equal(count, 3);
	assert_null(call.answer);
	call.answer = answer;
	call.arg = arg;
	snprintf(call.known, sizeof call.known, "%s", params[1].value);
}

/* Returns a result of the database. `columns`: names, ended by NULL. `rows`: lists with one value for each column; a NULL ends
 * the lists. */
static PGresult *result_new(const char *const *columns, const char *const *const *rows)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc attributes[12] = {0};
	int count = 0;
	for (; columns[count]; count++)
		attributes[count].name = (char *)(uintptr_t)columns[count];
	assert_true(PQsetResultAttrs(result, count, attributes));
	for (int i = 0; rows[i]; i++)
		for (int k = 0; k < count; k++)
			assert_true(PQsetvalue(result, i, k, (char *)(uintptr_t)rows[i][k], (int)strlen(rows[i][k])));
	return result;
}

/* The database answers the call under way with those of the node's two orders that procmgrd did not name as known. The body of the
 * launch request cannot be read, so it needs no files; the launcher would refuse it. */
static void answer_orders(bool has_kill)
{
	static const char *const columns[] = {"order_ids", "node_ids", "kind", "job_id",    "step_id", "attempt",
					      "also",	   "body",     "args", "signature", NULL};
	static const char *const launch[] = {"{10}", "{1}", "launch", "812", "0", "1", "{}", "x", "{}", "00"};
	static const char *const kill[] = {"{11}", "{1}", "kill", "812", "0", "1", "{}", "", "{\"cause\": \"cancelled\"}", ""};
	const char *const *rows[3] = {NULL};
	int count = 0;
	db_answer *answer = call.answer;
	assert_non_null(answer);
	if (!strstr(call.known, "10"))
		rows[count++] = launch;
	if (has_kill && !strstr(call.known, "11"))
		rows[count++] = kill;
	PGresult *result = result_new(columns, rows);
	call.answer = NULL;
	answer(NULL, result, NULL, call.arg);
	PQclear(result);
}

static void ignore_event(void *arg)
{
	(void)arg;
}

static void ignore_done(int64_t usec, void *arg)
{
	(void)usec, (void)arg;
}

static void ignore_accepted(const struct agent_order *o, const struct record_key *key, void *arg)
{
	(void)o, (void)key, (void)arg;
}

static void ignore_answer(int64_t id, bool taken, void *arg)
{
	(void)id, (void)taken, (void)arg;
}

/* The test's world: a registered node whose lease has run out. */
struct world {
	struct conf conf;
	struct agent_context context;
	struct agent_order_watcher watcher;
	struct agent_orders *orders;
	int sockets[2]; /* a socket pair: procmgrd's socket, and the launcher's */
};

static int world_make(void **state)
{
	static const char *const columns[] = {"node_id", "name", "orphans", NULL}, *const row[] = {"1", "n1", "0"};
	const char *const *rows[] = {row, NULL};
	struct world *w = calloc(1, sizeof *w);
	struct err e;
	if (!w || unit_folder_make(state) != 0 || chdir(unit_folder) != 0 || mkdir("spool", 0700) != 0)
		return -1;
	call.answer = NULL;
	close(open("lease", O_CREAT | O_WRONLY, 0600));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, w->sockets) != 0)
		return -1;
	w->conf.node_lease = 30;
	w->watcher = (struct agent_order_watcher){ignore_event, ignore_event, ignore_done, ignore_accepted, NULL};
	w->context = (struct agent_context){.conf = &w->conf, .node = "n1", .base = event_base_new()};
	w->context.launcher = agent_launcher_new(w->context.base, w->sockets[0], ignore_answer, NULL, &e);
	w->context.nodes = agent_node_new(&w->conf, "n1");
	w->context.lease = agent_lease_new(&w->conf);
	PGresult *registered = result_new(columns, rows);
	agent_node_set(w->context.nodes, registered);
	PQclear(registered);
	w->orders = agent_order_new(&w->context, &w->watcher);
	*state = w;
	return 0;
}

static int world_free(void **state)
{
	struct world *w = *state;
	agent_order_free(w->orders);
	agent_lease_free(w->context.lease);
	agent_node_free(w->context.nodes);
	agent_launcher_free(w->context.launcher);
	event_base_free(w->context.base);
	close(w->sockets[0]);
	close(w->sockets[1]);
	free(w);
	return chdir("/") == 0 ? unit_folder_remove(state) : -1;
}

/* Returns the next message that the launcher received: "launch", the action of a control message, or "" if none came. */
static const char *next_sent(const struct world *w)
{
	static char sent[32];
	char text[1024];
	struct err e;
	ssize_t size = recv(w->sockets[1], text, sizeof text, MSG_DONTWAIT);
	if (size <= 0)
		return "";
	struct fields *message = fields_parse(text, (size_t)size, &e);
	assert_non_null(message);
	const char *action = fields_get(message, "action");
	snprintf(sent, sizeof sent, "%s", action ? action : fields_get(message, "op"));
	fields_free(message);
	return sent;
}

/* Act as agent.c does when the database has answered a registration. */
static void register_again(struct world *w)
{
	agent_lease_grant(w->context.lease, clock_boot_us());
	agent_order_drop_waiting(w->orders);
	agent_order_ask(w->orders);
}

/* A call for orders that was sent before the answer of a registration names a launch request as known, which that answer drops. The
 * kill that follows this launch request is still sent to the launcher after it. */
static void test_dropped_meanwhile(void **state)
{
	struct world *w = *state;
	agent_order_ask(w->orders);
	answer_orders(false);
	assert_string_equal(next_sent(w), ""); /* the lease has run out */
	agent_order_ask(w->orders);
	assert_string_equal(call.known, "{10}");
	register_again(w);
	answer_orders(true);
	assert_string_equal(next_sent(w), "");
	assert_string_equal(call.known, "{}");
	answer_orders(true);
	assert_string_equal(next_sent(w), "launch");
	assert_string_equal(next_sent(w), "kill");
	assert_string_equal(next_sent(w), "");
}

/* A call for orders that is sent after the answer of a registration is answered with all orders, and is not repeated. */
static void test_asked_afterwards(void **state)
{
	struct world *w = *state;
	agent_order_ask(w->orders);
	answer_orders(false);
	register_again(w);
	assert_string_equal(call.known, "{}");
	answer_orders(true);
	assert_null(call.answer);
	assert_string_equal(next_sent(w), "launch");
	assert_string_equal(next_sent(w), "kill");
	assert_string_equal(next_sent(w), "");
}

/* An answer that is lost with its connection has no effect on the calls of the next connection. */
static void test_disconnected(void **state)
{
	struct world *w = *state;
	const struct err lost = {.code = "08006"};
	agent_order_ask(w->orders);
	answer_orders(false);
	agent_order_ask(w->orders);
	agent_order_drop_waiting(w->orders);
	db_answer *answer = call.answer;
	call.answer = NULL;
	answer(NULL, NULL, &lost, call.arg);
	agent_order_disconnected(w->orders);
	register_again(w);
	answer_orders(true);
	assert_null(call.answer);
	assert_string_equal(next_sent(w), "launch");
	assert_string_equal(next_sent(w), "kill");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_dropped_meanwhile, world_make, world_free),
		cmocka_unit_test_setup_teardown(test_asked_afterwards, world_make, world_free),
		cmocka_unit_test_setup_teardown(test_disconnected, world_make, world_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
