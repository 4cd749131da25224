/* translate_problem.c - the problems of a script: collected by the stages, reported in the order of lines.
 *
 * Called by: all of translate*.c; gate_translate.c and `rota check`, which report them.
 * Invariants:
 * - A problem is listed once, however many steps have it. Beyond TRANSLATE_PROBLEMS_MOST, problems are only counted. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/translate_parts.h"

enum { PROBLEMS_ENOUGH = 1000 };

static bool problem_is_known(const struct translate_problems *p, const struct translate_problem *problem)
{
	for (int i = 0; i < p->count; i++)
		if (p->list[i].line == problem->line && strcmp(p->list[i].option, problem->option) == 0 &&
		    strcmp(p->list[i].message, problem->message) == 0)
			return true;
	return false;
}

/* Append a problem to a list, unless the list has it: a line before the first step has the same problem for each step. Returns
 * true if the problem was appended. */
static bool problem_append(struct translate_problems *p, const struct translate_problem *problem)
{
	if (problem_is_known(p, problem))
		return false;
	if (p->count == TRANSLATE_PROBLEMS_MOST) {
		p->more++;
		return false;
	}
	if (!p->list)
		p->list = xcalloc(TRANSLATE_PROBLEMS_MOST, sizeof *p->list);
	p->list[p->count++] = *problem;
	return true;
}

/* Returns the field by which the site's script has set an option, written as "--name", or NULL. */
static const char *problem_find_field(const struct translation *t, const char *option)
{
	for (int i = 0; i < t->request->change_count; i++)
		if (strncmp(option, "--", 2) == 0 && strcmp(option + 2, t->request->changes[i].option) == 0)
			return t->request->changes[i].field;
	return NULL;
}

/* If the site's script has set the option of a problem (line TRANSLATE_LINE_SITE), name the field of that script in the
 * message. */
static void problem_name_field(const struct translation *t, struct translate_problem *problem)
{
	const char *field = problem->line == TRANSLATE_LINE_SITE ? problem_find_field(t, problem->option) : NULL;
	char message[sizeof problem->message];
	if (problem->line == TRANSLATE_LINE_SITE)
		problem->line = 0;
	if (!field)
		return;
	snprintf(message, sizeof message, "set by the site's script (%.64s): %.400s", field, problem->message);
	memcpy(problem->message, message, sizeof message);
}

static bool problem_keep(struct translation *t, struct translate_problem *problem)
{
	problem_name_field(t, problem);
	bool is_new = problem_append(t->problems, problem);
	t->refused++;
	t->latest = is_new ? t->problems->count - 1 : -1;
	return is_new;
}

bool translate_problem(struct translation *t, int line, const char *option, const struct err *e)
{
	struct translate_problem problem = {.line = line};
	snprintf(problem.option, sizeof problem.option, "%s", translate_written(t, line, option));
	snprintf(problem.message, sizeof problem.message, "%s", e->message);
	snprintf(problem.hint, sizeof problem.hint, "%s", e->hint);
	return problem_keep(t, &problem);
}

bool translate_refuse(struct translation *t, int line, const char *option, const char *format, ...)
{
	struct translate_problem problem = {.line = line};
	va_list args;
	snprintf(problem.option, sizeof problem.option, "%s", translate_written(t, line, option));
	va_start(args, format);
	vsnprintf(problem.message, sizeof problem.message, format, args);
	va_end(args);
	return problem_keep(t, &problem);
}

void translate_warn(struct translation *t, int line, const char *option, const char *what, const char *why)
{
	struct translate_problem warning = {.line = line};
	snprintf(warning.option, sizeof warning.option, "%s", translate_written(t, line, option));
	snprintf(warning.message, sizeof warning.message, "%s%s", what, why ? why : "");
	problem_name_field(t, &warning);
	/* An option of the preamble applies to several steps, but is warned of once. */
	for (int i = 0; i < t->warnings.count; i++)
		if (t->warnings.list[i].line == line && strcmp(t->warnings.list[i].option, warning.option) == 0 &&
		    strcmp(t->warnings.list[i].message, warning.message) == 0)
			return;
	problem_append(&t->warnings, &warning);
}

