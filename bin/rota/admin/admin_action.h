/* admin_action.h - carries out one action of `rota admin`. */
#ifndef ROTA_BIN_ADMIN_ACTION_H
#define ROTA_BIN_ADMIN_ACTION_H

#include <jansson.h>
#include <stdbool.h>

#include "bin/rota/line/verb.h"

/* The command line of `rota admin`. */
struct admin_line {
	char **operands; /* object, action and names; room for one NULL more than `count` */
	int count;
	bool json;
	const char *conninfo; /* value of --conninfo; NULL: not given */
	json_t *values;	      /* all other options: strings, or true for an option without a value */
};

/* Carry out `action` of `object`; NULL: the object takes no action. A wrong option or number of operands is misuse. Returns the exit status. */
int admin_action_run(const struct verb *verb, const struct admin_line *line, const char *object, const char *action);

#endif
