/* substep_part.c - the tasks of a sub-step on another node (substep_part.h).
 *
 * Called by: substep_nodes.c, substep_place.c, substep_recovery.c and, for events of agents, substep_engine.c.
 * Invariants: output of a part goes into spools of this process, like that of tasks on this node. */
#include "procmgr/stepmgr/substep_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_drain.h"
#include "procmgr/stepmgr/substep_feed.h"
#include "procmgr/stepmgr/substep_parts.h"

struct substep_part *substep_part_on(const struct substep *s, int node)
{
	for (int i = 0; i < s->part_count; i++)
		if (s->parts[i].node == node)
			return &s->parts[i];
	return NULL;
}

void substep_part_add(struct substep *s, int node, const char *name, struct substep_ranks ranks, struct substep_share share)
{
	s->parts = xrealloc(s->parts, (size_t)(s->part_count + 1) * sizeof *s->parts);
	struct substep_part *part = &s->parts[s->part_count++];
	*part = (struct substep_part){.node = node, .name = name, .ranks = ranks, .share = share};
	int task = s->spec->input_task;
	if (substep_input_is_of_client(s) && (task < 0 || substep_ranks_have(&ranks, task)))
		part->feed = substep_feed_new();
}

void substep_part_free_all(struct substep *s)
{
	for (int i = 0; i < s->part_count; i++)
		substep_feed_free(s->parts[i].feed);
	free(s->parts);
	s->parts = NULL;
	s->part_count = 0;
}

/* Add to the request where the part's tasks get their input: from the client, or from a file on their node. */
static void add_input(const struct substep *s, const struct substep_part *part, json_t *request)
{
	bool is_client = strcmp(s->spec->input, "client") == 0;
	if (is_client && !part->feed)
		return;
	json_object_set_new(request, "input", json_string(s->spec->input));
	if (s->spec->input_task >= 0)
		json_object_set_new(request, "input_task",
				    json_integer(substep_ranks_position(&part->ranks, s->spec->input_task)));
}

json_t *substep_part_request(const struct substep *s, const struct substep_part *part)
{
	static const char *const kept[] = {"argv",	    "multi",  "gres",	   "cpu_bind", "output", "error",
					   "cpus_per_task", "mem_mb", "exclusive", "overlap",  "pty"};
	const struct substep_spec *spec = s->spec;
	const struct substep_ranks *r = &part->ranks;
	json_t *request = json_pack("{s:s, s:i, s:s, s:s, s:i, s:b}", "op", "run", "id", s->number, "name", s->name, "cwd",
				    spec->cwd, "ntasks", r->count, "detach", true);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		json_t *value = json_object_get(spec->request, kept[i]);
		if (value)
			json_object_set(request, kept[i], value);
	}
	add_input(s, part, request);
	json_object_set_new(request, "key", json_sprintf("part %d.%d", s->number, s->run));
	json_object_set_new(request, "part",
			    json_pack("{s:i, s:i, s:i, s:i, s:i}", "number", s->number, "first", r->first, "stride", r->stride,
				      "block", r->block, "total", s->ntasks));
	return request;
}

/* Add output of an event to the spool of its task. Bytes that the spool has already are dropped. */
static void take_output(struct substep *s, const struct substep_part *part, const json_t *event, const char *bytes, size_t size)
{
	json_int_t at = json_integer_value(json_object_get(event, "task")),
		   offset = json_integer_value(json_object_get(event, "offset"));
	const char *stream = json_string_value(json_object_get(event, "stream"));
	if (at < 0 || at >= part->ranks.count || offset < 0 || !stream)
		return;
	int to = strcmp(stream, "err") == 0 ? SUBSTEP_ERR : SUBSTEP_OUT;
	struct substep_task *t = &s->tasks[substep_ranks_at(&part->ranks, (int)at)];
	struct substep_spool *spool = &t->spools[to];
	int64_t known = spool->size - offset;
	bool is_of_client = !*(to == SUBSTEP_OUT ? s->spec->output : s->spec->error);
	if (!is_of_client || known >= (int64_t)size || !substep_drain_make_spool(t, to))
		return;
	if (known < 0) {
		if (!substep_spool_skip(spool, offset)) /* the agent does not have the bytes before `offset` any more */
			return;
		known = 0;
	}
	substep_spool_add(spool, bytes + known, size - (size_t)known);
	s->engine->handlers->output(s);
}

/* Add the end of a part, which an event reports, to the figures of its sub-step. Returns true if a task of the part has
 * failed. */
static bool take_end(struct substep *s, struct substep_part *part, const json_t *event)
{
	const json_t *usage = json_object_get(event, "usage");
	int exit_code = (int)json_integer_value(json_object_get(event, "exit")),
	    signal = (int)json_integer_value(json_object_get(event, "signal"));
	const char *message = json_string_value(json_object_get(event, "message"));
	struct stats stats = substep_record_stats(usage);
	part->has_ended = true;
	s->live -= part->ranks.count;
	s->tasks_failed += (int)json_integer_value(json_object_get(event, "tasks_failed"));
	s->exit_code = exit_code > s->exit_code ? exit_code : s->exit_code;
	s->signal = s->signal ? s->signal : signal;
	stats_sum(&s->used, &stats);
	if (message && !*s->message)
		snprintf(s->message, sizeof s->message, "%s", message);
	return exit_code != 0 || signal != 0;
}

bool substep_part_take(struct substep *s, struct substep_part *part, const char *name, const json_t *event, const void *bytes,
		       size_t size, bool *failed)
{
	if (strcmp(name, "output") == 0) {
		take_output(s, part, event, bytes, size);
	} else if (strcmp(name, "input") == 0) {
		substep_feed_take(s, part, event);
	} else if (strcmp(name, "ended") == 0) {
		*failed = take_end(s, part, event);
	} else if (strcmp(name, "error") == 0) { /* the agent refuses the request */
		json_t *end = json_pack("{s:i, s:i, s:O?}", "exit", 127, "tasks_failed", part->ranks.count, "message",
					json_object_get(event, "message"));
		*failed = take_end(s, part, end);
		json_decref(end);
	}
	return part->has_ended;
}
