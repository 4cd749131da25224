/* translate_transfer_read.c - parses script lines that copy data, "#ROTA stage-in SOURCE -> DESTINATION [OPTION]..." and
 * stage-out, or that remove a folder of staged data, "stage-drop FOLDER" (which "rota stage drop" writes).
 *
 * Called by: translate_read.c for each such line.
 * Invariants:
 * - A path is absolute, or begins with $ROTA_SCRATCH. With --mode=rsync or command it may name another host or a store instead.
 * - The program rota-mover copies the data as the user. No shell ever parses a line. */
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"

static void transfer_refuse(struct translation *t, const struct translate_transfer *x, const char *option, const char *message,
			    const char *hint)
{
	if (translate_refuse(t, x->line, option, "%s", message) && *hint)
		translate_hint(t, "%s", hint);
}

/* Set *chosen to the index of `word` among `words`. Returns false if it is none of them. */
static bool transfer_choose(const char *word, const char *const *words, size_t count, int *chosen)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0) {
			*chosen = (int)i;
			return true;
		}
	return false;
}

/* Read the value of an option that applies to the transfer's step, such as --time, as the option of a job is read. */
static json_t *transfer_read_value(struct translation *t, const struct translate_transfer *x, enum option_id id,
				   const char *option, const char *text)
{
	struct err e;
	json_t *value = option_value(option_row(id), text, &t->context, &e);
	if (!value)
		translate_problem(t, x->line, option, &e);
	return value;
}

/* Read --for=JOB.NUMBER: the earlier transfer, of another job, that this transfer repeats. */
static void transfer_read_for(struct translation *t, struct translate_transfer *x, const char *text)
{
	const char *rest = text;
	int64_t number = 0;
	bool good = option_digits(&rest, INT64_MAX, &x->for_job) && *rest++ == '.' && option_digits(&rest, INT_MAX, &number) &&
		    !*rest;
	x->for_number = (int)number;
	if (!good || x->for_job == 0 || number == 0)
		transfer_refuse(t, x, "--for", "the value is not JOB.NUMBER", "\"rota stage retry\" writes it");
}

static void transfer_read_option(struct translation *t, struct translate_transfer *x, const char *word)
{
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : "";
	char *name = equals ? xstrndup(word, (size_t)(equals - word)) : xstrdup(word);
	if (strcmp(name, "--mode") == 0) {
		if (!transfer_choose(value, translate_modes, TRANSLATE_MODES, &x->mode))
			transfer_refuse(t, x, "--mode", "the value is not copy, rsync, link or command", "");
	} else if (strcmp(name, "--on-fail") == 0) {
		if (!transfer_choose(value, translate_policies, TRANSLATE_POLICIES, &x->on_fail))
			transfer_refuse(t, x, "--on-fail", "the value is not keep, out or drop", "");
	} else if (strcmp(name, "--time") == 0) {
		json_decref(x->time);
		x->time = transfer_read_value(t, x, OPTION_ID_TIME, name, value);
	} else if (strcmp(name, "--mem") == 0) {
		json_decref(x->mem);
		x->mem = transfer_read_value(t, x, OPTION_ID_MEM, name, value);
	} else if (strcmp(name, "--for") == 0) {
		transfer_read_for(t, x, value);
	} else if (strcmp(word, "--checksum") == 0) {
		x->checksum = true;
	} else if (strcmp(word, "--reuse") == 0) {
		x->reuse = true;
	} else {
		translate_refuse(t, x->line, "", "\"%s\" is no option of a transfer", OPTION_QUOTE(word));
		translate_hint(
			t,
			"the options are --mode=MODE, --on-fail=keep|out|drop, --time=TIME, --mem=SIZE, --checksum and --reuse");
	}
	free(name);
}

/* Does a path name a place on another host, as in host:/path, or in a store, as in s3://bucket? */
static bool transfer_is_far(const char *path)
{
	size_t length = strcspn(path, ":/");
	return length > 0 && path[length] == ':';
}

