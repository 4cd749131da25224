/* programs.c - the file of --multi-prog (programs.h).
 *
 * Called by: `rota run`.
 * Invariants:
 * - Each task has one program. A task of several lines runs the first one.
 * - A program with %t or %o becomes one program for each task, because its words differ. */
#include "bin/rota/steps/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

enum { TASKS_MOST = 65536, WORDS_MOST = 1000 };

/* A line of the file. */
struct program_line {
	char *ranks; /* list of ranks; "*": all tasks that no other line names */
	char **words;
	bool differs; /* a word of the line has %t or %o, so it differs from task to task */
};

/* Cut the next word off a line, without its quotes. Returns NULL at the end of the line, or with an error if a quote is not
 * closed. */
static char *word_take(const char **text, struct err *e)
{
	const char *at = *text + strspn(*text, " \t\r");
	char *word = xmalloc(strlen(at) + 1), quote = '\0';
	size_t size = 0;

	if (!*at || *at == '#') {
		free(word);
		return NULL;
	}
	for (; *at && (quote || !strchr(" \t\r", *at)); at++) {
		if (quote && *at == quote)
			quote = '\0';
		else if (!quote && (*at == '\'' || *at == '"'))
			quote = *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			word[size++] = *++at;
		else
			word[size++] = *at;
	}
	word[size] = '\0';
	*text = at;
	if (!quote)
		return word;
	free(word);
	err_set(e, "a quote is not closed");
	return NULL;
}

/* Read the next range "2" or "2-5" of a list. Returns false at its end, or with an error. */
static bool range_next(const char **text, long *first, long *last, struct err *e)
{
	char *end;

	if (!**text)
		return false;
	*first = *last = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : -1;
	if (*first >= 0 && *end == '-')
		*last = end[1] >= '0' && end[1] <= '9' ? strtol(end + 1, &end, 10) : -1;
	if (*first < 0 || *last < *first || *last >= TASKS_MOST || (*end && *end != ',')) {
		err_set(e, "\"%s\" is no list of tasks such as 0-3,6", *text);
		return false;
	}
	*text = end + (*end == ',');
	return true;
}

static bool line_parse(const char *text, struct program_line *line, struct err *e)
{
	size_t count = 0;
	char *word;

	line->words = xcalloc(WORDS_MOST + 1, sizeof(*line->words));
	line->ranks = word_take(&text, e);
	while (count < WORDS_MOST && (word = word_take(&text, e))) {
		line->words[count++] = word;
		line->differs |= strstr(word, "%t") || strstr(word, "%o");
	}
	if (*e->message)
		return false;
	if (count == WORDS_MOST)
		return err_set(e, "the line has more than %d words", WORDS_MOST);
	return !line->ranks || count || err_set(e, "tasks %s have no program", line->ranks);
}

/* Assign a line to the tasks in its list. owner[task] is the number of the task's line, from 1; 0: none yet. It has TASKS_MOST
 * members. */
static bool line_assign(const struct program_line *line, int number, int *owner, int *highest, struct err *e)
{
	const char *rest = line->ranks;
	long first, last;

	if (!strcmp(rest, "*"))
		return true;
	while (range_next(&rest, &first, &last, e)) {
		for (long t = first; t <= last; t++)
			if (!owner[t])
				owner[t] = number;
		if (last > *highest)
			*highest = (int)last;
	}
	return !*e->message;
}

/* Returns a word with %t and %o replaced. */
static char *word_fill(const char *word, int task, int position)
{
	char *whole = NULL;
	size_t size;
	FILE *out = open_memstream(&whole, &size);

	if (!out)
		die("out of memory");
	for (; *word; word++) {
		if (*word == '%' && (word[1] == 't' || word[1] == 'o'))
			fprintf(out, "%d", *++word == 't' ? task : position);
		else if (*word == '%' && word[1] == '%')
			fputc(*++word, out);
		else
			fputc(*word, out);
	}
	fclose(out);
	return whole;
}

