/* pattern.c - expands the patterns of output files.
 *
 * Called by: jobmgrd and `rota`, to show paths; the keeper, to open the files.
 * Invariants:
 * - A value that replaces a letter has no "/", so all folders of the path are in the pattern.
 * - The kernel checks the path when the keeper opens it as the user. */
#include "lib/pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

enum { WIDTH_HIGHEST = 10 };

static char *number(int64_t value, int width)
{
	return xasprintf("%0*" PRId64, width, value);
}

static char *name(const char *value)
{
	char *copy = xstrdup(value);
	for (char *c = copy; *c; c++)
		if (*c == '/')
			*c = '_';
	return copy;
}

/* Returns the malloc'ed value of a %-letter. Returns NULL if the letter has no meaning or its value is not known. */
static char *letter(char c, int width, const struct pattern_facts *f)
{
	switch (c) {
	case 'A':
	case 'j':
		return number(f->job_id, width);
	case 'a':
		return f->array_index < 0 ? NULL : number(f->array_index, width);
	case 'b':
		return f->array_index < 0 ? NULL : number(f->array_index % 10, width);
	case 'J':
		return xasprintf("%" PRId64 ".%d", f->job_id, f->step_id);
	case 'N':
		return f->node ? name(f->node) : NULL;
	case 'n':
		return f->node_index < 0 ? NULL : number(f->node_index, width);
	case 'r':
		return f->attempt < 1 ? NULL : number(f->attempt - 1, width);
	case 'R':
		return f->attempt > 1 && !f->append ? xasprintf(".attempt%d", f->attempt) : xstrdup("");
	case 's':
		return number(f->step_id, width);
	case 'S':
		return name(f->step_name);
	case 't':
		return f->task < 0 ? NULL : number(f->task, width);
	case 'u':
		return name(f->user);
	case 'x':
		return name(f->job_name);
	case '%':
		return xstrdup("%");
	default:
		return NULL;
	}
}

/* Expand the %-letter with its width at `p`, which points to '%'. Returns the text, or NULL if the letter stays as written in the
 * pattern. *next is the position after the letter. */
static char *one(const char *p, const struct pattern_facts *facts, const char **next)
{
	int width = 0;
	p++;
	while (*p >= '0' && *p <= '9' && width <= WIDTH_HIGHEST)
		width = width * 10 + (*p++ - '0');
	*next = *p ? p + 1 : p;
	return letter(*p, width > WIDTH_HIGHEST ? WIDTH_HIGHEST : width, facts);
}

char *pattern_expand(const char *pattern, const struct pattern_facts *facts)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		die("out of memory");
	for (const char *p = pattern, *next; *p; p = next) {
		char *value = NULL;
		next = p + strcspn(p, "%");
		if (next == p)
			value = one(p, facts, &next);
		if (value)
			fputs(value, out);
		else
			fwrite(p, 1, (size_t)(next - p), out);
		free(value);
	}
	if (fclose(out) != 0)
		die("out of memory");
	return text;
}

char *pattern_path(const char *pattern, const struct pattern_facts *facts, const char *workdir)
{
	char *text = pattern_expand(pattern, facts);
	if (*text == '/')
		return text;
	char *path = xasprintf("%s%s%s", workdir, workdir[0] && workdir[strlen(workdir) - 1] == '/' ? "" : "/", text);
	free(text);
	return path;
}

const char *pattern_name(bool plain, bool array)
{
	return array ? "rota-%j.%S.%a%R" : plain ? "rota-%j%R" : "rota-%j.%S%R";
}

char *pattern_output(const char *pattern, const struct pattern_facts *facts, const char *workdir)
{
	bool plain = strcmp(facts->step_name, PATTERN_PLAIN) == 0;
	char *whole = *pattern ? xstrdup(pattern) : xasprintf("%s.out", pattern_name(plain, facts->array));
	char *path = pattern_path(whole, facts, workdir);
	free(whole);
	return path;
}
