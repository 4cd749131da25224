/* up_limits.c - shows how the nodes enforce the limits of steps, for `rota up`.
 *
 * Reads the file `limits` in the folder of each node (docs/formats.md), which the launcher writes. Nodes with the same methods
 * share a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/rota/instance/up.h"
#include "lib/hosts.h"

struct row {
	char memory[16], cpus[16], processes[16];
	char *nodes; /* names of nodes, separated by commas */
};

struct rows {
	struct row *list;
	size_t count;
};

static bool limits_read(const struct instance *in, const char *node, struct row *row)
{
	char *path = instance_path(in, "node/%s/limits", node);
	FILE *file = fopen(path, "re");
	bool good = file &&
		    fscanf(file, "memory=%15[a-z] cpus=%15[a-z] processes=%15[a-z]", row->memory, row->cpus, row->processes) == 3;

	if (file)
		fclose(file);
	free(path);
	return good;
}

static struct row *row_of(struct rows *rows, const struct row *said)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(rows->list[i].memory, said->memory) && !strcmp(rows->list[i].cpus, said->cpus) &&
		    !strcmp(rows->list[i].processes, said->processes))
			return &rows->list[i];
	rows->list = xrealloc(rows->list, (rows->count + 1) * sizeof *rows->list);
	rows->list[rows->count] = *said;
	return &rows->list[rows->count++];
}

static json_t *row_json(const struct row *row)
{
	char *nodes = hosts_fold(row->nodes);
	json_t *json =
		json_pack("{ss ss ss ss}", "nodes", nodes, "memory", row->memory, "cpus", row->cpus, "processes", row->processes);

	free(nodes);
	return json;
}

json_t *up_limits(const struct instance *in)
{
	char **names = instance_nodes(in);
	struct rows rows = {NULL, 0};
	json_t *all = json_array();

	for (char **name = names; *name; name++) {
		struct row said = {.nodes = NULL}, *row;

		if (!limits_read(in, *name, &said))
			continue;
		row = row_of(&rows, &said);
		char *longer = xasprintf("%s%s%s", row->nodes ? row->nodes : "", row->nodes ? "," : "", *name);

		free(row->nodes);
		row->nodes = longer;
	}
	for (size_t i = 0; i < rows.count; i++) {
		json_array_append_new(all, row_json(&rows.list[i]));
		free(rows.list[i].nodes);
	}
	free(rows.list);
	instance_names_free(names);
	return all;
}

static const struct {
	const char *word, *text;
} texts[] = {
	{"cgroup", "by cgroups"},
	{"sampling", "by sampling (at least each second)"},
	{"affinity", "by affinity"},
	{"none", "not at all"},
};

static const char *text_of(const json_t *row, const char *name)
{
	const char *word = json_string_value(json_object_get(row, name));

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcmp(texts[i].word, word))
			return texts[i].text;
	return word;
}

void up_limits_say(const struct instance *in)
{
	json_t *all = up_limits(in);
	const json_t *row;
	size_t i;

	json_array_foreach (all, i, row)
		instance_say(in, "limits on %s: memory %s, CPUs %s, processes %s, time by the keeper",
			     json_string_value(json_object_get(row, "nodes")), text_of(row, "memory"), text_of(row, "cpus"),
			     text_of(row, "processes"));
	json_decref(all);
}
