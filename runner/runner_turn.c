/* runner_turn.c - a turn with the database: all ends are reported in one call, and all that is due and has room is taken in another.
 *
 * Bells, ended hooks and the beat call runner_work. What always holds: one turn is under way at a time. While hooks are, there is as much time
 * between two turns as the database took for the last one: what ends meanwhile is reported together, so a busy database gets fewer and larger
 * calls. Without one under way there is nothing to wait for. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "runner/runner_parts.h"

enum {
	TURN_GAP_MOST = 50 * 1000, /* microseconds */
	TURN_STALE = 8		   /* seconds: an answer older than this and a hook's time may be another leader's by now */
};

/* An answer of the turn has come, and what it leads to is begun. */
static void turn_answered(struct runner *r)
{
	if (--r->waiting == 0)
		runner_work(r);
}

static void report_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct hook **last = &r->ended;

	(void)db;
	r->took = clock_boot_us() - r->turned_at;
	if (result) {
		runner_child_free(&r->told);
	} else {
		while (*last) /* said again with the next ones */
			last = &(*last)->next;
		*last = r->told;
		r->told = NULL;
		runner_failed(r, "ends of hooks could not be reported", e);
	}
	turn_answered(r);
}

static void add_number(struct db_array *array, bool there, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	db_array_text(array, there ? text : NULL);
}

static void runner_report(struct runner *r)
{
	enum { IDS, EXITS, SIGNALS, USECS, MESSAGES, OUTPUTS, COLUMNS };
	struct db_array *columns[COLUMNS];
	struct db_param params[COLUMNS + 1] = {{r->term_text, -1}};

	for (int i = 0; i < COLUMNS; i++)
		columns[i] = db_array_new();
	for (const struct hook *h = r->ended; h; h = h->next) {
		bool ran = h->usec >= 0;

		db_array_int(columns[IDS], h->id);
		add_number(columns[EXITS], ran && WIFEXITED(h->status) && !(*h->message && WEXITSTATUS(h->status) == 0),
			   WEXITSTATUS(h->status));
		add_number(columns[SIGNALS], ran && WIFSIGNALED(h->status), WTERMSIG(h->status));
		add_number(columns[USECS], ran, h->usec);
		db_array_text(columns[MESSAGES], *h->message ? h->message : NULL);
		db_array_text(columns[OUTPUTS], h->tail);
	}
	for (int i = 0; i < COLUMNS; i++)
		params[i + 1] = (struct db_param){db_array_literal(columns[i]), -1};
	r->told = r->ended;
	r->ended = NULL;
	db_call(r->db, API_hook_report, params, COLUMNS + 1, report_came, r);
	for (int i = 0; i < COLUMNS; i++)
		db_array_free(columns[i]);
}

static void take_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;

	(void)db;
	r->took = clock_boot_us() - r->turned_at;
	if (!result) {
		runner_failed(r, "hooks could not be taken", e);
	} else if (r->ready && clock_boot_us() - r->turned_at < (r->conf->controller_hook_timeout + TURN_STALE) * 1000000LL) {
		for (int i = 0; i < PQntuples(result); i++)
			runner_child_begin(r, result, i);
		r->rung = r->rung || PQntuples(result) > 0; /* there may be more */
	} else
		r->rung = true;
	turn_answered(r);
}

static int room(const struct runner *r)
{
	return r->conf->controller_hooks - r->running_count;
}

static void runner_take(struct runner *r)
{
	struct db_array *have = db_array_new();
	const struct hook *lists[] = {r->running, r->told};
	char rooms[16];

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const struct hook *h = lists[i]; h; h = h->next)
			db_array_int(have, h->id);
	snprintf(rooms, sizeof rooms, "%d", room(r));
	db_call(r->db, API_hook_take,
		(struct db_param[]){
			{r->term_text, -1}, {db_array_literal(have), -1}, {rooms, -1}, {r->look ? "true" : "false", -1}},
		4, take_came, r);
	r->rung = r->look = false;
	db_array_free(have);
}

static void turn_begin(struct runner *r)
{
	bool take = r->look || (r->rung && room(r) > 0);

	r->turned_at = clock_boot_us();
	r->waiting = (r->ended != NULL) + take;
	if (r->ended)
		runner_report(r);
	if (take)
		runner_take(r);
}

void runner_turn_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	runner_work(arg);
}

void runner_work(struct runner *r)
{
	int64_t gap = r->took < TURN_GAP_MOST ? r->took : TURN_GAP_MOST;
	int64_t wait = r->running ? r->turned_at + r->took + gap - clock_boot_us() : 0;

	if (!r->ready || r->waiting > 0 || !db_is_up(r->db) || !(r->ended || r->look || (r->rung && room(r) > 0)))
		return;
	if (wait <= 0)
		turn_begin(r);
	else if (!evtimer_pending(r->turn, NULL))
		event_add(r->turn, &(struct timeval){.tv_usec = wait});
}
