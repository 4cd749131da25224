/* replay.c - the limit of the benchmark engine: how fast the database alone answers the calls of a run.
 *
 * tests/bench/engine.py starts it: replay CONNINFO FILE; lib/record.py has written the calls into FILE. Each session of the run becomes a
 * connection of the same role, which sends the calls in order, several at once in a pipeline. A call waits only for calls of other sessions
 * that had ended when it began in the run and on which it may depend (lib/record.py). It waits for no daemon, signature or timer. A call
 * that gave up waiting for a row lock is sent again, as its daemon would do, since in the replay it meets other calls than in the run.
 * Prints the seconds between the marked calls, the number of calls, and the number of failures.
 * Invariants: one answer for each call, in the order in which they were sent. */
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { IN_FLIGHT = 8, PARAMETERS_MOST = 16, MARK_BEGIN = 1, MARK_END = 2, MARK_ALONE = 4, COMPLAINTS = 5 };

#define LOCK_NOT_AVAILABLE "55P03" /* SQLSTATE, PostgreSQL's manual, appendix A */

struct call {
	const uint32_t *after; /* for each session: number of its calls that must end before this call begins */
	const char *parameters;
	uint32_t statement, marks, count;
};

struct session {
	PGconn *conn;
	const char *user;
	struct call *calls;
	uint32_t count, sent, ended;
	bool bad;      /* the answer that is being read is an error */
	bool again;    /* the call of that answer gave up waiting for a row lock, so it is sent again */
	char left[24]; /* number of the deferred report that the call stored, which api.node_apply then applies; "": none */
};

static struct {
	const char *at, *end;
	const char **statements;
	struct session *sessions;
	uint32_t statement_count, session_count;
	double began, ended;
	unsigned long calls, failures;
} replay;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void __attribute__((noreturn)) fail(const char *what, const char *why)
{
	fprintf(stderr, "replay: %s: %s\n", what, why);
	exit(1);
}

static void *take_memory(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);
	if (!memory)
		fail("memory", strerror(ENOMEM));
	return memory;
}

/* reading the record: numbers of 32 bits; texts as length and bytes with a final NUL, padded to four */

static uint32_t take(void)
{
	uint32_t value;
	if (replay.end - replay.at < (long)sizeof value)
		fail("record", "it ends too early");
	memcpy(&value, replay.at, sizeof value);
	replay.at += sizeof value;
	return value;
}

static const char *take_text(void)
{
	uint32_t length = take();
	const char *text = replay.at;
	if (length == UINT32_MAX)
		return NULL;
	if (replay.end - replay.at < (long)length + 1)
		fail("record", "a text is too long");
	replay.at += (length + 4) & ~3U;
	return text;
}

static void take_call(void)
{
	struct session *s = &replay.sessions[take()];
	struct call *c = &s->calls[s->count++];
	c->statement = take();
	c->marks = take();
	c->after = (const uint32_t *)(const void *)replay.at;
	replay.at += replay.session_count * sizeof *c->after;
	c->count = take();
	if (c->count > PARAMETERS_MOST)
		fail("record", "a call has too many parameters");
	c->parameters = replay.at;
	for (uint32_t i = 0; i < c->count; i++)
		take_text();
}

static void take_record(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		fail(path, strerror(errno));
	replay.at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (replay.at == MAP_FAILED)
		fail(path, strerror(errno));
	replay.end = replay.at + st.st_size;
	replay.statement_count = take();
	replay.statements = take_memory(replay.statement_count, sizeof *replay.statements);
	for (uint32_t i = 0; i < replay.statement_count; i++)
		replay.statements[i] = take_text();
	replay.session_count = take();
	replay.sessions = take_memory(replay.session_count, sizeof *replay.sessions);
	for (uint32_t i = 0; i < replay.session_count; i++) {
		replay.sessions[i].user = take_text();
		replay.sessions[i].calls = take_memory(take(), sizeof *replay.sessions[i].calls);
	}
	while (replay.at < replay.end)
		take_call();
}

/* sessions */

