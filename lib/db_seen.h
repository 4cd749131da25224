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
	char began[40]; /* when the incarnation began, as PostgreSQL writes a timestamptz */
};

/* Keep the newest incarnation in the file `path`. Without this call, or if the file cannot be written, it is kept in memory only.
 * `warns`: log a warning if the file cannot be written. */
void db_seen_keep(const char *path, bool warns);

/* Call db_seen_keep() with the file of the account of this process: ACCOUNT/incarnation in the folder database.seen. */
void db_seen_keep_account(const struct conf *conf);

/* Returns the newest incarnation that was seen. Reads the file, since another process of the account may have seen a newer one. */
struct db_seen db_seen_read(void);

/* Returns the newest incarnation that this process has seen, without reading the file. */
struct db_seen db_seen_here(void);

/* db_seen_text() writes an incarnation as "INCARNATION TIMELINE BEGAN", the line of the file. db_seen_parse() reads such a line;
 * false if it is malformed. */
enum { DB_SEEN_SIZE = 80 };
void db_seen_text(const struct db_seen *seen, char text[DB_SEEN_SIZE]);
bool db_seen_parse(const char *text, struct db_seen *seen);
bool db_seen_is_same(const struct db_seen *a, const struct db_seen *b);

/* Record the incarnation of the server that this process works with now. The file is written only if that differs. */
void db_seen_write(const struct db_seen *now);

#endif
