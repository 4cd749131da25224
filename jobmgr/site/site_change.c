/* site_change.c - reads what the site's script job_submit has changed, as options that a user could have given (site_change.h).
 *
 * Called by: gate_site_job.c, gate_site_modify.c.
 * Invariants:
 * - A change becomes an option, a variable of the environment, another script or a line of the record. Nothing else of a job can
 *   change. */
#include "jobmgr/site/site_change.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/site/site_value.h"
#include "jobmgr/translate/option.h"
#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "lib/text.h"

enum { CHANGE_KEPT_MOST = 4096, VARIABLE_LONGEST = 100 << 10 };

static const struct {
	const char *name, *option;
	enum site_kind kind;
} fields[] = {
#define FIELD(name, option, kind) {#name, option, SITE_##kind},
#include "jobmgr/site/field.def"
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Fields that do not stand for one option each. The functions from change_read_nodes() on read them. */
static const char *const others[] = {"min_nodes",	"max_nodes",	 "pn_min_memory", "min_mem_per_node",
				     "min_mem_per_cpu", "admin_comment", "environment",	  "script"};
/* Fields that identify the user, which scripts may not change. */
static const char *const identities[] = {"user_id", "group_id", "user_name", "uid", "gid"};
/* Fields of Slurm that no option of Rota sets, and without which the job would run otherwise than the site wants: a change of one
 * is refused. */
static const char *const fixed[] = {"argv",
				    "argc",
				    "min_cpus",
				    "max_cpus",
				    "contiguous",
				    "tres_per_job",
				    "tres_per_task",
				    "tres_per_socket",
				    "steps",
				    "array_bitmap",
				    "clusters",
				    "container",
				    "core_spec",
				    "mcs_label",
				    "network",
				    "ntasks_per_core",
				    "pn_min_cpus",
				    "pn_min_tmp_disk",
				    "reboot",
				    "req_context",
				    "selinux_context",
				    "sockets_per_node",
				    "spank_job_env",
				    "threads_per_core",
				    "x11",
				    "grow"};

static bool change_is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}
#define CHANGE_IS_AMONG(name, names) change_is_among(name, names, sizeof(names) / sizeof *(names))

static bool change_is_option(const char *name)
{
	for (int i = 0; i < FIELDS; i++)
		if (strcmp(name, fields[i].name) == 0)
			return true;
	return false;
}

/* Refuse a change of a field: set the error RT422. Returns false. */
static bool change_refuse(const char *field, const char *why, const char *hint, struct err *e)
{
	char reason[400], advice[sizeof e->hint];
	snprintf(reason, sizeof reason, "%s", why);
	snprintf(advice, sizeof advice, "%s", hint);
	err_set(e, "set by the site's script (%s): %s", field, reason);
	if (*advice)
		err_hint(e, "%s", advice);
	snprintf(e->code, sizeof e->code, "RT422");
	return false;
}

static bool change_is_same(const json_t *before, const json_t *after)
{
	int64_t a, b;
	if (!before || json_is_null(before))
		return json_is_null(after);
	if (json_is_number(before) && json_is_number(after))
		return site_value_number(before, &a) && site_value_number(after, &b) && a == b;
	return json_equal(before, after);
}

/* Returns the new value of a field that the script has changed, or NULL if the field has not changed. */
static const json_t *change_find(const json_t *desc, const json_t *changes, const char *name)
{
	const json_t *after = json_object_get(changes, name);
	return after && !change_is_same(json_object_get(desc, name), after) ? after : NULL;
}

/* Returns the value of a field before the script's change: the one that the user asked for, or else the stored job's. */
static const json_t *change_find_before(const struct site_changes *c, const json_t *desc, const char *name)
{
	const json_t *asked = json_object_get(desc, name);
	return asked ? asked : json_object_get(c->rec, name);
}

static json_t *change_make_text(const char *text)
{
	json_t *value;
	char *copy;
	if (!text)
		return json_null();
	copy = xstrdup(text);
	text_cut(copy, CHANGE_KEPT_MOST);
	text_clean(copy);
	value = json_string(copy);
	free(copy);
	return value;
}

