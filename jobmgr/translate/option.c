/* option.c - the table of options, and functions that look up a row by any name of its option.
 *
 * Called by: the translator; clients, for help, completion and to separate options from operands.
 * Invariants:
 * - In each spelling (Rota, Slurm, PBS), a name is that of one row of the table only (option_test.c). */
#include "jobmgr/translate/option.h"

#include <string.h>

#include "lib/nearest.h"

static const struct option_row option_table[] = {
#define OPTION(id, name, alias, letter, kind, level, slurm, pbs, key, argument, help)                                            \
	{OPTION_ID_##id, name, alias, letter, OPTION_##kind, OPTION_##level, slurm, pbs, key, argument, help},
#include "jobmgr/translate/options.def"
#undef OPTION
};

const struct option_row *option_rows(int *count)
{
	*count = OPTION_ROWS;
	return option_table;
}

const struct option_row *option_row(enum option_id id)
{
	return &option_table[id];
}

static bool option_is_named(const struct option_row *row, const char *name, enum option_spelling spelling)
{
	if (!*name)
		return false;
	if (spelling == OPTION_SLURM)
		return strcmp(name, row->slurm) == 0;
	return strcmp(name, row->name) == 0 || strcmp(name, row->alias) == 0 || strcmp(name, row->slurm) == 0;
}

const struct option_row *option_find(const char *name, enum option_spelling spelling)
{
	for (int i = 0; i < OPTION_ROWS; i++)
		if (option_is_named(&option_table[i], name, spelling))
			return &option_table[i];
	return NULL;
}

const struct option_row *option_find_letter(char letter, enum option_spelling spelling)
{
	for (int i = 0; letter && i < OPTION_ROWS; i++)
		if (option_table[i].letter == letter && (spelling != OPTION_SLURM || *option_table[i].slurm))
			return &option_table[i];
	return NULL;
}

const struct option_row *option_find_pbs(const char *spelling)
{
	size_t length = strlen(spelling);
	for (int i = 0; i < OPTION_ROWS; i++) {
		const char *item = option_table[i].pbs;
		while (*item) {
			size_t size = strcspn(item, ",");
			if (size == length && memcmp(item, spelling, size) == 0)
				return &option_table[i];
			item += size;
			item += strspn(item, ", ");
		}
	}
	return NULL;
}

const char *option_nearest(const char *name, enum option_spelling spelling)
{
	struct nearest nearest = NEAREST(name);
	for (int i = 0; i < OPTION_ROWS; i++) {
		if (spelling != OPTION_SLURM)
			nearest_try(&nearest, option_table[i].name);
		nearest_try(&nearest, option_table[i].slurm);
	}
	return nearest.best;
}

const char *option_advice(const char *name)
{
	static const struct {
		const char *name, *advice;
	} foreign[] = {
		{"walltime", "write --time=TIME"},
		{"queue", "write --partition=NAME"},
		{"name", "write --job-name=NAME"},
		{"ppn", "write --ntasks-per-node=N"},
		{"l", "write --time, --nodes, --mem and so on; only #PBS lines have -l"},
		{"pty", "\"rota shell\" opens a shell in an allocation"},
		{"I", "\"rota shell\" opens a shell in an allocation"},
		{"test-only", "\"rota check\" translates a script without submitting it"},
		{"wait", "\"rota submit --wait\" waits until the job has ended"},
		{"W", "\"rota submit --wait\" waits until the job has ended"},
		{"ignore-pbs", "remove the #PBS lines, which Rota reads, too"},
	};
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		if (strcmp(name, foreign[i].name) == 0)
			return foreign[i].advice;
	return NULL;
}

bool option_takes_value(const struct option_row *row)
{
	return row->argument[0] && row->argument[0] != '[';
}

/* Returns the row of a long option; `argument` is the text after "--": NAME, NAME=value or no-NAME. NULL: there is none. */
static const struct option_row *option_find_long_argument(const char *argument)
{
	char name[64];
	size_t length = strcspn(argument, "=");
	if (length >= sizeof name)
		return NULL;
	memcpy(name, argument, length);
	name[length] = '\0';
	const struct option_row *row = option_find(name, OPTION_ROTA);
	const struct option_row *undone = strncmp(name, "no-", 3) == 0 ? option_find(name + 3, OPTION_ROTA) : NULL;
	return row || (undone && undone->kind != OPTION_FLAG) ? row : undone;
}

int option_span(const char *const *arguments, int count)
{
	const char *argument = count > 0 ? arguments[0] : "";
	if (argument[0] != '-' || !argument[1])
		return 0;
	bool is_long = argument[1] == '-';
	const struct option_row *row =
		is_long ? option_find_long_argument(argument + 2) : option_find_letter(argument[1], OPTION_ROTA);
	if (!row)
		return 0;
	bool attached = is_long ? strchr(argument, '=') != NULL : argument[2] != '\0';
	return !attached && option_takes_value(row) && count > 1 ? 2 : 1;
}