/* Refuse a path that has a variable after its beginning. Data is moved once for a job, so a variable of an array element has no
 * value. */
static bool transfer_check_variables(struct translation *t, const struct translate_transfer *x, const char *text)
{
	static const char *const of_elements[] = {"ROTA_ARRAY_", "SLURM_ARRAY_", "PBS_ARRAY"};
	for (const char *dollar = strchr(text, '$'); dollar; dollar = strchr(dollar + 1, '$')) {
		const char *name = dollar + 1 + (dollar[1] == '{');
		if (dollar[1] != '{' && dollar[1] != '_' && !isalpha((unsigned char)dollar[1]))
			continue;
		for (size_t i = 0; i < sizeof of_elements / sizeof *of_elements; i++)
			if (strncmp(name, of_elements[i], strlen(of_elements[i])) == 0) {
				transfer_refuse(t, x, "",
						"a path has a variable of an element, but data is moved once for all elements",
						"move the folder of all of them, and let the script choose its part");
				return false;
			}
		transfer_refuse(t, x, "", "a path has a variable other than $ROTA_SCRATCH or $HOME at its beginning",
				"write the path in full; no shell reads this line");
		return false;
	}
	return true;
}

/* Returns a path of a line in the form that rota-mover takes, malloc'ed, or NULL after a refusal. */
static char *transfer_path(struct translation *t, const struct translate_transfer *x, const char *text)
{
	const struct translate_step nobody = {0};
	const char *workdir = json_string_value(translate_value(t, &nobody, OPTION_ID_WORKDIR)), *rest = text;
	bool braces = strncmp(text, "${ROTA_SCRATCH}", 15) == 0 && (text[15] == '/' || text[15] == '\0');
	bool scratch = braces || translate_transfer_in_scratch(text), home = strncmp(text, "$HOME/", 6) == 0 && t->request->home;
	if (strlen(text) >= PATH_MAX - NAME_MAX || !*text || !option_text_clean(text, false)) {
		transfer_refuse(t, x, "", "a path is empty, too long or has control characters", "");
		return NULL;
	}
	if (scratch || home)
		rest = text + (braces ? 15 : strcspn(text, "/"));
	if (!transfer_check_variables(t, x, rest))
		return NULL;
	if (scratch)
		return xasprintf("$ROTA_SCRATCH%s", rest);
	if (home)
		return xasprintf("%s%s", t->request->home, rest);
	if (transfer_is_far(text))
		return xstrdup(text);
	char *folder = translate_path(t, t->request->workdir, workdir ? workdir : t->request->workdir);
	char *path = translate_path(t, folder, text);
	free(folder);
	return path;
}

/* Is a setting of rota.conf empty? NULL means that the caller does not know the setting, so it counts as set. */
static bool transfer_lacks(const char *configured)
{
	return configured && !*configured;
}

