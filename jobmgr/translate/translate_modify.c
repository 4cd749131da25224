/* translate_modify.c - changes a submitted step: reads the step back as settings of its own line, adds the new options, and runs
 * the stages of a submission on the result.
 *
 * Called by: gate_modify.c, for each step that `rota modify` names. The database judges which changes a running step allows. */
#include <limits.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/order.h"

/* Members of a stored step that are the values of options as they are. */
static const struct {
	enum option_id id;
	const char *key;
	json_type type;
} members[] = {
	{OPTION_ID_PARTITION, "partition", JSON_STRING},
	{OPTION_ID_NTASKS_PER_NODE, "ntasks_per_node", JSON_INTEGER},
	{OPTION_ID_CPUS_PER_TASK, "cpus_per_task", JSON_INTEGER},
	{OPTION_ID_MEM, "mem_mb", JSON_INTEGER},
	{OPTION_ID_MEM_PER_CPU, "mem_per_cpu_mb", JSON_INTEGER},
	{OPTION_ID_GRES, "gres", JSON_OBJECT},
	{OPTION_ID_LICENSES, "licenses", JSON_OBJECT},
	{OPTION_ID_EXCLUSIVE, "exclusive", JSON_TRUE},
	{OPTION_ID_CONSTRAINT, "constraint", JSON_STRING},
	{OPTION_ID_NODELIST, "nodelist", JSON_ARRAY},
	{OPTION_ID_EXCLUDE, "exclude", JSON_ARRAY},
	{OPTION_ID_RESERVATION, "reservation", JSON_STRING},
	{OPTION_ID_IMAGE, "image", JSON_STRING},
	{OPTION_ID_NODE_PREP, "prep", JSON_STRING},
	{OPTION_ID_TIME, "time_limit_s", JSON_INTEGER},
	{OPTION_ID_TIME_MIN, "time_min_s", JSON_INTEGER},
	{OPTION_ID_BEGIN, "begin_at", JSON_INTEGER},
	{OPTION_ID_DEADLINE, "deadline_at", JSON_INTEGER},
	{OPTION_ID_ARRAY, "array", JSON_OBJECT},
	{OPTION_ID_REQUEUE, "requeue", JSON_TRUE},
	{OPTION_ID_ETERNAL, "eternal", JSON_TRUE},
	{OPTION_ID_RETRY, "retry", JSON_INTEGER},
	{OPTION_ID_SAMPLE, "sample_s", JSON_INTEGER},
	{OPTION_ID_HOLD, "hold", JSON_TRUE},
	{OPTION_ID_GROUP, "group", JSON_STRING},
	{OPTION_ID_KEEP, "keep", JSON_OBJECT},
};

static bool modify_is_type(const json_t *value, json_type type)
{
	return type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == type;
}

/* Returns a JSON number as an integer. SQL may give seconds since 1970 as a float. */
static json_t *modify_as_integer(json_t *value)
{
	return json_is_real(value) ? json_integer((json_int_t)json_real_value(value)) : json_incref(value);
}

static void modify_set_text(struct translate_set *own, enum option_id id, const char *text)
{
	if (*text)
		own->of[id].value = json_string(text);
}

static void modify_read_checkpoint(struct translate_set *own, const struct order_spec *spec)
{
	if (!spec->checkpoint)
		return;
	modify_set_text(own, OPTION_ID_CHECKPOINT, spec->checkpoint);
	modify_set_text(own, OPTION_ID_CHECKPOINT_DIR, spec->checkpoint_dir);
	own->of[OPTION_ID_CHECKPOINT_SIGNAL].value =
		json_pack("{s:i, s:b}", "signal", spec->checkpoint_signal, "shell", spec->checkpoint_shell);
	own->of[OPTION_ID_CHECKPOINT_INTERVAL].value =
		spec->checkpoint_auto ? json_string("auto") : json_integer(spec->checkpoint_interval_s);
	own->of[OPTION_ID_CHECKPOINT_BEFORE].value = json_integer(spec->checkpoint_before_s);
	own->of[OPTION_ID_CHECKPOINT_KEEP].value = json_integer(spec->checkpoint_keep);
}

