/* script_cut.c - cuts a job's script down to one step.
 *
 * Called by: keeper_file.c; `rota run --file`.
 * Invariants: line n of the cut script is line n of the job's script, or empty. */
#include "lib/script_cut.h"

#include <stdbool.h>
#include <string.h>

#include "lib/err.h"

static bool is_kept(int line, const char *text, size_t length, const struct order_spec *spec)
{
	if (line == 1 && length >= 2 && text[0] == '#' && text[1] == '!')
		return true;
	if (spec->from == 0 && spec->pre_from == 0)
		return true;
	return (line >= spec->pre_from && line <= spec->pre_to) || (line >= spec->from && line <= spec->to);
}

char *script_cut(const char *script, size_t size, const struct order_spec *spec, size_t *length)
{
	char *cut = xmalloc(size + 1), *end = cut;
	int line = 1;
	for (size_t at = 0; at < size; line++) {
		const char *newline = memchr(script + at, '\n', size - at);
		size_t next = newline ? (size_t)(newline - script) + 1 : size;
		bool kept = is_kept(line, script + at, next - at, spec);
		if (kept)
			end = mempcpy(end, script + at, next - at);
		else if (newline)
			*end++ = '\n';
		at = next;
	}
	*end = '\0';
	*length = (size_t)(end - cut);
	return cut;
}