/* Add a change to c->kept, the list of changes for the record of the job. */
static void change_keep(struct site_changes *c, const char *field, const char *before, const char *after)
{
	json_t *one = json_object();
	if (!c->kept)
		c->kept = json_array();
	option_put(one, "field", change_make_text(field));
	option_put(one, "before", change_make_text(before));
	option_put(one, "after", change_make_text(after));
	option_append(c->kept, one);
}

/* Add a change of an option to c->list, which then owns `value`. */
static void change_add(struct site_changes *c, const char *field, const char *option, char *value)
{
	c->list = xrealloc(c->list, (size_t)(c->count + 1) * sizeof *c->list);
	c->list[c->count++] = (struct translate_change){field, option, value};
}

/* Returns the value of a field before or after the change, for the record; malloc'ed. NULL: not given. */
static char *change_show(enum site_kind kind, const json_t *value, int64_t now)
{
	char *text = NULL;
	struct err e;
	bool is_given = value && (!site_value_write(kind, value, now, &text, &e) || text);
	free(text);
	return is_given ? site_value_show(value) : NULL;
}

static bool change_read_option(struct site_changes *c, const json_t *desc, const json_t *after, int i, int64_t now, struct err *e)
{
	char *text, *before, *shown;
	struct err why = {0};
	if (!site_value_write(fields[i].kind, after, now, &text, &why)) {
		free(text);
		return change_refuse(fields[i].name, why.message, why.hint, e);
	}
	before = change_show(fields[i].kind, change_find_before(c, desc, fields[i].name), now);
	shown = text ? site_value_show(after) : NULL;
	change_keep(c, fields[i].name, before, shown);
	change_add(c, fields[i].name, fields[i].option, text);
	free(before);
	free(shown);
	return true;
}

static bool change_read_count(const char *field, const json_t *value, int64_t *count, struct err *e)
{
	if (json_is_null(value))
		*count = SITE_NO_VAL;
	else if (!site_value_number(value, count) || *count < 0)
		return change_refuse(field, "it must be a number", "", e);
	if (*count == SITE_INFINITE)
		*count = SITE_NO_VAL;
	return true;
}

/* Read changes of min_nodes and max_nodes, which together become the option --nodes. */
static bool change_read_nodes(struct site_changes *c, const json_t *desc, const json_t *changes, struct err *e)
{
	static const char *const names[] = {"min_nodes", "max_nodes"};
	const char *field = NULL;
	int64_t count[2] = {SITE_NO_VAL, SITE_NO_VAL};
	for (int i = 0; i < 2; i++) {
		const json_t *before = change_find_before(c, desc, names[i]), *after = change_find(desc, changes, names[i]);
		const json_t *value = after ? after : before;
		if (value && !change_read_count(names[i], value, &count[i], e))
			return false;
		if (!after)
			continue;
		char *old = change_show(SITE_NUMBER, before, 0), *new = change_show(SITE_NUMBER, after, 0);
		change_keep(c, names[i], old, new);
		free(old);
		free(new);
		field = field ? field : names[i];
	}
	if (!field)
		return true;
	if (count[0] == SITE_NO_VAL && count[1] == SITE_NO_VAL)
		change_add(c, field, "nodes", NULL);
	else if (count[1] == SITE_NO_VAL)
		change_add(c, field, "nodes", xasprintf("%lld", (long long)count[0]));
	else
		change_add(c, field, "nodes",
			   xasprintf("%lld-%lld", count[0] == SITE_NO_VAL ? 1LL : (long long)count[0], (long long)count[1]));
	return true;
}

/* Returns a size of memory in MiB as a text for the record of the job; malloc'ed. NULL: not given. */
static char *change_show_memory(int64_t size)
{
	if (size == SITE_NO_VAL64 || size == SITE_NO_VAL)
		return NULL;
	return size < 0 ? xasprintf("%lld per CPU", (long long)(size & INT64_MAX)) : xasprintf("%lld", (long long)size);
}

