/* translate_step.c - writes the requests of a step as members of the plan.
 *
 * Called by: translate_plan.c, translate_modify.c, if there is no problem.
 * Invariants:
 * - Each member that options set is present. It is null or empty if no option was given.
 * - Steps of one size whose own lines request nothing have equal members. */
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/pattern.h"

/* Returns a new reference to the value of a step's setting; without a value, `otherwise`, of which this takes over the
 * reference. */
static json_t *step_value_or(struct translation *t, const struct translate_step *s, enum option_id id, json_t *otherwise)
{
	json_t *value = translate_value(t, s, id);
	if (!value)
		return otherwise;
	json_decref(otherwise);
	return json_incref(value);
}

static json_t *step_number_or_null(int64_t number)
{
	return number ? json_integer(number) : json_null();
}

/* Returns the amounts that a step requests by name, without amounts of 0. */
static json_t *step_make_amounts(struct translation *t, const struct translate_step *s, enum option_id id)
{
	json_t *amounts = json_object(), *amount;
	const char *name;
	json_object_foreach (translate_value(t, s, id), name, amount)
		if (json_integer_value(amount) > 0)
			option_put(amounts, name, json_incref(amount));
	return amounts;
}

int64_t translate_gpus(struct translation *t, const struct translate_step *s)
{
	int which = translate_choose_rival(t, s, OPTION_ID_GPUS, OPTION_ID_GPUS_PER_NODE);
	if (which < 0)
		return json_integer_value(json_object_get(translate_value(t, s, OPTION_ID_GRES), "gpu"));
	int64_t count = translate_number(t, s, (enum option_id)which, 0);
	return which == OPTION_ID_GPUS ? count / s->nodes_min : count;
}

int64_t translate_memory(struct translation *t, const struct translate_step *s, int64_t tasks)
{
	int which = translate_choose_rival(t, s, OPTION_ID_MEM, OPTION_ID_MEM_PER_CPU);
	if (which < 0)
		return 0;
	const struct translate_setting *setting = translate_find_setting(t, s, (enum option_id)which, NULL);
	int64_t size = json_integer_value(setting->value);
	if (which == OPTION_ID_MEM_PER_CPU)
		return size * s->cpus_per_task * tasks;
	return setting->total ? (size + s->nodes_min - 1) / s->nodes_min : size;
}

static json_t *step_make_gres(struct translation *t, const struct translate_step *s)
{
	json_t *gres = step_make_amounts(t, s, OPTION_ID_GRES);
	int64_t gpus = translate_gpus(t, s);
	if (gpus)
		option_put(gres, "gpu", json_integer(gpus));
	else
		json_object_del(gres, "gpu");
	return gres;
}

static void step_put_memory(struct translation *t, json_t *json, const struct translate_step *s)
{
	int which = translate_choose_rival(t, s, OPTION_ID_MEM, OPTION_ID_MEM_PER_CPU);
	option_put(json, "mem_mb", which == OPTION_ID_MEM ? json_integer(translate_memory(t, s, 1)) : json_null());
	option_put(json, "mem_per_cpu_mb",
		   which == OPTION_ID_MEM_PER_CPU ? json_incref(translate_value(t, s, OPTION_ID_MEM_PER_CPU)) : json_null());
}

/* Returns the name that an option of a step gives; JSON null if the option is not given or is "none". */
static json_t *step_name_or_null(struct translation *t, const struct translate_step *s, enum option_id id)
{
	const char *name = json_string_value(translate_value(t, s, id));
	return name && strcmp(name, "none") != 0 ? json_string(name) : json_null();
}

static json_t *step_default_keep(void)
{
	return json_pack("{s:b, s:b, s:b, s:b}", "cpus", 0, "mem", 1, "gres", 0, "licenses", 1);
}

