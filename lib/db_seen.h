/* db_seen.h - the newest incarnation of the database that this process has worked with, kept in a file. Daemons and `rota` call
 * db_seen_keep() at their start; db_admit.c and http.c use it. */
#ifndef ROTA_DB_SEEN_H
#define ROTA_DB_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"

struct db_seen {
	int incarnation; /* 0: none was seen */
	int64_t timeline;
	char began[40]; /* when it began, as PostgreSQL writes a time */
};

/* Keep what is seen in the file `path`. Without this call, or where the file cannot be written, it is kept in memory only; a daemon warns of
 * that (`warns`). */
void db_seen_keep(const char *path, bool warns);

/* Keep it in the file of the present account: ACCOUNT/incarnation in database.seen. */
void db_seen_keep_account(const struct conf *conf);

/* Returns the newest incarnation that was seen. Reads the file, since another process of the account may have seen a newer one. */
struct db_seen db_seen_read(void);

/* Returns the same, without a look at the file. */
struct db_seen db_seen_here(void);

/* Write it as "INCARNATION TIMELINE BEGAN", as in the file. db_seen_parse: read that; false if it is none. */
enum { DB_SEEN_SIZE = 80 };
void db_seen_text(const struct db_seen *seen, char text[DB_SEEN_SIZE]);
bool db_seen_parse(const char *text, struct db_seen *seen);
bool db_seen_is_same(const struct db_seen *a, const struct db_seen *b);

/* Record what the server that is now worked with has said of itself. The file is written only if that differs. */
void db_seen_write(const struct db_seen *now);

#endif
