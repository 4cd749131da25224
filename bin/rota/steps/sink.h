/* sink.h - writes the output of tasks to a descriptor: unchanged, or as whole lines with a label. */
#ifndef ROTA_BIN_SINK_H
#define ROTA_BIN_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct sink;

/* Make a sink that writes to `fd`. With `label`, each line begins with the number of its task. With `unbuffered`, the
 * beginning of a line is written at once; without, a line is written when it is whole. */
struct sink *sink_new(int fd, bool label, bool unbuffered);

/* Write output of a task. Returns false with errno if the descriptor cannot be written to. */
bool sink_write(struct sink *s, int task, const char *bytes, size_t size);

/* Write unfinished lines, each with a newline, and free the sink. */
bool sink_close(struct sink *s);

/* Write all bytes. Returns false with errno on failure; EINTR: SIGTERM or SIGHUP, which the caller has blocked, came while the
 * descriptor took no bytes. */
bool sink_write_all(int fd, const char *bytes, size_t size);

#endif
