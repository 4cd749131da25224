/* plan_change.c - applies the changes of `rota plan` to a snapshot. Each change replaces one list of the snapshot by a changed copy.
 *
 * Called by: `rota plan`.
 * Invariants:
 *  - A change that names a node, partition or job that does not exist is refused, with that name in the error. */
#include "bin/rota/plan/plan_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobmgr/schedule/schedule_arena.h"
#include "jobmgr/schedule/schedule_change.h"
#include "jobmgr/translate/option.h"

enum { ADDED_MOST = 10000, CPUS_MOST = 65536 };

/* Parse a value as the option `id` of `rota submit`. Returns it as JSON; NULL with an error. */
static json_t *change_value(enum option_id id, const char *text, struct err *e)
{
	struct option_context context = {.now = (int64_t)time(NULL), .array_max = 1, .items_left = 100000};

	return option_value(option_row(id), text, &context, e);
}

/* Replace the snapshot's list of nodes by a copy that can be changed, with room for `more` nodes, and return it. */
static struct schedule_node *change_nodes(struct plan_snapshot *snapshot, size_t more)
{
	struct schedule_snapshot *s = &snapshot->rows->snapshot;
	struct schedule_node *nodes = schedule_arena_take(snapshot->rows->arena, s->node_count + more, sizeof *nodes);

	if (s->node_count)
		memcpy(nodes, s->nodes, s->node_count * sizeof *nodes);
	s->nodes = nodes;
	return nodes;
}

static struct schedule_partition *change_partitions(struct plan_snapshot *snapshot)
{
	struct schedule_snapshot *s = &snapshot->rows->snapshot;
	struct schedule_partition *partitions =
		schedule_arena_take(snapshot->rows->arena, s->partition_count, sizeof *partitions);

	if (s->partition_count)
		memcpy(partitions, s->partitions, s->partition_count * sizeof *partitions);
	s->partitions = partitions;
	return partitions;
}

bool plan_change_drain(struct plan_snapshot *snapshot, const char *text, struct err *e)
{
	json_t *names = change_value(OPTION_ID_NODELIST, text, e), *name;
	struct schedule_node *nodes = change_nodes(snapshot, 0);
	bool good = names != NULL;
	size_t i;

	json_array_foreach (names, i, name) {
		size_t at = 0, count = snapshot->rows->snapshot.node_count;

		while (at < count && strcmp(nodes[at].name, json_string_value(name)))
			at++;
		if (at == count) {
			good = err_set(e, "there is no node \"%s\"", json_string_value(name));
			break;
		}
		nodes[at].usable = false;
	}
	json_decref(names);
	return good;
}

/* Add nodes to all partitions. */
static void partitions_extend(struct plan_snapshot *snapshot, const struct schedule_node *added, size_t count)
{
	struct schedule_partition *partitions = change_partitions(snapshot);

	for (size_t i = 0; i < snapshot->rows->snapshot.partition_count; i++) {
		struct schedule_partition *p = &partitions[i];
		int *ids = schedule_arena_take(snapshot->rows->arena, p->node_count + count, sizeof *ids);

		if (p->node_count)
			memcpy(ids, p->node_ids, p->node_count * sizeof *ids);
		for (size_t k = 0; k < count; k++)
			ids[p->node_count + k] = added[k].id;
		p->node_ids = ids;
		p->node_count += count;
	}
}

bool plan_change_add_nodes(struct plan_snapshot *snapshot, const char *text, struct err *e)
{
	struct schedule_snapshot *s = &snapshot->rows->snapshot;
	int count = 0, cpus = 0, read = 0, highest = 0;
	json_t *mem;

	if (sscanf(text, "%5d:%5dc,%n", &count, &cpus, &read) != 2 || !read || count < 1 || count > ADDED_MOST || cpus < 1 ||
	    cpus > CPUS_MOST) {
		err_set(e, "\"%s\" says no nodes", text);
		err_hint(e, "Write COUNT:CPUSc,MEM, such as 4:64c,250G.");
		return false;
	}
	mem = change_value(OPTION_ID_MEM, text + read, e);
	if (!mem)
		return false;
	struct schedule_node *nodes = change_nodes(snapshot, (size_t)count);

	for (size_t i = 0; i < s->node_count; i++)
		highest = nodes[i].id > highest ? nodes[i].id : highest;
	for (int i = 0; i < count; i++)
		nodes[s->node_count + (size_t)i] = (struct schedule_node){
			.id = highest + 1 + i,
			.name = schedule_arena_print(snapshot->rows->arena, "added%d", highest + 1 + i),
			.cpus = cpus,
			.mem_mb = json_integer_value(mem),
			.usable = true,
			.power = SCHEDULE_POWER_ON,
		};
	partitions_extend(snapshot, nodes + s->node_count, (size_t)count);
	s->node_count += (size_t)count;
	json_decref(mem);
	return true;
}

static bool partition_set(struct schedule_partition *p, const char *key, const char *value, struct err *e)
{
	bool is_time = !strcmp(key, "max_time"), is_none = !strcmp(value, "none");
	json_t *number;

	if (!strcmp(key, "state")) {
		p->state = schedule_state_of(value);
		return p->state != SCHEDULE_INACTIVE || !strcmp(value, "inactive") ||
		       err_set(e, "\"%s\" is no state of a partition", value);
	}
	if (!is_time && strcmp(key, "max_nodes")) {
		err_set(e, "a partition has no \"%s\" that a plan can change", key);
		err_hint(e, "Keys are max_time, max_nodes and state.");
		return false;
	}
	number = is_none ? json_integer(0) : change_value(is_time ? OPTION_ID_TIME : OPTION_ID_NTASKS, value, e);
	if (!number)
		return false;
	if (is_time)
		p->max_time_s = json_integer_value(number);
	else
		p->max_nodes = (int)json_integer_value(number);
	json_decref(number);
	return true;
}

bool plan_change_set(struct plan_snapshot *snapshot, const char *text, struct err *e)
{
	char *copy = xstrdup(text), *rest, *kind = strtok_r(copy, ".", &rest), *value = strchr(rest, '='), *key;
	struct schedule_partition *partitions = change_partitions(snapshot);
	bool good = false;

	if (value)
		*value++ = '\0';
	key = strrchr(rest, '.');
	if (!kind || strcmp(kind, "partition") || !value || !key) {
		err_set(e, "\"%s\" sets nothing", text);
		err_hint(e, "Write partition.NAME.KEY=VALUE, such as partition.main.max_time=1-0.");
	} else {
		size_t i = 0, count = snapshot->rows->snapshot.partition_count;

		*key++ = '\0';
		while (i < count && strcmp(partitions[i].name, rest))
			i++;
		good = i < count ? partition_set(&partitions[i], key, value, e)
				 : err_set(e, "there is no partition \"%s\"", rest);
	}
	free(copy);
	return good;
}

bool plan_change_at(struct plan_snapshot *snapshot, double at, struct err *e)
{
	struct schedule_snapshot *s = &snapshot->rows->snapshot;
	struct schedule_change *change;

	if (at < s->now)
		return err_set(e, "the moment has passed");
	change = schedule_change_new(snapshot->rows->arena, s, 0);
	change->snapshot.now = at;
	for (size_t i = 0; i < s->running_count; i++)
		if (!s->running[i].reserved && s->running[i].ends_at <= at)
			schedule_change_end(change, i);
	*s = change->snapshot;
	return true;
}
