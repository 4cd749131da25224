/* translate_shell_test.c - here-documents: lines within one are no directives. */
#include "tests/unit/translate_case.h"

/* Directives in a here-document have no effect; a text that only looks like a here-document hides none. */
static void here_documents(void **state)
{
	static const struct {
		const char *script, *steps;
	} cases[] = {
		{BASH "#ROTA step a\ncat <<EOF\n#ROTA step x\nEOF\n#ROTA step b\ntrue\n", "a:2-5 b:6-7"},
		{BASH "#ROTA step a\ncat >f <<-'E O' <<\"F\"\n\t#ROTA\n#ROTA step x\n\tE O\n#ROTA step y\nF\n#ROTA step b\n",
		 "a:2-8 b:9-9"},
		{BASH "#ROTA step a\nx=\"$(cat <<\\EOF | tr a b\n#ROTA step x\nEOF\n)\"\n#ROTA step b\n", "a:2-6 b:7-7"},
		{BASH "#ROTA step a\ncat <<EOF \\\n| sort\n#ROTA step x\nEOF\n#ROTA step b\n", "a:2-6 b:7-7"},
		{BASH "#ROTA step a\nf() { # don't <<X\n  cat << EOF; }\n#ROTA step x\n EOF\nEOF\n#ROTA step b\nX\n",
		 "a:2-7 b:8-9"},
		{BASH "#ROTA step a\ncat <<EOF\n#ROTA step b\n", "a:2-3 b:4-4"}, /* the here-document has no end */
		{BASH "#ROTA step a\necho $((1<<2)) $((x<<y))\n#ROTA step b\ny\n2\n", "a:2-3 b:4-6"},
		{BASH "#ROTA step a\ncat <<<EOF\n#ROTA step b\nEOF\n", "a:2-3 b:4-5"},
		{BASH "#ROTA step a\necho 'a <<EOF' \"b <<EOF\" \\<<EOF\n#ROTA step b\nEOF\n", "a:2-3 b:4-5"},
		{BASH "#ROTA step a\necho 'two\nlines <<EOF'\n#ROTA step b\nEOF\n", "a:2-4 b:5-6"},
		{"#!/usr/bin/python3\n#ROTA step a\nx = 1 <<EOF\n#ROTA step b\nEOF\n", "a:2-3 b:4-5"},
		{"#!/usr/bin/env bash\n#ROTA step a\ncat <<EOF\n#ROTA step x\nEOF\n", "a:2-5"},
		{BASH "cat <<EOF\n#ROTA step x\nEOF\n", "script:1-4"},
		{"#!/bin/sh", "script:1-1"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int count;
		char text[256] = "";
		struct translate_cut *cuts = translate_cuts(cases[i].script, strlen(cases[i].script), &count);
		for (int n = 0; n < count; n++)
			sprintf(text + strlen(text), "%s%s:%d-%d", n ? " " : "", cuts[n].name, cuts[n].from, cuts[n].to);
		assert_string_equal(text, cases[i].steps);
		free(cuts);
	}
}

/* The work is linear, however many here-documents have no end. */
static void here_documents_without_end(void **state)
{
	(void)state;
	enum { LINES = 100000 };
	size_t size = 0;
	char *script = xmalloc(LINES * 16 + 64);
	size += (size_t)sprintf(script, BASH);
	for (int i = 0; i < LINES; i++)
		size += (size_t)sprintf(script + size, "cat <<E%d\n", i);
	size += (size_t)sprintf(script + size, "#ROTA step b\n");
	int count;
	struct translate_cut *cuts = translate_cuts(script, size, &count);
	assert_int_equal(count, 1);
	assert_string_equal(cuts[0].name, "b");
	free(cuts);
	free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(here_documents),
		cmocka_unit_test(here_documents_without_end),
	};
	return cmocka_run_group_tests(tests, utc, NULL);
}
