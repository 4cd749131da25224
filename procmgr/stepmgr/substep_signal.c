/* substep_signal.c - signals the tasks of a sub-step (substep_signal.h).
 *
 * Called by: substep_engine.c and substep_request.c. */
#include "procmgr/stepmgr/substep_signal.h"

#include <stdlib.h>

#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_process.h"

static int live_pids(const struct substep *s, pid_t *pids)
{
	int count = 0;
	for (int i = 0; i < s->ntasks; i++)
		if (s->tasks[i].pid > 0)
			pids[count++] = s->tasks[i].pid;
	return count;
}

void substep_signal_send(struct substep_engine *m, struct substep *s, int signal)
{
	if (s->state != SUBSTEP_RUNNING)
		return;
	pid_t *pids = xcalloc((unsigned long)s->ntasks, sizeof *pids);
	substep_process_signal(pids, live_pids(s, pids), signal);
	free(pids);
	for (int i = 0; i < s->part_count; i++)
		if (!s->parts[i].has_ended)
			substep_nodes_signal(m->nodes, &s->parts[i], signal);
}
