/* option.h - the options of a submission: the table, looking up a row, and parsing a value. */
#ifndef ROTA_OPTION_H
#define ROTA_OPTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

enum option_kind {		    /* what the value is: in the option's text, then in JSON */
		   OPTION_FLAG,	    /* nothing, yes or no: boolean */
		   OPTION_TEXT,	    /* any UTF-8 without control characters but tab: string */
		   OPTION_TITLE,    /* the same on one line, not empty: string */
		   OPTION_NAME,	    /* letters, digits, _ . @ -: string */
		   OPTION_LABEL,    /* a letter, then letters, digits, _ -: string */
		   OPTION_NATURAL,  /* a number from 0 on: integer */
		   OPTION_COUNT,    /* a number from 1 on: integer */
		   OPTION_NICE,	    /* a number with sign: integer */
		   OPTION_DURATION, /* m, m:s, h:m:s, d-h, d-h:m, d-h:m:s: integer, seconds */
		   OPTION_MOMENT, /* 16:00, tomorrow, 2030-01-31T08:00, now+2hours, none: integer, seconds since 1970; or null */
		   OPTION_NODES,  /* 2, 2-4: [lowest, highest] */
		   OPTION_HOSTS,  /* n[1-4,7],m2, none: list of strings */
		   OPTION_FEATURES, /* a&(b|!c), none: string */
		   OPTION_SIZE,	    /* MiB, or with K, M, G, T: integer, MiB; 0 only where it means all of the node */
		   OPTION_GRES,	    /* gpu:2,fpga, none: {"gpu": 2, "fpga": 1} */
		   OPTION_LICENSES, /* matlab:2,abaqus, none: the same */
		   OPTION_GPUS,	    /* a number from 0 on: integer */
		   OPTION_PATTERN,  /* a path with %-letters: string */
		   OPTION_PATH,	    /* a path: string */
		   OPTION_CHOICE,   /* one of the words of `argument`: string */
		   OPTION_EXPORT,   /* ALL, NONE, names, NAME=value: string */
		   OPTION_UMASK,    /* octal: integer */
		   OPTION_SHELL,    /* an absolute path or "login": string */
		   OPTION_ARRAY,    /* 0-15:4,20%2, none: {"indices", "size", "limit"}; or null */
		   OPTION_KEEP,	    /* mem,gres,licenses,cpus,all,none: {"cpus", "mem", "gres", "licenses"} */
		   OPTION_SIGNAL,   /* B:USR1@60: {"signal": 10, "seconds": 60, "shell": true} */
		   OPTION_ADDRESS,  /* mail addresses, with commas between: string */
		   OPTION_IF_CHANGED, /* OUT[,OUT]...:IN[,IN]..., none: string; or null */
		   OPTION_MAIL,	    /* BEGIN,END,...: string in capitals */
		   OPTION_AFTER,    /* left to the translator: string */
		   OPTION_PEERS,    /* left to the translator: string */
		   OPTION_IGNORED,  /* any text: no value; the help says what is not done */
};

enum option_level { OPTION_JOB, OPTION_STEP, OPTION_PEER };

/* Which spellings are known. OPTION_ROTA: Rota's names, short letters, and Slurm's long names. */
enum option_spelling { OPTION_ROTA, OPTION_SLURM, OPTION_PBS };

enum option_id {
#define OPTION(id, ...) OPTION_ID_##id,
#include "jobmgr/translate/options.def"
#undef OPTION
	OPTION_ROWS
};

struct option_row {
	enum option_id id;
	const char *name, *alias;
	char letter; /* 0: none */
	enum option_kind kind;
	enum option_level level;
	const char *slurm, *pbs, *key, *argument, *help; /* see options.def */
};

/* The table, in the order in which help shows it. */
const struct option_row *option_rows(int *count);
const struct option_row *option_row(enum option_id id);

/* The row with this long name (without dashes) or short letter in a spelling (ROTA or SLURM), or NULL. */
const struct option_row *option_find(const char *name, enum option_spelling spelling);
const struct option_row *option_find_letter(char letter, enum option_spelling spelling);

/* The row with this spelling of PBS ("-N", "-l walltime"), or NULL. */
const struct option_row *option_find_pbs(const char *spelling);

/* The long name nearest to `name`, NULL where none is near. */
const char *option_nearest(const char *name, enum option_spelling spelling);

/* Must the option have a value? Then "--name value" is one option. */
bool option_takes_value(const struct option_row *row);

/* How many arguments, from arguments[0] on, are one option of the table ("--time=5", "-t5": 1; "--time 5", "-t 5": 2); 0: arguments[0] is
 * none. For clients that separate options from operands. */
int option_span(const char *const *arguments, int count);

/* The context of parsers. */
struct option_context {
	int64_t now;	   /* seconds since 1970, for "tomorrow" and "now+1hour" */
	int64_t array_max; /* most elements of an array */
	int items_left;	   /* how many host names and index ranges may still be made, because a short text can make a long list */
};

/* The value of a row's text as JSON; NULL with an error. */
json_t *option_value(const struct option_row *row, const char *text, struct option_context *context, struct err *e);

#endif