static void prepare(struct session *s, uint32_t statement)
{
	char name[16];
	snprintf(name, sizeof name, "s%u", statement);
	PGresult *result = PQprepare(s->conn, name, replay.statements[statement], 0, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail(replay.statements[statement], PQerrorMessage(s->conn));
	PQclear(result);
}

static void open_session(struct session *s, const char *conninfo)
{
	char text[1024], *prepared = take_memory(replay.statement_count, 1);
	snprintf(text, sizeof text, "%s user=%s", conninfo, s->user);
	s->conn = PQconnectdb(text);
	if (PQstatus(s->conn) != CONNECTION_OK)
		fail(s->user, PQerrorMessage(s->conn));
	for (uint32_t i = 0; i < s->count; i++) {
		if (!prepared[s->calls[i].statement])
			prepare(s, s->calls[i].statement);
		prepared[s->calls[i].statement] = 1;
	}
	free(prepared);
	if (PQsetnonblocking(s->conn, 1) < 0 || !PQenterPipelineMode(s->conn))
		fail(s->user, PQerrorMessage(s->conn));
}

static bool may_begin(const struct session *s, const struct call *c)
{
	for (uint32_t i = 0; i < replay.session_count; i++)
		if (&replay.sessions[i] != s && replay.sessions[i].ended < c->after[i])
			return false;
	return true;
}

static void send_call(struct session *s, const struct call *c)
{
	char name[16];
	const char *values[PARAMETERS_MOST];
	replay.at = c->parameters;
	for (uint32_t i = 0; i < c->count; i++)
		values[i] = take_text();
	snprintf(name, sizeof name, "s%u", c->statement);
	if ((c->marks & MARK_BEGIN) && replay.began == 0)
		replay.began = now();
	if (!PQsendQueryPrepared(s->conn, name, (int)c->count, values, NULL, NULL, 0) || !PQpipelineSync(s->conn))
		fail(s->user, PQerrorMessage(s->conn));
	s->sent++;
}

/* Can the session send another call now? Not while its latest call may have to continue or to be sent again (MARK_ALONE). */
static bool has_room(const struct session *s)
{
	return s->sent == s->ended || (s->sent - s->ended < IN_FLIGHT && !(s->calls[s->sent - 1].marks & MARK_ALONE));
}

/* Send all calls that may begin now. */
static void send_calls(void)
{
	for (struct session *s = replay.sessions; s < replay.sessions + replay.session_count; s++)
		while (s->sent < s->count && has_room(s) && may_begin(s, &s->calls[s->sent]))
			send_call(s, &s->calls[s->sent]);
}

static void look_for_left(struct session *s, const PGresult *result)
{
	int column = PQfnumber(result, "deferred_as");
	if (column >= 0 && PQntuples(result) == 1)
		snprintf(s->left, sizeof s->left, "%s", PQgetvalue(result, 0, column));
}

static void settle(struct session *s)
{
	const char *const values[] = {s->left};
	if (!PQsendQueryParams(s->conn, "select * from api.node_apply($1::bigint)", 1, NULL, values, NULL, NULL, 0) ||
	    !PQpipelineSync(s->conn))
		fail(s->user, PQerrorMessage(s->conn));
	s->left[0] = 0;
}

static void complain(struct session *s, const PGresult *result)
{
	s->bad = true;
	if (replay.failures < COMPLAINTS)
		fprintf(stderr, "replay: %s: %s", replay.statements[s->calls[s->ended].statement], PQresultErrorMessage(result));
}

/* Another call of the replay holds the lock. That call ends, so the repetitions come to an end. */
static void send_again(struct session *s)
{
	s->again = false;
	s->sent--;
	send_call(s, &s->calls[s->sent]);
}

static bool gave_up_waiting(const struct session *s, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	return (s->calls[s->ended].marks & MARK_ALONE) && state && strcmp(state, LOCK_NOT_AVAILABLE) == 0;
}

static void end_call(struct session *s)
{
	replay.calls++;
	replay.failures += s->bad;
	s->bad = false;
	if (s->calls[s->ended].marks & MARK_END)
		replay.ended = now();
	s->ended++;
}

static void read_answers(struct session *s)
{
	PGnotify *notification;
	if (!PQconsumeInput(s->conn))
		fail(s->user, PQerrorMessage(s->conn));
	while (s->ended < s->sent && !PQisBusy(s->conn)) {
		PGresult *result = PQgetResult(s->conn);
		ExecStatusType status = PQresultStatus(result);
		if (status == PGRES_TUPLES_OK && (s->calls[s->ended].marks & MARK_ALONE))
			look_for_left(s, result);
		if (status == PGRES_PIPELINE_SYNC && s->left[0])
			settle(s);
		else if (status == PGRES_PIPELINE_SYNC && s->again)
			send_again(s);
		else if (status == PGRES_PIPELINE_SYNC)
			end_call(s);
		else if (result && gave_up_waiting(s, result))
			s->again = true;
		else if (result && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
			complain(s, result);
		PQclear(result);
	}
	while ((notification = PQnotifies(s->conn)))
		PQfreemem(notification);
}

static bool is_over(void)
{
	for (struct session *s = replay.sessions; s < replay.sessions + replay.session_count; s++)
		if (s->ended < s->count)
			return false;
	return true;
}

static void run(void)
{
	struct pollfd *fds = take_memory(replay.session_count, sizeof *fds);
	while (!is_over()) {
		send_calls();
		for (uint32_t i = 0; i < replay.session_count; i++) {
			int rest = PQflush(replay.sessions[i].conn);
			if (rest < 0)
				fail(replay.sessions[i].user, PQerrorMessage(replay.sessions[i].conn));
			fds[i] = (struct pollfd){PQsocket(replay.sessions[i].conn), (short)(POLLIN | (rest ? POLLOUT : 0)), 0};
		}
		if (poll(fds, replay.session_count, -1) < 0 && errno != EINTR)
			fail("poll", strerror(errno));
		for (uint32_t i = 0; i < replay.session_count; i++)
			if (fds[i].revents)
				read_answers(&replay.sessions[i]);
	}
	free(fds);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: replay CONNINFO FILE\n");
		return 2;
	}
	take_record(argv[2]);
	for (uint32_t i = 0; i < replay.session_count; i++)
		open_session(&replay.sessions[i], argv[1]);
	run();
	printf("%.3f %lu %lu\n", replay.ended - replay.began, replay.calls, replay.failures);
	for (uint32_t i = 0; i < replay.session_count; i++) {
		PQfinish(replay.sessions[i].conn);
		free(replay.sessions[i].calls);
	}
	free(replay.sessions);
	free(replay.statements);
	return 0;
}
