/* db_test.c - the parts of database connections that need no database: array literals, connection strings, finding a host. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/db_inside.h"

static void test_array_ints(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	assert_string_equal(db_array_literal(a), "{}");
	db_array_int(a, 1);
	assert_string_equal(db_array_literal(a), "{1}");
	db_array_int(a, -5);
	db_array_int(a, INT64_MIN);
	assert_string_equal(db_array_literal(a), "{1,-5,-9223372036854775808}");
	assert_string_equal(db_array_literal(a), "{1,-5,-9223372036854775808}");
	db_array_free(a);
	db_array_free(NULL);
}

static void test_array_texts(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	db_array_text(a, "a b");
	db_array_text(a, "");
	db_array_text(a, NULL);
	db_array_text(a, "NULL");
	db_array_text(a, "q\"u\\o,t}e{\n");
	assert_string_equal(db_array_literal(a), "{\"a b\",\"\",NULL,\"NULL\",\"q\\\"u\\\\o,t}e{\n\"}");
	db_array_free(a);
}

static void test_array_bytes(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	db_array_bytes(a, "\0\xff\\", 3);
	db_array_bytes(a, "", 0);
	assert_string_equal(db_array_literal(a), "{\"\\\\x00ff5c\",\"\\\\x\"}");
	db_array_free(a);
}

static void test_array_grows(void **state)
{
	(void)state;
	struct db_array *a = db_array_new();
	for (int i = 0; i < 10000; i++) {
		db_array_int(a, i);
		if (i % 100 == 0)
			assert_int_equal(db_array_literal(a)[0], '{');
	}
	const char *text = db_array_literal(a);
	size_t length = strlen(text);
	assert_int_equal(length, 2 + 9999 + 10 + 90 * 2 + 900 * 3 + 9000 * 4);
	assert_string_equal(text + length - 6, ",9999}");
	db_array_free(a);
}

static char no[] = "no", yes[] = "yes", *allowed = no; /* database.allow_unverified */

/* The value of a keyword in the result of db_conninfo(), as libpq reads it; NULL: the keyword is absent. */
static void expect(const char *conninfo, const char *keyword, const char *value)
{
	struct conf conf = {.database_conninfo = (char *)(uintptr_t)conninfo, .database_allow_unverified = allowed};
	char *text = db_conninfo(&conf, "rota_jobmgr", "jobmgrd [it's]");
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(text, &message);
	if (!options)
		fail_msg("%s: %s", text, message);
	for (PQconninfoOption *o = options; o->keyword; o++)
		if (strcmp(o->keyword, keyword) == 0) {
			assert_int_equal(!o->val, !value);
			if (value)
				assert_string_equal(o->val, value);
		}
	PQconninfoFree(options);
	free(text);
}

static void test_conninfo(void **state)
{
	(void)state;
	expect("dbname=rota", "dbname", "rota");
	expect("dbname=rota", "user", "rota_jobmgr");
	expect("dbname=rota user=root application_name=x", "user", "rota_jobmgr");
	expect("dbname=rota user=root application_name=x", "application_name", "jobmgrd [it's]");
	expect("", "user", "rota_jobmgr");
	expect("host='/tmp/a b' password='p\\'q\\\\r'", "host", "/tmp/a b");
	expect("host='/tmp/a b' password='p\\'q\\\\r'", "password", "p'q\\r");
	expect("postgresql://root@db.example:5433/rota?sslmode=verify-full", "host", "db.example");
	expect("postgresql://root@db.example:5433/rota?sslmode=verify-full", "user", "rota_jobmgr");
	expect("postgresql://root@db.example:5433/rota?sslmode=verify-full", "sslmode", "verify-full");
}

static void test_conninfo_of_a_daemon(void **state)
{
	(void)state;
	expect("dbname=rota", "target_session_attrs", "read-write");
	expect("dbname=rota", "tcp_user_timeout", "25000");
	expect("host=a,b target_session_attrs=any keepalives_idle=60", "target_session_attrs", "any");
	expect("host=a,b target_session_attrs=any keepalives_idle=60", "keepalives_idle", "60");
	expect("host=a,b target_session_attrs=any keepalives_idle=60", "keepalives_count", "3");
	expect("host=a,b target_session_attrs=any keepalives_idle=60", "host", "a,b");
}

