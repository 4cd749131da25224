/* substep_changes.c - reads the keeper's file of changes of nodes (substep_changes.h).
 *
 * Called by: stepmgr.c at its start, substep_engine.c at SIGTERM.
 * Invariants: the journal has how far the file was read before the lines take effect. So a step manager that is killed signals no
 * sub-step twice for one change. */
#include "procmgr/stepmgr/substep_changes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_growth.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_parts.h"

/* Returns the text of the file from an offset on, up to the end of its last line; malloc'ed. NULL: there is none. */
static char *read_lines(int fd, off_t from)
{
	struct stat st;
	off_t most = fd >= 0 && fstat(fd, &st) == 0 ? st.st_size - from : 0;
	char *text = most > 0 ? xmalloc((size_t)most + 1) : NULL;
	ssize_t size = text ? pread(fd, text, (size_t)most, from) : 0;
	while (size > 0 && text[size - 1] != '\n')
		size--;
	if (size <= 0) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	return text;
}

/* Apply a line of the keeper's file of changes. `is_old`: an earlier step manager has applied the line, so no event is sent. */
static void apply_line(struct substep_engine *m, char *line, bool is_old)
{
	char *name = line, *state = strchr(name, ' '), *reason = state ? strchr(state + 1, ' ') : NULL;
	if (!reason)
		return;
	*state++ = *reason++ = '\0';
	if (!substep_event_is_state(state))
		return;
	if (strcmp(state, "left") == 0 && !substep_growth_left(m, name))
		return;
	if (is_old)
		substep_event_restore(m, name, state, reason);
	else
		substep_event_node(m, name, state, reason);
}

void substep_changes_read(struct substep_engine *m)
{
	char *text = read_lines(m->changes, m->changes_at), *save;
	off_t at = m->changes_at, read = m->changes_read;
	if (!text)
		return;
	m->changes_at += (off_t)strlen(text);
	if (m->changes_at > read) {
		m->changes_read = m->changes_at;
		substep_journal_append(m->journal, "nodes", json_pack("{s:I}", "read", (json_int_t)m->changes_read));
	}
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool is_old = at < read;
		at += (off_t)strlen(line) + 1;
		apply_line(m, line, is_old);
	}
	free(text);
}
