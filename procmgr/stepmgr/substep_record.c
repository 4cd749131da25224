/* substep_record.c - writes the records of sub-steps to the step manager's journal.
 *
 * Called by: substep_engine.c.
 * Invariants: the members are those of docs/formats.md. procmgrd reads the kinds queue, start, session and end; recovery reads all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/hosts.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_parts.h"

enum { COMMAND_SIZE = 257, QUEUE_MOST = 2048, SESSION_MOST = 65536 };

static int64_t json_size(const json_t *json)
{
	return (int64_t)json_dumpb(json, NULL, 0, JSON_COMPACT);
}

bool substep_record_has_room(const struct substep_engine *m, const struct substep_spec *spec, struct err *e)
{
	int64_t bytes = m->owed;
	if (spec)
		bytes += QUEUE_MOST + json_size(spec->request) +
			 (m->env && json_equal(m->env, spec->env) ? 0 : json_size(spec->env)) + substep_record_owed(spec->ntasks);
	return substep_journal_reserve(m->journal, bytes, e);
}

/* Returns the number of the record `env` that has this environment. Writes such a record unless the last one has the same
 * environment: clients of one script mostly have the same. */
static int env_record(struct substep_engine *m, json_t *env)
{
	if (m->env && json_equal(m->env, env))
		return m->env_number;
	json_decref(m->env);
	m->env = json_incref(env);
	substep_journal_append(m->journal, "env", json_pack("{s:i, s:O}", "number", ++m->env_number, "env", env));
	return m->env_number;
}

void substep_record_queue(struct substep_engine *m, const struct substep *s)
{
	const struct substep_spec *spec = s->spec;
	char command[COMMAND_SIZE];
	json_t *request = json_copy(spec->request);
	json_object_del(request, "env");
	json_object_set_new(request, "cwd", json_string(spec->cwd));
	substep_spec_command(spec, command, sizeof command);
	/* A command that was cut may end within a character, which JSON refuses. */
	json_t *text = json_string(command);
	for (size_t size = strlen(command); !text && size > 0; text = json_string(command))
		command[--size] = '\0';
	substep_journal_append(m->journal, "queue",
			       json_pack("{s:i, s:i, s:o, s:s, s:o, s:i, s:i, s:I, s:s, s:s, s:i, s:i}", "substep", s->number,
					 "env", env_record(m, spec->env), "request", request, "name", s->name, "command",
					 text ? text : json_string(""), "ntasks", s->ntasks, "cpus", s->cpus, "mem_mb",
					 (json_int_t)spec->mem_mb, "gres", spec->gres, "after", spec->after, "priority",
					 spec->priority, "retry", spec->retry));
}

bool substep_record_begin(struct substep_engine *m, const struct substep *s, int rank)
{
	const struct substep_task *t = &s->tasks[rank];
	return substep_journal_try_text(m->journal, "begin", "\"substep\":%d,\"run\":%d,\"task\":%d,\"pid\":%ld,\"started\":%lld",
					s->number, s->run, rank, (long)t->pid, (long long)t->started);
}

static json_t *ranks_json(const struct substep_ranks *r)
{
	if (r->block > 1)
		return json_pack("[i, i, i, i]", r->first, r->stride, r->count, r->block);
	return json_pack("[i, i, i]", r->first, r->stride, r->count);
}

static json_t *parts_json(const struct substep *s)
{
	json_t *list = json_array();
	for (int i = 0; i < s->part_count; i++)
		json_array_append_new(list,
				      json_pack("{s:i, s:o}", "node", s->parts[i].node, "ranks", ranks_json(&s->parts[i].ranks)));
	return list;
}

struct substep_ranks substep_record_ranks(const json_t *list, int ntasks)
{
	struct substep_ranks r = {0, 1, 0, 0};
	bool good = json_unpack((json_t *)list, "[i, i, i]", &r.first, &r.stride, &r.count) == 0;
	r.block = (int)json_integer_value(json_array_get(list, 3));
	return good && substep_ranks_are_valid(&r, ntasks) ? r : (struct substep_ranks){0, 1, 0, 0};
}

/* Returns the names of all nodes of a sub-step, as in "n1,n3", malloc'ed. */
static char *node_names(const struct substep_engine *m, const struct substep *s)
{
	const char **names = xcalloc((size_t)s->part_count + 1, sizeof *names);
	size_t count = 0;
	if (s->ranks.count > 0)
		names[count++] = m->node;
	for (int i = 0; i < s->part_count; i++)
		names[count++] = s->parts[i].name;
	char *text = hosts_pack(names, count);
	free(names);
	return text;
}

