/* substep_connection.c - sends events to a client.
 *
 * Called by: substep_reader.c, substep_request.c and substep_client.c.
 * Invariants: at most about SUBSTEP_OUTPUT_MOST bytes of output wait in memory for a client that does not read. */
#include "procmgr/stepmgr/substep_connection.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

enum { OUTPUT_MOST = 1 << 20, QUICK_MOST = 32768, REAL_DIGITS = 9 };

void substep_connection_print(struct substep_connection *c, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	evbuffer_add_vprintf(bufferevent_get_output(c->stream), format, values);
	va_end(values);
	evbuffer_add(bufferevent_get_output(c->stream), "\n", 1);
}

void substep_connection_send(struct substep_connection *c, json_t *event)
{
	char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
	if (text) {
		evbuffer_add(bufferevent_get_output(c->stream), text, strlen(text));
		evbuffer_add(bufferevent_get_output(c->stream), "\n", 1);
	}
	free(text);
	json_decref(event);
}

void substep_connection_send_bytes(struct substep_connection *c, json_t *event, const void *bytes, size_t size)
{
	json_object_set_new(event, "bytes", json_integer((json_int_t)size));
	substep_connection_send(c, event);
	evbuffer_add(bufferevent_get_output(c->stream), bytes, size);
}

void substep_connection_refuse(struct substep_connection *c, json_int_t id, const struct err *e)
{
	struct err clean = *e;
	text_clean(clean.message); /* the message may have been cut within a character, which JSON refuses */
	json_t *event = json_pack("{s:s, s:I, s:s}", "event", "error", "id", id, "message", clean.message);
	if (*e->hint)
		json_object_set_new(event, "hint", json_string(e->hint));
	substep_connection_send(c, event);
}

bool substep_connection_has_room(const struct substep_connection *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->stream)) < OUTPUT_MOST;
}

bool substep_connection_is_quick(const struct substep_connection *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->stream)) < QUICK_MOST;
}
