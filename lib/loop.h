/* loop.h - a daemon that is one part on one event loop. */
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

/* Open the part, serve until SIGTERM or SIGINT, close it. */
bool loop_serve(const struct loop_part *part, const char *program, const struct conf *conf, const char *name, struct err *e);

#endif
