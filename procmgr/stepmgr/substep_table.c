/* substep_table.c - all sub-steps of the allocation, by number, by key, and in the order in which they start.
 *
 * Called by: substep_engine.c and substep_recovery.c; substep_client.c and substep_peers.c look sub-steps up.
 * Invariants:
 * - A waiting sub-step is in the queue, a running one among the running ones, an ended one in neither.
 * - An ended sub-step keeps its figures. Of those with output, only the last SUBSTEP_KEPT_MOST keep it, and together at most
 *   SUBSTEP_KEPT_BYTES, which count as memory of the step. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/clock.h"
#include "procmgr/stepmgr/substep_connection.h"
#include "procmgr/stepmgr/substep_drain.h"
#include "procmgr/stepmgr/substep_parts.h"

const char *substep_table_state(const struct substep *s)
{
	static const char *const names[] = {"waiting", "running",   "completed", "failed",
					    "timeout", "cancelled", "skipped",	 "dependency_failed"};
	return names[s->state];
}

struct substep *substep_table_find(struct substep_engine *m, int64_t number)
{
	return number >= 1 && number <= m->count ? m->all[number - 1] : NULL;
}

int substep_table_count(const struct substep_engine *m)
{
	return m->count;
}

struct substep *substep_table_add(struct substep_engine *m, struct substep_spec *spec, int number)
{
	struct substep *s = xcalloc(1, sizeof *s);
	if (number > m->capacity) {
		m->capacity = 2 * number + 64;
		m->all = xrealloc(m->all, (unsigned long)m->capacity * sizeof(struct substep *));
	}
	for (; m->count < number; m->count++)
		m->all[m->count] = NULL;
	m->all[number - 1] = s;
	s->engine = m;
	s->number = number;
	s->spec = spec;
	s->name = xstrdup(spec->name);
	s->ntasks = spec->ntasks;
	s->cpus = substep_pool_cpus(m->pool, spec, spec->ntasks);
	s->reason = s->cause = "";
	s->queued_at = clock_boot_us();
	if (*spec->key)
		json_object_set_new(m->keys, spec->key, json_integer(number));
	return s;
}

void substep_table_wait(struct substep_engine *m, struct substep *s)
{
	struct substep *before = TAILQ_LAST(&m->waiting, substep_list);
	while (before && (before->spec->priority < s->spec->priority ||
			  (before->spec->priority == s->spec->priority && before->number > s->number)))
		before = TAILQ_PREV(before, substep_list, next);
	if (before)
		TAILQ_INSERT_AFTER(&m->waiting, before, s, next);
	else
		TAILQ_INSERT_HEAD(&m->waiting, s, next);
	s->state = SUBSTEP_WAITING;
	m->owed += substep_record_owed(s->ntasks);
	event_active(m->schedule, EV_TIMEOUT, 0);
}

void substep_table_leave(struct substep_engine *m, struct substep *s)
{
	TAILQ_REMOVE(s->state == SUBSTEP_WAITING ? &m->waiting : &m->running, s, next);
	m->owed -= substep_record_owed(s->ntasks);
}

void substep_table_run(struct substep_engine *m, struct substep *s)
{
	substep_table_leave(m, s);
	TAILQ_INSERT_TAIL(&m->running, s, next);
	m->owed += substep_record_owed(s->ntasks);
	s->state = SUBSTEP_RUNNING;
}

void substep_table_forget_output(struct substep *s)
{
	for (int i = 0; s->tasks && i < s->ntasks; i++) {
		substep_drain_finish(&s->tasks[i]);
		for (int stream = 0; stream < SUBSTEP_STREAMS; stream++)
			substep_spool_drop(&s->tasks[i].spools[stream]);
	}
	free(s->tasks);
	s->tasks = NULL;
}

void substep_table_add_end(struct substep *s, struct substep_task *t, int status, const struct stats *stats)
{
	t->pid = 0;
	s->live--;
	stats_sum(&s->used, stats);
	if (WIFEXITED(status) && WEXITSTATUS(status) > s->exit_code)
		s->exit_code = WEXITSTATUS(status);
	if (WIFSIGNALED(status) && s->signal == 0)
		s->signal = WTERMSIG(status);
	s->tasks_failed += status != 0;
}

static int64_t output_bytes(const struct substep *s)
{
	int64_t bytes = 0;
	for (int i = 0; s->tasks && i < s->ntasks; i++)
		for (int stream = 0; stream < SUBSTEP_STREAMS; stream++) {
			struct substep_spool *spool = &s->tasks[i].spools[stream];
			bytes += spool->size - spool->lowest;
		}
	return bytes;
}

/* Drop the output of the sub-step whose output has been kept longest; if it has readers, only when they have all of it. */
static void drop_oldest(struct substep_engine *m)
{
	struct substep *s = m->kept[m->kept_first];
	m->kept_first = (m->kept_first + 1) % SUBSTEP_KEPT_MOST;
	m->kept_count--;
	m->kept_bytes -= s->kept_bytes;
	s->drops_output = true;
	if (!s->readers || LIST_EMPTY((struct substep_reader_list *)s->readers))
		substep_table_forget_output(s);
}

/* A sub-step whose output has no byte takes no place among those whose output is kept. */
void substep_table_keep_output(struct substep_engine *m, struct substep *s)
{
	s->kept_bytes = output_bytes(s);
	if (s->kept_bytes == 0) {
		substep_table_forget_output(s);
		return;
	}
	if (m->kept_count == SUBSTEP_KEPT_MOST)
		drop_oldest(m);
	m->kept[(m->kept_first + m->kept_count++) % SUBSTEP_KEPT_MOST] = s;
	m->kept_bytes += s->kept_bytes;
	while (m->kept_count > 1 && m->kept_bytes > SUBSTEP_KEPT_BYTES)
		drop_oldest(m);
}

struct substep_task *substep_table_find_task(struct substep_engine *m, pid_t pid, struct substep **owner)
{
	struct substep *s;
	TAILQ_FOREACH (s, &m->running, next) {
		for (int i = 0; i < s->ntasks; i++)
			if (s->tasks[i].pid == pid) {
				*owner = s;
				return &s->tasks[i];
			}
	}
	return NULL;
}
