/* main.c - `rota-whole`: all verbs of `rota`, with TLS. Users type `rota` (everyday.c), which executes this program when needed. */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/rota/line/verb.h"
#include "lib/http_tls.h"
#include "lib/standard.h"

/* Report an unknown verb and suggest the nearest one; for the name of a script, suggest `rota submit`. */
static int verb_unknown(const char *word)
{
	const char *near = verb_like(word);
	struct stat st;

	if (stat(word, &st) == 0 && S_ISREG(st.st_mode)) {
		fprintf(stderr, "rota: there is no verb \"%s\"\nhint: `rota submit %s` submits this file.\n", word, word);
		return EXIT_USAGE;
	}
	fprintf(stderr, "rota: there is no verb \"%s\"%s%s%s\n", word, near ? "; did you mean \"" : "", near ? near : "",
		near ? "\"?" : "");
	fputs("hint: `rota help` lists the verbs.\n", stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	standard_files();
	verb_use(VERBS);
	setlocale(LC_CTYPE, "");
	http_tls_use();
	if (argc < 2) {
		verb_list();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		verb_list();
		return verb_finish(EXIT_OK);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("rota %s\n", ROTA_VERSION);
		return verb_finish(EXIT_OK);
	}
	verb = verb_find(argv[1]);
	if (!verb)
		return verb_unknown(argv[1]);
	return verb_finish(verb->run(verb, argc - 1, argv + 1));
}
