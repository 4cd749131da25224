/* help.c - prints the help of a verb and the list of verbs, in the form that help2man reads. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"
#include "lib/nearest.h"

enum { HELP_WIDTH = 79, OPTION_COLUMN = 26 };

/* Print `text` from column `at` on, wrapped at words, with further lines indented by `indent`. */
static void text_wrap(const char *text, int at, int indent)
{
	bool first = true;

	for (; *text; text += *text == ' ') {
		int word = (int)strcspn(text, " \n");

		if (!first && at + 1 + word > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			at = indent;
			first = true;
		}
		at += printf("%s%.*s", first ? "" : " ", word, text);
		text += word;
		first = false;
		for (; *text == '\n'; text++, first = true, at = indent)
			printf("\n%*s", text[1] == '\n' ? 0 : indent, "");
	}
	putchar('\n');
}

static void options_print(const struct verb_option *options)
{
	for (; options && options->id; options++) {
		char left[128], value[64] = "";
		int width;

		/* A value "[N]" is optional, together with the "=". */
		if (options->value)
			snprintf(value, sizeof(value), options->value[0] == '[' ? "[=%s" : "=%s",
				 options->value + (options->value[0] == '['));
		if (options->id < 256 && options->name)
			width = snprintf(left, sizeof(left), "  -%c, --%s%s", options->id, options->name, value);
		else if (options->id < 256)
			width = snprintf(left, sizeof(left), "  -%c%s%s", options->id, options->value ? " " : "",
					 options->value ? options->value : "");
		else
			width = snprintf(left, sizeof(left), "      --%s%s", options->name, value);
		fputs(left, stdout);
		if (width > OPTION_COLUMN - 2)
			printf("\n%*s", OPTION_COLUMN, "");
		else
			printf("%*s", OPTION_COLUMN - width, "");
		text_wrap(options->help, OPTION_COLUMN, OPTION_COLUMN);
	}
}

/* Print the examples of a verb. Each line is "command  what it does". */
static void examples_print(const char *text)
{
	puts("\nExamples:");
	while (*text) {
		int line = (int)strcspn(text, "\n");

		printf("  %.*s\n", line, text);
		text += line + (text[line] == '\n');
	}
}

void verb_help_print(const struct verb *verb)
{
	printf("Usage: rota %s%s%s\n", verb->name, verb->usage[0] ? " " : "", verb->usage);
	text_wrap(verb->summary, 0, 0);
	if (verb->about[0]) {
		putchar('\n');
		text_wrap(verb->about, 0, 0);
	}
	puts("\nOptions:");
	options_print(verb->options);
	options_print(VERB_COMMON);
	if (verb->examples[0])
		examples_print(verb->examples);
}

void verb_list(void)
{
	puts("Usage: rota VERB [OPTION]... [OPERAND]...\n"
	     "Rota runs multi-step jobs on nodes and keeps every job, past and present, in a\n"
	     "database.\n\n"
	     "Verbs:");
	for (const struct verb *v = verb_table(); v->name; v++) {
		printf("  %-12s  ", v->name);
		text_wrap(v->summary, 16, 16);
	}
	puts("\nOptions:\n"
	     "  --help      print this help; after a verb, the help of the verb\n"
	     "  --version   print the version\n\n"
	     "Examples:\n"
	     "  rota up                    start a private instance on this machine\n"
	     "  rota submit pipeline.sh    submit a script\n"
	     "  rota watch 812             watch its steps");
}

/* Commands of other systems, common words, and the verbs that do the same. */
static const struct {
	const char *word, *verb;
} OTHERS[] = {
	{"sbatch", "submit"}, {"srun", "run"},	     {"salloc", "shell"},  {"qsub", "submit"},	  {"bsub", "submit"},
	{"squeue", "queue"},  {"qstat", "queue"},    {"bjobs", "queue"},   {"scancel", "cancel"}, {"qdel", "cancel"},
	{"bkill", "cancel"},  {"sacct", "acct"},     {"sstat", "top"},	   {"sinfo", "nodes"},	  {"pbsnodes", "nodes"},
	{"scontrol", "show"}, {"sacctmgr", "admin"}, {"qmgr", "admin"},	   {"sshare", "shares"},  {"sreport", "report"},
	{"qhold", "hold"},    {"qrls", "release"},   {"qalter", "modify"}, {"qsig", "signal"},	  {"sprio", "why"},
	{"kill", "cancel"},   {"delete", "cancel"},  {"ls", "queue"},	   {"ps", "queue"},	  {"list", "queue"},
	{"jobs", "queue"},    {"info", "show"},	     {"start", "submit"},  {"tail", "log"},	  {"stop", "cancel"},
	{"rm", "cancel"},     {"remove", "cancel"},  {"pause", "suspend"}, {"rerun", "requeue"},  {"edit", "modify"},
	{"job", "show"},      {"history", "acct"},   {"usage", "report"},  {"alloc", "shell"},	  {"interactive", "shell"},
	{"exec", "run"},      {"output", "log"},     {"cat", "log"},	   {"drain", "admin"},	  {"man", "help"},
	{NULL, NULL},
};

const char *verb_like(const char *word)
{
	const char *names[64];
	int count = 0;

	for (size_t i = 0; OTHERS[i].word; i++)
		if (!strcmp(OTHERS[i].word, word))
			return OTHERS[i].verb;
	for (const struct verb *v = verb_table(); v->name; v++)
		names[count++] = v->name;
	names[count] = NULL;
	return nearest_of(word, names);
}
