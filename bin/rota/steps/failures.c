/* failures.c - the first failures of a call that runs many sub-steps (failures.h).
 *
 * Called by: run_each.c, run_file.c. */
#include "bin/rota/steps/failures.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/text.h"

void failures_add(struct failures *f, char *text)
{
	if (f->count < FAILURES_SHOWN) {
		text_clean(text);
		f->first[f->count] = text;
	} else {
		free(text);
	}
	f->count++;
}

void failures_print(struct failures *f)
{
	for (long i = 0; i < f->count && i < FAILURES_SHOWN; i++) {
		fprintf(stderr, "  %s\n", f->first[i]);
		free(f->first[i]);
	}
	if (f->count > FAILURES_SHOWN)
		fprintf(stderr, "  and %ld more\n", f->count - FAILURES_SHOWN);
	f->count = 0;
}
