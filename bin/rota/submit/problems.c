/* problems.c - prints the problems of a script (problems.h).
 *
 * Called by: `rota check`; `rota run --file`. */
#include "bin/rota/submit/problems.h"

#include <stdio.h>

#include "lib/text.h"

static void problem_print(const char *verb, const char *file, const struct translate_problem *problem)
{
	if (problem->line > 0)
		fprintf(stderr, "%s:%d: ", file, problem->line);
	else
		fprintf(stderr, "%s%s: ", problem->option[0] ? "rota " : "", problem->option[0] ? verb : file);
	fprintf(stderr, "%s%s%s\n", problem->option, problem->option[0] ? ": " : "", problem->message);
	if (problem->hint[0])
		fprintf(stderr, "hint: %s\n", problem->hint);
}

void problems_print(const char *verb, const char *file, const struct translate_problems *problems)
{
	for (int i = 0; i < problems->count; i++)
		problem_print(verb, file, &problems->list[i]);
	if (problems->more > 0)
		fprintf(stderr, "%s: and %d more problem%s\n", file, problems->more, text_plural(problems->more));
}
