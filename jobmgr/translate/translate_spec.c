/* translate_spec.c - makes the spec of a step (lib/order.h): the text that tells the node how to run the step. The authenticator
 * covers it.
 *
 * Called by: translate_plan.c, translate_modify.c.
 * Invariants:
 * - Paths are absolute, except output patterns, which are relative to the working directory of the step. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_value.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/order.h"
#include "lib/pattern.h"

static const char *spec_home(const struct translation *t, const char *path)
{
	return strncmp(path, "~/", 2) == 0 ? t->request->home : NULL;
}

/* Returns `path` with ~/ at its beginning replaced by the home directory, malloc'ed. */
static char *spec_expand_home(const struct translation *t, const char *path)
{
	const char *home = spec_home(t, path);
	return home ? xasprintf("%s%s", home, path + 1) : xstrdup(path);
}

char *translate_path(const struct translation *t, const char *folder, const char *path)
{
	if (*path == '/' || spec_home(t, path))
		return spec_expand_home(t, path);
	size_t length = strlen(folder);
	return xasprintf("%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", path);
}

static const char *spec_text(const struct translation *t, const struct translate_step *s, enum option_id id)
{
	const char *value = json_string_value(translate_value(t, s, id));
	return value ? value : "";
}

/* Returns the path pattern of an output file, malloc'ed; "" for the default. The default name is appended to a directory. It is
 * also written out if the step is named like the step of a plain script. */
static char *spec_output(const struct translation *t, const struct translate_step *s, const struct order_spec *base,
			 enum option_id id, const char *ending)
{
	const char *given = spec_text(t, s, id);
	bool plain = base->pre_from == 0, folder = *given && given[strlen(given) - 1] == '/';
	bool taken = id == OPTION_ID_OUTPUT && !plain && !t->request->inside && strcmp(s->name, PATTERN_PLAIN) == 0;
	char *path = spec_expand_home(t, given), *whole;
	if (*given ? !folder : !taken)
		return path;
	whole = xasprintf("%s%s.%s", path, pattern_name(plain, s->elements > 0), ending);
	free(path);
	return whole;
}

/* Must a node end the step when the node's lease runs out (--node-loss=fence)? This is the default for a step that may be
 * requeued, since it must not run twice at once. */
static bool spec_is_fenced(const struct translation *t, const struct translate_step *s)
{
	const char *given = spec_text(t, s, OPTION_ID_NODE_LOSS);
	return *given ? strcmp(given, "fence") == 0 : !json_is_false(translate_value(t, s, OPTION_ID_REQUEUE));
}

/* Write the lowest and highest index of an array into the spec, and the distance between two indices, or 1 if distances
 * differ. */
static void spec_put_array(const struct translation *t, const struct translate_step *s, struct order_spec *spec)
{
	const json_t *range, *indices = json_object_get(translate_value(t, s, OPTION_ID_ARRAY), "indices");
	size_t i, count = json_array_size(indices);
	int64_t lowest = INT64_MAX, highest = -1, step = 1;
	json_array_foreach (indices, i, range) {
		int64_t low = json_integer_value(json_array_get(range, 0)), high = json_integer_value(json_array_get(range, 1));
		lowest = low < lowest ? low : lowest;
		highest = high > highest ? high : highest;
		step = json_integer_value(json_array_get(range, 2));
	}
	spec->array_min = count > 0 ? (int)lowest : 0;
	spec->array_max = count > 0 ? (int)highest : 0;
	spec->array_step = count == 1 && step > 0 ? (int)step : count > 0;
}

static void spec_put_signal(const struct translation *t, const struct translate_step *s, struct order_spec *spec)
{
	const json_t *asked = translate_value(t, s, OPTION_ID_SIGNAL);
	spec->signal = (int)json_integer_value(json_object_get(asked, "signal"));
	spec->signal_s = (int)json_integer_value(json_object_get(asked, "seconds"));
	spec->signal_shell = json_is_true(json_object_get(asked, "shell"));
}

/* Returns the limit of --idle-timeout in seconds. A limit that is too long for a spec becomes the longest possible. */
static int spec_idle_timeout(const struct translation *t, const struct translate_step *s)
{
	int64_t seconds = translate_number(t, s, OPTION_ID_IDLE_TIMEOUT, 0);
	return seconds < INT_MAX ? (int)seconds : INT_MAX;
}

