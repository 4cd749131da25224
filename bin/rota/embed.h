/* embed.h - files inside the binary (cmake/embed.cmake writes the tables): the SQL for `rota admin db upgrade`, the parts of the pages of
 * `rota report`, and the bash completion. */
#ifndef ROTA_BIN_EMBED_H
#define ROTA_BIN_EMBED_H

#include <stddef.h>

struct embed {
	const char *name; /* path relative to the embedded folder; NULL in the last row */
	const char *text; /* content of the file, NUL-terminated */
	size_t size;
};

extern const struct embed EMBED_MIGRATIONS[]; /* files migrations/NNNN_name.sql in the order of their numbers */
extern const struct embed EMBED_SQL[];	      /* files of sql/ in the order of sql/install.list */
extern const struct embed EMBED_ROLES[];      /* sql/roles.sql, which makes the cluster roles; each upgrade runs it first */
extern const struct embed EMBED_PAGE[];	      /* files of bin/rota/report/page, for the page of `rota report` */
extern const struct embed EMBED_COMPLETION[]; /* bin/rota/verb/completion.bash */

#endif
