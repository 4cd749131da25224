/* translate_set.c - reads options into sets of settings, and finds which of several settings of an option applies to a step.
 *
 * Called by: translate.c, translate_modify.c and translate_read.c, which read options; all later stages, which read settings.
 * Invariants:
 * - The value of a setting was made by option_value(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_pbs.h"
#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"

/* Target of the options of one line: the set of settings that they are read into. */
struct set_target {
	struct translation *t;
	struct translate_set *set;
	enum option_spelling spelling;
	int line;
	bool own;
	char written[64]; /* the option as written, for messages */
};

/* Returns how the option was written if that is not "--" and its name, malloc'ed. */
static char *set_written(const struct set_target *p, const struct option_row *row)
{
	bool plain = strncmp(p->written, "--", 2) == 0 && strcmp(p->written + 2, row->name) == 0;
	return plain ? NULL : xstrdup(p->written);
}

static void set_put(struct set_target *p, const struct option_row *row, const char *text, bool total)
{
	bool once = p->own || row->kind == OPTION_AFTER || row->kind == OPTION_PEERS;
	struct err e;
	if (row->kind == OPTION_IGNORED) {
		translate_warn(p->t, p->line, p->written, "ignored", strchr(row->help, ':'));
		return;
	}
	struct translate_setting *setting = &p->set->of[row->id];
	if (p->own && row->level == OPTION_JOB) {
		translate_refuse(p->t, p->line, p->written, "the option is for the whole job, not for one step");
		translate_hint(p->t, "give it on a #ROTA line before the first step");
		return;
	}
	if (setting->value && once) {
		translate_refuse(p->t, p->line, p->written, "the option is given twice");
		translate_hint(p->t, "remove one of the two");
		return;
	}
	json_t *value = option_value(row, text, &p->t->context, &e);
	if (!value) {
		translate_problem(p->t, p->line, p->written, &e);
		return;
	}
	translate_setting_clear(setting);
	*setting = (struct translate_setting){value, p->line, total, set_written(p, row)};
}

/* Set standard error to go with the output (#PBS -j oe), whatever other #PBS lines say. */
static void set_join_errors(struct set_target *p)
{
	struct translate_setting *setting = &p->set->of[OPTION_ID_ERROR];
	translate_setting_clear(setting);
	*setting = (struct translate_setting){.value = json_null(), .line = p->line};
}

/* Set an option of Rota from a #PBS option. If its value is a list, the lists of several lines are joined. */
static void set_put_pbs(void *to, const struct option_row *row, const char *text, bool total)
{
	enum { LONGEST = 4096 }; /* longest joined list in bytes: each addition reads the whole list again */
	struct set_target *p = to;
	const json_t *before = row->kind != OPTION_IGNORED ? p->set->of[row->id].value : NULL;
	char separator = row->kind == OPTION_EXPORT ? ',' : row->kind == OPTION_FEATURES ? '&' : '\0';
	if (row->id == OPTION_ID_ERROR && (!*text || json_is_null(before))) {
		set_join_errors(p);
	} else if (!before || !separator) {
		set_put(p, row, text, total);
	} else if (json_string_length(before) > LONGEST) {
		translate_refuse(p->t, p->line, p->written, "the list, joined from all #PBS lines, has more than %d bytes",
				 LONGEST);
	} else {
		char *joined = xasprintf("%s%c%s", json_string_value(before), separator, text);
		set_put(p, row, joined, total);
		free(joined);
	}
}

static void set_refuse_unknown(struct set_target *p, const char *name)
{
	const char *nearest = NULL;
	if (translate_refuse(p->t, p->line, p->written, "unknown option"))
		nearest = option_nearest(name, p->spelling);
	if (option_advice(name))
		translate_hint(p->t, "%s", option_advice(name));
	else if (nearest)
		translate_hint(p->t, "did you mean \"--%s\"?", nearest);
	else
		translate_hint(p->t, "\"rota submit --help\" lists the options");
}

static bool set_is_option(const char *word)
{
	return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9');
}