void translate_refuse_warnings(struct translation *t)
{
	for (int i = 0; i < t->warnings.count; i++)
		if (problem_keep(t, &t->warnings.list[i]) && !t->modifies)
			translate_hint(t, "--strict turns this warning into an error; remove the option, or --strict");
}

bool translate_has_enough_problems(const struct translation *t)
{
	return t->refused >= PROBLEMS_ENOUGH;
}

void translate_hint(struct translation *t, const char *format, ...)
{
	va_list args;
	if (t->latest < 0)
		return;
	struct translate_problem *problem = &t->problems->list[t->latest];
	va_start(args, format);
	vsnprintf(problem->hint, sizeof problem->hint, format, args);
	va_end(args);
}

void translate_problems_sort(struct translate_problems *p)
{
	for (int i = 1; i < p->count; i++) {
		struct translate_problem problem = p->list[i];
		int j = i;
		for (; j > 0 && p->list[j - 1].line > problem.line; j--)
			p->list[j] = p->list[j - 1];
		p->list[j] = problem;
	}
}

void translate_problems_free(struct translate_problems *problems)
{
	free(problems->list);
	memset(problems, 0, sizeof *problems);
}

/* Set an error to the text of a problem, such as "heat.sh:12: --tme: unknown option". For a problem of the command line the
 * text has no file, unless the job has a label. */
static void problem_write_error(const char *file, const char *label, const struct translate_problem *problem, struct err *e)
{
	char where[300] = "";
	if (problem->line > 0)
		snprintf(where, sizeof where, "%.200s:%d: ", label ? label : file, problem->line);
	else if (label)
		snprintf(where, sizeof where, "%.200s: ", label);
	err_set(e, "%s%s%s%s", where, problem->option, *problem->option ? ": " : "", problem->message);
	if (*problem->hint)
		err_hint(e, "%s", problem->hint);
}

static json_t *problem_make_json(const char *file, const char *label, const struct translate_problem *problem)
{
	bool of_script = problem->line > 0 || !problem->option[0];
	return json_pack("{s:s?, s:i, s:s, s:s, s:s?}", "file",
			 label	     ? label
			 : of_script ? file
				     : NULL,
			 "line", problem->line, "option", problem->option, "message", problem->message, "hint",
			 *problem->hint ? problem->hint : NULL);
}

json_t *translate_warnings_json(struct translation *t)
{
	json_t *list = json_array();
	translate_problems_sort(&t->warnings);
	for (int i = 0; i < t->warnings.count; i++) {
		json_t *warning = problem_make_json(t->request->script_name, NULL, &t->warnings.list[i]);
		if (warning) /* problem_make_json() returns NULL if the option of the warning is not UTF-8 */
			json_array_append_new(list, warning);
	}
	return list;
}

json_t *translate_problems_refusal(const struct translate_problems *problems, const char *file, const char *label, struct err *e)
{
	json_t *list = json_array();
	for (int i = 0; i < problems->count; i++) {
		json_t *problem = problem_make_json(file, label, &problems->list[i]);
		/* problem_make_json() returns NULL if the problem is not UTF-8; the first problem is in the error, too */
		if (problem)
			json_array_append_new(list, problem);
	}
	if (problems->count > 0)
		problem_write_error(file, label, &problems->list[0], e);
	else
		err_set(e, "the request was refused");
	snprintf(e->code, sizeof e->code, "RT422");
	if (problems->more > 0) {
		char more[64];
		snprintf(more, sizeof more, "%d more problem%s not listed", problems->more,
			 problems->more == 1 ? " is" : "s are");
		json_array_append_new(
			list, json_pack("{s:n, s:i, s:s, s:s, s:n}", "file", "line", 0, "option", "", "message", more, "hint"));
	}
	return list;
}
