/* option_pbs.h - reads an option of a #PBS line as options of Rota. */
#ifndef ROTA_OPTION_PBS_H
#define ROTA_OPTION_PBS_H

#include "jobmgr/translate/option.h"

struct option_pbs {
	/* Called for each option of Rota, with a text for option_value. `total`: the memory of all nodes together. OPTION_ID_ERROR with an
	 * empty text: errors go with the output, whatever other lines say (-j oe). */
	void (*set)(void *to, const struct option_row *row, const char *text, bool total);
	void *to;
	int64_t now;
};

/* Does a value follow this letter? */
bool option_pbs_takes_value(char letter);

/* Read one option: its letter and its value ("": none; for -l, one resource of the list). False with an error where it has no
 * counterpart. */
bool option_pbs_read(const struct option_pbs *pbs, char letter, const char *value, struct err *e);

#endif
