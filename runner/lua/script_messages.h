/* script_messages.h - collects the log messages and the texts for the user that a script makes during one call. */
#ifndef ROTA_RUNNER_SCRIPT_MESSAGES_H
#define ROTA_RUNNER_SCRIPT_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct script_messages {
	json_t *user, *log; /* user: array of texts; log: array of {"level", "text"} */
	size_t bytes;
	bool muted, is_cut;
};

/* Begin a call: make both arrays empty. */
void script_messages_begin(struct script_messages *m);

/* Add a message of the script (a callback of struct script_output); `messages` is a struct script_messages. Once there are too
 * many, further messages are dropped, and the last one says so. */
void script_messages_add(void *messages, const char *level, const char *text, size_t length);

/* End a call: move the messages into its answer. */
void script_messages_end(struct script_messages *m, json_t *answer);

#endif
