/* each_line.h - the lines of `rota run --each`: reads them from a descriptor, and makes a command of each. */
#ifndef ROTA_BIN_EACH_LINE_H
#define ROTA_BIN_EACH_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads lines from a descriptor. */
struct line_reader {
	int fd;
	char *bytes;
	size_t from, to, room;
	long number; /* number of the last line that was returned, from 1 */
	bool ended;  /* the file has ended, or reading has failed: then `error` is an errno */
	int error;
};

/* Returns the next line that is not blank, without its newline, valid until the next call. Returns NULL if no whole line has been
 * read yet. */
char *line_reader_next(struct line_reader *r);

/* Read what the descriptor has. Blocks until the descriptor has at least one byte, or ends. */
void line_reader_fill(struct line_reader *r);

/* Returns the arguments for a line, NULL at the end, malloc'ed as one piece: `sh -c LINE` if `command` is empty, else the
 * command with each {} replaced by the line, which is appended if there is no {}. */
char **each_line_command(char *const *command, const char *line);

/* Returns the hash of a command and a line with its number, by which the log of --resume identifies the line. */
uint64_t each_line_hash(char *const *command, long number, const char *line);

#endif
