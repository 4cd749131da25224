/* modify.c - `rota modify`: change what waiting jobs and steps ask for, by the options of submit. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/act.h"
#include "bin/rota/call.h"
#include "bin/rota/origin.h"
#include "bin/rota/selection.h"
#include "bin/rota/submit_options.h"
#include "bin/rota/verb.h"
#include "bin/rota/words.h"
#include "jobmgr/translate/option.h"

const struct verb_option modify_options[] = {
	{256, "quiet", NULL, "print nothing while all goes well"},
	{257, "me", NULL, "all your jobs, instead of naming some"},
	{258, "user", "LIST", "jobs of these users, with commas between"},
	{259, "name", "NAME", "jobs of this name"},
	{260, "state", "LIST", "jobs in these states, with commas between, as `rota queue` shows them"},
	{261, "of-partition", "LIST", "jobs of these partitions, as they are before the change"},
	{262, "of-account", "LIST", "jobs of these accounts, as they are before the change"},
	{263, "yes", NULL, "do not ask"},
	VERB_OPTION_JSON,
/* All but those that name peers. */
#define MODIFY_JOB SUBMIT_OPTIONS_ROW
#define MODIFY_STEP SUBMIT_OPTIONS_ROW
#define MODIFY_PEER(...)
#define OPTION(id, name, alias, letter, kind, level, ...) MODIFY_##level(id, name, alias, letter, kind, level, __VA_ARGS__)
#include "jobmgr/translate/options.def"
#undef OPTION
	{0, NULL, NULL, NULL},
};

/* The command line: options of submit are what to change, so some of those that select jobs have names of their own. */
struct modify_line {
	json_t *request, *jobs, *options;
	struct act_line act;
};

/* Members of the request that select jobs; a name may have a comma in it. */
static const struct {
	const char *option, *key;
	bool list;
} SELECTIONS[] = {{"user", "user", true},
		  {"name", "name", false},
		  {"state", "states", true},
		  {"of-partition", "partition", true},
		  {"of-account", "account", true}};

/* An option that selects jobs: how many words it took, 0 for none. */
static int select_take(const struct verb *verb, struct modify_line *line, int left, char **argv)
{
	const char *word = argv[0] + 2, *value = strchr(argv[0], '=');
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(SELECTIONS) / sizeof(SELECTIONS[0]); i++) {
		if (strlen(SELECTIONS[i].option) != length || strncmp(word, SELECTIONS[i].option, length))
			continue;
		if (!value && left < 2)
			verb_misuse(verb, "option \"--%s\" needs a value", SELECTIONS[i].option);
		struct verb_scan scan = {.verb = verb, .value = value ? (char *)value + 1 : argv[1]};

		json_object_set_new(line->request, SELECTIONS[i].key,
				    SELECTIONS[i].list ? words_list(&scan) : json_pack("[o]", words_text(&scan)));
		return value ? 1 : 2;
	}
	return 0;
}

/* An option of this verb alone: how many words it took, 0 for none of them. */
static int own_take(const struct verb *verb, struct modify_line *line, int left, char **argv)
{
	if (strncmp(argv[0], "--", 2))
		return 0;
	if (!strcmp(argv[0], "--quiet"))
		return line->act.quiet = true;
	if (!strcmp(argv[0], "--yes"))
		return line->act.yes = true;
	if (!strcmp(argv[0], "--me")) {
		json_object_set_new(line->request, "user", json_pack("[s]", words_me()));
		return 1;
	}
	return select_take(verb, line, left, argv);
}

static void line_read(const struct verb *verb, struct modify_line *line, int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		int took = submit_options_common(verb, argc - i, argv + i, &line->act.json);

		if (!took)
			took = own_take(verb, line, argc - i, argv + i);
		if (!took)
			took = submit_options_take(verb, line->options, argc - i, argv + i);
		if (!took) {
			if (json_array_append_new(line->jobs, json_string(argv[i])))
				verb_misuse(verb, "\"%s\" is not UTF-8", argv[i]);
			took = 1;
		}
		i += took;
	}
	if (json_array_size(line->jobs))
		json_object_set(line->request, "jobs", line->jobs);
	else if (!selection_any(line->request))
		verb_misuse(verb, "name a job: rota modify OPTION... JOB");
	if (!json_array_size(line->options))
		verb_misuse(verb, "say what to change, as --time=2:00:00");
	json_object_set(line->request, "options", line->options);
	json_decref(line->jobs);
	json_decref(line->options);
}

int verb_modify(int argc, char **argv)
{
	const struct verb *verb = verb_find("modify");
	struct modify_line line = {json_object(), json_array(), json_array(), {0}};
	struct err e = {0};
	json_t *folder;

	line_read(verb, &line, argc, argv);
	folder = origin_folder(line.options, false, &e);
	if (!folder) {
		json_decref(line.request);
		return call_refuse(&e);
	}
	json_object_set_new(line.request, "workdir", folder);
	return act_send(verb, line.request, &line.act);
}
