/* rota-credential.c - the main of the program that parses secrets of users, and connects to the servers that renew or test them.
 * It has no keys and no database.
 *
 * Called by: rota-credd, in a process group of its own and with a time limit.
 * Invariants:
 * - The secret is read from standard input and written to standard output; no argument, file or message has it.
 * - With an exit status other than 0, standard error has one line for the owner of the credential. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "credmgr/kind/kind.h"
#include "credmgr/kind/kind_confine.h"
#include "lib/standard.h"
#include "lib/text.h"

enum { FACTS_FD = 3, EXIT_USAGE = 2, EXIT_FINAL = 3, MEMORY = 256 << 20 };

static const char usage[] = "usage: rota-credential inspect KIND [OPTION]... <SECRET >STORED 3>FACTS\n"
			    "       rota-credential renew KIND [OPTION]... <SECRET >RENEWED 3>FACTS\n"
			    "       rota-credential test KIND [OPTION]... <STORED 3>FACTS\n\n"
			    "Reads, renews or tries one credential of a user for rota-credd. KIND is krb5, token,\n"
			    "x509, ssh-key, file or command. What is known of the credential is written to\n"
			    "descriptor 3, as a JSON object with subject, expires, renewable, renew_until.\n"
			    "STORED is empty if the secret is stored as it is. The exit status is 3 if\n"
			    "only a new secret helps.\n\n"
			    "Options:\n"
			    "  --user=NAME             login name of its owner\n"
			    "  --now=SECONDS           the time (epoch seconds; default: of this host)\n"
			    "  --expires=SECONDS       when it expires, as its owner says (epoch seconds)\n"
			    "  --refresh-url=URL       token: URL of the token service that renews it\n"
			    "  --refresh-allowed=LIST  beginnings of allowed URLs, separated by commas\n"
			    "  --refresh-plain         also allow http:// to this host, for tests\n"
			    "  --curl=PATH             the program curl (default: /usr/bin/curl)\n"
			    "  --command=NAME          command: the program that makes the secret\n"
			    "  --command-folder=PATH   folder of such programs\n"
			    "  --help                  print this help\n"
			    "  --version               print the version\n";

static int usage_fail(const char *what)
{
	fprintf(stderr, "rota-credential: %s\n%s", what, usage);
	return EXIT_USAGE;
}

/* Print an error as one line for the owner of the credential, and return the exit status. */
static int main_fail(struct err *e)
{
	text_clean(e->message);
	for (char *c = e->message; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	fprintf(stderr, "%s\n", e->message);
	return strcmp(e->code, KIND_FINAL) == 0 ? EXIT_FINAL : EXIT_FAILURE;
}

static bool option_time(const char *text, int64_t *at)
{
	char *end;

	*at = strtoll(text, &end, 10);
	return end != text && !*end && *at > 0 && *at <= KIND_TIME_MOST;
}

/* Read the options. Returns NULL, or the reason why they are wrong. */
static const char *options_read(int argc, char **argv, struct kind_options *options)
{
	static const struct option list[] = {
		{"user", required_argument, NULL, 'u'},
		{"expires", required_argument, NULL, 'e'},
		{"now", required_argument, NULL, 'n'},
		{"refresh-url", required_argument, NULL, 'r'},
		{"refresh-allowed", required_argument, NULL, 'a'},
		{"refresh-plain", no_argument, NULL, 'p'},
		{"curl", required_argument, NULL, 'c'},
		{"command", required_argument, NULL, 'm'},
		{"command-folder", required_argument, NULL, 'f'},
		{NULL, 0, NULL, 0},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", list, NULL)) != -1) {
		switch (option) {
		case 'u':
			options->user = optarg;
			break;
		case 'r':
			options->refresh_url = optarg;
			break;
		case 'a':
			options->refresh_allowed = optarg;
			break;
		case 'p':
			options->refresh_plain = true;
			break;
		case 'c':
			options->curl = optarg;
			break;
		case 'm':
			options->command = optarg;
			break;
		case 'f':
			options->command_folder = optarg;
			break;
		case 'e':
			if (!option_time(optarg, &options->expires))
				return "--expires takes epoch seconds";
			break;
		case 'n':
			if (!option_time(optarg, &options->now))
				return "--now takes epoch seconds";
			break;
		default:
			return "there is no such option, or it lacks its value";
		}
	}
	return argc - optind == 2 ? NULL : "an action and a kind are needed";
}

enum action { ACTION_INSPECT, ACTION_RENEW, ACTION_TEST, ACTIONS };

static enum kind_reach credential_reach(const struct kind *kind, enum action action)
{
	if (action == ACTION_TEST)
		return kind->test && !kind->from_site ? KIND_REACH_SERVERS : KIND_REACH_NOTHING;
	if (kind->from_site)
		return KIND_REACH_ALL;
	return action == ACTION_RENEW ? KIND_REACH_SERVERS : KIND_REACH_NOTHING;
}

/* Inspect, renew or test the secret, and write the answer. The secret is written before the facts, so whoever reads complete
 * facts has the secret too. */
static bool credential_run(const struct kind *kind, enum action action, const struct kind_options *options, struct err *e)
{
	enum kind_reach reach = credential_reach(kind, action);
	struct kind_secret secret = {0}, renewed = {0};
	struct kind_facts facts = {0};
	char *text = NULL;
	bool good = kind_confine_process(reach, MEMORY, e) && kind_secret_read(STDIN_FILENO, &secret, e);

	if (good && action == ACTION_TEST)
		good = kind_test(kind, &secret, options, &facts, e);
	else if (good && action == ACTION_RENEW)
		good = kind_renew(kind, &secret, options, &renewed, &facts, e);
	else if (good)
		good = kind_inspect(kind, &secret, options, &renewed, &facts, e);
	if (good)
		text = kind_facts_write(&facts);
	good = good && kind_secret_write(STDOUT_FILENO, renewed.bytes, renewed.size, e) &&
	       kind_secret_write(FACTS_FD, text, strlen(text), e);
	free(text);
	kind_facts_free(&facts);
	kind_secret_free(&secret);
	kind_secret_free(&renewed);
	return good;
}

int main(int argc, char **argv)
{
	struct kind_options options = {.now = time(NULL)};
	const char *objection;
	const struct kind *kind;
	static const char *const actions[ACTIONS] = {"inspect", "renew", "test"};
	int action = 0;
	struct err e = {0};

	standard_files();
	if (argc == 2 && !strcmp(argv[1], "--help"))
		return fputs(usage, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return puts("rota-credential " ROTA_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	kind_confine_files(FACTS_FD + 1);
	objection = options_read(argc, argv, &options);
	if (objection)
		return usage_fail(objection);
	while (action < ACTIONS && strcmp(argv[optind], actions[action]) != 0)
		action++;
	kind = kind_find(argv[optind + 1]);
	if (action == ACTIONS)
		return usage_fail("the action is inspect, renew or test");
	if (!kind)
		return usage_fail("there is no such kind");
	json_object_seed(0);
	return credential_run(kind, (enum action)action, &options, &e) ? EXIT_SUCCESS : main_fail(&e);
}
