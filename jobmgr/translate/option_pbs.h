/* option_pbs.h - what a #PBS line asks for, said in Rota's options. */
#ifndef ROTA_OPTION_PBS_H
#define ROTA_OPTION_PBS_H

#include "jobmgr/translate/option.h"

struct option_pbs {
	/* Called for each option that comes of it, its text as option_value reads it. `total`: the memory is that of all nodes
	 * together. OPTION_ID_ERROR with an empty text: errors go with the output, whatever another line says (-j oe). */
	void (*set)(void *to, const struct option_row *row, const char *text, bool total);
	void *to;
	int64_t now;
};

/* Whether a letter is followed by a value. */
bool option_pbs_takes_value(char letter);

/* One option: its letter and its value ("" where it has none; for -l a single resource of the list). False with an error where
 * nothing here is like it. */
bool option_pbs_read(const struct option_pbs *pbs, char letter, const char *value, struct err *e);

#endif
