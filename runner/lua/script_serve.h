/* script_serve.h - answers requests to call functions of the site's scripts. */
#ifndef ROTA_RUNNER_SCRIPT_SERVE_H
#define ROTA_RUNNER_SCRIPT_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "runner/lua/script_site.h"

enum { SCRIPT_LINE_MOST = 2 << 20 }; /* longest request of this process in bytes; requests that runnerd passes on are shorter */

struct script_server;

/* Paths of the site's scripts; NULL or "": the site has no such script. */
struct script_paths {
	const char *job_submit, *burst_buffer;
};

/* Make a server for these scripts. The caller keeps `bounds`. */
struct script_server *script_server_new(const struct script_paths *paths, const struct script_bounds *bounds);
void script_server_free(struct script_server *server);

/* Answer one request "SCRIPT FUNCTION BODY", a line without its end. Returns the malloc'ed answer, a line with its end. */
char *script_server_answer(struct script_server *server, const char *line, size_t length);

/* Read requests from the descriptor `in` and write answers to `out`, one a line, until there are no more. Returns false with an error
 * if reading or writing fails, or if a line is too long. */
bool script_server_run(struct script_server *server, int in, int out, struct err *e);

#endif
