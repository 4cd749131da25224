/* script_messages.h - collects what a script logs and tells the user during one call. */
#ifndef ROTA_RUNNER_SCRIPT_MESSAGES_H
#define ROTA_RUNNER_SCRIPT_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct script_messages {
	json_t *user, *log; /* arrays of texts; arrays of {"level", "text"} */
	size_t bytes;
	bool muted, is_cut;
};

/* Begin a call: no messages. */
void script_messages_begin(struct script_messages *m);

/* A message of the script, as struct script_output has it; `messages` is a struct script_messages. Once there are too many, the
 * rest is dropped, and the last one says so. */
void script_messages_add(void *messages, const char *level, const char *text, size_t length);

/* Move the messages into an answer. */
void script_messages_end(struct script_messages *m, json_t *answer);

#endif