/* Read a change of a field of memory, in MiB, which becomes the option --mem or --mem-per-cpu. */
static bool change_read_memory(struct site_changes *c, const char *field, const json_t *before, const json_t *after, bool of_cpu,
			       struct err *e)
{
	int64_t size = SITE_NO_VAL64, was = SITE_NO_VAL64;
	char *old, *new;
	if (!json_is_null(after) && !site_value_number(after, &size))
		return change_refuse(field, "it must be a number of MiB", "", e);
	if (json_is_number(before))
		site_value_number(before, &was);
	old = change_show_memory(was);
	new = change_show_memory(size);
	change_keep(c, field, old, new);
	free(old);
	if (size < 0 && new)
		of_cpu = true;
	free(new);
	if (size == SITE_NO_VAL64 || size == SITE_NO_VAL)
		change_add(c, field, of_cpu ? "mem-per-cpu" : "mem", NULL);
	else
		change_add(c, field, of_cpu ? "mem-per-cpu" : "mem", xasprintf("%lld", (long long)(size & INT64_MAX)));
	return true;
}

static bool change_read_memories(struct site_changes *c, const json_t *desc, const json_t *changes, struct err *e)
{
	static const char *const names[] = {"pn_min_memory", "min_mem_per_node", "min_mem_per_cpu"};
	for (int i = 0; i < 3; i++) {
		const json_t *after = change_find(desc, changes, names[i]);
		if (after && !change_read_memory(c, names[i], change_find_before(c, desc, names[i]), after, i == 2, e))
			return false;
	}
	return true;
}

/* Read a change of admin_comment, the site's comment. No option has this comment, so it is only in the record of the job. */
static bool change_read_admin_comment(struct site_changes *c, const json_t *desc, const json_t *changes, struct err *e)
{
	static const char field[] = "admin_comment";
	const json_t *after = change_find(desc, changes, field);
	struct option_context context = {0};
	struct err why = {0};
	json_t *value;
	char *text;
	if (!after)
		return true;
	if (!site_value_write(SITE_TEXT, after, 0, &text, &why))
		return change_refuse(field, why.message, why.hint, e);
	value = text ? option_value(option_find("comment", OPTION_ROTA), text, &context, &why) : json_null();
	if (value)
		change_keep(c, field, NULL, text);
	else
		change_refuse(field, why.message, why.hint, e);
	json_decref(value);
	free(text);
	return value;
}

/* Read a change of an environment variable. The earlier value is not recorded: it may be a secret of the user. */
static bool change_read_variable(struct site_changes *c, const char *name, json_t *after, struct err *e)
{
	char *field = xasprintf("environment.%s", OPTION_QUOTE(name)), *text = NULL;
	struct err why = {0};
	bool good = site_value_write(SITE_TEXT, after, 0, &text, &why);
	if (!*name || strchr(name, '=') || !option_text_clean(name, false))
		good = change_refuse(field, "this is not a name of a variable", "", e);
	else if (!good)
		change_refuse(field, why.message, why.hint, e);
	else if (json_string_length(after) > VARIABLE_LONGEST)
		good = change_refuse(field, "the value has more than 100 KiB", "", e);
	if (good) {
		if (!c->environment)
			c->environment = json_object();
		/* site_value_write() sets `text` to NULL for an empty text, which is a value of a variable */
		option_put(c->environment, name, json_is_null(after) ? json_null() : json_string(text ? text : ""));
		change_keep(c, field, NULL, json_is_null(after) ? NULL : text ? text : "");
	}
	free(text);
	free(field);
	return good;
}

/* Read changes of the environment: {"NAME": "value"}. Variables that are not named stay. */
static bool change_read_environment(struct site_changes *c, const json_t *desc, const json_t *changes, struct err *e)
{
	const json_t *before = json_object_get(desc, "environment");
	json_t *after = json_object_get(changes, "environment"), *value;
	const char *name;
	if (!after)
		return true;
	if (!json_is_object(after) && !(json_is_array(after) && json_array_size(after) == 0))
		return change_refuse("environment", "it must be a table of variables", "", e);
	json_object_foreach (after, name, value)
		if (!change_is_same(json_object_get(before, name), value) && !change_read_variable(c, name, value, e))
			return false;
	return true;
}

