/* embed.h - files inside the binary (cmake/embed.cmake writes the tables): the SQL for `rota admin db upgrade`, the parts of the pages of
 * `rota report`, and the bash completion. */
#ifndef ROTA_BIN_EMBED_H
#define ROTA_BIN_EMBED_H

#include <stddef.h>

struct embed {
	const char *name; /* relative to the folder; NULL after the last */
	const char *text; /* NUL-terminated */
	size_t size;
};

extern const struct embed EMBED_MIGRATIONS[]; /* NNNN_name.sql, in order */
extern const struct embed EMBED_SQL[];	      /* in the order of sql/install.list */
extern const struct embed EMBED_ROLES[];      /* sql/roles.sql, cluster roles, run first every time */
extern const struct embed EMBED_PAGE[];	      /* bin/rota/report/page */
extern const struct embed EMBED_COMPLETION[]; /* bin/rota/verb/completion.bash */

#endif
