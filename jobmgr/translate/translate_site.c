/* translate_site.c - makes the changes of the site's script job_submit to the options that a user gave.
 *
 * Called by: translate.c, translate_modify.c, after all options are read.
 * Invariants:
 * - Changes are parsed and checked as options of the command line are.
 * - A changed option has no other setting, and options that would displace it have none. */
#include "jobmgr/translate/translate_parts.h"

/* Groups of options that displace each other; a group of two repeats its first. */
static const enum option_id rivals[][3] = {
	{OPTION_ID_MEM, OPTION_ID_MEM_PER_CPU, OPTION_ID_MEM},
	{OPTION_ID_AFTER, OPTION_ID_DEPENDENCY, OPTION_ID_AFTER},
	{OPTION_ID_GRES, OPTION_ID_GPUS, OPTION_ID_GPUS_PER_NODE},
};

static void site_unset(struct translate_set *set, enum option_id id)
{
	translate_setting_clear(&set->of[id]);
}

/* Remove the settings of an option of the job. The options that a submitted step has, which is being modified, are kept. */
static void site_forget(struct translation *t, enum option_id id)
{
	site_unset(&t->command, id);
	site_unset(&t->rota, id);
	site_unset(&t->slurm, id);
	site_unset(&t->pbs, id);
	if (t->step_count == 1 && !t->modifies)
		site_unset(&t->steps[0].own, id);
}

static void site_forget_rivals(struct translation *t, enum option_id id)
{
	site_forget(t, id);
	for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++) {
		const enum option_id *group = rivals[i];
		bool is_among = group[0] == id || group[1] == id || group[2] == id;
		for (int j = 0; is_among && j < 3; j++)
			site_forget(t, group[j]);
	}
}

void translate_site(struct translation *t)
{
	for (int i = 0; i < t->request->change_count; i++) {
		const struct translate_change *change = &t->request->changes[i];
		const struct option_row *row = option_find(change->option, OPTION_ROTA);
		if (!row)
			die("the field \"%s\" of the site's script sets no option", change->field);
		site_forget_rivals(t, row->id);
		if (change->value)
			translate_set_value(t, &t->command, row, change->value, TRANSLATE_LINE_SITE);
	}
}