/* Describes a script in the record of the job, which need not hold it: "5 lines, SHA-256 ...". malloc'ed. */
static char *change_make_digest(const json_t *script)
{
	const char *text = json_string_value(script);
	size_t size = json_string_length(script), lines = size > 0 && text[size - 1] != '\n';
	char hex[SEAL_HEX_SIZE];
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	seal_hash_hex(text, size, hex);
	return xasprintf("%zu line%s, SHA-256 %s", lines, text_plural((int64_t)lines), hex);
}

static void change_keep_script(struct site_changes *c, const char *field, const json_t *before, const json_t *after)
{
	char *old = json_is_string(before) ? change_make_digest(before) : NULL, *new = change_make_digest(after);
	change_keep(c, field, old, new);
	free(new);
	free(old);
}

/* Read a change of the field `script`: the text of a script that replaces the user's. */
static bool change_read_script(struct site_changes *c, const json_t *desc, const json_t *changes, struct err *e)
{
	static const char field[] = "script";
	const json_t *after = change_find(desc, changes, field);
	const char *text = json_string_value(after);
	if (!after)
		return true;
	if (c->rec)
		return change_refuse(field, "a job that was submitted keeps its script", "", e);
	if (!text || !*text)
		return change_refuse(field, "it must be the text of a script", "", e);
	if (strlen(text) != json_string_length(after))
		return change_refuse(field, "the text has a NUL byte", "", e);
	change_keep_script(c, field, json_object_get(desc, field), after);
	c->script = json_incref((json_t *)after);
	return true;
}

/* Check the changed fields that this file does not read: refuse those of `fixed`, log the others as ignored. */
static bool change_check_names(const json_t *desc, const json_t *changes, struct err *e)
{
	const char *name;
	json_t *value;
	json_object_foreach ((json_t *)changes, name, value) {
		if (change_is_option(name) || CHANGE_IS_AMONG(name, others) || !change_find(desc, changes, name))
			continue;
		if (CHANGE_IS_AMONG(name, fixed))
			return change_refuse(name, "no option of Rota sets this field, so a script cannot change it", "", e);
		log_warning("the site's script job_submit set the field \"%s\"%s, which is ignored", OPTION_QUOTE(name),
			    CHANGE_IS_AMONG(name, identities) ? " of the user" : "");
	}
	return true;
}

bool site_changes_read(struct site_changes *c, const json_t *desc, const json_t *rec, const json_t *changes, int64_t now,
		       struct err *e)
{
	c->rec = rec;
	if (!change_check_names(desc, changes, e))
		return false;
	for (int i = 0; i < FIELDS; i++) {
		const json_t *after = change_find(desc, changes, fields[i].name);
		if (after && !change_read_option(c, desc, after, i, now, e))
			return false;
	}
	return change_read_nodes(c, desc, changes, e) && change_read_memories(c, desc, changes, e) &&
	       change_read_admin_comment(c, desc, changes, e) && change_read_environment(c, desc, changes, e) &&
	       change_read_script(c, desc, changes, e);
}

void site_changes_clear(struct site_changes *c)
{
	for (int i = 0; i < c->count; i++)
		free((char *)c->list[i].value);
	free(c->list);
	json_decref(c->environment);
	json_decref(c->script);
	json_decref(c->kept);
	memset(c, 0, sizeof *c);
}

char *site_changes_names(const struct site_changes *c)
{
	char *names = NULL;
	const json_t *one;
	size_t i;
	json_array_foreach (c->kept, i, one) {
		char *longer = xasprintf("%s%s%s", names ? names : "", names ? ", " : "",
					 json_string_value(json_object_get(one, "field")));
		free(names);
		names = longer;
	}
	return names;
}
