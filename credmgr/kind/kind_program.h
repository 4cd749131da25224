/* kind_program.h - runs a program that makes or reads a secret, and waits for its end. */
#ifndef ROTA_CREDMGR_KIND_PROGRAM_H
#define ROTA_CREDMGR_KIND_PROGRAM_H

#include <stdbool.h>

#include "credmgr/kind/kind_secret.h"

struct kind_program {
	const char *path;	  /* absolute */
	char *const *arguments;	  /* argument vector: the program's name first, NULL at the end */
	char *const *environment; /* NULL at the end */
	const char *input;	  /* text that the program reads from standard input */
	size_t input_size;
	int file; /* file that the program has as descriptor 3; -1: none */
};

struct kind_result {
	int status; /* status of the program, as waitpid() returns it */
	struct kind_secret output;
	char error[1000]; /* end of the program's standard error, in lines */
};

/* Run a program. Returns false if it could not be started. It is killed when this process dies. */
bool kind_program_run(const struct kind_program *program, struct kind_result *result, struct err *e);
void kind_program_free(struct kind_result *result);

/* Returns true if the program exited with status 0. If not, sets `e`; `what` names the program in the message. */
bool kind_program_good(const struct kind_result *result, const char *what, struct err *e);

#endif
