/* tally.c - count equal lines: the command line and the output. Exit: 0 done, 1 a file could not be read, 2 wrong use. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read.h"
#include "table.h"

static int usage(void)
{
	fputs("usage: tally [-n COUNT] [-r] [FILE...]\n", stderr);
	return 2;
}

/* A whole number above zero, or -1. */
static long number(const char *text)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	return errno != 0 || end == text || *end != '\0' || value <= 0 ? -1 : value;
}

static int print(const struct table *t, size_t most, int rarest)
{
	struct entry *all = table_sorted(t, rarest);
	size_t count = table_size(t) < most ? table_size(t) : most;

	for (size_t i = 0; i < count; i++) {
		printf("%7lu ", all[i].count);
		fwrite(all[i].line, 1, all[i].length, stdout);
		putchar('\n');
	}
	free(all);
	if (fflush(stdout) == 0)
		return 0;
	fprintf(stderr, "tally: standard output: %s\n", strerror(errno));
	return 1;
}

static int read_all(char **paths, struct table *t)
{
	int status = 0;

	for (; *paths != NULL; paths++)
		if (read_file(*paths, t) != 0) {
			fprintf(stderr, "tally: %s: %s\n", *paths, strerror(errno));
			status = 1;
		}
	return status;
}

int main(int argc, char **argv)
{
	char *standard_input[] = {"-", NULL};
	size_t most = (size_t)-1;
	int option, rarest = 0, status;
	struct table *t;

	while ((option = getopt(argc, argv, "n:r")) != -1) {
		if (option == 'n' && number(optarg) > 0)
			most = (size_t)number(optarg);
		else if (option == 'r')
			rarest = 1;
		else
			return usage();
	}
	t = table_new();
	status = read_all(optind < argc ? argv + optind : standard_input, t);
	if (print(t, most, rarest) != 0)
		status = 1;
	table_free(t);
	return status;
}
