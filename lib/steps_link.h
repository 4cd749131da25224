/* steps_link.h - the byte stream to a step manager: connects, buffers output, and splits input into messages. */
#ifndef ROTA_STEPS_LINK_H
#define ROTA_STEPS_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { STEPS_MESSAGE_MOST = 1 << 20, STEPS_BYTES_MOST = 65536 };

struct steps_buffer {
	char *bytes;
	size_t from, to, room; /* bytes [from, to) are in use */
};

struct steps_link {
	int fd; /* -1: not connected */
	struct steps_buffer in, out;
};

/* Connect to a Unix socket, whose path may have any length, or to a path that begins with STEPS_LINK_REMOTE. Returns the descriptor,
 * non-blocking, or -1; steps_link_error() then says why. */
#define STEPS_LINK_REMOTE "tls:"
int steps_link_connect(const char *path);
const char *steps_link_error(void);

/* Function that connects to a path that begins with STEPS_LINK_REMOTE; NULL: this program cannot connect to such paths. Returns
 * the descriptor, non-blocking, or -1 with a text in `error`. */
extern int (*steps_link_connect_remote)(const char *path, char *error, size_t size);

void steps_link_close(struct steps_link *link);

/* Append bytes to the output buffer. */
void steps_link_add(struct steps_link *link, const void *bytes, size_t size);

/* steps_link_write() writes as much output as the socket takes, steps_link_read() reads all input that it has. Both return false
 * if the connection is lost. */
bool steps_link_write(struct steps_link *link);
bool steps_link_read(struct steps_link *link);

enum steps_took { STEPS_NONE, STEPS_MESSAGE, STEPS_BROKEN };

/* Take the next whole message. *bytes are the `*size` bytes that belong to it, valid until the next call of steps_link_read(). */
enum steps_took steps_link_take(struct steps_link *link, json_t **message, const char **bytes, size_t *size);

/* Allocate memory, or end the process if there is none. */
void *steps_alloc(void *old, size_t size);
char *steps_copy(const char *text);

#endif
