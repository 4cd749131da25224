/* translate_staging.c - finds directives for the site's burst_buffer.lua: lines "#BB_LUA ..." at the head of the script, and in
 * --bb.
 *
 * Called by: translate.c, after the sizes of steps are known; translate_plan.c.
 * Invariants:
 * - The head of a script ends before the first line that is neither empty nor begins with "#". A line of blanks ends it, too.
 * - The name of a directive is a prefix: "#BB_LUATIC" counts, as for Slurm. A "\" at the end of a directive joins the next
 *   one. */
#include <stdlib.h>
#include <string.h>

#include "jobmgr/translate/option_item.h"
#include "jobmgr/translate/translate_parts.h"

enum { DIRECTIVES_LONGEST = 65536 };

/* The directives found so far: one a line, continued lines joined. */
struct directives {
	struct translation *t;
	char *text;
	size_t length;
	bool joined; /* the last line ended with a backslash */
	int line;    /* line of the first directive in the script; 0: it is on the command line */
	int *lines;  /* line of each directive, by its index; 0: it is on the command line */
	int count;
};

/* Is this line a directive for burst_buffer.lua? */
static bool directives_has(const struct directives *d, const char *line, size_t size)
{
	const char *name = d->t->request->directive;
	size_t length = strlen(name);
	return size > length && line[0] == '#' && memcmp(line + 1, name, length) == 0;
}

static void directives_add(struct directives *d, const char *line, size_t size, int number)
{
	size_t skip = d->joined ? strlen(d->t->request->directive) + 1 : 0;
	if (d->length == 0)
		d->line = number;
	else if (d->joined)
		d->length--; /* the backslash */
	else
		d->text[d->length++] = '\n';
	if (!d->joined) {
		d->lines = xrealloc(d->lines, (size_t)(d->count + 1) * sizeof *d->lines);
		d->lines[d->count++] = number;
	}
	d->joined = size > skip && line[size - 1] == '\\';
	memcpy(d->text + d->length, line + skip, size - skip);
	d->length += size - skip;
}

/* Add the directives of a text. `head`: the text is a script, of which only the head is read; returns 0. Else it is the value
 * of --bb; returns the number of lines that are neither empty nor a directive. */
static int directives_read(struct directives *d, const char *text, size_t size, bool head)
{
	const char *end = text + size;
	int others = 0;
	for (int number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);
		if (head && length > 0 && text[0] != '#')
			break;
		if (directives_has(d, text, length))
			directives_add(d, text, length, head ? number : 0);
		else {
			d->joined = false;
			others += length > 0;
		}
		text = newline ? newline + 1 : end;
	}
	d->joined = false;
	return head ? 0 : others;
}

/* Read from each directive which space of a pool it requests. */
static void directives_pools(const struct directives *d)
{
	const char *text = d->text;
	for (int i = 0; i < d->count; i++) {
		size_t size = strcspn(text, "\n");
		char *directive = xasprintf("%.*s", (int)size, text);
		translate_pool(d->t, directive, d->lines[i]);
		free(directive);
		text += size + (text[size] != '\0');
	}
}

/* Does a text have the symbol of an element of an array, %a, or of its job, %A? */
static bool directives_name_elements(const char *text)
{
	for (; (text = strchr(text, '%')) && text[1]; text += 2)
		if (text[1] == 'a' || text[1] == 'A')
			return true;
	return false;
}

static void directives_check(const struct directives *d)
{
	struct translation *t = d->t;
	if (d->length > DIRECTIVES_LONGEST)
		translate_refuse(t, d->line, "", "the directives #%s have %zu bytes; at most %d are allowed",
				 t->request->directive, d->length, DIRECTIVES_LONGEST);
	else
		directives_pools(d);
	/* only in a job of one step, data is staged for each element of an array */
	for (int i = 0; i < t->step_count && t->step_count > 1 && directives_name_elements(d->text); i++) {
		if (t->steps[i].elements == 0)
			continue;
		translate_refuse(t, translate_find_line(t, &t->steps[i], OPTION_ID_ARRAY), "--array",
				 "a job of several steps is staged once, so %%a and %%A in #%s have no value",
				 t->request->directive);
		translate_hint(t, "write %%j for the job, or submit the array as a job of its own");
		return;
	}
}

void translate_staging(struct translation *t)
{
	const struct translate_request *q = t->request;
	const struct translate_step nobody = {0};
	const char *given = json_string_value(translate_value(t, &nobody, OPTION_ID_BB));
	struct directives d = {.t = t};
	if (!q->directive)
		return;
	if (given && !*q->directive) {
		translate_refuse(t, translate_find_line(t, &nobody, OPTION_ID_BB), "--bb",
				 "this instance has no burst_buffer.lua");
		translate_hint(t, "hooks.burst_buffer in rota.conf of jobmgrd names it");
	}
	if (!*q->directive)
		return;
	d.text = xmalloc((given ? strlen(given) : 0) + q->size + 2);
	if (given && directives_read(&d, given, strlen(given), false) > 0)
		translate_warn(t, translate_find_line(t, &nobody, OPTION_ID_BB), "--bb",
			       "has no effect where it is no directive: ",
			       "each of its lines begins with # and the name of the directive");
	if (given && d.length > 0)
		t->staging_inserted = given;
	directives_read(&d, q->script, q->size, true);
	d.text[d.length] = '\0';
	if (d.length > 0) {
		directives_check(&d);
		t->staging = d.text;
	} else
		free(d.text);
	free(d.lines);
}

void translate_staging_json(const struct translation *t, json_t *job)
{
	json_t *staging = t->staging ? json_object() : NULL;
	if (!staging)
		return;
	option_put(staging, "directives", json_string(t->staging));
	if (t->staging_inserted)
		option_put(staging, "inserted", json_string(t->staging_inserted));
	if (t->pool.name) {
		option_put(staging, "pool", json_string(t->pool.name));
		option_put(staging, "capacity", json_integer(t->pool.capacity));
		option_put(staging, "line", json_integer(t->pool.line));
	}
	option_put(job, "staging", staging);
}
