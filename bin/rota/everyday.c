/* everyday.c - `rota`: the frequent verbs, in a program that starts fast.
 *
 * Loading libpq and OpenSSL takes longer than a whole submission. So the client is two programs of the same parts. `rota` has
 * the verbs that use the local socket of jobmgrd. `rota-whole` has all verbs. `rota` executes `rota-whole` for verbs with a
 * connection to PostgreSQL, --config, a configured gate.url, help, and unknown verbs.
 * Invariants:
 * - The two programs differ in nothing but speed. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/call/call.h"
#include "bin/rota/line/verb.h"
#include "lib/err.h"
#include "lib/standard.h"

/* Execute rota-whole from the folder of this program (a build tree), else from ../sbin (an installation). Returns only after an error. */
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
	fputs("hint: Install it in the folder of rota, or in ../sbin from there.\n", stderr);
	return EXIT_NO_GATE;
}

/* Returns true if the word is --config or an abbreviation of it, with or without a value. */
static bool names_instance(const char *word)
{
	static const char option[] = "--config";
	size_t length = strcspn(word, "=");

	return length > 2 && length < sizeof option && !strncmp(word, option, length);
}

/* Returns true if gate.url is not set, so jobmgrd is reached by the local socket. */
static bool has_no_url(void)
{
	const struct conf *conf = call_conf_try();

	return !conf || !*conf->gate_url;
}

/* Returns true inside a job, where `rota run` needs no jobmgrd. */
static bool is_inside(void)
{
	const char *path = getenv("ROTA_STEP_SOCKET");

	return path && *path;
}

/* Returns true if this program can run the verb of the command line. Also true without a configuration: the verb then reports
 * that the configuration is missing. */
static bool is_everyday(int argc, char **argv)
{
	if (argc < 2 || !verb_find(argv[1]))
		return false;
	if (!strcmp(argv[1], "run") || !strcmp(argv[1], "shell") || !strcmp(argv[1], "attach") || !strcmp(argv[1], "steps") ||
	    !strcmp(argv[1], "shrink"))
		return is_inside() || has_no_url(); /* words after the command of `rota run` are no options */
	for (int i = 2; i < argc; i++)
		if (names_instance(argv[i]))
			return false;
	return has_no_url();
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	standard_files();
	verb_use(VERBS);
	if (!is_everyday(argc, argv))
		return hand_over(argv);
	setlocale(LC_CTYPE, "");
	verb = verb_find(argv[1]);
	return verb_finish(verb->run(verb, argc - 1, argv + 1));
}