/* Read a stored step and its spec back as settings of the step's own line. */
static bool modify_read_step(struct translation *t, const json_t *json, const struct order_spec *spec)
{
	struct translate_step *s = translation_add_step(t, spec->step_name, 0);
	struct translate_set *own = &s->own;
	json_t *lowest = json_object_get(json, "nodes_min"), *highest = json_object_get(json, "nodes_max");
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		json_t *value = json_object_get(json, members[i].key);
		if (!value || json_is_null(value))
			continue;
		value = own->of[members[i].id].value = modify_as_integer(value);
		if (!modify_is_type(value, members[i].type)) {
			translate_refuse(t, 0, "", "member \"%s\" of the step is malformed", members[i].key);
			return false;
		}
	}
	if (json_is_integer(lowest) && json_is_integer(highest))
		own->of[OPTION_ID_NODES].value = json_pack("[O, O]", lowest, highest);
	if (spec->submit_ntasks > 0)
		own->of[OPTION_ID_NTASKS].value = json_integer(spec->submit_ntasks);
	modify_set_text(own, OPTION_ID_RUN, spec->per_task ? "tasks" : "once");
	modify_set_text(own, OPTION_ID_OUTPUT, spec->output);
	modify_set_text(own, OPTION_ID_ERROR, spec->error);
	modify_set_text(own, OPTION_ID_INPUT, spec->input);
	modify_set_text(own, OPTION_ID_OPEN_MODE, spec->append ? "append" : "truncate");
	own->of[OPTION_ID_KILL].value = json_boolean(!spec->no_kill);
	own->of[OPTION_ID_REPLACE_FAILED].value = json_boolean(spec->replace_failed);
	own->of[OPTION_ID_STEP_MANAGER].value = json_boolean(spec->step_manager);
	own->of[OPTION_ID_TMPDIR].value = json_boolean(spec->tmpdir);
	modify_set_text(own, OPTION_ID_NODE_LOSS, spec->fence ? "fence" : "keep");
	if (spec->signal > 0)
		own->of[OPTION_ID_SIGNAL].value = json_pack("{s:i, s:i, s:b}", "signal", spec->signal, "seconds", spec->signal_s,
							    "shell", spec->signal_shell);
	if (spec->grows)
		modify_set_text(own, OPTION_ID_GROW, spec->grows);
	if (spec->notify > 0)
		own->of[OPTION_ID_NOTIFY].value = json_integer(spec->notify);
	if (spec->idle_timeout_s > 0)
		own->of[OPTION_ID_IDLE_TIMEOUT].value = json_integer(spec->idle_timeout_s);
	modify_read_checkpoint(own, spec);
	/* A default of today does not count for a step that was submitted without. */
	own->of[OPTION_ID_CRED].value = json_string(spec->credentials ? spec->credentials : "");
	if (spec->if_changed)
		modify_set_text(own, OPTION_ID_IF_CHANGED, spec->if_changed);
	modify_set_text(own, OPTION_ID_WORKDIR, spec->workdir);
	modify_set_text(own, OPTION_ID_SHELL, spec->shell);
	modify_set_text(own, OPTION_ID_PROLOG, spec->user_prolog);
	modify_set_text(own, OPTION_ID_EPILOG, spec->user_epilog);
	return true;
}

