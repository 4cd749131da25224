/* report.c - `rota report`: usage, efficiency, waiting times, failures and invoices, which the database function api.report sums up from
 * accounting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct/csv.h"
#include "bin/rota/call/call.h"
#include "bin/rota/report/report.h"
#include "bin/rota/line/verb.h"
#include "bin/rota/line/words.h"

enum { REPORT_ME = 256, REPORT_ONLY, REPORT_MONTH, REPORT_BY, REPORT_PERIOD, REPORT_LIMIT, REPORT_CSV, REPORT_HTML };

const struct verb_option report_options[] = {
	{REPORT_BY, "by", "LIST",
	 "a row for each account, user, partition, qos, node or cause, separated by commas; none: one row for the whole site"},
	{REPORT_PERIOD, "period", "PERIOD", "rows for each hour, day or month; none: one row for the whole time"},
	{'S', "since", "TIME",
	 "start of the report: 2025-11-20, today, now-7days; default: 12 months, 30 days, or 24 hours ago, by the period"},
	{'E', "until", "TIME", "end of the report; default: now"},
	{REPORT_MONTH, "month", "YYYY-MM", "month of an invoice; default: this one"},
	{'u', "user", "NAME", "only jobs of this user"},
	{REPORT_ME, "me", NULL, "only your own jobs"},
	{'A', "account", "NAME", "only this account and those below it"},
	{REPORT_ONLY, "only", NULL, "with --account: without the accounts below it"},
	{'p', "partition", "NAME", "only this partition"},
	{'q', "qos", "NAME", "only under this quality of service"},
	{REPORT_LIMIT, "limit", "N", "at most N rows"},
	{REPORT_CSV, "csv", NULL, "CSV, not shortened or rounded"},
	{REPORT_HTML, "html", "FILE", "write a self-contained page with charts; -: standard output"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_STALE,
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

struct report_line {
	json_t *request;
	const char *html;
	bool csv, wide, json;
};

/* Add a filter option to the request. Returns false if option `id` is no filter. */
static bool filter_read(struct verb_scan *scan, int id, json_t *request)
{
	static const struct words_member members[] = {
		{'u', "user", WORDS_LIST},     {'A', "account", WORDS_LIST},	      {'p', "partition", WORDS_LIST},
		{'q', "qos", WORDS_LIST},      {REPORT_BY, "by", WORDS_LIST},	      {'S', "since", WORDS_TEXT},
		{'E', "until", WORDS_TEXT},    {REPORT_PERIOD, "period", WORDS_TEXT}, {REPORT_MONTH, "month", WORDS_TEXT},
		{REPORT_ME, "user", WORDS_ME}, {REPORT_ONLY, "only", WORDS_TRUE},     {0, NULL, WORDS_TEXT},
	};

	if (id == REPORT_LIMIT)
		return !json_object_set_new(request, "limit", json_integer(verb_number(scan, 1, 100000000)));
	return words_member_set(scan, id, members, request);
}

static struct report_line line_read(struct verb_scan *scan)
{
	struct report_line line = {.request = json_object()};
	const char *report;

	for (int id; (id = verb_next(scan));) {
		if (filter_read(scan, id, line.request))
			continue;
		if (id == REPORT_HTML)
			line.html = scan->value;
		line.csv |= id == REPORT_CSV;
		line.wide |= id == 'w';
		line.json |= id == VERB_JSON;
		if (id == VERB_STALE)
			call_use_stale();
	}
	if (!scan->operands)
		verb_misuse(scan->verb, "which report? Name one: usage, efficiency, wait, top, utilization, failures, energy, "
					"invoice, or job JOB");
	report = scan->argv[scan->at];
	if (!strcmp(report, "job") ? scan->operands != 2 : scan->operands != 1)
		verb_misuse(scan->verb,
			    !strcmp(report, "job") ? "name one job, as in rota report job 7" : "name only one report");
	json_object_set_new(line.request, "report", json_string(report));
	if (scan->operands == 2)
		json_object_set_new(line.request, "jobs", json_pack("[s]", scan->argv[scan->at + 1]));
	return line;
}

static void csv_print(const json_t *answer)
{
	const json_t *columns = json_object_get(answer, "columns"), *row, *column;
	size_t r, c;

	json_array_foreach (columns, c, column)
		printf("%s%s", c ? "," : "", format_text(column, "name"));
	putchar('\n');
	json_array_foreach (json_object_get(answer, "rows"), r, row) {
		json_array_foreach (columns, c, column) {
			if (c)
				putchar(',');
			csv_value(stdout, json_object_get(row, format_text(column, "name")));
		}
		putchar('\n');
	}
}

int verb_report(const struct verb *verb, int argc, char **argv)
{
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	struct report_line line = line_read(&scan);
	json_t *answer = call_gate("report", json_incref(line.request));
	int status = answer ? EXIT_OK : call_status();

	if (answer && !words_found(line.request, answer))
		status = EXIT_REFUSED;
	json_decref(line.request);
	if (status != EXIT_OK) {
		json_decref(answer);
		return status;
	}
	if (line.json)
		call_print_json();
	else if (line.csv)
		csv_print(answer);
	else if (line.html)
		status = report_page(line.html, answer) ? EXIT_OK : EXIT_REFUSED;
	else
		report_print(answer, line.wide);
	json_decref(answer);
	return status;
}
