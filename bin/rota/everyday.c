/* everyday.c - `rota`: the verbs that people and scripts run by the thousand, in a program that starts in a moment.
 *
 * Most of the time of a short command goes into loading libraries: libpq and OpenSSL take longer than a whole submission. So the
 * client is two programs of the same parts. This one asks the gate behind the local socket; everything else (the verbs that
 * speak to PostgreSQL, an instance named by --config, a gate with an URL, help, a wrong word) is the business of `rota-whole`, which
 * does all of it. What always holds: which of the two serves a command line shows in the time it takes and in nothing else. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/err.h"
#include "lib/standard.h"

/* Become rota-whole: beside this program (a build tree), else in ../sbin (an installation). Returns where that fails. */
static int hand_over(char **argv)
{
	static const char *const places[] = {"rota-whole", "../sbin/rota-whole"};
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	if (length < 0)
		die("could not read \"/proc/self/exe\": %s", strerror(errno));
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *path = xasprintf("%s/%s", self, places[i]);

		execv(path, argv);
		free(path);
	}
	fprintf(stderr, "rota: could not execute rota-whole: %s\n", strerror(errno));
	fputs("hint: It belongs beside rota, or into ../sbin from there.\n", stderr);
	return EXIT_NO_GATE;
}

/* --config, however shortened, with or without its value. */
static bool names_instance(const char *word)
{
	static const char option[] = "--config";
	size_t length = strcspn(word, "=");

	return length > 2 && length < sizeof option && !strncmp(word, option, length);
}

/* Whether the command line is one for this program. Without a configuration it is: what there is to say of that is said later. */
static bool is_ours(int argc, char **argv)
{
	const struct conf *conf;

	if (argc < 2 || !verb_find(argv[1]))
		return false;
	for (int i = 2; i < argc; i++)
		if (names_instance(argv[i]))
			return false;
	conf = call_conf_try();
	return !conf || !*conf->gate_url;
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	standard_files();
	verb_use(VERBS);
	if (!is_ours(argc, argv))
		return hand_over(argv);
	setlocale(LC_CTYPE, "");
	verb = verb_find(argv[1]);
	return verb_finish(verb->run(verb, argc - 1, argv + 1));
}
