/* lead_order.c - turns each start into a row of the commit and a launch request for each of its nodes.
 *
 * Called by: lead_cycle_write.c, when the launch rows are loaded.
 * Invariants:
 *  - No launch request is signed for a step whose authenticator does not match its row.
 *  - A start and its launch requests are in one commit, and so are all members of a gang.
 *  - Of the steps of a job group on a node, one owns the prolog. Its start is committed before other steps of the group start,
 *    except within a gang. */
#include "jobmgr/lead/lead_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobmgr/lead/lead_array.h"
#include "jobmgr/lead/lead_draft.h"
#include "jobmgr/lead/lead_group.h"
#include "jobmgr/lead/lead_preempt.h"
#include "jobmgr/lead/lead_verify.h"
#include "jobmgr/schedule/schedule_arena.h"
#include "lib/err.h"
#include "lib/hosts.h"
#include "lib/order.h"

struct maker {
	const struct lead_rows *rows;
	const struct schedule_result *result;
	const struct lead_signer *signer;
	struct lead_orders *orders;
	struct lead_verified *verified;
	const struct schedule_node **nodes; /* nodes of the snapshot, sorted by id */
	struct lead_groups *groups;
	struct lead_drafts *drafts; /* launch requests of the open commit */
	const char *indices;	    /* array indices that `array` was parsed from; NULL: no array was parsed yet */
	struct lead_array *array;
};

/* A start with all data that its launch requests need. */
struct start {
	const struct schedule_start *decided;
	const struct lead_key *key;
	const struct lead_launch *launch;
	int step_id, attempt, array_index; /* array_index -1: the step is no array element */
	const char *nodes, *failing, *label;
	/* tasks and CPUs of each node in short form, such as "4(x2),3"; NULL: the start has one node */
	const char *tasks_per_node, *cpus_per_node;
	int task_count;
	bool ends_on_node_loss; /* the attempt is ended on a node that is lost (node-loss policy) */
};

static int compare_node_ids(const void *a, const void *b)
{
	int x = (*(const struct schedule_node *const *)a)->id, y = (*(const struct schedule_node *const *)b)->id;

	return (x > y) - (x < y);
}

static void maker_index_nodes(struct maker *m)
{
	const struct schedule_snapshot *s = &m->rows->snapshot;

	m->nodes = schedule_arena_take(m->rows->arena, s->node_count, sizeof *m->nodes);
	for (size_t i = 0; i < s->node_count; i++)
		m->nodes[i] = &s->nodes[i];
	qsort(m->nodes, s->node_count, sizeof *m->nodes, compare_node_ids);
}

/* Returns the index in m->nodes of the node with this id. */
static size_t maker_node_index(const struct maker *m, int id)
{
	const struct schedule_node wanted = {.id = id}, *key = &wanted;
	const struct schedule_node **found =
		bsearch(&key, m->nodes, m->rows->snapshot.node_count, sizeof *m->nodes, compare_node_ids);

	if (!found)
		die("the scheduler placed a step on node %d, which is not in its snapshot", id);
	return (size_t)(found - m->nodes);
}

static const struct schedule_node *maker_node(const struct maker *m, int id)
{
	return m->nodes[maker_node_index(m, id)];
}

/* Set *index to the array index at a position of the array with these indices. The parsed indices are kept, since the next
 * start is mostly of the same array. Returns false if there is no such index. */
static bool maker_index(struct maker *m, const char *indices, int position, int *index)
{
	if (!indices)
		return false;
	if (indices != m->indices) {
		lead_array_free(m->array);
		m->array = lead_array_new(indices);
		m->indices = indices;
	}
	return lead_array_index(m->array, position, index);
}

static const char *start_label(const struct maker *m, const struct start *s)
{
	if (s->array_index >= 0)
		return schedule_arena_print(m->rows->arena, "%lld.%s[%d]", (long long)s->decided->job, s->key->name,
					    s->array_index);
	return schedule_arena_print(m->rows->arena, "%lld.%s", (long long)s->decided->job, s->key->name);
}

/* Returns the names of a start's nodes, head node first. With `only_failing`, returns only the names of failing nodes. */
static const char **start_nodes(const struct maker *m, const struct schedule_start *decided, bool only_failing, size_t *count)
{
	const char **names = schedule_arena_take(m->rows->arena, decided->share_count, sizeof *names);

	*count = 0;
	for (size_t i = 0; i < decided->share_count; i++) {
		const struct schedule_node *node = maker_node(m, decided->shares[i].node_id);

		if (!only_failing || node->failing)
			names[(*count)++] = node->name;
	}
	return names;
}

