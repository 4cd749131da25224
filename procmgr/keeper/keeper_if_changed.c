/* keeper_if_changed.c - implements --if-changed, which skips a step whose outputs are not older than its inputs.
 *
 * Called by the keeper's sequence, between prolog and tasks, on the first node of the step.
 * Invariants:
 * - A child that has become the user compares the files. Root neither parses the file names nor touches the files.
 * - Only a step's first attempt is skipped: an earlier attempt may have left incomplete outputs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "lib/pattern.h"
#include "procmgr/keeper/keeper_parts.h"

enum verdict { VERDICT_UP_TO_DATE, VERDICT_CHANGED, VERDICT_UNKNOWN };

struct check {
	const struct order_spec *spec;
	struct pattern_facts facts;
	const char *home;
};

/* An input or output file of --if-changed. Patterns in the name are expanded. */
struct file {
	char *name; /* name of the file; never freed, since the process ends soon */
	struct timespec changed;
};

static bool is_older(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Read the time of a file's last change. The process has the step's working directory. */
static bool read_file_time(const struct check *c, const char *pattern, struct file *file)
{
	struct stat st;
	file->name = pattern_expand(pattern, &c->facts);
	char *path = strncmp(file->name, "~/", 2) == 0 ? xasprintf("%s%s", c->home, file->name + 1) : xstrdup(file->name);
	bool good = stat(path, &st) == 0;
	if (good)
		file->changed = st.st_mtim;
	return good;
}

/* Compare the times of outputs and inputs, as the user, in a child process. A missing input is an error even if no output
 * exists. */
static int compare_files(const void *argument)
{
	const struct check *c = argument;
	char *outputs = xstrdup(c->spec->if_changed), *inputs = strchr(outputs, ':'), *pattern;
	struct file file, newest = {NULL}, oldest = {NULL};
	*inputs++ = '\0';
	while ((pattern = strsep(&inputs, ","))) {
		if (!read_file_time(c, pattern, &file)) {
			dprintf(1, "input \"%s\": %s", file.name, strerror(errno));
			return VERDICT_UNKNOWN;
		}
		if (!newest.name || is_older(&newest.changed, &file.changed))
			newest = file;
	}
	while ((pattern = strsep(&outputs, ","))) {
		if (!read_file_time(c, pattern, &file) || is_older(&file.changed, &newest.changed))
			return VERDICT_CHANGED;
		if (!oldest.name || is_older(&file.changed, &oldest.changed))
			oldest = file;
	}
	dprintf(1, "%s is %s %s", oldest.name, is_older(&newest.changed, &oldest.changed) ? "newer than" : "as new as",
		newest.name);
	return VERDICT_UP_TO_DATE;
}

bool keeper_if_changed(struct keeper *k)
{
	const struct order *o = k->order;
	if (!o->spec.if_changed || o->node_index > 0 || o->attempt > 1)
		return true;
	struct check check = {&o->spec, keeper_task_facts(k, o->first_task), k->owner.home};
	char text[KEEPER_TAIL_SIZE];
	int verdict = keeper_hook_call(k, true, compare_files, &check, text);
	if (k->request == KEEPER_REQUEST_END || *k->cause)
		return false;
	if (verdict == VERDICT_CHANGED)
		return true;
	bool up_to_date = verdict == VERDICT_UP_TO_DATE;
	k->failure = up_to_date ? KEEPER_FAILURE_UP_TO_DATE : KEEPER_FAILURE_LAUNCH;
	snprintf(k->message, sizeof k->message, "%s: %.400s", up_to_date ? "up to date" : "--if-changed",
		 *text ? text : "the check was killed");
	return false;
}