void substep_record_start(struct substep_engine *m, const struct substep *s)
{
	char *nodes = node_names(m, s);
	json_t *record = substep_pool_share_json(m->pool, &s->share);
	json_t *more = json_pack("{s:i, s:i, s:s, s:s*, s:o}", "substep", s->number, "run", s->run, "node", nodes, "terminal",
				 s->terminal, "ranks", ranks_json(&s->ranks));
	if (s->part_count > 0)
		json_object_set_new(more, "parts", parts_json(s));
	free(nodes);
	json_object_update(record, more);
	json_decref(more);
	substep_journal_append(m->journal, "start", record);
}

void substep_record_session(struct substep_engine *m, const struct substep *s, const struct substep_idle_limit *limit,
			    int64_t key_at, int64_t output_at, json_t *attached)
{
	struct err e;
	if (!substep_journal_reserve(m->journal, m->owed + SESSION_MOST, &e)) {
		json_decref(attached);
		return;
	}
	substep_journal_append(m->journal, "session",
			       json_pack("{s:i, s:s, s:I, s:s*, s:I, s:I, s:o}", "substep", s->number, "name", s->spec->session,
					 "idle_timeout_s", (json_int_t)limit->seconds, "idle_timeout_of", limit->of, "key_at",
					 (json_int_t)key_at, "output_at", (json_int_t)output_at, "attached", attached));
}

void substep_record_again(struct substep_engine *m, const struct substep *s)
{
	substep_journal_append(m->journal, "again", json_pack("{s:i, s:i}", "substep", s->number, "run", s->run));
}

enum { STATS_MOST = 512 };

static const char *stats_text(const struct stats *u, char text[STATS_MOST])
{
	snprintf(text, STATS_MOST,
		 "\"user_usec\":%lld,\"system_usec\":%lld,\"max_rss_kb\":%lld,\"minflt\":%lld,\"majflt\":%lld,\"rchar\":%lld,"
		 "\"wchar\":%lld,\"read_bytes\":%lld,\"write_bytes\":%lld,\"nvcsw\":%lld,\"nivcsw\":%lld",
		 (long long)u->user_usec, (long long)u->system_usec, (long long)u->max_rss_kb, (long long)u->minflt,
		 (long long)u->majflt, (long long)u->rchar, (long long)u->wchar, (long long)u->read_bytes,
		 (long long)u->write_bytes, (long long)u->nvcsw, (long long)u->nivcsw);
	return text;
}

char *substep_record_usage(const struct substep *s)
{
	char text[STATS_MOST];
	return xasprintf("{%s}", stats_text(&s->used, text));
}

struct stats substep_record_stats(const json_t *record)
{
	return (struct stats){substep_journal_number(record, "user_usec"),   substep_journal_number(record, "system_usec"),
			      substep_journal_number(record, "max_rss_kb"),  substep_journal_number(record, "minflt"),
			      substep_journal_number(record, "majflt"),	     substep_journal_number(record, "rchar"),
			      substep_journal_number(record, "wchar"),	     substep_journal_number(record, "read_bytes"),
			      substep_journal_number(record, "write_bytes"), substep_journal_number(record, "nvcsw"),
			      substep_journal_number(record, "nivcsw")};
}

void substep_record_task(struct substep_engine *m, const struct substep *s, int rank, int status, const struct stats *stats)
{
	char text[STATS_MOST];
	substep_journal_append_text(m->journal, "task", "%s,\"substep\":%d,\"run\":%d,\"task\":%d,\"status\":%d",
				    stats_text(stats, text), s->number, s->run, rank, status);
}

void substep_record_end(struct substep_engine *m, const struct substep *s)
{
	char text[STATS_MOST];
	substep_journal_append_text(m->journal, "end",
				    "%s,\"substep\":%d,\"state\":\"%s\",\"exit\":%d,\"signal\":%d,\"cause\":\"%s\",\"run\":%d,"
				    "\"tasks_failed\":%d",
				    stats_text(&s->used, text), s->number, substep_table_state(s), s->exit_code, s->signal,
				    s->cause, s->run, s->tasks_failed);
}
