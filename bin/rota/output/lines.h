/* lines.h - prints the output of a step line by line, as JSON or with a prefix, for `rota log`. */
#ifndef ROTA_BIN_LINES_H
#define ROTA_BIN_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* How to print lines, and the beginning of a line whose end was not read yet. The caller owns label and prefix. */
struct lines {
	bool json;
	const char *label;  /* member "label" of each JSON object; NULL: no such member */
	const char *prefix; /* printed before each line, unless `json` */
	char *rest;
	size_t size;
};

/* Print each line of output that ends in the block. A line is printed as {"line": text}, in which bytes that are not UTF-8
 * become "?", or with the prefix in front. */
void lines_print(struct lines *l, const char *block, size_t size);

/* Print an unfinished line with a newline. */
void lines_end(struct lines *l);

#endif
