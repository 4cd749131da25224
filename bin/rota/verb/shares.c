/* shares.c - `rota shares`: fair share as a tree of accounts and users, grants, and the limits that apply to the caller. */
#include <stdio.h>
#include <string.h>

#include "bin/rota/call/call.h"
#include "bin/rota/print/format.h"
#include "bin/rota/print/stats.h"
#include "bin/rota/print/table.h"
#include "bin/rota/line/verb.h"

const struct verb_option shares_options[] = {
	{'l', "limits", NULL, "show limits and how much of each is used, instead of shares"},
	{'g', "grants", NULL, "show grants of billing units and what is left of them, instead of shares"},
	{'a', "all", NULL, "limits of all users (operators)"},
	{'w', "wide", NULL, "do not shorten columns to fit the terminal"},
	VERB_OPTION_JSON,
	{0, NULL, NULL, NULL},
};

static void share_row(struct table *table, const json_t *share)
{
	const char *user = format_text(share, "user"), *account = format_text(share, "account");
	int depth = (int)json_integer_value(json_object_get(share, "depth")) - 1;
	struct word hours;
	char name[256];

	snprintf(name, sizeof(name), "%*s%s", 2 * depth, "", account);
	snprintf(hours.s, sizeof(hours.s), "%.1f", json_number_value(json_object_get(share, "use_s")) / 3600);
	table_cell(table, name);
	table_cell(table, user);
	table_cell(table, format_count(json_object_get(share, "shares")).s);
	table_cell(table, stats_number(share, "share", 4).s);
	table_cell(table, hours.s);
	table_cell(table, stats_number(share, "used", 4).s);
	table_cell(table, stats_number(share, "effective", 4).s);
	table_cell(table, stats_number(share, "factor", 4).s);
}

/* Describes the steps that a limit counts together: "account physics, each user (alice)". */
static void limit_describe_holder(char *text, size_t size, const json_t *limit)
{
	static const char *const KINDS[] = {"account", "qos", "partition", "user"};
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]) && used < size; i++) {
		const char *name = format_text(limit, KINDS[i]);
		if (*name)
			used += (size_t)snprintf(text + used, size - used, "%s%s %s", used ? ", " : "", KINDS[i], name);
	}
	if (used < size && json_is_true(json_object_get(limit, "each_user")) && !*format_text(limit, "user"))
		snprintf(text + used, size - used, ", each user");
}

static void limit_row(struct table *table, const json_t *limit)
{
	const char *period = format_text(limit, "period");
	const json_t *most = json_object_get(limit, "most");
	char of[512], what[128];

	limit_describe_holder(of, sizeof(of), limit);
	snprintf(what, sizeof(what), "%s%s%s", format_text(limit, "measure"), *period ? "/" : "", period);
	table_cell(table, of);
	table_cell(table, what);
	table_cell(table, !strcmp(format_text(limit, "measure"), "time") ? format_duration(json_number_value(most)).s
									 : format_count(most).s);
	table_cell(table, stats_number(limit, "held", 0).s);
	table_cell(table, format_when(json_object_get(limit, "ends_at")).s);
}

static void grant_row(struct table *table, const json_t *grant)
{
	static const char *const NUMBERS[] = {"units", "carried", "used", "left_over"};

	table_cell(table, format_text(grant, "name"));
	table_cell(table, format_text(grant, "account"));
	table_cell(table, format_text(grant, "first_day"));
	table_cell(table, format_text(grant, "last_day"));
	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++)
		table_cell(table, stats_number(grant, NUMBERS[i], 1).s);
	table_cell(table, format_text(grant, "at_end"));
	table_cell(table, format_text(grant, "state"));
}

static void shares_print(const json_t *rows, const struct table_column *columns, int count,
			 void (*row)(struct table *, const json_t *), bool wide)
{
	struct table *table = table_new(columns, count);
	const json_t *one;
	size_t i;

	json_array_foreach (rows, i, one)
		row(table, one);
	table_print(table, stdout, wide);
	table_free(table);
}

int verb_shares(const struct verb *verb, int argc, char **argv)
{
	static const struct table_column SHARES[] = {
		{"ACCOUNT", false, 8},	{"USER", false, 6}, {"SHARES", true, 0},    {"SHARE", true, 0},
		{"CPU HOURS", true, 0}, {"USED", true, 0},  {"EFFECTIVE", true, 0}, {"FACTOR", true, 0},
	};
	static const struct table_column LIMITS[] = {
		{"OF", false, 12}, {"WHAT", false, 8}, {"MOST", true, 0}, {"USED", true, 0}, {"UNTIL", false, 1},
	};
	static const struct table_column GRANTS[] = {
		{"GRANT", false, 8},  {"ACCOUNT", false, 8}, {"FROM", false, 0}, {"UNTIL", false, 0},  {"UNITS", true, 0},
		{"CARRIED", true, 0}, {"USED", true, 0},     {"LEFT", true, 0},	 {"AT END", false, 0}, {"STATE", false, 0},
	};
	struct verb_scan scan = VERB_SCAN(verb, argc, argv);
	bool limits = false, grants = false, all = false, wide = false, json = false;
	json_t *answer;

	for (int id; (id = verb_next(&scan));) {
		limits |= id == 'l';
		grants |= id == 'g';
		all |= id == 'a';
		wide |= id == 'w';
		json |= id == VERB_JSON;
	}
	verb_operands(&scan, 0, 0);
	answer = call_gate("shares", json_pack("{sb}", "all", all));
	if (answer && json)
		call_print_json();
	else if (answer && limits)
		shares_print(json_object_get(answer, "limits"), LIMITS, sizeof(LIMITS) / sizeof(LIMITS[0]), limit_row, wide);
	else if (answer && grants)
		shares_print(json_object_get(answer, "grants"), GRANTS, sizeof(GRANTS) / sizeof(GRANTS[0]), grant_row, wide);
	else if (answer)
		shares_print(json_object_get(answer, "shares"), SHARES, sizeof(SHARES) / sizeof(SHARES[0]), share_row, wide);
	json_decref(answer);
	return answer ? EXIT_OK : call_status();
}
