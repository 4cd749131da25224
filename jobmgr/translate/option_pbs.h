/* option_pbs.h - reads an option of a #PBS line as options of Rota. */
#ifndef ROTA_OPTION_PBS_H
#define ROTA_OPTION_PBS_H

#include "jobmgr/translate/option.h"

struct option_pbs {
	/* Called for each option of Rota that a #PBS option stands for, with a text for option_value. `total`: the text is the
	 * memory of all nodes together. OPTION_ID_ERROR with an empty text: errors go with the output, whatever other #PBS lines
	 * say (-j oe). */
	void (*set)(void *to, const struct option_row *row, const char *text, bool total);
	void *to;
	int64_t now;
};

/* Does the #PBS option with this letter have a value? */
bool option_pbs_takes_value(char letter);

/* Read one #PBS option: its letter and its value ("": no value; for -l, one resource of the list). Returns false with an error if
 * the option has no counterpart in Rota. */
bool option_pbs_read(const struct option_pbs *pbs, char letter, const char *value, struct err *e);

#endif