/* Set an option with its value, which is attached to the option or is the next word. Returns the number of words taken. */
static int set_put_valued(struct set_target *p, const struct option_row *row, const char *attached, const char *const *words,
			  int count)
{
	if (attached || !option_takes_value(row)) {
		set_put(p, row, attached ? attached : row->kind == OPTION_FLAG ? "yes" : "", false);
		return 1;
	}
	if (count > 1 && !set_is_option(words[1])) {
		set_put(p, row, words[1], false);
		return 2;
	}
	translate_refuse(p->t, p->line, p->written, "the option needs a value");
	translate_hint(p->t, "write --%s=%s", row->name, row->argument);
	return 1;
}

static int set_read_long(struct set_target *p, const char *const *words, int count)
{
	const char *equals = strchr(words[0], '=');
	char *name = equals ? xstrndup(words[0] + 2, (size_t)(equals - words[0] - 2)) : xstrdup(words[0] + 2);
	int taken = 1;
	snprintf(p->written, sizeof p->written, "--%s", OPTION_QUOTE(name));
	const struct option_row *row = option_find(name, p->spelling);
	const struct option_row *undone = strncmp(name, "no-", 3) == 0 ? option_find(name + 3, p->spelling) : NULL;
	if (row)
		taken = set_put_valued(p, row, equals ? equals + 1 : NULL, words, count);
	else if (undone && undone->kind == OPTION_FLAG && !equals)
		set_put(p, undone, "no", false);
	else if (undone && undone->kind == OPTION_FLAG)
		translate_refuse(p->t, p->line, p->written, "the option takes no value");
	else
		set_refuse_unknown(p, name);
	free(name);
	return taken;
}

static int set_read_short(struct set_target *p, const char *const *words, int count)
{
	const struct option_row *row = option_find_letter(words[0][1], p->spelling);
	const char *attached = words[0][2] ? words[0] + 2 : NULL;
	snprintf(p->written, sizeof p->written, "-%s", option_text_quote((char[8]){0}, 8, words[0] + 1, 1));
	if (!row) {
		translate_refuse(p->t, p->line, p->written, "unknown option");
		return 1;
	}
	if (*row->argument)
		return set_put_valued(p, row, attached, words, count);
	if (attached)
		translate_refuse(p->t, p->line, p->written, "the option takes no value, but \"%s\" was given",
				 OPTION_QUOTE(attached));
	else
		set_put(p, row, "yes", false);
	return 1;
}

/* Set one #PBS option, given by letter and value. Messages about -l and -W name the resource or attribute, too. */
static void set_put_pbs_letter(struct set_target *p, char letter, const char *value)
{
	struct option_pbs pbs = {set_put_pbs, p, p->t->context.now};
	struct err e;
	snprintf(p->written, sizeof p->written, "-%s", option_text_quote((char[8]){0}, 8, &letter, 1));
	if (letter == 'l' || letter == 'W') {
		char name[48];
		snprintf(p->written, sizeof p->written, "-%c %s", letter,
			 option_text_quote(name, sizeof name, value, strcspn(value, "=")));
	}
	if (!option_pbs_read(&pbs, letter, value, &e))
		translate_problem(p->t, p->line, p->written, &e);
}

static int set_read_pbs(struct set_target *p, const char *const *words, int count)
{
	char letter = words[0][1], *resource;
	const char *value = words[0] + 2;
	int taken = 1;
	bool needs = option_pbs_takes_value(letter);
	if (needs && !*value && count > 1)
		value = words[taken++];
	snprintf(p->written, sizeof p->written, "-%s", option_text_quote((char[8]){0}, 8, &letter, 1));
	if (letter == '-')
		translate_refuse(p->t, p->line, p->written, "PBS has no long options; write it on a #ROTA line");
	else if (needs && !*value)
		translate_refuse(p->t, p->line, p->written, "the option needs a value");
	else if (!needs && *value)
		translate_refuse(p->t, p->line, p->written, "the option takes no value");
	else if (letter != 'l')
		set_put_pbs_letter(p, letter, value);
	else
		while (!translate_has_enough_problems(p->t) && (resource = option_item(&value, ','))) {
			set_put_pbs_letter(p, letter, resource);
			free(resource);
		}
	return taken;
}

