/* option.h - the options of a submission: their table, functions that look up a row, and the parser of values. */
#ifndef ROTA_OPTION_H
#define ROTA_OPTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

enum option_kind {		    /* form of an option's value: in the text of the option, then in JSON */
		   OPTION_FLAG,	    /* no text, "yes" or "no": boolean */
		   OPTION_TEXT,	    /* any UTF-8 text without control characters except tab: string */
		   OPTION_LINES,    /* UTF-8 text of several lines, without other control characters: string */
		   OPTION_TITLE,    /* UTF-8 text on one line, not empty: string */
		   OPTION_NAME,	    /* letters, digits, _ . @ -: string */
		   OPTION_PREP,	    /* name of a preparation, perhaps with :arguments: string */
		   OPTION_LABEL,    /* a letter, then letters, digits, _ -: string */
		   OPTION_NATURAL,  /* a number from 0 on: integer */
		   OPTION_COUNT,    /* a number from 1 on: integer */
		   OPTION_NICE,	    /* a number with sign: integer */
		   OPTION_DURATION, /* m, m:s, h:m:s, d-h, d-h:m, d-h:m:s: integer, seconds */
		   OPTION_MOMENT, /* 16:00, tomorrow, 2030-01-31T08:00, now+2hours, none: integer, seconds since 1970; or null */
		   OPTION_NODES,  /* 2, 2-4: [lowest, highest] */
		   OPTION_HOSTS,  /* n[1-4,7],m2, none: list of strings */
		   OPTION_FEATURES, /* a&(b|!c), none: string */
		   /* number of MiB, or with K, M, G, T: integer, MiB; 0 only if that means all memory of the node */
		   OPTION_SIZE,
		   OPTION_GRES,	      /* gpu:2,fpga, none: {"gpu": 2, "fpga": 1} */
		   OPTION_LICENSES,   /* matlab:2,abaqus, none: {"matlab": 2, "abaqus": 1} */
		   OPTION_GPUS,	      /* a number from 0 on: integer */
		   OPTION_PATTERN,    /* a path with %-letters: string */
		   OPTION_PATH,	      /* a path: string */
		   OPTION_CHOICE,     /* one of the words in the column `argument` of the table: string */
		   OPTION_EXPORT,     /* ALL, NONE, names, NAME=value: string */
		   OPTION_UMASK,      /* octal: integer */
		   OPTION_SHELL,      /* an absolute path or "login": string */
		   OPTION_ARRAY,      /* 0-15:4,20%2, none: {"indices", "size", "limit"}; or null */
		   OPTION_KEEP,	      /* mem,gres,licenses,cpus,all,none: {"cpus", "mem", "gres", "licenses"} */
		   OPTION_SIGNAL,     /* B:USR1@60: {"signal": 10, "seconds": 60, "shell": true} */
		   OPTION_PERIOD,     /* as OPTION_DURATION, or auto: string */
		   OPTION_DRIVER,     /* app, auto, dmtcp, criu, script:NAME, no: string */
		   OPTION_REQUEST,    /* B:USR1: {"signal": 10, "shell": true} */
		   OPTION_CATCHABLE,  /* USR1, none: integer, number of the signal; 0 for none */
		   OPTION_ADDRESS,    /* mail addresses, with commas between: string */
		   OPTION_IF_CHANGED, /* OUT[,OUT]...:IN[,IN]..., none: string; or null */
		   OPTION_MAIL,	      /* BEGIN,END,...: string in capitals */
		   OPTION_AFTER, /* dependencies, such as a:fail,812, as in --after; translate_peer.c parses the text: string */
		   OPTION_PEERS, /* names of other steps, as in --with; translate_peer.c parses the text: string */
		   OPTION_CREDENTIALS, /* krb5,archive:forward,bob/key, none: string, without a name twice; "" for none */
		   OPTION_IGNORED,     /* any text: no value; the help says which effect the option does not have */
};

enum option_level { OPTION_JOB, OPTION_STEP, OPTION_PEER };

/* Spellings of options. OPTION_ROTA has Rota's names, short letters, and Slurm's long names. */
enum option_spelling { OPTION_ROTA, OPTION_SLURM, OPTION_PBS };

enum option_id {
#define OPTION(id, ...) OPTION_ID_##id,
#include "jobmgr/translate/options.def"
#undef OPTION
	OPTION_ROWS
};

/* Number of options whose settings a step stores. The options after them are of kind OPTION_IGNORED. */
enum { OPTION_SETTINGS = OPTION_ID_OVERSUBSCRIBE };

struct option_row {
	enum option_id id;
	const char *name, *alias;
	char letter; /* short letter of the option; 0: it has none */
	enum option_kind kind;
	enum option_level level;
	const char *slurm, *pbs, *key, *argument, *help; /* columns of the table, see options.def */
};

/* Returns the table of options, in the order in which help shows them. */
const struct option_row *option_rows(int *count);
const struct option_row *option_row(enum option_id id);

/* Returns the row of the option with this long name (without dashes) or short letter in a spelling (ROTA or SLURM), or NULL. */
const struct option_row *option_find(const char *name, enum option_spelling spelling);
const struct option_row *option_find_letter(char letter, enum option_spelling spelling);

/* Returns the row of the option with this PBS spelling, such as "-N" or "-l walltime", or NULL. */
const struct option_row *option_find_pbs(const char *spelling);

/* Returns the long name of an option nearest to `name`, or NULL if none is near. */
const char *option_nearest(const char *name, enum option_spelling spelling);

/* Returns advice for the user of an option of another system (a long name, or a letter) that Rota does not have, or NULL. */
const char *option_advice(const char *name);

/* Returns the name of the event of --mail-type at an index, or NULL after the last one. */
const char *option_mail_event(size_t at);

/* Must the option have a value? If so, "--name value" is one option with its value. */
bool option_takes_value(const struct option_row *row);

/* Returns how many arguments, from arguments[0] on, make up one option: 1 for "--time=5" or "-t5", 2 for "--time 5" or "-t 5".
 * Returns 0 if arguments[0] is no option. For clients that separate options from operands. */
int option_span(const char *const *arguments, int count);

/* Data that parsers of option values need beside the text. */
struct option_context {
	int64_t now;	   /* seconds since 1970, for "tomorrow" and "now+1hour" */
	int64_t array_max; /* most elements that an array may have */
	/* number of host names and index ranges that parsers may still make, since a short text can make a long list */
	int items_left;
};

/* Returns the value of an option as JSON, parsed from its text, or NULL with an error. */
json_t *option_value(const struct option_row *row, const char *text, struct option_context *context, struct err *e);

#endif