/* Returns the names of a start's nodes as one packed text. Each launch request has the names of all nodes, so the text should
 * be short. */
static const char *start_list(const struct maker *m, const struct schedule_start *decided)
{
	size_t count;
	const char **names = start_nodes(m, decided, false, &count);
	char *packed = hosts_pack(names, count);
	const char *list = schedule_arena_print(m->rows->arena, "%s", packed);

	free(packed);
	return list;
}

static const char *start_failing(const struct maker *m, const struct schedule_start *decided)
{
	size_t count, size = 1;
	const char **names = start_nodes(m, decided, true, &count);
	char *list, *end;

	for (size_t i = 0; i < count; i++)
		size += strlen(names[i]) + 1;
	end = list = schedule_arena_take(m->rows->arena, size, 1);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			*end++ = ',';
		end = stpcpy(end, names[i]);
	}
	return list;
}

static int share_tasks(const struct schedule_share *share)
{
	return share->tasks;
}

static int share_cpus(const struct schedule_share *share)
{
	return share->cpus;
}

/* Returns a number of each node of a start, in the order of its nodes, folded as Slurm does: "4(x2),2". */
static const char *start_fold(const struct maker *m, const struct schedule_start *decided,
			      int (*number)(const struct schedule_share *share))
{
	const struct schedule_share *shares = decided->shares;
	char *text = NULL;
	const char *list;
	size_t size, alike;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	for (size_t i = 0; i < decided->share_count; i += alike) {
		for (alike = 1; i + alike < decided->share_count && number(&shares[i + alike]) == number(&shares[i]); alike++)
			;
		fprintf(out, "%s%d", i > 0 ? "," : "", number(&shares[i]));
		if (alike > 1)
			fprintf(out, "(x%zu)", alike);
	}
	if (fclose(out))
		die("out of memory");
	list = schedule_arena_print(m->rows->arena, "%s", text);
	free(text);
	return list;
}

/* Does the spec say that a node ends the step when the node's lease runs out? Returns false if the spec is malformed, which
 * the launcher refuses. */
static bool spec_ends_on_node_loss(const char *spec)
{
	struct order_spec parsed;
	struct fields *owner;
	struct err e;
	bool ends = order_spec_parse(spec, strlen(spec), &parsed, &owner, &e) && parsed.fence;

	fields_free(owner);
	return ends;
}

static bool start_fill(struct maker *m, const struct schedule_start *decided, struct start *s)
{
	*s = (struct start){.decided = decided,
			    .key = &m->rows->keys[decided->pending],
			    .launch =
				    lead_verified_launch(m->verified, decided->job, m->rows->keys[decided->pending].request_id)};
	if (!s->launch)
		return false;
	s->step_id = decided->step;
	s->attempt = s->key->attempt + 1;
	s->array_index = s->key->array_index;
	if (decided->position >= 0) {
		s->step_id = decided->step + 1 + decided->position;
		s->attempt = 1;
		if (!maker_index(m, s->launch->array_indices, decided->position, &s->array_index))
			return false;
	}
	s->ends_on_node_loss = spec_ends_on_node_loss(s->launch->spec);
	s->nodes = start_list(m, decided);
	s->failing = start_failing(m, decided);
	if (decided->share_count > 1) {
		s->tasks_per_node = start_fold(m, decided, share_tasks);
		s->cpus_per_node = start_fold(m, decided, share_cpus);
	}
	s->label = start_label(m, s);
	for (size_t i = 0; i < decided->share_count; i++)
		s->task_count += decided->shares[i].tasks;
	return true;
}

/* Has another start of this cycle become the prolog owner of the step's job group on one of the step's nodes? */
static bool start_waits_for_group(const struct maker *m, const struct start *s)
{
	for (size_t i = 0; i < s->decided->share_count; i++) {
		if (lead_group_gets_owner(m->groups, s->launch, s->decided->shares[i].node_id))
			return true;
	}
	return false;
}

/* Part 2: make the JSON and the launch requests of starts. */

static json_t *devices_json(const struct schedule_share *share)
{
	json_t *object = json_object();

	for (size_t i = 0; i < share->gres_count; i++) {
		json_t *devices = json_array();

		for (size_t k = 0; k < share->gres[i].count; k++)
			json_array_append_new(devices, json_integer(share->gres[i].device[k]));
		json_object_set_new(object, share->gres[i].name, devices);
	}
	return object;
}

