/* load.h - the database of a history: rows go there through COPY, some thousand jobs at a time, each range of job ids in a transaction. */
#ifndef ROTA_HISTORY_LOAD_H
#define ROTA_HISTORY_LOAD_H

#include <libpq-fe.h>
#include <stddef.h>

#include "job.h"
#include "world.h"

struct load;

/* SQL that answers nothing, or one value (which lasts until the next call). Ends the program where it fails. */
void load_run(PGconn *db, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *load_value(PGconn *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct load *load_new(PGconn *db, const struct world *w);
/* A job that is over; they come in the order of their ids. */
void load_job(struct load *l, const struct job *j);
void load_end(struct load *l);

#endif
