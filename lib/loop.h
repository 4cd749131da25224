/* loop.h - runs a daemon that has one event loop and one part, a struct loop_part. */
#ifndef ROTA_LOOP_H
#define ROTA_LOOP_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"

struct loop_part {
	void *(*open)(struct event_base *base, const struct conf *conf, const char *name);
	void (*close)(void *part);
};

/* Open the part, run the event loop until SIGTERM or SIGINT, and close the part. */
bool loop_serve(const struct loop_part *part, const char *program, const struct conf *conf, const char *name, struct err *e);

#endif
