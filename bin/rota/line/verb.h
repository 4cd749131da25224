/* verb.h - verbs of `rota`: a name, a function, and a table of options that parser, help and completion read.
 *
 * Invariants:
 * - A verb reads its options with verb_next() and its operands only after verb_next() has returned 0.
 * - A wrong command line ends the process with status 2 and a message that suggests the nearest valid word. */
#ifndef ROTA_BIN_VERB_H
#define ROTA_BIN_VERB_H

#include <stdbool.h>

enum { EXIT_OK = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_GATE = 3 };

struct verb_option {
	/* value that verb_next() returns for this option: the letter of the short form, or a number above 255 if there is none */
	int id;
	const char *name;  /* long form of the option, without dashes */
	const char *value; /* name of the option's value in the help, NULL for a flag */
	const char *help;
};

struct verb {
	const char *name;
	const char *usage;   /* operands, as in "[OPTION]... SCRIPT" */
	const char *summary; /* purpose of the verb in one line, no full stop */
	const char *about;   /* paragraphs for --help, "" if the summary is enough */
	/* examples: lines of "command  what it does", "" if none are needed */
	const char *examples;
	/* kind of the operands, for completion: "", "file", "job", "past" (jobs that have ended too), "node", "verb", "object",
	 * or the possible words */
	const char *completes;
	const struct verb_option *options;			    /* last row has id 0; NULL = only the common options */
	int (*run)(const struct verb *verb, int argc, char **argv); /* argv[0] is the name of the verb */
};

/* The verbs of verbs.def that this program has, in the order of `rota help`. The last row has a NULL name. */
extern const struct verb VERBS[];

/* main() passes VERBS to verb_use(), so that the parser does not refer to the files of the verbs. */
void verb_use(const struct verb *verbs);
const struct verb *verb_table(void);

/* The option --json of verbs that print the answer of the HTTP API, and of verbs that print JSON of their own. */
enum { VERB_JSON = 1000 };
#define VERB_OPTION_JSON                                                                                                         \
	{                                                                                                                        \
		VERB_JSON, "json", NULL, "print the answer of the HTTP API as JSON, unchanged"                                   \
	}

/* The option --stale-ok of verbs that only read; the verb calls call_use_stale(). */
enum { VERB_STALE = 1100 };
#define VERB_OPTION_STALE                                                                                                        \
	{                                                                                                                        \
		VERB_STALE, "stale-ok", NULL,                                                                                    \
			"while the database cannot be written to, take the answer of a standby, and print how old it is"         \
	}

#define VERB_OPTION_JSON_OWN                                                                                                     \
	{                                                                                                                        \
		VERB_JSON, "json", NULL, "print as JSON"                                                                         \
	}

/* The state of parsing a command line. Options may stand anywhere before "--", unless stop_at_operand is set. */
struct verb_scan {
	const struct verb *verb;
	int argc;
	char **argv;
	bool stop_at_operand; /* options end at the first operand */
	char *value;	      /* value of the option that verb_next() returned last */
	int operands;	      /* number of operands, from argv[at]; valid once verb_next() has returned 0 */
	int at;
	void *table; /* option table of getopt_long(); private to verb_next() */
};

#define VERB_SCAN(of, count, vector)                                                                                             \
	{                                                                                                                        \
		.verb = (of), .argc = (count), .argv = (vector)                                                                  \
	}

/* Returns the id of the next option, 0 at the end of the options. --help, --version and --config are handled inside. */
int verb_next(struct verb_scan *scan);

/* Returns the value of the current option as a number. A number outside [lowest, highest] is misuse. */
long verb_number(const struct verb_scan *scan, long lowest, long highest);

/* End the process with a usage error unless the number of operands is within [lowest, highest] (highest -1: any number). */
void verb_operands(const struct verb_scan *scan, int lowest, int highest);

/* Print an error about the command line and end the process with EXIT_USAGE. */
void verb_misuse(const struct verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* Flush standard output and return the exit status: `status`, or EXIT_REFUSED if a full disk or a closed pipe lost output. */
int verb_finish(int status);

/* Returns the verb with this name, NULL if there is none. */
const struct verb *verb_find(const char *name);

/* Print the verb's help in the form that help2man reads. */
void verb_help_print(const struct verb *verb);

/* Options of every verb, and their ids. */
enum { VERB_HELP = 'h', VERB_VERSION = 1001, VERB_CONFIG = 1002 };
extern const struct verb_option VERB_COMMON[];

/* Returns the verb that `word` may have meant, NULL if no verb has a similar name. */
const char *verb_like(const char *word);

/* Print the summary of every verb. */
void verb_list(void);

#endif