/* Refuse options that cannot change after the submission. */
static void modify_check_options(struct translation *t)
{
	static const enum option_id fixed[] = {OPTION_ID_AFTER,	      OPTION_ID_DEPENDENCY, OPTION_ID_WITH, OPTION_ID_SAME_NODES,
					       OPTION_ID_OTHER_NODES, OPTION_ID_EXPORT,	    OPTION_ID_GROW, OPTION_ID_BB,
					       OPTION_ID_CRED,	      OPTION_ID_PREFER_DATA};
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		char option[64] = "--";
		if (!t->command.of[fixed[i]].value)
			continue;
		translate_refuse(t, 0, strcat(option, option_row(fixed[i])->name),
				 "the option cannot be changed once the job is submitted");
		translate_hint(t, "cancel the job and submit it again");
	}
	const json_t *array = t->command.of[OPTION_ID_ARRAY].value, *before = t->steps[0].own.of[OPTION_ID_ARRAY].value;
	if (array && (!before || !json_equal(json_object_get(array, "indices"), json_object_get(before, "indices")))) {
		translate_refuse(t, 0, "--array", "the indices cannot be changed once the job is submitted");
		translate_hint(t, "repeat them to change %%limit");
	}
}

static bool modify_changes_size(const struct translation *t)
{
	return t->command.of[OPTION_ID_NODES].value || t->command.of[OPTION_ID_NODELIST].value ||
	       t->command.of[OPTION_ID_NTASKS].value || t->command.of[OPTION_ID_NTASKS_PER_NODE].value ||
	       t->command.of[OPTION_ID_GPUS].value;
}

static json_t *modify_list_options(const struct translation *t)
{
	json_t *names = json_array();
	for (int i = 0; i < OPTION_SETTINGS; i++)
		if (t->command.of[i].value)
			option_append(names, json_string(option_row((enum option_id)i)->name));
	return names;
}

static json_t *modify_make_answer(struct translation *t, const json_t *before, const struct order_spec *base)
{
	static const char *const sizes[] = {"nodes_min", "nodes_max", "ntasks", "ntasks_per_node"};
	json_t *job = json_object(), *answer = json_object();
	translate_job_json(t, job, true);
	const char *name = json_string_value(json_object_get(job, "name"));
	const char *account = json_string_value(json_object_get(job, "account"));
	json_t *own = translate_spec_own(t, &t->steps[0], base);
	json_t *end = translate_spec_end(t, &t->steps[0], base, name ? name : base->job_name, account ? account : base->account);
	json_t *step = translate_step_asks(t, &t->steps[0]);
	option_put(step, "spec", json_sprintf("%s%s", json_string_value(own), json_string_value(end)));
	json_decref(own);
	json_decref(end);
	/* keep the stored "lines", as all members that no option sets */
	json_object_del(step, "lines");
	for (size_t i = 0; !modify_changes_size(t) && i < sizeof sizes / sizeof *sizes; i++)
		json_object_del(step, sizes[i]);
	if (json_object_update_missing(step, (json_t *)before) != 0)
		die("out of memory");
	option_put(answer, "step", step);
	option_put(answer, "job", job);
	option_put(answer, "options", modify_list_options(t));
	return answer;
}

json_t *translate_modify(const struct translate_request *request, const struct translate_limits *limits, const json_t *step,
			 struct translate_problems *problems)
{
	struct translation t;
	struct order_spec spec;
	struct fields *owner = NULL;
	struct err e = {0};
	json_t *answer = NULL;
	const char *text = json_string_value(json_object_get(step, "spec"));
	translation_init(&t, request, limits, problems);
	t.modifies = true;
	if (!text || !order_spec_parse(text, strlen(text), &spec, &owner, &e)) {
		translate_refuse(&t, 0, "", "the step has no launch spec%s%s", *e.message ? ": " : "", e.message);
	} else if (modify_read_step(&t, step, &spec)) {
		translate_check_folder(&t);
		translate_set_read(&t, &t.command, OPTION_ROTA, request->options, request->option_count, 0, false);
		translate_site(&t);
		translate_strict(&t);
		modify_check_options(&t);
		if (request->option_count == 0)
			translate_refuse(&t, 0, "", "there is no option, so there is nothing to change");
		if (problems->count == 0)
			translate_size_steps(&t);
		if (problems->count == 0)
			translate_fit(&t);
		if (problems->count == 0)
			answer = modify_make_answer(&t, step, &spec);
	}
	translation_clear(&t);
	fields_free(owner);
	return answer;
}
