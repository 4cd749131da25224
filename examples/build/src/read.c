/* read.c - the lines of a stream into a table. One buffer serves all lines of a stream and grows to the longest. */
#define _POSIX_C_SOURCE 200809L
#include "read.h"

#include <stdlib.h>
#include <string.h>

int read_lines(FILE *in, struct table *t)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, in)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			length--;
		table_add(t, line, (size_t)length);
	}
	free(line);
	return ferror(in) ? -1 : 0;
}

int read_file(const char *path, struct table *t)
{
	FILE *in;
	int status;

	if (strcmp(path, "-") == 0)
		return read_lines(stdin, t);
	in = fopen(path, "r");
	if (in == NULL)
		return -1;
	status = read_lines(in, t);
	fclose(in);
	return status;
}
