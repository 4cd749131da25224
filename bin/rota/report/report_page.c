/* report_page.c - writes a report or a plan as one HTML file: the numbers as JSON, the style, and the scripts that draw charts
 * (bin/rota/report/page).
 *
 * Called by: `rota report`, `rota plan`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/embed.h"
#include "bin/rota/report/report.h"
#include "lib/err.h"

static const char *part(const char *name)
{
	for (const struct embed *e = EMBED_PAGE; e->name; e++)
		if (!strcmp(e->name, name))
			return e->text;
	return "";
}

/* Callback of the JSON writer: writes JSON into a <script> element. "<" is escaped, so no job name can end the element. */
static int data_write(const char *bytes, size_t size, void *arg)
{
	FILE *to = arg;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '<')
			fputs("\\u003c", to);
		else
			putc(bytes[i], to);
	}
	return 0;
}

static void text_write(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", to);
		else if (*text == '&')
			fputs("&amp;", to);
		else
			putc(*text, to);
	}
}

static void page_write(FILE *to, const json_t *answer)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
	      to);
	text_write(to, format_text(answer, "title"));
	fprintf(to, "</title>\n<!-- uPlot:\n%s-->\n<style>\n%s\n%s</style>\n</head>\n<body>\n<main id=\"page\"></main>\n",
		part("uplot/LICENSE"), part("uplot/uPlot.min.css"), part("page.css"));
	fputs("<script type=\"application/json\" id=\"data\">", to);
	json_dump_callback(answer, data_write, to, JSON_COMPACT);
	fprintf(to, "</script>\n<script>\n%s\n</script>\n<script>\n%s</script>\n<script>\n%s</script>\n</body>\n</html>\n",
		part("uplot/uPlot.iife.min.js"), part("plan.js"), part("page.js"));
}

bool report_page(const char *path, const json_t *answer)
{
	FILE *to = strcmp(path, "-") ? fopen(path, "we") : stdout;
	struct err e = {0};

	if (to)
		page_write(to, answer);
	if (to == stdout)
		return true;
	if (to && !ferror(to) && !fclose(to))
		return true;
	err_set(&e, "could not write \"%s\": %s", path, strerror(errno));
	call_error(&e);
	return false;
}