static void step_put_size(struct translation *t, json_t *json, const struct translate_step *s)
{
	option_put(json, "partition", step_value_or(t, s, OPTION_ID_PARTITION, json_null()));
	option_put(json, "nodes_min", json_integer(s->nodes_min));
	option_put(json, "nodes_max", step_number_or_null(s->nodes_max));
	option_put(json, "ntasks", json_integer(s->ntasks));
	option_put(json, "ntasks_per_node", step_number_or_null(s->ntasks_per_node));
	option_put(json, "cpus_per_task", json_integer(s->cpus_per_task));
	step_put_memory(t, json, s);
	option_put(json, "gres", step_make_gres(t, s));
	option_put(json, "licenses", step_make_amounts(t, s, OPTION_ID_LICENSES));
	option_put(json, "exclusive", step_value_or(t, s, OPTION_ID_EXCLUSIVE, json_false()));
	option_put(json, "constraint", step_value_or(t, s, OPTION_ID_CONSTRAINT, json_string("")));
	option_put(json, "nodelist", step_value_or(t, s, OPTION_ID_NODELIST, json_array()));
	option_put(json, "exclude", step_value_or(t, s, OPTION_ID_EXCLUDE, json_array()));
	option_put(json, "reservation", step_name_or_null(t, s, OPTION_ID_RESERVATION));
	option_put(json, "image", step_name_or_null(t, s, OPTION_ID_IMAGE));
	option_put(json, "prep", step_name_or_null(t, s, OPTION_ID_NODE_PREP));
}

json_t *translate_lines_json(const struct translation *t, const struct translate_step *s, const enum option_id *ids, size_t count)
{
	json_t *lines = json_object();
	for (size_t i = 0; i < count; i++) {
		const struct translate_setting *setting = translate_find_setting(t, s, ids[i], NULL);
		if (setting)
			option_put(lines, option_row(ids[i])->name, json_integer(setting->line));
	}
	return lines;
}

json_t *translate_step_asks(struct translation *t, const struct translate_step *s)
{
	static const enum option_id judged[] = {OPTION_ID_PARTITION, OPTION_ID_TIME,   OPTION_ID_LICENSES,   OPTION_ID_NODELIST,
						OPTION_ID_EXCLUDE,   OPTION_ID_SAMPLE, OPTION_ID_RESERVATION};
	json_t *json = json_object();
	option_put(json, "lines", translate_lines_json(t, s, judged, sizeof judged / sizeof *judged));
	step_put_size(t, json, s);
	option_put(json, "time_limit_s", step_value_or(t, s, OPTION_ID_TIME, json_null()));
	option_put(json, "time_min_s", step_value_or(t, s, OPTION_ID_TIME_MIN, json_null()));
	option_put(json, "begin_at", step_value_or(t, s, OPTION_ID_BEGIN, json_null()));
	option_put(json, "deadline_at", step_value_or(t, s, OPTION_ID_DEADLINE, json_null()));
	option_put(json, "array", step_value_or(t, s, OPTION_ID_ARRAY, json_null()));
	option_put(json, "requeue", step_value_or(t, s, OPTION_ID_REQUEUE, json_true()));
	option_put(json, "eternal", step_value_or(t, s, OPTION_ID_ETERNAL, json_false()));
	option_put(json, "retry", step_value_or(t, s, OPTION_ID_RETRY, json_integer(0)));
	option_put(json, "sample_s", step_value_or(t, s, OPTION_ID_SAMPLE, json_null()));
	option_put(json, "hold", step_value_or(t, s, OPTION_ID_HOLD, json_false()));
	option_put(json, "group", step_value_or(t, s, OPTION_ID_GROUP, json_null()));
	option_put(json, "keep", step_value_or(t, s, OPTION_ID_KEEP, step_default_keep()));
	option_put(json, "checkpoint", translate_checkpoint_json(t, s));
	/* those of a submitted step stay as they are */
	char *credentials = t->modifies ? NULL : translate_credentials(t, s);
	if (credentials)
		option_put(json, "credentials", json_string(credentials));
	free(credentials);
	return json;
}

bool translate_step_asks_nothing(const struct translate_step *s)
{
	/* The spec of a step of this name has the name of the output file, and the spec of a step with transfers has these. */
	if (strcmp(s->name, PATTERN_PLAIN) == 0 || s->moves)
		return false;
	for (int id = 0; id < OPTION_SETTINGS; id++) {
		const struct option_row *row = option_row((enum option_id)id);
		if (s->own.of[id].value && row->level == OPTION_STEP && row->kind != OPTION_AFTER)
			return false;
	}
	return true;
}

bool translate_step_asks_alike(const struct translate_step *a, const struct translate_step *b)
{
	if (a == b)
		return true;
	return translate_step_asks_nothing(a) && translate_step_asks_nothing(b) && a->nodes_min == b->nodes_min &&
	       a->nodes_max == b->nodes_max && a->ntasks == b->ntasks && a->ntasks_per_node == b->ntasks_per_node;
}