static void programs_add(struct programs *p, char *ranks, char **words)
{
	p->list = xrealloc(p->list, (p->count + 1) * sizeof(*p->list));
	p->list[p->count++] = (struct rota_program){.ranks = ranks, .argv = (const char *const *)words};
}

/* Add the programs of one line of the file: one program, or one for each task. */
static void programs_add_line(struct programs *p, const struct program_line *line, int number, const int *owner)
{
	int position = 0;
	char *ranks = NULL;
	size_t size, count = 0;
	FILE *out = open_memstream(&ranks, &size);

	if (!out)
		die("out of memory");
	while (line->words[count])
		count++;
	for (int t = 0; t < p->ntasks; t++) {
		int last = t;
		char **words;

		if (owner[t] != number)
			continue;
		if (!line->differs) {
			while (last + 1 < p->ntasks && owner[last + 1] == number)
				last++;
			fprintf(out, last > t ? "%s%d-%d" : "%s%d", position++ ? "," : "", t, last);
			t = last;
			continue;
		}
		words = xcalloc(count + 1, sizeof(*words));
		for (size_t i = 0; i < count; i++)
			words[i] = word_fill(line->words[i], t, position);
		programs_add(p, xasprintf("%d", t), words);
		position++;
	}
	fclose(out);
	if (!line->differs && position)
		programs_add(p, ranks, line->words);
	else
		free(ranks);
}

/* Assign the line of "*" to tasks without a line, and check that every task has a line. */
static bool programs_complete(const struct programs *p, int *owner, int others, const char *name, struct err *e)
{
	for (int t = 0; t < p->ntasks; t++) {
		if (!owner[t])
			owner[t] = others;
		if (!owner[t]) {
			err_set(e, "%s: task %d has no program", name, t);
			return err_hint(e, "Add a line for it, or one for \"*\", which is all other tasks.");
		}
	}
	return true;
}

/* Parse all lines and assign tasks to them. Returns the number of the line of "*", 0 if there is none, -1 with an error. */
static int lines_parse(const char *text, const char *name, struct program_line *lines, int *owner, int *highest, struct err *e)
{
	char *copy = xstrdup(text), *rest = copy, *line;
	int others = 0;

	for (int number = 1; (line = strsep(&rest, "\n")); number++) {
		struct err cause = {0};
		struct program_line *l = &lines[number];

		if (!line_parse(line, l, &cause) || (l->ranks && !line_assign(l, number, owner, highest, &cause))) {
			err_set(e, "%s:%d: %s", name, number, cause.message);
			others = -1;
			break;
		}
		if (l->ranks && !strcmp(l->ranks, "*") && !others)
			others = number;
	}
	free(copy);
	return others;
}

bool programs_parse(const char *text, const char *name, int ntasks, struct programs *p, struct err *e)
{
	int *owner = xcalloc(TASKS_MOST, sizeof(*owner)), highest = -1, count = 1, others;
	struct program_line *lines;
	bool good;

	for (const char *c = text; *c; c++)
		count += *c == '\n';
	lines = xcalloc((unsigned long)count + 1, sizeof(*lines));
	others = lines_parse(text, name, lines, owner, &highest, e);
	*p = (struct programs){.ntasks = ntasks ? ntasks : highest + 1};
	if (others > 0 && !ntasks && highest < 0)
		p->ntasks = 1;
	good = others >= 0;
	if (good && !p->ntasks)
		good = err_set(e, "%s has no line with a program", name);
	if (good && p->ntasks > TASKS_MOST)
		good = err_set(e, "%s: there are at most %d tasks", name, TASKS_MOST);
	if (good && highest >= p->ntasks)
		good = err_set(e, "%s names task %d, but there %s %d task%s", name, highest, p->ntasks == 1 ? "is" : "are",
			       p->ntasks, text_plural(p->ntasks));
	good = good && programs_complete(p, owner, others, name, e);
	for (int number = 1; good && number <= count; number++)
		if (lines[number].ranks)
			programs_add_line(p, &lines[number], number, owner);
	free(owner);
	free(lines); /* the programs point to the words of the lines, so only the list is freed */
	return good;
}
