/* main.c - `rota`: finds the verb and runs it. What verbs there are stands in verbs.def. */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/verb.h"

#define VERB(name, usage, completes, summary, about, examples)                                                                   \
	extern const struct verb_option name##_options[];                                                                        \
	int verb_##name(int argc, char **argv);
#include "bin/rota/verbs.def"
#undef VERB

const struct verb VERBS[] = {
#define VERB(name, usage, completes, summary, about, examples)                                                                   \
	{#name, usage, summary, about, examples, completes, name##_options, verb_##name},
#include "bin/rota/verbs.def"
#undef VERB
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *v = VERBS; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* No such verb: say which one it may have been. */
static int unknown(const char *word)
{
	const char *names[sizeof(VERBS) / sizeof(VERBS[0])];
	const char *near;
	int count = 0;

	for (const struct verb *v = VERBS; v->name; v++)
		names[count++] = v->name;
	names[count] = NULL;
	near = verb_nearest(word, names);
	fprintf(stderr, "rota: there is no verb \"%s\"%s%s%s\n", word, near ? "; did you mean \"" : "", near ? near : "",
		near ? "\"?" : "");
	fputs("hint: `rota help` lists the verbs.\n", stderr);
	return EXIT_USAGE;
}

/* What was printed must have been written: a full disk or a closed pipe is a failure too. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (status == EXIT_OK)
			status = EXIT_REFUSED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		verb_list();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		verb_list();
		return finish(EXIT_OK);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("rota %s\n", ROTA_VERSION);
		return finish(EXIT_OK);
	}
	verb = verb_find(argv[1]);
	if (!verb)
		return unknown(argv[1]);
	return finish(verb->run(argc - 1, argv + 1));
}
