/* translate_checkpoint.c - the checkpoint options of a step: checks that they go together, and writes them into the spec and the
 * plan.
 *
 * Called by: translate_size.c (the check), translate_spec.c, translate_step.c.
 * Invariants:
 * - A step without --checkpoint has no member about checkpoints in its spec or in the plan. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"
#include "lib/order.h"

enum { KEEP_DEFAULT = 2 };

/* Returns the driver that a step names by --checkpoint; NULL: it names none. */
static const char *checkpoint_driver(const struct translation *t, const struct translate_step *s)
{
	const char *driver = json_string_value(translate_value(t, s, OPTION_ID_CHECKPOINT));
	return driver && strcmp(driver, "no") != 0 ? driver : NULL;
}

static int checkpoint_number(const struct translation *t, const struct translate_step *s, enum option_id id, int otherwise)
{
	int64_t number = translate_number(t, s, id, otherwise);
	return number < INT_MAX ? (int)number : INT_MAX;
}

/* Returns what was asked for with an option. A submitted step has a value of every option, and nothing says whether its owner
 * gave it. */
static const json_t *checkpoint_asked(const struct translation *t, const struct translate_step *s, enum option_id id)
{
	return t->modifies ? t->command.of[id].value : translate_value(t, s, id);
}

/* Refuse what does not go with dmtcp and criu, which auto may choose. A restored program goes on in its output files, and would
 * find them empty. */
static void check_restored(struct translation *t, const struct translate_step *s)
{
	const char *mode = json_string_value(checkpoint_asked(t, s, OPTION_ID_OPEN_MODE));
	const json_t *asked = translate_value(t, s, OPTION_ID_CHECKPOINT_SIGNAL);
	bool may_restore = translate_checkpoint_appends(t, s);
	if (may_restore && mode && strcmp(mode, "truncate") == 0) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_OPEN_MODE), "--open-mode",
				 "a program that is restored goes on in its output");
		translate_hint(t, "leave the option out, or write --open-mode=append");
	}
	if (may_restore && strcmp(checkpoint_driver(t, s), "criu") != 0 &&
	    json_integer_value(json_object_get(asked, "signal")) == SIGUSR2) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_CHECKPOINT_SIGNAL), "--checkpoint-signal",
				 "DMTCP uses SIGUSR2 itself");
		translate_hint(t, "choose another signal, or write --checkpoint=app");
	}
}

/* Refuse what does not go with tasks on several nodes that dmtcp saves together. */
static void check_nodes(struct translation *t, const struct translate_step *s)
{
	static const char all[] = "tasks that dmtcp saves together go on only on all nodes of the step",
			  again[] = "leave it out: when a node is lost, the step is queued again and goes on from its checkpoint";
	const struct {
		enum option_id id;
		const char *option, *why, *hint;
		bool given;
	} rows[] = {
		{OPTION_ID_REPLACE_FAILED, "--replace-failed", all, again,
		 json_is_true(translate_value(t, s, OPTION_ID_REPLACE_FAILED))},
		{OPTION_ID_KILL, "--no-kill", all, again, json_is_false(translate_value(t, s, OPTION_ID_KILL))},
		{OPTION_ID_TMPDIR, "--tmpdir", "dmtcp does not save what several nodes have in TMPDIR",
		 "leave it out, or write --nodes=1", json_is_true(translate_value(t, s, OPTION_ID_TMPDIR))},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].given)
			continue;
		translate_refuse(t, translate_find_line(t, s, rows[i].id), rows[i].option, "%s", rows[i].why);
		translate_hint(t, "%s", rows[i].hint);
	}
}

/* Refuse a script that runs once for each task, unless its driver saves the tasks together: dmtcp does, on a number of nodes that
 * does not change, since a program that began on one node cannot go on on several. */
static void check_tasks(struct translation *t, const struct translate_step *s)
{
	const char *driver = checkpoint_driver(t, s), *run = json_string_value(translate_value(t, s, OPTION_ID_RUN));
	if (!driver || !run || strcmp(run, "tasks") != 0)
		return;
	if (strcmp(driver, "dmtcp") != 0) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_CHECKPOINT), "--checkpoint",
				 "the script of the step runs once for each task");
		translate_hint(t, "have one script start the tasks with rota run, and save them together; or write "
				  "--checkpoint=dmtcp --nodes=1");
	} else if (s->ntasks > 1 && s->nodes_min != s->nodes_max) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_CHECKPOINT), "--checkpoint",
				 "dmtcp saves tasks together only on a fixed number of nodes");
		translate_hint(t, "add --nodes=1, or another number");
	} else if (s->nodes_max > 1) {
		check_nodes(t, s);
	}
}

static bool step_has_gpus(struct translation *t, const struct translate_step *s)
{
	int which = translate_choose_rival(t, s, OPTION_ID_GPUS, OPTION_ID_GPUS_PER_NODE);
	return which >= 0 ? translate_number(t, s, (enum option_id)which, 0) > 0
			  : json_integer_value(json_object_get(translate_value(t, s, OPTION_ID_GRES), "gpu")) > 0;
}

/* Refuse the drivers dmtcp and criu for a step with credentials, which an image must not hold, or GPUs, which it cannot. With
 * auto, the node chooses app. */
