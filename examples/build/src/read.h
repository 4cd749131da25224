/* read.h - the lines of a stream, of any length, into a table. */
#ifndef TALLY_READ_H
#define TALLY_READ_H

#include <stdio.h>

#include "table.h"

/* Count every line of `in`, without its newline; a last line needs none. Returns 0, or -1 with errno where reading failed. */
int read_lines(FILE *in, struct table *t);

/* The same for the file at `path`, where "-" is standard input. */
int read_file(const char *path, struct table *t);

#endif