static void test_conninfo_of_a_reader(void **state)
{
	(void)state;
	struct conf conf = {.database_conninfo = (char[]){"postgresql://x@a,b/rota?target_session_attrs=read-write"},
			    .database_allow_unverified = no};
	char *text = db_conninfo_reader(&conf, "anna", DB_READER_PRIMARY);
	assert_string_equal(text, "dbname='rota' host='a,b' port=',' user='anna' target_session_attrs='primary' "
				  "sslmode='verify-full' gssencmode='disable' channel_binding='require'");
	free(text);
	text = db_conninfo_reader(&conf, "anna", DB_READER_LATE);
	assert_non_null(strstr(text, " target_session_attrs='prefer-standby' "));
	free(text);
	conf.database_conninfo = (char[]){"host=a,b target_session_attrs=any sslmode=verify-full"};
	text = db_conninfo_reader(&conf, "anna", DB_READER_LATE);
	assert_non_null(strstr(text, " target_session_attrs='any' "));
	free(text);
	conf.database_conninfo = (char[]){"dbname=rota target_session_attrs=read-write user=x"};
	text = db_conninfo_reader(&conf, "anna", DB_READER_LATE); /* the only server is no standby */
	assert_string_equal(text, "dbname='rota' user='anna' target_session_attrs='primary'");
	free(text);
	conf.database_conninfo = (char[]){"dbname=rota target_session_attrs=prefer-standby user=x"};
	text = db_conninfo_reader(&conf, "anna", DB_READER_PRIMARY);
	assert_string_equal(text, "dbname='rota' target_session_attrs='prefer-standby' user='anna'");
	free(text);
	conf.database_conninfo = (char[]){"host=a,b dbname=rota target_session_attrs=any sslmode=verify-full"};
	text = db_conninfo_reader(&conf, "anna", DB_READER_STANDBY);
	assert_non_null(strstr(text, " target_session_attrs='prefer-standby' "));
	assert_null(strstr(text, "'any'"));
	free(text);
}

static bool is_accepted(const char *conninfo)
{
	struct conf conf = {.database_conninfo = (char *)(uintptr_t)conninfo, .database_allow_unverified = allowed};
	struct err e = {0};
	bool good = db_conninfo_check(&conf, &e);
	assert_int_equal(good, !*e.message);
	return good;
}

/* A server over TCP is verified, whatever the connection string and the environment ask for. */
static void test_conninfo_verifies_the_server(void **state)
{
	static const char *const tcp[] = {"host=db1,db2 dbname=rota",
					  "hostaddr=10.0.0.1",
					  "service=rota",
					  "host=db sslmode=prefer",
					  "host=/tmp,db sslmode=verify-ca",
					  "postgresql://db/rota?sslmode=disable"};
	(void)state;
	setenv("PGSSLMODE", "disable", 1);
	for (size_t i = 0; i < sizeof tcp / sizeof *tcp; i++) {
		expect(tcp[i], "sslmode", "verify-full");
		expect(tcp[i], "gssencmode", "disable");
		assert_int_equal(is_accepted(tcp[i]), i < 3);
	}
	expect("host=/tmp,@a sslmode=disable", "sslmode", "disable");
	assert_true(is_accepted("host=/tmp sslmode=disable"));
	assert_true(is_accepted("host=db sslmode=verify-full"));
	expect("dbname=rota", "sslmode", NULL);
	setenv("PGHOST", "db", 1);
	expect("dbname=rota", "sslmode", "verify-full");
	unsetenv("PGHOST");
	unsetenv("PGSSLMODE");
	expect("host=db", "channel_binding", "require");
	expect("host=db channel_binding=prefer", "channel_binding", "prefer");
	expect("host=db sslcert=/c.pem", "channel_binding", NULL);
	expect("host=/tmp,db", "channel_binding", NULL);
	expect("host=db gssencmode=require", "gssencmode", "require");
	allowed = yes;
	expect("host=db sslmode=prefer", "sslmode", "prefer");
	expect("host=db", "sslmode", "verify-full");
	assert_true(is_accepted("host=db sslmode=prefer"));
	allowed = no;
	char *text = db_conninfo_verified("host=db user=postgres");
	assert_string_equal(text, "user='postgres' host='db' sslmode='verify-full' gssencmode='disable' "
				  "channel_binding='require'");
	free(text);
	text = db_conninfo_verified("host=db sslmode=disable");
	assert_string_equal(text, "host='db' sslmode='disable'");
	free(text);
}

