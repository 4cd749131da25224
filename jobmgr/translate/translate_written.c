/* translate_written.c - options as their users wrote them: "-d" or "-W depend" for --dependency, for messages.
 *
 * Called by: translate_problem.c, for the problems that later stages find; translate_plan.c, for those that the database finds.
 * Invariants:
 * - A step's own line is the line on which the step begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"

static int written_compare_line(const void *key, const void *step)
{
	int line = *(const int *)key, of = ((const struct translate_step *)step)->line;
	return (line > of) - (line < of);
}

/* Returns the setting of an option on a line, or NULL. */
static const struct translate_setting *written_find(const struct translation *t, int line, enum option_id id)
{
	const struct translate_set *sets[] = {&t->command, &t->rota, &t->slurm, &t->pbs};
	const struct translate_step *s =
		bsearch(&line, t->steps, (size_t)(t->step_count - t->generated), sizeof *s, written_compare_line);
	for (int i = 0; i < 4; i++)
		if (sets[i]->of[id].value && sets[i]->of[id].line == line)
			return &sets[i]->of[id];
	return s && s->own.of[id].value ? &s->own.of[id] : NULL;
}

const char *translate_written(const struct translation *t, int line, const char *option)
{
	const struct option_row *row = t->is_read && strncmp(option, "--", 2) == 0 ? option_find(option + 2, OPTION_ROTA) : NULL;
	const struct translate_setting *setting = row ? written_find(t, line, row->id) : NULL;
	return setting && setting->written ? setting->written : option;
}

static void written_put(json_t *written, int line, const char *name, const char *text)
{
	char key[16];
	snprintf(key, sizeof key, "%d", line);
	if (!json_object_get(written, key))
		option_put(written, key, json_object());
	option_put(json_object_get(written, key), name, json_string(text));
}

/* Put the options that name peers outside the script, and those with the condition `corr`; the database knows all of them as
 * "after". */
static void written_put_edges(const struct translation *t, json_t *written)
{
	for (int i = 0; i < t->edge_count; i++) {
		const struct translate_edge *edge = &t->edges[i];
		const char *text = translate_written(t, edge->line, edge->option);
		if (edge->kind == TRANSLATE_AFTER && *text && strcmp(text, "--after") != 0 &&
		    (edge->peer < 0 || edge->condition == TRANSLATE_CORR))
			written_put(written, edge->line, "after", text);
	}
}

json_t *translate_written_json(const struct translation *t)
{
	const struct translate_set *sets[] = {&t->command, &t->rota, &t->slurm, &t->pbs};
	json_t *written = json_object();
	for (int i = 0; i < 4; i++)
		for (int id = 0; id < OPTION_SETTINGS; id++)
			if (sets[i]->of[id].value && sets[i]->of[id].written)
				written_put(written, sets[i]->of[id].line, option_row((enum option_id)id)->name,
					    sets[i]->of[id].written);
	written_put_edges(t, written);
	if (json_object_size(written) > 0)
		return written;
	json_decref(written);
	return NULL;
}