/* Returns the devices of a step on one node as text, such as "gpu:0+3,fpga:1". */
static const char *devices_text(const struct maker *m, const struct schedule_share *share)
{
	const char *text = "";

	for (size_t i = 0; i < share->gres_count; i++) {
		text = schedule_arena_print(m->rows->arena, "%s%s%s:", text, *text ? "," : "", share->gres[i].name);
		for (size_t k = 0; k < share->gres[i].count; k++)
			text = schedule_arena_print(m->rows->arena, "%s%s%d", text, k > 0 ? "+" : "", share->gres[i].device[k]);
	}
	return text;
}

/* Add the launch request for one node of a start. */
static void start_add_order(const struct maker *m, const struct start *s, int index, int first_task, bool owner)
{
	const struct schedule_share *share = &s->decided->shares[index];
	const struct lead_launch *launch = s->launch;
	size_t node = maker_node_index(m, share->node_id);
	const struct lead_ahead *ahead = s->key->ahead;
	bool is_element = s->decided->predispatched && !ahead;
	int hold_s = ahead ? ahead->hold_s : is_element ? m->signer->hold_s : 0;
	struct order order = {
		.job_id = s->decided->job,
		.step_id = s->step_id,
		.attempt = s->attempt,
		.node = m->nodes[node]->name,
		.nodes = s->nodes,
		.node_index = index,
		.node_count = (int)s->decided->share_count,
		.first_task = first_task,
		.tasks = share->tasks,
		.task_count = s->task_count,
		.cpus = share->cpus,
		.tasks_per_node = s->tasks_per_node,
		.cpus_per_node = s->cpus_per_node,
		.mem_mb = share->mem_mb,
		.gres = devices_text(m, share),
		.uid = (uid_t)launch->uid,
		.gid = (gid_t)launch->gid,
		.user = launch->user_name,
		.script_hash = launch->script_hash,
		.environment_hash = launch->environment_hash,
		.array_index = s->array_index,
		.array_size = s->array_index >= 0 ? launch->array_size : 0,
		.step_label = s->label,
		.time_limit_s = s->decided->time_limit_s,
		.grace_s = m->signer->grace_s,
		.prolog = owner,
		.wait_for_go = s->decided->share_count > 1,
		.partition = m->rows->snapshot.pending[s->decided->pending].partition,
		.idle_timeout_s = launch->idle_timeout_s,
		.idle_timeout_of = launch->idle_timeout_of,
		.failing = s->failing,
		.variables = s->key->variables ? s->key->variables : launch->variables,
		.expires_at = m->signer->expires_at + hold_s,
	};

	const struct lead_hint hint = {
		.sample_s = launch->sample_s,
		.first = is_element ? s->key->request_id + 1 : 0,
		.last = is_element ? s->key->request_id + launch->array_size : 0,
		.after = ahead ? ahead->after_step : 0,
		.after_attempt = ahead ? ahead->after_attempt : 0,
		.hold_s = hold_s,
	};
	lead_drafts_add(m->drafts, node, share->node_id, &order, launch->spec, &hint);
}

/* Add a start and its launch requests to a commit. */
static void commit_add_start(struct maker *m, struct lead_commit *commit, const struct start *s)
{
	const struct schedule_start *decided = s->decided;
	json_t *nodes = json_array(), *allocations = json_array();
	int first_task = 0;

	for (size_t i = 0; i < decided->share_count; i++) {
		const struct schedule_share *share = &decided->shares[i];
		bool owner = lead_group_take_prolog(m->groups, s->launch, share->node_id);

		json_array_append_new(nodes, json_integer(share->node_id));
		json_array_append_new(allocations, json_pack("{s:i, s:i, s:I, s:i, s:o, s:b, s:b}", "node", share->node_id,
							     "cpus", share->cpus, "mem_mb", (json_int_t)share->mem_mb, "tasks",
							     share->tasks, "gres", devices_json(share), "prolog_owner", owner,
							     "predispatched", decided->predispatched));
		start_add_order(m, s, (int)i, first_task, owner);
		first_task += share->tasks;
	}
	json_t *start = json_pack("{s:I, s:i, s:i, s:i, s:o, s:o, s:I, s:b, s:o, s:o}", "job", (json_int_t)decided->job, "step",
				  s->step_id, "request", s->key->request_id, "attempt", s->attempt, "array_index",
				  s->array_index >= 0 ? json_integer(s->array_index) : json_null(), "position",
				  decided->position >= 0 ? json_integer(decided->position) : json_null(), "time_limit_s",
				  (json_int_t)decided->time_limit_s, "ends_on_node_loss", s->ends_on_node_loss, "nodes", nodes,
				  "allocations", allocations);
	if (!s->key->steady) /* the step has peers, so the commit compares the nodes of the peers */
		json_object_set_new(start, "bound", json_true());
	if (s->key->ahead)
		json_object_update_new(start, json_pack("{s:i, s:i}", "after", s->key->ahead->after_step, "after_attempt",
							s->key->ahead->after_attempt));
	if (lead_preempt_has_claim(m->rows, decided->job, decided->step))
		json_object_set_new(start, "claimed", json_true());
	if (s->launch->staging) /* the start's launch requests wait for the function pre_run of burst_buffer.lua */
		json_object_set_new(start, "staging", json_true());
	if (s->launch->credentials) /* the orders of the step wait for rota-credd */
		json_object_set_new(start, "credentials", json_true());
	json_array_append_new(commit->starts, start);
}

