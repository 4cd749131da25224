/* failures.h - the first failures of a call that runs many sub-steps, in words, for the summary at its end. */
#ifndef ROTA_BIN_FAILURES_H
#define ROTA_BIN_FAILURES_H

enum { FAILURES_SHOWN = 10 };

struct failures {
	long count;
	char *first[FAILURES_SHOWN];
};

/* Add a failure; takes over the malloc'ed text. */
void failures_add(struct failures *f, char *text);

/* Print the failures on standard error, and free them. */
void failures_print(struct failures *f);

#endif
