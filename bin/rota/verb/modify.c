/* modify.c - `rota modify`: changes jobs and steps with the options of `rota submit`. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/jobs/change.h"
#include "bin/rota/call/call.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/jobs/selection.h"
#include "bin/rota/submit/submit_options.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"
#include "jobmgr/translate/option.h"

enum { MODIFY_QUIET = 256 };

const struct verb_option modify_options[] = {
	{MODIFY_QUIET, "quiet", NULL, "print only errors"},
	SELECTION_ROWS(SELECTION_LONG, "of-", ", before the change"),
	VERB_OPTION_JSON,
/* all options of a submission, except those that name peers */
#define MODIFY_JOB SUBMIT_OPTIONS_ROW
#define MODIFY_STEP SUBMIT_OPTIONS_ROW
#define MODIFY_PEER(...)
#define OPTION(id, name, alias, letter, kind, level, ...) MODIFY_##level(id, name, alias, letter, kind, level, __VA_ARGS__)
#include "jobmgr/translate/options.def"
#undef OPTION
	{0, NULL, NULL, NULL},
};

/* The command line of `rota modify`. Options of `rota submit` are changes, so --partition and --account change jobs, and
 * --of-partition and --of-account select jobs. */
struct modify_line {
	json_t *request, *jobs, *options;
	struct change_line change;
};

/* Returns the row of an option of `rota modify` alone, NULL for another option. */
static const struct verb_option *own_find(const char *word)
{
	size_t length = strcspn(word, "=");

	if (strncmp(word, "--", 2))
		return NULL;
	for (const struct verb_option *own = modify_options; own->id != VERB_JSON; own++)
		if (strlen(own->name) + 2 == length && !strncmp(word + 2, own->name, length - 2))
			return own;
	return NULL;
}

/* Take an option of `rota modify` alone. Returns the number of arguments that the option consists of, 0 for another option. */
static int own_take(const struct verb *verb, struct modify_line *line, int left, char **argv)
{
	const struct verb_option *own = own_find(argv[0]);
	char *value = strchr(argv[0], '=');
	struct verb_scan scan = {.verb = verb, .value = value ? value + 1 : argv[1]};

	if (!own)
		return 0;
	if (own->value && !value && left < 2)
		verb_misuse(verb, "option \"--%s\" needs a value", own->name);
	if (!own->value && value)
		verb_misuse(verb, "option \"--%s\" takes no value", own->name);
	if (!selection_take(&scan, own->id, line->request, &line->change.yes))
		line->change.quiet = true;
	return own->value && !value ? 2 : 1;
}

static void line_read(const struct verb *verb, struct modify_line *line, int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		int took = submit_options_common(verb, argc - i, argv + i, &line->change.json);

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

int verb_modify(const struct verb *verb, int argc, char **argv)
{
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
	return change_send(verb, line.request, &line.change);
}
