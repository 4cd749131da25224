/* translate.c - translates a script: checks the data beside the script, and runs the stages in their order.
 *
 * Called by: gate_job.c for each submission; `rota check`; `rota run --file`.
 * Invariants:
 * - There is a plan or there are problems, never both. */
#include "jobmgr/translate/translate.h"

#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/arguments.h"

enum { ARGUMENTS_LONGEST = 32768 };
enum { FOLDER_LONGEST = 2048, KEY_LONGEST = 128, RETRY_KEY = 32, NAME_LONGEST = 1024 };

static bool translate_is_line(const char *text, size_t longest)
{
	return strlen(text) <= longest && option_text_clean(text, false);
}

static bool translate_is_folder(const char *text)
{
	return *text == '/' && translate_is_line(text, FOLDER_LONGEST);
}

void translate_check_folder(struct translation *t)
{
	const char *folder = t->request->workdir;
	if (!translate_is_folder(folder))
		translate_refuse(t, 0, "", "the working directory \"%s\" is not an absolute path", OPTION_QUOTE(folder));
}

/* Check the arguments of the script. The spec of each step has them, so their total size is limited. */
static void translate_check_arguments(struct translation *t)
{
	const struct translate_request *q = t->request;
	size_t sum = 0;
	for (int i = 0; i < q->argument_count; i++) {
		sum += strlen(q->arguments[i]) + 1;
		if (option_text_utf8(q->arguments[i], strlen(q->arguments[i])))
			translate_refuse(t, 0, "", "argument %d of the script is not UTF-8 text", i + 1);
	}
	if (q->argument_count > ARGUMENTS_MOST)
		translate_refuse(t, 0, "", "the script has %d arguments; at most %d are allowed", q->argument_count,
				 ARGUMENTS_MOST);
	else if (sum > ARGUMENTS_LONGEST)
		translate_refuse(t, 0, "", "the arguments of the script have %zu bytes; at most %d are allowed", sum,
				 ARGUMENTS_LONGEST);
	else
		return;
	translate_hint(t, "write the arguments to a file that the script reads");
}

/* Check the data that the client sends in addition to the script and the options. */
static void translate_check_request(struct translation *t)
{
	const struct translate_request *q = t->request;
	const char *rlimits = q->rlimits ? q->rlimits : "";
	size_t plain = strspn(rlimits, "abcdefghijklmnopqrstuvwxyz0123456789_=,");
	if (!*q->script_name || !translate_is_line(q->script_name, NAME_LONGEST))
		translate_refuse(t, 0, "", "the name of the script is not a line of UTF-8 text");
	translate_check_folder(t);
	translate_check_arguments(t);
	if (q->home && !translate_is_folder(q->home))
		translate_refuse(t, 0, "", "the home directory \"%s\" is not an absolute path", OPTION_QUOTE(q->home));
	if (q->umask < 0 || q->umask > 0777)
		translate_refuse(t, 0, "", "the umask is not an octal number from 0 to 0777");
	if (plain > NAME_LONGEST || rlimits[plain])
		translate_refuse(t, 0, "", "the resource limits are not name=number pairs, separated by commas");
	if (q->client_key && (!*q->client_key || !translate_is_line(q->client_key, KEY_LONGEST)))
		translate_refuse(t, 0, "", "the client's key is not a line of 1 to %d bytes", KEY_LONGEST);
	if (q->retry_key && (strlen(q->retry_key) != RETRY_KEY || strspn(q->retry_key, "0123456789abcdefABCDEF") != RETRY_KEY))
		translate_refuse(t, 0, "", "the key for retries is not %d hexadecimal digits", RETRY_KEY);
	else if (q->retry_key && q->client_key)
		translate_refuse(t, 0, "", "only one of the client's key and the key for retries may be given");
}

/* Returns the values of a step's settings, by the names of their options: the settings that apply to the step, or with `own`
 * only those on its own line. */
static json_t *describe_options(const struct translation *t, const struct translate_step *s, bool own)
{
	json_t *options = json_object();
	const json_t *nodes = translate_value(t, s, OPTION_ID_NODES);
	for (int i = 0; i < OPTION_SETTINGS; i++) {
		const struct translate_setting *setting =
			own ? &s->own.of[i] : translate_find_setting(t, s, (enum option_id)i, NULL);
		json_t *value = setting ? setting->value : NULL;
		if (!value || json_is_null(value))
			continue;
		value = setting->total && nodes
				? json_integer(json_integer_value(value) / json_integer_value(json_array_get(nodes, 0)))
				: json_incref(value);
		option_put(options, option_row((enum option_id)i)->name, value);
	}
	return options;
}

static json_t *describe_steps(const struct translation *t)
{
	json_t *steps = json_array();
	for (int i = 0; t->step_count > 1 && i < t->step_count; i++)
		option_append(steps, json_pack("{s:s, s:i, s:o}", "name", t->steps[i].name, "line", t->steps[i].line, "options",
					       describe_options(t, &t->steps[i], true)));
	return steps;
}

json_t *translate_describe(const struct translate_request *request, const struct translate_limits *limits,
			   struct translate_problems *problems)
{
	const struct translate_step nobody = {0};
	struct translation t;
	json_t *described = NULL;
	translation_init(&t, request, limits, problems);
	if (request->script)
		translate_check_request(&t);
	translate_set_read(&t, &t.command, OPTION_ROTA, request->options, request->option_count, 0, false);
	if (request->script)
		translate_read(&t);
	if (problems->count == 0) {
		described = json_object();
		option_put(described, "name", json_string(request->script ? translate_base_name(request->script_name) : ""));
		option_put(described, "options", describe_options(&t, t.step_count == 1 ? t.steps : &nobody, false));
		option_put(described, "steps", describe_steps(&t));
	}
	translation_clear(&t);
	translate_problems_sort(problems);
	return described;
}

json_t *translate_script(const struct translate_request *request, const struct translate_limits *limits,
			 struct translate_problems *problems)
{
	struct translation t;
	json_t *plan = NULL;
	translation_init(&t, request, limits, problems);
	translate_check_request(&t);
	translate_set_read(&t, &t.command, OPTION_ROTA, request->options, request->option_count, 0, false);
	translate_read(&t);
	translate_site(&t);
	t.is_read = true;
	translate_peers(&t);
	if (problems->count == 0)
		translate_transfers(&t);
	translate_graph(&t);
	if (request->inside)
		translate_inside(&t);
	if (problems->count == 0)
		translate_size_steps(&t);
	if (problems->count == 0)
		translate_staging(&t);
	translate_strict(&t);
	if (problems->count == 0 && request->inside)
		translate_inside_sizes(&t);
	if (problems->count == 0)
		translate_fit(&t);
	if (problems->count == 0)
		plan = translate_plan(&t);
	translation_clear(&t);
	translate_problems_sort(problems);
	return plan;
}
