/* embed.h - files that this build carries in the binary (cmake/embed.cmake writes the tables): the SQL, for `rota admin db upgrade`, and
 * what pages of `rota report` are made of. */
#ifndef ROTA_BIN_EMBED_H
#define ROTA_BIN_EMBED_H

#include <stddef.h>

struct embed {
	const char *name; /* relative to migrations/ or sql/; NULL behind the last */
	const char *text; /* NUL-terminated */
	size_t size;
};

extern const struct embed EMBED_MIGRATIONS[]; /* NNNN_name.sql, in order */
extern const struct embed EMBED_SQL[];	      /* in the order of sql/install.list */
extern const struct embed EMBED_ROLES[];      /* sql/roles.sql, cluster roles, run first every time */
extern const struct embed EMBED_PAGE[];	      /* bin/rota/report/page */
extern const struct embed EMBED_COMPLETION[]; /* bin/rota/verb/completion.bash */

#endif