/* Each host of a connection string by itself, in order, and none after the last. */
static void expect_places(const char *conninfo, const char *const *expected)
{
	int place = 0;
	for (char *text; (text = db_conninfo_place(conninfo, place)); place++) {
		assert_non_null(expected[place]);
		assert_string_equal(text, expected[place]);
		free(text);
	}
	assert_null(expected[place]);
}

static void test_places(void **state)
{
	(void)state;
	expect_places("dbname=rota host=a", (const char *const[]){"dbname=rota host=a", NULL});
	expect_places("dbname=rota", (const char *const[]){"dbname=rota", NULL});
	expect_places("nonsense", (const char *const[]){"nonsense", NULL});
	expect_places("dbname=rota host=a,b port=1",
		      (const char *const[]){"dbname='rota' host='a' port='1'", "dbname='rota' host='b' port='1'", NULL});
	expect_places("postgresql://a:1,b:2,c/rota",
		      (const char *const[]){"dbname='rota' host='a' port='1'", "dbname='rota' host='b' port='2'",
					    "dbname='rota' host='c' port=''", NULL});
	expect_places("host=a,b hostaddr=10.0.0.1,10.0.0.2",
		      (const char *const[]){"host='a' hostaddr='10.0.0.1'", "host='b' hostaddr='10.0.0.2'", NULL});
	expect_places("hostaddr=10.0.0.1,10.0.0.2", (const char *const[]){"hostaddr='10.0.0.1'", "hostaddr='10.0.0.2'", NULL});
}

/* A server on a port of this machine that accepts connections and sends nothing. */
static int silent_server(int *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void on_visit(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	event_base_loopbreak(arg);
}

static void not_called(struct db *db, void *arg)
{
	(void)db, (void)arg;
	fail_msg("the client took a server that sent no answer for a database");
}

static void on_down(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	snprintf(arg, sizeof((struct err *)0)->message, "%s", e->message);
	assert_string_equal(e->code, "08006");
}

/* A host that does not answer does not hide the next one; one that refuses is skipped; the reasons are reported together. */
static void test_silent_host(void **state)
{
	(void)state;
	struct event_base *base = event_base_new();
	int port[3], silent = silent_server(&port[0]), closed = silent_server(&port[1]), next = silent_server(&port[2]);
	char reason[sizeof((struct err *)0)->message] = "", conninfo[200];
	close(closed);
	snprintf(conninfo, sizeof conninfo,
		 "host=127.0.0.1,127.0.0.1,127.0.0.1 port=%d,%d,%d dbname=x user=x connect_timeout=1 sslmode=disable", port[0],
		 port[1], port[2]);
	struct db_watcher watcher = {.up = not_called, .down = on_down, .arg = reason};
	struct event *visit = event_new(base, next, EV_READ, on_visit, base), *again;
	event_add(visit, NULL);
	struct db *db = db_open(base, conninfo, API_NODEMGR, NULL, &watcher);
	event_base_dispatch(base);
	assert_string_equal(reason, "");
	assert_int_equal(close(accept(silent, NULL, NULL)), 0);
	again = event_new(base, silent, EV_READ, on_visit, base); /* the second round */
	event_add(again, NULL);
	event_base_dispatch(base);
	assert_non_null(strstr(reason, "no answer from \"127.0.0.1\" within 1 second; "));
	assert_non_null(strstr(reason, "Connection refused"));
	db_close(db);
	event_free(visit);
	event_free(again);
	event_base_free(base);
	close(silent);
	close(next);
}

/* A host that does not even accept the connection, as a machine that is down, does not use up connect_timeout in the first round. */
static void test_lost_host(void **state)
{
	(void)state;
	struct event_base *base = event_base_new();
	struct timeval patience = {40, 0};
	int port[2], lost = silent_server(&port[0]), next = silent_server(&port[1]), waiting[4];
	char reason[sizeof((struct err *)0)->message] = "", conninfo[200];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port[0])};
	assert_int_equal(listen(lost, 0), 0);
	for (int i = 0; i < 4; i++) { /* the first ones fill its queue; the kernel ignores all others */
		waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(waiting[i], (struct sockaddr *)&at, sizeof at);
	}
	snprintf(conninfo, sizeof conninfo,
		 "host=127.0.0.1,127.0.0.1 port=%d,%d dbname=x user=x connect_timeout=60 sslmode=disable", port[0], port[1]);
	struct db_watcher watcher = {.up = not_called, .down = on_down, .arg = reason};
	struct event *visit = event_new(base, next, EV_READ, on_visit, base);
	event_add(visit, NULL);
	struct db *db = db_open(base, conninfo, API_NODEMGR, NULL, &watcher);
	event_base_loopexit(base, &patience);
	event_base_dispatch(base);
	assert_true(event_base_got_break(base));
	db_close(db);
	event_free(visit);
	event_base_free(base);
	for (int i = 0; i < 4; i++)
		close(waiting[i]);
	close(lost);
	close(next);
}

