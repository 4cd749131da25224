/* lines.h - what a step wrote as JSON, one object a line, for `rota log --json`. */
#ifndef ROTA_BIN_LINES_H
#define ROTA_BIN_LINES_H

#include <stddef.h>

/* A line whose end has not come yet. All zero at first. */
struct lines {
	char *rest;
	size_t size;
};

/* Print each line that the block ends, as {"line": text}; what is not UTF-8 is shown as "?". */
void lines_print(struct lines *l, const char *block, size_t size);

/* Print what came without an end, and forget it. */
void lines_end(struct lines *l);

#endif