/* Check the options of a transfer that depend on each other. */
static void transfer_check(struct translation *t, const struct translate_transfer *x)
{
	const char *here = x->direction == TRANSLATE_STAGE_IN ? x->destination : x->source;
	const char *there = x->direction == TRANSLATE_STAGE_IN ? x->source : x->destination;
	bool scratch_used = translate_transfer_in_scratch(x->source) || translate_transfer_in_scratch(x->destination);
	if (scratch_used && transfer_lacks(t->request->scratch))
		transfer_refuse(t, x, "", "this instance has no folder for $ROTA_SCRATCH",
				"staging.scratch in rota.conf of jobmgrd names it; name another folder until then");
	else if (scratch_used && t->request->scratch && !strstr(t->request->scratch, "%j"))
		transfer_refuse(t, x, "", "all jobs of this instance would share $ROTA_SCRATCH, and each would remove it",
				"staging.scratch in rota.conf of jobmgrd must have %j, the number of the job");
	if (transfer_is_far(here))
		transfer_refuse(t, x, "", "the job's side of the transfer is on another host",
				"stage-in is from anywhere to a folder of this cluster, stage-out the other way");
	if (transfer_is_far(there) && x->mode != TRANSLATE_MODE_RSYNC && x->mode != TRANSLATE_MODE_COMMAND)
		transfer_refuse(t, x, "--mode", "only rsync and command reach another host", "");
	if (x->mode == TRANSLATE_MODE_COMMAND && transfer_lacks(t->request->mover_command))
		transfer_refuse(t, x, "--mode", "this instance has no program for --mode=command",
				"staging.command in rota.conf names it; copy, rsync and link need none");
	if (x->mode == TRANSLATE_MODE_LINK && x->direction != TRANSLATE_STAGE_IN)
		transfer_refuse(t, x, "--mode", "link is for stage-in", "results must be copied: use copy or rsync");
	if (x->mode >= TRANSLATE_MODE_LINK && x->checksum)
		transfer_refuse(t, x, "--checksum", "the option is for the modes copy and rsync", "");
	if (x->reuse && (x->direction != TRANSLATE_STAGE_IN || translate_transfer_in_scratch(x->destination)))
		transfer_refuse(t, x, "--reuse", "the option is for a stage-in to a folder that stays",
				"$ROTA_SCRATCH is removed with the job; name another folder");
}

/* Refuse transfers whose paths together are too long for the spec of a step, which a launch request has. */
static void transfers_weigh(struct translation *t, const struct translate_transfer *latest)
{
	enum { LONGEST = 32768 };
	size_t sum = 0;
	for (int i = 0; i < t->transfer_count; i++)
		if (t->transfers[i].source && t->transfers[i].destination)
			sum += strlen(t->transfers[i].source) + strlen(t->transfers[i].destination);
	if (sum <= LONGEST)
		return;
	translate_refuse(t, latest->line, "", "the paths of all transfers together have more than %d bytes", LONGEST);
	translate_hint(t, "transfer a folder, or let the script copy");
}

bool translate_transfer_read(struct translation *t, int line, const struct translate_words *words)
{
	int direction = 0, paths = 0, expected;
	const char *word[3];
	if (strncmp(words->list[0], "stage-", 6) != 0 ||
	    !transfer_choose(words->list[0] + 6, translate_directions, TRANSLATE_DIRECTIONS, &direction))
		return false;
	if (t->transfer_count >= TRANSLATE_TRANSFERS_MOST) {
		translate_refuse(t, line, "", "the script has more than %d transfers", TRANSLATE_TRANSFERS_MOST);
		translate_hint(t, "transfer a folder, or let the script copy");
		return true;
	}
	struct translate_transfer *x = translate_transfer_add(t);
	x->direction = (enum translate_direction)direction;
	x->line = line;
	x->step = t->has_steps ? t->step_count - 1 : -1;
	for (int i = 1; i < words->count; i++) {
		if (strncmp(words->list[i], "--", 2) == 0)
			transfer_read_option(t, x, words->list[i]);
		else if (paths++ < 3)
			word[paths - 1] = words->list[i];
	}
	expected = x->direction == TRANSLATE_STAGE_DROP ? 1 : 3;
	if (paths != expected || (expected == 3 && strcmp(word[1], "->") != 0)) {
		translate_refuse(t, line, "", "the line does not name its paths");
		translate_hint(t,
			       expected == 3 ? "write #ROTA stage-%s SOURCE -> DESTINATION [OPTION]..., with quotes around blanks"
					     : "write #ROTA stage-%s FOLDER --for=JOB.NUMBER",
			       translate_directions[direction]);
		return true;
	}
	x->source = transfer_path(t, x, word[0]);
	x->destination = expected == 3 ? transfer_path(t, x, word[2]) : xstrdup("");
	if (expected == 1 && x->for_job == 0)
		transfer_refuse(t, x, "", "stage-drop needs --for", "\"rota stage drop\" writes it");
	if (x->source && x->destination)
		transfer_check(t, x);
	transfers_weigh(t, x);
	return true;
}