struct visits {
	struct event_base *base;
	int count, most;
};

/* Close each connection that comes in, until so many have come. */
static void on_visit_closed(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct visits *v = arg;
	assert_int_equal(close(accept(fd, NULL, NULL)), 0);
	if (++v->count == v->most)
		event_base_loopbreak(v->base);
}

/* While another host is tried again and again, one that does not answer is skipped. */
static void test_late_host(void **state)
{
	(void)state;
	struct event_base *base = event_base_new();
	int port[2], silent = silent_server(&port[0]), other = silent_server(&port[1]);
	char reason[sizeof((struct err *)0)->message] = "", conninfo[200];
	snprintf(conninfo, sizeof conninfo,
		 "host=127.0.0.1,127.0.0.1 port=%d,%d dbname=x user=x connect_timeout=1 sslmode=disable", port[0], port[1]);
	struct db_watcher watcher = {.up = not_called, .down = on_down, .arg = reason};
	struct visits visits = {base, 0, 4};
	struct event *visit = event_new(base, other, EV_READ | EV_PERSIST, on_visit_closed, &visits);
	event_add(visit, NULL);
	evutil_make_socket_nonblocking(silent);
	struct db *db = db_open(base, conninfo, API_NODEMGR, NULL, &watcher);
	event_base_dispatch(base);
	assert_int_equal(close(accept(silent, NULL, NULL)), 0);
	assert_int_equal(accept(silent, NULL, NULL), -1);
	assert_non_null(strstr(reason, "no answer from \"127.0.0.1\" within 1 second; "));
	db_close(db);
	event_free(visit);
	event_base_free(base);
	close(silent);
	close(other);
}

static void on_down_twice(struct db *db, const struct err *e, void *arg)
{
	(void)db;
	if (strstr(e->message, "within 12 seconds"))
		event_base_loopbreak(arg);
	else
		assert_non_null(strstr(e->message, "within 6 seconds"));
}

/* The only host accepts connections and does not answer: it gets more time than a host that cannot be reached, and then still
 * more. */
static void test_busy_host(void **state)
{
	(void)state;
	struct event_base *base = event_base_new();
	int port, silent = silent_server(&port);
	char conninfo[200];
	snprintf(conninfo, sizeof conninfo, "host=127.0.0.1 port=%d dbname=x user=x connect_timeout=1 sslmode=disable", port);
	struct db_watcher watcher = {.up = not_called, .down = on_down_twice, .arg = base};
	struct db *db = db_open(base, conninfo, API_NODEMGR, NULL, &watcher);
	event_base_dispatch(base);
	assert_true(event_base_got_break(base));
	db_close(db);
	event_base_free(base);
	close(silent);
}

static void test_unreadable_conninfo_is_handed_on(void **state)
{
	(void)state;
	struct conf conf = {.database_conninfo = (char[]){"nonsense"}, .database_allow_unverified = no};
	char *text = db_conninfo(&conf, "rota_jobmgr", "jobmgrd");
	assert_string_equal(text, "nonsense");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_array_ints),
		cmocka_unit_test(test_array_texts),
		cmocka_unit_test(test_array_bytes),
		cmocka_unit_test(test_array_grows),
		cmocka_unit_test(test_conninfo),
		cmocka_unit_test(test_unreadable_conninfo_is_handed_on),
		cmocka_unit_test(test_conninfo_of_a_daemon),
		cmocka_unit_test(test_conninfo_of_a_reader),
		cmocka_unit_test(test_conninfo_verifies_the_server),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_silent_host),
		cmocka_unit_test(test_lost_host),
		cmocka_unit_test(test_late_host),
		cmocka_unit_test(test_busy_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
