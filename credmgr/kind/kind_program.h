/* kind_program.h - runs a program that makes or reads a secret, and waits for its end. */
#ifndef ROTA_CREDMGR_KIND_PROGRAM_H
#define ROTA_CREDMGR_KIND_PROGRAM_H

#include <stdbool.h>

#include "credmgr/kind/kind_secret.h"

struct kind_program {
	const char *path;	  /* absolute */
	char *const *arguments;	  /* with the name of the program, NULL at the end */
	char *const *environment; /* NULL at the end */
	const char *input;	  /* what it reads from standard input */
	size_t input_size;
	int file; /* what it has as descriptor 3; -1: nothing */
};

struct kind_result {
	int status; /* of waitpid() */
	struct kind_secret output;
	char error[1000]; /* end of its standard error, in lines */
};

/* Run a program. Returns false if it could not be started. It is killed when this process dies. */
bool kind_program_run(const struct kind_program *program, struct kind_result *result, struct err *e);
void kind_program_free(struct kind_result *result);

/* Did it exit with status 0? Otherwise says in `e` how `what` ended. */
bool kind_program_good(const struct kind_result *result, const char *what, struct err *e);

#endif
