/* load.h - the database of a history: writes rows by COPY, 10,000 jobs at a time, each range of job ids in one transaction. */
#ifndef ROTA_HISTORY_LOAD_H
#define ROTA_HISTORY_LOAD_H

#include <libpq-fe.h>
#include <stddef.h>

#include "job.h"
#include "world.h"

struct load;

/* Run SQL that returns nothing, or one value (valid until the next call). Ends the program on an error. */
void load_run(PGconn *db, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *load_value(PGconn *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct load *load_new(PGconn *db, const struct world *w);
/* Add an ended job; call it in the order of ids. */
void load_job(struct load *l, const struct job *j);
void load_end(struct load *l);

#endif
