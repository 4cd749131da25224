/* substep_stub.h - an engine of sub-steps that starts no process.
 *
 * Called by: substep_protocol_fuzz.c and substep_journal_fuzz.c. The functions of this file take the place of those of substep_task.c
 * and substep_process.c, which the linker then leaves out.
 * Invariants: no process is started or signalled, and no file is opened that the input names. */
#ifndef ROTA_FUZZ_SUBSTEP_STUB_H
#define ROTA_FUZZ_SUBSTEP_STUB_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_link.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_place.h"
#include "procmgr/stepmgr/substep_process.h"
#include "procmgr/stepmgr/substep_session.h"

void substep_task_make(struct substep *s)
{
	s->tasks = xcalloc((unsigned long)s->ntasks, sizeof *s->tasks);
	for (int i = 0; i < s->ntasks; i++)
		s->tasks[i] = (struct substep_task){.substep = s,
						    .counts = -1,
						    .in = -1,
						    .spools = {{.fd = -1}, {.fd = -1}},
						    .drains = {{.pipe = -1}, {.pipe = -1}}};
}

/* A program named "x" starts, any other one does not. */
bool substep_task_start(struct substep_engine *m, struct substep *s, int rank, struct err *e)
{
	const char *program = json_string_value(json_array_get(substep_spec_argv(s->spec, rank), 0));
	(void)m;
	if (strcmp(program, "x") != 0)
		return err_set(e, "could not start \"%.256s\"", program);
	s->tasks[rank].pid = 1;
	s->live++;
	return true;
}

void substep_process_open(void)
{
}

pid_t substep_process_start(const struct substep_start *start, struct err *e)
{
	(void)start;
	(void)e;
	abort();
}

void substep_process_signal(const pid_t *pids, int count, int signal)
{
	(void)pids;
	(void)count;
	(void)signal;
}

/* Nothing listens for agents. The linker puts this in the place of substep_link_listen. */
int __wrap_substep_link_listen(struct event_base *base, int port, const struct substep_link_listening *listening, struct err *e);

int __wrap_substep_link_listen(struct event_base *base, int port, const struct substep_link_listening *listening, struct err *e)
{
	(void)base;
	(void)listening;
	(void)e;
	return port > 0 ? port : 1;
}

static int stub_file(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
		abort();
	return fd;
}

static struct substep_engine *stub_engine(struct event_base *base, int journal, int orphans,
					  const struct substep_handlers *handlers)
{
	setenv("ROTA_NODE", "n1", 1);
	setenv("ROTA_CPUS", "4", 1);
	setenv("ROTA_MEM_MB", "1000", 1);
	setenv("ROTA_GRES", "gpu:0+1", 1);
	return substep_engine_new(base, journal, orphans, handlers);
}

static void free_tasks(struct substep *s)
{
	for (int i = 0; s->tasks && i < s->ntasks; i++) {
		struct substep_task *t = &s->tasks[i];
		if (t->event && event_get_fd(t->event) >= 0)
			close(event_get_fd(t->event));
		if (t->counts >= 0)
			close(t->counts);
		substep_input_close(t);
	}
	substep_table_forget_output(s);
}

/* Free all sub-steps. No client has a reader any more. */
static void stub_reset(struct substep_engine *m)
{
	for (int i = 0; i < m->count; i++) {
		struct substep *s = m->all[i];
		if (!substep_has_ended(s))
			substep_table_leave(m, s);
		substep_spec_free(s->spec);
		substep_session_end(s);
		substep_place_give(m, s);
		free_tasks(s);
		if (s->early)
			evbuffer_free(s->early);
		if (s->timer)
			event_free(s->timer);
		free(s->peers);
		free(s->terminal);
		free(s->readers);
		free(s->name);
		free(s);
	}
	m->count = m->kept_first = m->kept_count = m->env_number = 0;
	m->kept_bytes = 0;
	json_object_clear(m->keys);
	json_decref(m->env);
	m->env = NULL;
	if (ftruncate(m->journal, 0) < 0)
		abort();
}

#endif
