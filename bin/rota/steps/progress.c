/* progress.c - the progress bar of `rota run --each` (progress.h).
 *
 * Called by: run_each.c. */
#include "bin/rota/steps/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/rota/print/format.h"
#include "lib/clock.h"

enum { BAR = 24, DRAW_EVERY_MS = 200 };

void progress_begin(struct progress *p)
{
	p->shown = isatty(STDERR_FILENO);
	p->began_ms = clock_ms();
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}

static void bar_print(const struct progress *p, long done, bool coloured)
{
	char bar[BAR + 1];
	long full = done >= p->total ? BAR : done * BAR / p->total;

	memset(bar, '.', BAR);
	memset(bar, '#', (size_t)full);
	bar[BAR] = '\0';
	fprintf(stderr, "[%s%s%s] %ld/%ld", coloured ? "\033[32m" : "", bar, coloured ? "\033[0m" : "", done, p->total);
}

void progress_draw(struct progress *p, bool now)
{
	int64_t at = clock_ms();
	long done = p->ended + p->earlier;
	const char *none = getenv("NO_COLOR");
	bool coloured = !none || !*none;

	if (!p->shown || (!now && at - p->drawn_ms < DRAW_EVERY_MS))
		return;
	progress_clear(p);
	if (p->total)
		bar_print(p, done, coloured);
	else
		fprintf(stderr, "%ld ended", done);
	fprintf(stderr, ", %ld running", p->running);
	if (p->failed)
		fprintf(stderr, ", %s%ld failed%s", coloured ? "\033[31m" : "", p->failed, coloured ? "\033[0m" : "");
	if (p->total && p->ended && done < p->total)
		fprintf(stderr, ", %s left",
			format_duration((double)(at - p->began_ms) / 1000 / (double)p->ended * (double)(p->total - done)).s);
	p->drawn = true;
	p->drawn_ms = at;
}