static void check_image(struct translation *t, const struct translate_step *s)
{
	const char *driver = checkpoint_driver(t, s);
	if (!driver || (strcmp(driver, "dmtcp") != 0 && strcmp(driver, "criu") != 0))
		return;
	char *names = translate_credentials(t, s);
	if (names) {
		int line = translate_find_line(t, s, OPTION_ID_CRED);
		translate_refuse(t, line > 0 ? line : translate_find_line(t, s, OPTION_ID_CHECKPOINT), "--checkpoint",
				 "an image of %s would hold the credentials of the step (%s)", driver, names);
		translate_hint(t, t->modifies ? "write --checkpoint=app" : "write --checkpoint=app, or --cred=none");
	}
	free(names);
	if (step_has_gpus(t, s)) {
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_CHECKPOINT), "--checkpoint",
				 "%s does not save what a program has in GPUs", driver);
		translate_hint(t, "write --checkpoint=app");
	}
}

/* Is --checkpoint-interval=auto given, so that Rota computes the interval? */
static bool checkpoint_is_auto(const struct translation *t, const struct translate_step *s)
{
	return json_is_string(translate_value(t, s, OPTION_ID_CHECKPOINT_INTERVAL));
}

void translate_checkpoint_check(struct translation *t, const struct translate_step *s)
{
	static const enum option_id others[] = {OPTION_ID_CHECKPOINT_SIGNAL, OPTION_ID_CHECKPOINT_INTERVAL,
						OPTION_ID_CHECKPOINT_BEFORE, OPTION_ID_CHECKPOINT_KEEP, OPTION_ID_CHECKPOINT_DIR};
	int64_t limit = translate_number(t, s, OPTION_ID_TIME, 0),
		before = translate_number(t, s, OPTION_ID_CHECKPOINT_BEFORE, 0);
	bool has_driver = checkpoint_driver(t, s) != NULL;
	for (size_t i = 0; !has_driver && i < sizeof others / sizeof *others; i++) {
		char option[64] = "--";
		if (!checkpoint_asked(t, s, others[i]) || json_is_null(checkpoint_asked(t, s, others[i])))
			continue;
		translate_refuse(t, translate_find_line(t, s, others[i]), strcat(option, option_row(others[i])->name),
				 "the step is not checkpointed");
		translate_hint(t, "add --checkpoint=app");
	}
	check_tasks(t, s);
	check_restored(t, s);
	check_image(t, s);
	if (has_driver && limit > 0 && before >= limit)
		translate_refuse(t, translate_find_line(t, s, OPTION_ID_CHECKPOINT_BEFORE), "--checkpoint-before",
				 "the time before the limit is not shorter than --time");
}

bool translate_checkpoint_appends(const struct translation *t, const struct translate_step *s)
{
	const char *driver = checkpoint_driver(t, s);
	return driver && (strcmp(driver, "dmtcp") == 0 || strcmp(driver, "criu") == 0 || strcmp(driver, "auto") == 0);
}

const char *translate_checkpoint_dir(const struct translation *t, const struct translate_step *s)
{
	const char *dir = json_string_value(translate_value(t, s, OPTION_ID_CHECKPOINT_DIR));
	return !checkpoint_driver(t, s) ? NULL : dir && *dir ? dir : "checkpoints";
}

void translate_checkpoint_spec(const struct translation *t, const struct translate_step *s, const char *dir,
			       struct order_spec *spec)
{
	bool has_driver = dir != NULL;
	const json_t *asked = translate_value(t, s, OPTION_ID_CHECKPOINT_SIGNAL);
	int signal = (int)json_integer_value(json_object_get(asked, "signal"));
	spec->checkpoint = checkpoint_driver(t, s);
	spec->checkpoint_dir = dir;
	spec->checkpoint_signal = !has_driver ? 0 : signal > 0 ? signal : SIGUSR1;
	spec->checkpoint_shell = has_driver && json_is_true(json_object_get(asked, "shell"));
	spec->checkpoint_interval_s = has_driver ? checkpoint_number(t, s, OPTION_ID_CHECKPOINT_INTERVAL, 0) : 0;
	spec->checkpoint_auto = has_driver && checkpoint_is_auto(t, s);
	spec->checkpoint_before_s = has_driver ? checkpoint_number(t, s, OPTION_ID_CHECKPOINT_BEFORE, 0) : 0;
	spec->checkpoint_keep = has_driver ? checkpoint_number(t, s, OPTION_ID_CHECKPOINT_KEEP, KEEP_DEFAULT) : 0;
}

json_t *translate_checkpoint_json(const struct translation *t, const struct translate_step *s)
{
	const char *driver = checkpoint_driver(t, s);
	int before = checkpoint_number(t, s, OPTION_ID_CHECKPOINT_BEFORE, 0);
	if (!driver)
		return json_null();
	json_t *json = json_object();
	option_put(json, "driver", json_string(driver));
	option_put(json, "keep", json_integer(checkpoint_number(t, s, OPTION_ID_CHECKPOINT_KEEP, KEEP_DEFAULT)));
	if (before > 0)
		option_put(json, "before_s", json_integer(before));
	if (checkpoint_is_auto(t, s))
		option_put(json, "interval", json_string("auto"));
	return json;
}
