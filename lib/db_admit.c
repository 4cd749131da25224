/* db_admit.c - asks each server which incarnation of the database it has, and refuses an older copy.
 *
 * Called by: db_connect.c for each connection that is made.
 * Invariants:
 * - The question is sent with the other commands at the start of a connection: it costs no round trip of its own, and calls
 *   carry nothing.
 * - All connections of this process are to the same incarnation. When one connection reaches a newer incarnation, the
 *   connections to other servers are closed and made again.
 * - A connection goes through a pooler if the server's pid that it received at its start is not that of the process that
 *   answers (PgBouncer sends random numbers). */
#include "lib/db_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"

static struct db *first; /* connections of this process */

void db_admit_add(struct db *db)
{
	db->next = first;
	first = db;
}

void db_admit_remove(struct db *db)
{
	struct db **at = &first;
	while (*at != db)
		at = &(*at)->next;
	*at = db->next;
}

bool db_admit_send(PGconn *conn, const struct db_seen *seen)
{
	char incarnation[16], timeline[24];
	const char *values[] = {incarnation, timeline, seen->incarnation > 0 ? seen->began : NULL};
	snprintf(incarnation, sizeof incarnation, "%d", seen->incarnation);
	snprintf(timeline, sizeof timeline, "%lld", (long long)seen->timeline);
	return PQsendQueryParams(conn, "select * from api.incarnation_admit($1::int, $2::bigint, $3::timestamptz)", 3, NULL,
				 values, NULL, NULL, 0);
}

static const char *answer_text(const PGresult *answer, const char *column)
{
	const char *text = PQgetvalue(answer, 0, PQfnumber(answer, column));
	return text ? text : "";
}

static struct db_seen answer_read(const PGresult *answer)
{
	struct db_seen now = {.incarnation = atoi(answer_text(answer, "incarnation")),
			      .timeline = atoll(answer_text(answer, "timeline"))};
	snprintf(now.began, sizeof now.began, "%s", answer_text(answer, "began"));
	return now;
}

bool db_admit_is_newer(const struct db *db, const PGresult *answer)
{
	struct db_seen now = answer_read(answer);
	return *answer_text(answer, "refused") == 'f' && !db_seen_is_same(&now, &db->admitted);
}

static bool admit_refuse(struct err *e, const char *host, const struct db_seen *seen, const struct db_seen *now)
{
	strcpy(e->code, "08001");
	return err_set(
		e,
		"the database at \"%s\" is an older copy: it is of incarnation %d (timeline %lld), and lacks incarnation %d "
		"(timeline %lld), which began %.19s UTC and has been here; stop that server, or, if the newer one is lost, run "
		"\"rota admin db accept\"",
		host, now->incarnation, (long long)now->timeline, seen->incarnation, (long long)seen->timeline, seen->began);
}

/* Close the connections to servers of other incarnations than that of `with`. The event loop makes them again, first to the host
 * of `with`: theirs may be lost. Connections to the same server as `with` were made before its incarnation began, and stay. */
static void drop_others(const struct db *with)
{
	for (struct db *db = first; db; db = db->next)
		if (db->state == DB_UP && strcmp(db->started, with->started) == 0) {
			db->admitted = with->admitted;
		} else if (db->state == DB_UP && !db_seen_is_same(&db->admitted, &with->admitted)) {
			if (db->place_count == with->place_count) /* the same hosts, for another user of the database */
				db->place = with->place;
			db->state = DB_BROKEN;
			event_active(db->deferred, 0, 0);
		}
}

bool db_admit(struct db *db, const PGresult *answer, struct err *e)
{
	struct db_seen now = answer_read(answer), seen = db_seen_read();
	const char *host = PQhost(db->conn) ? PQhost(db->conn) : "";
	strcpy(e->code, "08001");
	db->is_pooled = atoi(answer_text(answer, "backend")) != PQbackendPID(db->conn);
	if (*answer_text(answer, "refused") == 't')
		return admit_refuse(e, host, &db->asked, &now);
	if (!db_seen_is_same(&seen, &db->asked) && !db_seen_is_same(&seen, &now))
		return err_set(e, "the database at \"%s\" was asked before this process had seen incarnation %d; asking again",
			       host, seen.incarnation);
	if (seen.incarnation > 0 && !db_seen_is_same(&seen, &now))
		log_info("the database at \"%s\" is of incarnation %d (timeline %lld), before that it was of %d", host,
			 now.incarnation, (long long)now.timeline, seen.incarnation);
	db->admitted = now;
	snprintf(db->started, sizeof db->started, "%s", answer_text(answer, "started"));
	db_seen_write(&now);
	drop_others(db);
	return true;
}
