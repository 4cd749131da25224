/* modify.c - `rota modify`: change what waiting jobs and steps ask for, by the options of submit. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/act.h"
#include "bin/rota/call.h"
#include "bin/rota/origin.h"
#include "bin/rota/submit_options.h"
#include "bin/rota/verb.h"
#include "jobmgr/translate/option.h"

const struct verb_option modify_options[] = {
	{256, "quiet", NULL, "print nothing while all goes well"},
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

int verb_modify(int argc, char **argv)
{
	const struct verb *verb = verb_find("modify");
	json_t *jobs = json_array(), *options = json_array();
	bool json = false, quiet = false;
	struct err e = {0};
	json_t *folder;

	for (int i = 1; i < argc;) {
		int took = submit_options_common(verb, argc - i, argv + i, &json);

		if (!took && !strcmp(argv[i], "--quiet"))
			took = quiet = true;
		if (!took)
			took = submit_options_take(verb, options, argc - i, argv + i);
		if (!took) {
			if (json_array_append_new(jobs, json_string(argv[i])))
				verb_misuse(verb, "\"%s\" is not UTF-8", argv[i]);
			took = 1;
		}
		i += took;
	}
	if (!json_array_size(jobs))
		verb_misuse(verb, "name the jobs or steps to change");
	if (!json_array_size(options))
		verb_misuse(verb, "say what to change, as --time=2:00:00");
	folder = origin_folder(options, false, &e);
	if (!folder) {
		json_decref(jobs);
		json_decref(options);
		return call_refuse(&e);
	}
	return act_send("modify", json_pack("{so so so}", "jobs", jobs, "options", options, "workdir", folder), json, quiet);
}
