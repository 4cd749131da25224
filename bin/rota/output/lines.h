/* lines.h - what a step wrote, line by line: as JSON, or behind the step's name, for `rota log`. */
#ifndef ROTA_BIN_LINES_H
#define ROTA_BIN_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* How lines are printed, and a line whose end has not come yet. The texts are the caller's. */
struct lines {
	bool json;
	const char *label;  /* of the step, in its JSON objects; NULL: none */
	const char *prefix; /* without JSON: what stands before each line */
	char *rest;
	size_t size;
};

/* Print each line that the block ends: {"line": text}, with "label" where there is one (what is not UTF-8 is shown as "?"); or the prefix
 * and the line. */
void lines_print(struct lines *l, const char *block, size_t size);

/* Print what came without an end as a line, and drop it. */
void lines_end(struct lines *l);

#endif
