/* script_messages.c - messages of a script during one call (script_messages.h).
 *
 * Called by: script_serve.c.
 * Invariants:
 * - A message is valid UTF-8 without control characters, whatever the script wrote.
 * - The messages of one call have at most BYTES_MOST bytes. */
#include "runner/lua/script_messages.h"

#include <stdlib.h>
#include <string.h>

#include "lib/err.h"
#include "lib/text.h"

enum { BYTES_MOST = 128 << 10, TEXT_MOST = 8 << 10, TEXT_OVERHEAD = 32 };

void script_messages_begin(struct script_messages *m)
{
	m->user = json_array();
	m->log = json_array();
	m->bytes = 0;
	m->muted = m->is_cut = false;
}

static void messages_append(struct script_messages *m, const char *level, const char *text)
{
	if (!strcmp(level, "user"))
		json_array_append_new(m->user, json_string(text));
	else
		json_array_append_new(m->log, json_pack("{s:s, s:s}", "level", level, "text", text));
}

void script_messages_add(void *messages, const char *level, const char *text, size_t length)
{
	struct script_messages *m = messages;
	char *copy;

	if (m->muted || m->is_cut)
		return;
	length = length < TEXT_MOST ? length : TEXT_MOST;
	m->bytes += length + TEXT_OVERHEAD;
	m->is_cut = m->bytes > BYTES_MOST;
	if (m->is_cut) {
		messages_append(m, "error", "the script wrote too many messages; the rest is dropped");
		return;
	}
	copy = xmalloc(length + 1);
	memcpy(copy, text, length);
	for (size_t i = 0; i < length; i++)
		copy[i] = copy[i] ? copy[i] : '?';
	copy[length] = '\0';
	text_clean(copy);
	messages_append(m, level, copy);
	free(copy);
}

void script_messages_end(struct script_messages *m, json_t *answer)
{
	json_object_set_new(answer, "user", m->user);
	json_object_set_new(answer, "log", m->log);
	m->user = m->log = NULL;
}
