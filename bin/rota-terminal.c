/* rota-terminal.c - main of the terminal of an interactive sub-step. The step manager starts it; people do not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/terminal/terminal.h"

/* Returns the number of rows or columns in `text`, or 0 if it is no such number. */
static int read_size(const char *text)
{
	char *end;
	long size = strtol(text, &end, 10);
	return *text && !*end && size > 0 && size <= 65535 ? (int)size : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("rota-terminal %s\n", ROTA_VERSION);
		return 0;
	}
	struct terminal_options options = {.name = argc > 4 ? argv[1] : "", .argv = argv + 4};
	if (argc > 4) {
		options.rows = read_size(argv[2]);
		options.cols = read_size(argv[3]);
	}
	if (options.rows == 0 || options.cols == 0) {
		fprintf(stderr, "usage: rota-terminal NAME ROWS COLS COMMAND [ARGUMENT]...\n");
		return 2;
	}
	return terminal_run(&options);
}
