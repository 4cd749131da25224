/* launcher_tmpdir.c - removes the folders TMPDIR (--tmpdir) of attempts that are over and whose keepers have not done so.
 *
 * Called by: launcher.c at its start; launcher_lost.c for an attempt whose keeper has died.
 * Invariants:
 * - A child process removes the folders, one after the other, so that the launcher never waits for a folder of millions of files.
 * - An attempt has its spool folder before it has a TMPDIR, and no number is used again. So a TMPDIR without a spool folder
 *   belongs to an attempt that is over.
 * - If the child process is killed, the next one removes the folders that it has left. */
#include <signal.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/keeper/step_tmpdir.h"
#include "procmgr/launcher/launcher_parts.h"

struct launcher_tmpdir {
	pid_t remover; /* the process that removes the folders; 0: none runs */
	bool again;    /* another attempt has ended since that process was forked */
};

struct launcher_tmpdir *launcher_tmpdir_new(void)
{
	return xcalloc(1, sizeof(struct launcher_tmpdir));
}

/* Remove the folders in the child process. Only the log stays open there, so that the launcher's lock ends with the launcher. */
static void remove_all(const struct launcher *l)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	step_tmpdir_sweep(l->conf->node_tmpdir, l->node, launcher_spool_is_gone);
	_exit(0);
}

void launcher_tmpdir_sweep(struct launcher *l)
{
	if (!*l->conf->node_tmpdir || l->dry)
		return;
	l->tmpdir->again = l->tmpdir->remover > 0;
	if (l->tmpdir->remover > 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		remove_all(l);
	if (pid < 0)
		log_error("could not fork the process that removes folders of node.tmpdir: %m");
	l->tmpdir->remover = pid > 0 ? pid : 0;
}

bool launcher_tmpdir_is_remover(const struct launcher *l, pid_t pid)
{
	return pid == l->tmpdir->remover;
}

bool launcher_tmpdir_reaped(struct launcher *l, pid_t pid)
{
	if (pid != l->tmpdir->remover)
		return false;
	l->tmpdir->remover = 0;
	if (l->tmpdir->again)
		launcher_tmpdir_sweep(l);
	return true;
}