/* Returns the number of starts from `first` on that belong to one gang, or 1 for a single step. */
static size_t gang_length(const struct maker *m, size_t first)
{
	const struct schedule_pending *pending = m->rows->snapshot.pending;
	const struct schedule_start *starts = m->result->starts;
	const struct schedule_pending *head = &pending[starts[first].pending];
	size_t length = 1;

	if (head->with_count == 0)
		return 1;
	while (first + length < m->result->start_count) {
		const struct schedule_pending *next = &pending[starts[first + length].pending];

		if (next->with_count == 0 || next->job != head->job || next->with_set != head->with_set)
			break;
		length++;
	}
	return length;
}

/* Add all starts of a gang to a commit, or none of them. */
static void maker_add_gang(struct maker *m, struct lead_commit *commit, size_t first, size_t length)
{
	struct start *gang = xcalloc(length, sizeof *gang);
	bool good = true;

	for (size_t i = 0; i < length && good; i++)
		good = start_fill(m, &m->result->starts[first + i], &gang[i]);
	if (good && length == 1 && start_waits_for_group(m, &gang[0])) {
		m->orders->postponed = true;
		good = false;
	}
	for (size_t i = 0; i < length && good; i++)
		commit_add_start(m, commit, &gang[i]);
	free(gang);
}

static struct lead_commit *maker_open_commit(struct maker *m)
{
	struct lead_orders *orders = m->orders;
	struct lead_commit *commit = &orders->commits[orders->commit_count++];

	commit->starts = json_array();
	return commit;
}

/* Sign the launch requests of a commit; NULL: do nothing. A commit without a start is dropped, since all its steps were
 * refused. */
static void maker_close_commit(struct maker *m, struct lead_commit *commit)
{
	if (!commit)
		return;
	commit->orders = lead_drafts_sign(m->drafts, m->signer->sign);
	if (json_array_size(commit->starts) > 0)
		return;
	json_decref(commit->starts);
	json_decref(commit->orders);
	m->orders->commit_count--;
}

struct lead_orders *lead_orders_make(const struct lead_rows *rows, const struct schedule_result *result,
				     const struct lead_signer *signer, bool one_by_one)
{
	struct lead_orders *orders = xcalloc(1, sizeof *orders);
	struct maker m = {.rows = rows, .result = result, .signer = signer, .orders = orders, .groups = lead_groups_new()};
	struct lead_commit *commit = NULL;

	orders->commits = xcalloc(result->start_count, sizeof *orders->commits);
	m.verified = lead_verify(rows, signer->mac, orders);
	maker_index_nodes(&m);
	m.drafts = lead_drafts_new(rows->snapshot.node_count, signer->separate);
	for (size_t i = 0, length; i < result->start_count; i += length) {
		length = gang_length(&m, i);
		if (!commit || json_array_size(commit->starts) >= (one_by_one ? 1 : LEAD_COMMIT_MOST)) {
			maker_close_commit(&m, commit);
			commit = maker_open_commit(&m);
		}
		maker_add_gang(&m, commit, i, length);
	}
	maker_close_commit(&m, commit);
	lead_array_free(m.array);
	lead_drafts_free(m.drafts);
	lead_groups_free(m.groups);
	return orders;
}

void lead_orders_free(struct lead_orders *orders)
{
	if (!orders)
		return;
	for (size_t i = 0; i < orders->commit_count; i++) {
		json_decref(orders->commits[i].starts);
		json_decref(orders->commits[i].orders);
	}
	free(orders->commits);
	free(orders->refused_jobs);
	free(orders->refused_requests);
	free(orders);
}
