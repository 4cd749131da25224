/* stepmgr.c - the step manager's start.
 *
 * Called by: bin/rota-stepmgr.c, which the keeper starts at the first connection to the socket of the step.
 * Invariants:
 * - The step manager needs neither jobmgrd nor PostgreSQL, and no daemon of the node.
 * - Only SIGKILL ends the step manager. A signal to all processes of the step is for the tasks, which get it from the keeper too.
 *   At SIGTERM, the step manager reads the files of the keeper, which say whether the step is ended (substep_engine.c). */
#include "procmgr/stepmgr/stepmgr.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "procmgr/stepmgr/substep_agent.h"
#include "procmgr/stepmgr/substep_changes.h"
#include "procmgr/stepmgr/substep_client.h"
#include "procmgr/stepmgr/substep_environment.h"
#include "procmgr/stepmgr/substep_growth.h"
#include "procmgr/stepmgr/substep_journal.h"
#include "procmgr/stepmgr/substep_link.h"
#include "procmgr/stepmgr/substep_parts.h"
#include "procmgr/stepmgr/substep_remote.h"
#include "procmgr/stepmgr/substep_session.h"
#include "procmgr/stepmgr/substep_store.h"

enum { LISTENER = 3, JOURNAL = 4, ORPHANS = 5, STORE_IN = 6, STORE_OUT = 7, GROWTHS = 8, CHANGES = 9, SIGN_KEY = 10 };

static void ignore_signals(void)
{
	static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGXCPU};
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
}

int stepmgr_run(void)
{
	ignore_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Close-on-exec: the keeper passes the descriptors without it, and tasks must not get them. */
	close_range(LISTENER, ~0U, CLOSE_RANGE_CLOEXEC);
	struct event_base *base = event_base_new();
	if (!base)
		die("could not make an event loop");
	substep_journal_lock(JOURNAL);
	substep_store_open(STORE_IN, STORE_OUT);
	substep_remote_use(SIGN_KEY);
	substep_link_use_ports(getenv("ROTA_STEP_PORTS"));
	unsetenv("ROTA_STEP_PORTS");
	substep_session_use_limit(getenv("ROTA_STEP_IDLE"));
	unsetenv("ROTA_STEP_IDLE");
	substep_environment_use_variables(getenv("ROTA_STEP_VARIABLES"));
	unsetenv("ROTA_STEP_VARIABLES");
	bool has_tasks = getenv("ROTA_STEP_TASKS");
	unsetenv("ROTA_STEP_TASKS");
	struct substep_engine *m = substep_engine_new(base, JOURNAL, ORPHANS, &substep_client_handlers);
	bool is_agent = substep_agent_open(base);
	substep_client_serve(base, m, LISTENER, is_agent ? substep_agent_relay : NULL);
	m->changes = CHANGES;
	m->has_tasks = has_tasks;
	substep_recovery_run(m);
	substep_changes_read(m);
	substep_engine_lose_parts(m);
	substep_engine_replace_failed(m);
	substep_engine_call(m);
	substep_growth_open(m, GROWTHS);
	event_base_dispatch(base);
	return 1;
}
