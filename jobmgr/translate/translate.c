/* translate.c - the translator's own frame: a translation under way, its problems, and the stages in their order.
 *
 * Called by the gate for each submission and by `rota check`. What always holds: there is a plan or there are problems, never
 * both. */
#include "jobmgr/translate/translate.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_text.h"
#include "jobmgr/translate/translate_parts.h"

enum { ITEMS_MOST = 100000, HOPELESS = 1000, FOLDER_LONGEST = 2048, KEY_LONGEST = 128, RETRY_KEY = 32, NAME_LONGEST = 1024 };

void translation_init(struct translation *t, const struct translate_request *request, const struct translate_limits *limits,
		      struct translate_problems *problems)
{
	memset(t, 0, sizeof *t);
	t->request = request;
	t->limits = limits;
	t->problems = problems;
	t->latest = -1;
	t->context = (struct option_context){request->now, limits->array, ITEMS_MOST};
}

void translation_clear(struct translation *t)
{
	struct translate_set *sets[] = {&t->command, &t->rota, &t->slurm, &t->pbs};
	for (int i = 0; i < 4; i++)
		translate_set_clear(sets[i]);
	for (int i = 0; i < t->step_count; i++)
		translate_set_clear(&t->steps[i].own);
	for (int i = 0; i < t->edge_count; i++)
		free(t->edges[i].peer_name);
	free(t->steps);
	free(t->edges);
}

struct translate_step *translation_add_step(struct translation *t, const char *name, int line)
{
	if (t->step_count == t->step_room) {
		t->step_room = t->step_room ? 2 * t->step_room : 8;
		t->steps = xrealloc(t->steps, (size_t)t->step_room * sizeof *t->steps);
	}
	struct translate_step *s = &t->steps[t->step_count++];
	memset(s, 0, sizeof *s);
	snprintf(s->name, sizeof s->name, "%s", name);
	s->line = line;
	s->last_line = line;
	s->with = s->same = t->step_count - 1;
	s->next_with = -1;
	return s;
}

static bool is_known(const struct translate_problems *p, const struct translate_problem *problem)
{
	for (int i = 0; i < p->count; i++)
		if (p->list[i].line == problem->line && strcmp(p->list[i].option, problem->option) == 0 &&
		    strcmp(p->list[i].message, problem->message) == 0)
			return true;
	return false;
}

/* Keep a problem, unless it is there already: what a header line gets wrong, it gets wrong for each step. */
static bool keep(struct translation *t, const struct translate_problem *problem)
{
	struct translate_problems *p = t->problems;
	t->refused++;
	t->latest = -1;
	if (is_known(p, problem))
		return false;
	if (p->count == TRANSLATE_PROBLEMS_MOST) {
		p->more++;
		return false;
	}
	if (!p->list)
		p->list = xcalloc(TRANSLATE_PROBLEMS_MOST, sizeof *p->list);
	t->latest = p->count;
	p->list[p->count++] = *problem;
	return true;
}

bool translate_problem(struct translation *t, int line, const char *option, const struct err *e)
{
	struct translate_problem problem = {.line = line};
	snprintf(problem.option, sizeof problem.option, "%s", option);
	snprintf(problem.message, sizeof problem.message, "%s", e->message);
	snprintf(problem.hint, sizeof problem.hint, "%s", e->hint);
	return keep(t, &problem);
}

bool translate_refuse(struct translation *t, int line, const char *option, const char *format, ...)
{
	struct translate_problem problem = {.line = line};
	va_list args;
	snprintf(problem.option, sizeof problem.option, "%s", option);
	va_start(args, format);
	vsnprintf(problem.message, sizeof problem.message, format, args);
	va_end(args);
	return keep(t, &problem);
}

bool translate_hopeless(const struct translation *t)
{
	return t->refused >= HOPELESS;
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

/* By line, those of one line in the order in which they were found. */
static void sort_problems(struct translate_problems *p)
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

static bool is_line(const char *text, size_t longest)
{
	return strlen(text) <= longest && option_text_clean(text, false);
}

static bool is_folder(const char *text)
{
	return *text == '/' && is_line(text, FOLDER_LONGEST);
}

/* What comes with the script but from no option; the client said it, so it is believed no more than the script. */
static void check_request(struct translation *t)
{
	const struct translate_request *q = t->request;
	const char *rlimits = q->rlimits ? q->rlimits : "";
	size_t plain = strspn(rlimits, "abcdefghijklmnopqrstuvwxyz0123456789_=,");
	if (!*q->script_name || !is_line(q->script_name, NAME_LONGEST))
		translate_refuse(t, 0, "", "the name of the script is not a line of UTF-8 text");
	if (!is_folder(q->workdir))
		translate_refuse(t, 0, "", "the working directory \"%s\" is not an absolute path", OPTION_QUOTE(q->workdir));
	if (q->home && !is_folder(q->home))
		translate_refuse(t, 0, "", "the home directory \"%s\" is not an absolute path", OPTION_QUOTE(q->home));
	if (q->umask < 0 || q->umask > 0777)
		translate_refuse(t, 0, "", "the umask is not between 0 and 0777");
	if (plain > NAME_LONGEST || rlimits[plain])
		translate_refuse(t, 0, "", "the resource limits are not name=number pairs");
	if (q->client_key && (!*q->client_key || !is_line(q->client_key, KEY_LONGEST)))
		translate_refuse(t, 0, "", "the client's key is not a line of 1 to %d bytes", KEY_LONGEST);
	if (q->retry_key && (strlen(q->retry_key) != RETRY_KEY || strspn(q->retry_key, "0123456789abcdefABCDEF") != RETRY_KEY))
		translate_refuse(t, 0, "", "the key for retries is not %d hexadecimal digits", RETRY_KEY);
	else if (q->retry_key && q->client_key)
		translate_refuse(t, 0, "", "one of the client's key and the key for retries is enough");
}

json_t *translate_script(const struct translate_request *request, const struct translate_limits *limits,
			 struct translate_problems *problems)
{
	struct translation t;
	json_t *plan = NULL;
	translation_init(&t, request, limits, problems);
	check_request(&t);
	translate_set_read(&t, &t.command, OPTION_ROTA, request->options, request->option_count, 0, false);
	translate_read(&t);
	translate_peers(&t);
	translate_graph(&t);
	if (problems->count == 0)
		translate_sizes(&t);
	if (problems->count == 0)
		translate_fit(&t);
	if (problems->count == 0)
		plan = translate_plan(&t);
	translation_clear(&t);
	sort_problems(problems);
	return plan;
}