/* Returns the text of the fields of a spec as JSON. Frees the fields. */
static json_t *spec_make_json(struct fields *fields)
{
	json_t *value = json_string(fields_text(fields, NULL));
	if (!value)
		die("a spec is not UTF-8");
	fields_free(fields);
	return value;
}

json_t *translate_spec_own(const struct translation *t, const struct translate_step *s, const struct order_spec *base)
{
	struct order_spec spec = *base;
	spec.per_task = strcmp(spec_text(t, s, OPTION_ID_RUN), "tasks") == 0;
	spec.step_name = s->name;
	return spec_make_json(order_spec_write_own(&spec));
}

/* Returns the directory in which the step was submitted, or NULL if it is the working directory. A modified step keeps the
 * directory of its submission. */
static const char *spec_submit_dir(const struct translation *t, const struct order_spec *base, const char *folder)
{
	const char *before = base->submit_dir ? base->submit_dir : base->workdir;
	const char *dir = t->modifies ? before : t->request->workdir;
	return strcmp(dir, folder) == 0 ? NULL : dir;
}

json_t *translate_spec_end(struct translation *t, const struct translate_step *s, const struct order_spec *base,
			   const char *job_name, const char *account)
{
	const char *workdir = spec_text(t, s, OPTION_ID_WORKDIR), *prolog = spec_text(t, s, OPTION_ID_PROLOG);
	const char *epilog = spec_text(t, s, OPTION_ID_EPILOG);
	char *folder = translate_path(t, t->request->workdir, *workdir ? workdir : t->request->workdir);
	char *paths[] = {spec_output(t, s, base, OPTION_ID_OUTPUT, "out"), spec_output(t, s, base, OPTION_ID_ERROR, "err"),
			 spec_expand_home(t, spec_text(t, s, OPTION_ID_INPUT)),
			 *prolog ? translate_path(t, folder, prolog) : xstrdup(""),
			 *epilog ? translate_path(t, folder, epilog) : xstrdup("")};
	struct order_spec spec = *base;
	spec.job_name = job_name;
	spec.account = account;
	spec.partition = spec_text(t, s, OPTION_ID_PARTITION);
	spec.output = paths[0];
	spec.error = paths[1];
	spec.input = paths[2];
	spec.append = strcmp(spec_text(t, s, OPTION_ID_OPEN_MODE), "append") == 0 || translate_checkpoint_appends(t, s);
	spec.workdir = folder;
	spec.umask = (int)translate_number(t, s, OPTION_ID_UMASK, base->umask);
	spec.shell = spec_text(t, s, OPTION_ID_SHELL);
	spec.user_prolog = paths[3];
	spec.user_epilog = paths[4];
	spec.group = spec_text(t, s, OPTION_ID_GROUP);
	spec.submit_ntasks = (int)translate_number(t, s, OPTION_ID_NTASKS, 0);
	spec.cpus_per_task = (int)s->cpus_per_task;
	spec.fence = spec_is_fenced(t, s);
	spec.replace_failed = json_is_true(translate_value(t, s, OPTION_ID_REPLACE_FAILED));
	spec.no_kill = spec.replace_failed || json_is_false(translate_value(t, s, OPTION_ID_KILL));
	spec.step_manager = json_is_true(translate_value(t, s, OPTION_ID_STEP_MANAGER));
	spec.tmpdir = json_is_true(translate_value(t, s, OPTION_ID_TMPDIR));
	spec.grows = json_string_value(translate_value(t, s, OPTION_ID_GROW));
	spec.notify = (int)translate_number(t, s, OPTION_ID_NOTIFY, 0);
	spec.idle_timeout_s = spec_idle_timeout(t, s);
	spec.if_changed = json_string_value(translate_value(t, s, OPTION_ID_IF_CHANGED));
	spec.submit_dir = spec_submit_dir(t, base, folder);
	char *credentials = t->modifies ? NULL : translate_credentials(t, s);
	spec.credentials = t->modifies ? base->credentials : credentials;
	char *transfers = t->modifies ? NULL : translate_transfers_spec(t, s);
	spec.transfers = t->modifies ? base->transfers : transfers;
	spec_put_array(t, s, &spec);
	spec_put_signal(t, s, &spec);
	const char *dir = translate_checkpoint_dir(t, s);
	char *checkpoints = dir ? translate_path(t, folder, dir) : NULL;
	translate_checkpoint_spec(t, s, checkpoints, &spec);
	json_t *value = spec_make_json(order_spec_write_end(&spec));
	free(checkpoints);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		free(paths[i]);
	free(folder);
	free(transfers);
	free(credentials);
	return value;
}