void translate_set_read(struct translation *t, struct translate_set *set, enum option_spelling spelling, const char *const *words,
			int count, int line, bool own)
{
	struct set_target p = {.t = t, .set = set, .spelling = spelling, .line = line, .own = own};
	for (int i = 0; i < count && !translate_has_enough_problems(t);) {
		if (words[i][0] != '-' || !words[i][1]) {
			translate_refuse(t, line, "", "\"%s\" is not an option; options begin with \"-\"",
					 OPTION_QUOTE(words[i]));
			i++;
		} else if (spelling == OPTION_PBS) {
			i += set_read_pbs(&p, words + i, count - i);
		} else if (words[i][1] == '-') {
			i += set_read_long(&p, words + i, count - i);
		} else {
			i += set_read_short(&p, words + i, count - i);
		}
	}
}

void translate_set_value(struct translation *t, struct translate_set *set, const struct option_row *row, const char *text,
			 int line)
{
	struct set_target p = {.t = t, .set = set, .spelling = OPTION_ROTA, .line = line};
	snprintf(p.written, sizeof p.written, "--%s", row->name);
	set_put(&p, row, text, false);
}

void translate_setting_clear(struct translate_setting *setting)
{
	json_decref(setting->value);
	free(setting->written);
	*setting = (struct translate_setting){0};
}

void translate_set_clear(struct translate_set *set)
{
	for (int i = 0; i < OPTION_SETTINGS; i++)
		translate_setting_clear(&set->of[i]);
}

const struct translate_setting *translate_find_setting(const struct translation *t, const struct translate_step *s,
						       enum option_id id, int *rank)
{
	const struct translate_set *sets[] = {&s->own, &t->command, &t->rota, &t->slurm, &t->pbs};
	if (t->step_count < 2 || (t->step_count - t->generated < 2 && s == t->steps)) {
		sets[0] = &t->command;
		sets[1] = &s->own;
	}
	for (int i = 0; i < 5; i++)
		if (sets[i]->of[id].value) {
			if (rank)
				*rank = i;
			return &sets[i]->of[id];
		}
	return NULL;
}

json_t *translate_value(const struct translation *t, const struct translate_step *s, enum option_id id)
{
	const struct translate_setting *setting = translate_find_setting(t, s, id, NULL);
	return setting && !json_is_null(setting->value) ? setting->value : NULL;
}

int64_t translate_number(const struct translation *t, const struct translate_step *s, enum option_id id, int64_t otherwise)
{
	const json_t *value = translate_value(t, s, id);
	return value ? json_integer_value(value) : otherwise;
}

int translate_find_line(const struct translation *t, const struct translate_step *s, enum option_id id)
{
	const struct translate_setting *setting = translate_find_setting(t, s, id, NULL);
	return setting ? setting->line : s->line;
}

int translate_choose_rival(struct translation *t, const struct translate_step *s, enum option_id a, enum option_id b)
{
	int rank_a = 0, rank_b = 0;
	const struct translate_setting *of_a = translate_find_setting(t, s, a, &rank_a),
				       *of_b = translate_find_setting(t, s, b, &rank_b);
	if (!of_a || !of_b)
		return of_a ? (int)a : of_b ? (int)b : -1;
	if (rank_a == rank_b) {
		char option[64];
		snprintf(option, sizeof option, "--%s", option_row(b)->name);
		translate_refuse(t, of_b->line, option, "the option contradicts --%s", option_row(a)->name);
		translate_hint(t, "give one of the two");
	}
	return rank_a <= rank_b ? (int)a : (int)b;
}

/* Was --strict given for the job? */
static bool is_strict(const struct translation *t)
{
	const struct translate_step nobody = {0};
	return json_is_true(translate_value(t, &nobody, OPTION_ID_STRICT));
}

void translate_strict(struct translation *t)
{
	if (t->modifies || is_strict(t))
		translate_refuse_warnings(t);
}
