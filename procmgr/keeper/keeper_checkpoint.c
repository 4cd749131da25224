/* keeper_checkpoint.c - has the program of a step save itself, and go on from what it saved (docs/checkpointing.md).
 *
 * Called by: keeper_task.c (the start), keeper_control.c (requests and timers), keeper.c (after the tasks).
 * Invariants:
 * - Everything about the files of checkpoints is done by rota-checkpoint as the user, in the step's cgroup. Root opens none of them.
 * - Only processes of the step that handle the signal get it, since it would end the others. The shell of the script gets it only if
 *   --checkpoint-signal says so: bash handles all signals for the sake of a trap of EXIT, and ends by them.
 * - Only where node.checkpoint_criu is set, and never for root, a task may restore processes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/checkpoint/checkpoint.h"
#include "procmgr/keeper/descendants.h"
#include "procmgr/keeper/keeper_parts.h"

/* END_S: seconds for rota-checkpoint after the tasks. It hashes the whole checkpoint and makes two reports, for each of which it
 * may wait CALL_LONG_S: a hook has less time. CHOOSE_S: seconds in which rota-checkpoint chooses a driver. */
enum { END_S = 3600, CHOOSE_S = 30 };

/* DMTCP_EXIT: the exit code with which DMTCP ends processes that have lost their coordinator. CAUSE_S: seconds in which the job manager finds
 * out why they have. */
enum { DMTCP_EXIT = 99, CAUSE_S = 10 };

static char *const none[] = {NULL};

struct keeper_checkpoint {
	/* program: path of rota-checkpoint; asked: file that has the reason for which the program was signalled last */
	char *program, *asked;
	int64_t next_at;    /* when --checkpoint-interval makes the next checkpoint due; 0: never */
	int64_t limit_at;   /* the time limit before which the program was asked to save itself; 0: it was not asked */
	const char *reason; /* reason in the file `asked`; NULL: the file does not exist */
	int guard;	    /* handle of a child that runs `program`, for which keeper_checkpoint_await() waits; -1: none */
};

/* Do tasks of several nodes share one coordinator of DMTCP? */
static bool shares_coordinator(const struct keeper *k)
{
	return k->checkpoint && k->order->node_count > 1 && k->order->spec.per_task &&
	       strcmp(k->order->spec.checkpoint, "dmtcp") == 0;
}

/* Does the coordinator, which tasks of this node start, also serve tasks of other nodes? */
static bool serves_nodes(const struct keeper *k)
{
	return k->order->node_index == 0 && shares_coordinator(k);
}

bool keeper_checkpoint_open(struct keeper *k, struct err *e)
{
	if (!k->order->spec.checkpoint)
		return true;
	k->checkpoint = xcalloc(1, sizeof *k->checkpoint);
	k->checkpoint->program = daemon_beside("rota-checkpoint", e);
	k->checkpoint->asked = xasprintf("%s/spool/%s/asked", k->job->dir, k->name);
	unlink(k->checkpoint->asked); /* remove the file of the keeper's last attempt */
	k->checkpoint->guard = -1;
	return k->checkpoint->program != NULL;
}

void keeper_checkpoint_close(struct keeper *k)
{
	if (!k->checkpoint)
		return;
	free(k->checkpoint->program);
	free(k->checkpoint->asked);
	free(k->checkpoint);
	k->checkpoint = NULL;
}

/* Returns the arguments of rota-checkpoint up to its command, then `path`, if it is not NULL, and `argv`. The list is malloc'ed; its texts belong
 * to others. */
static char **make_argv(const struct keeper *k, const char *command, const char *path, char *const *argv)
{
	int count = 0, more = 0;
	while (argv[more])
		more++;
	char **all = xcalloc((size_t)more + 8, sizeof *all);
	all[count++] = k->checkpoint->program;
	all[count++] = (char *)k->job->conf->path;
	all[count++] = (char *)k->order->spec.checkpoint;
	all[count++] = (char *)k->order->spec.checkpoint_dir;
	all[count++] = k->checkpoint->asked;
	all[count++] = (char *)command;
	if (path)
		all[count++] = (char *)path;
	memcpy(all + count, argv, (size_t)more * sizeof *all);
	return all;
}

char **keeper_checkpoint_argv(const struct keeper *k, const char *path, char *const *argv)
{
	return make_argv(k, k->order->spec.per_task ? "task" : "start", path, argv);
}

void keeper_checkpoint_begin(struct keeper *k)
{
	int64_t interval = k->order->spec.checkpoint_interval_s;
	if (k->checkpoint)
		k->checkpoint->next_at = interval > 0 ? clock_boot_us() + interval * 1000000 : 0;
}

/* Write the reason for which a checkpoint is requested into the file `asked`, which rota-checkpoint reads. Only the keeper can
 * write to its folder. */
static bool write_reason(const struct keeper *k, const char *reason)
{
	int fd = open(k->checkpoint->asked, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	k->checkpoint->reason = reason;
	bool written = fd >= 0 && write(fd, reason, strlen(reason)) == (ssize_t)strlen(reason);
	if (!written)
		log_warning("could not write \"%s\": %m", k->checkpoint->asked);
	if (fd >= 0)
		close(fd);
	return written;
}

/* Fill `start` for a process of rota-checkpoint that is no task. It gets `command`, then `word` unless that is NULL, then argv.
 * The caller frees `start` by keeper_hook_free(). */
static void prepare_start(const struct keeper *k, const char *command, const char *word, char *const *argv,
			  struct task_start *start)
{
	struct task_facts facts = keeper_place_facts(k, -1);
	facts.credentials = k->delivered;
	facts.tmpdir = k->tmpdir;
	start->argv = make_argv(k, command, word, argv);
	start->path = start->argv[0];
	start->environment = task_environment(k->environment->bytes, k->environment->size, &facts);
	keeper_place_process(k, start);
}

bool keeper_checkpoint_may_restore(struct keeper *k, const char *path, char *const *argv)
{
	const char *driver = k->order->spec.checkpoint;
	if (!*k->job->conf->node_checkpoint_criu || geteuid() != 0 || k->owner.uid == 0)
		return false;
	bool is_one = k->order->task_count <= 1 && strcspn(k->order->nodes, ",[") == strlen(k->order->nodes);
	if (strcmp(driver, "auto") != 0 || !is_one)
		return strcmp(driver, "criu") == 0;
	struct task_start start = {0};
	prepare_start(k, "choose", path, argv, &start);
	start.may_restore = true; /* if the right cannot be given, the program starts without it */
	bool chosen = keeper_hook_unrecorded(k, &start, CHOOSE_S);
	keeper_hook_free(&start);
	return chosen;
}

/* Start rota-checkpoint beside the tasks, to save the step by its driver or to report why it cannot be saved (`fail`). */
static void take_beside(struct keeper *k, const char *fail)
{
	struct task_start start = {0};
	pid_t child;
	prepare_start(k, "take", fail, none, &start);
	keeper_hook_beside(k, &start, &child);
}

/* Send --checkpoint-signal to those processes of the step that handle it: with B: only to the shell of the script, else to all
 * others. Returns how many processes were signalled. */
static int signal_program(const struct keeper *k)
{
	const struct order_spec *spec = &k->order->spec;
	return spec->checkpoint_shell
		       ? keeper_program_signal(&k->tasks[0], spec->checkpoint_signal, true)
		       : keeper_sweep_signal_handlers(k, spec->checkpoint_signal, keeper_program_pid(&k->tasks[0]));
}

/* Does this node have the step saved? The first node does that for all tasks together. */
static bool is_leading(const struct keeper *k)
{
	return k->checkpoint && k->order->node_index == 0;
}

void keeper_checkpoint_ask(struct keeper *k, const char *reason)
{
	if (!is_leading(k) || !keeper_ending_is_running(k) || *k->cause || !write_reason(k, reason))
		return;
	const char *driver = k->order->spec.checkpoint;
	bool is_app = strcmp(driver, "app") == 0, may_signal = is_app || strcmp(driver, "auto") == 0;
	if (may_signal && signal_program(k) > 0)
		return;
	if (!is_app)
		take_beside(k, NULL);
	else if (strcmp(reason, "interval") != 0)
		take_beside(k, k->order->spec.checkpoint_shell
				       ? "the shell of the step does not handle the signal (--checkpoint-signal)"
				       : "no process of the step handles the signal; for the shell of its script, write "
					 "--checkpoint-signal=B:USR1");
}

/* Returns when the program is to be asked to save itself before the time limit; 0: never, or it has been asked. */
static int64_t before_limit(const struct keeper *k, int64_t limit_at)
{
	int64_t before = k->order->spec.checkpoint_before_s, at = limit_at - before * 1000000;
	if (before == 0 || limit_at == 0 || limit_at == k->checkpoint->limit_at)
		return 0;
	return at > 0 ? at : 1;
}

void keeper_checkpoint_limit(struct keeper *k, int64_t limit_at)
{
	struct keeper_checkpoint *c = k->checkpoint;
	if (c && c->reason && strcmp(c->reason, "time_limit") == 0 && limit_at != c->limit_at)
		/* a step is queued again after a checkpoint with the reason time_limit, but that limit no longer holds */
		write_reason(k, "asked");
}

void keeper_checkpoint_poll(struct keeper *k, int64_t now, int64_t limit_at)
{
	if (!is_leading(k) || k->suspended || k->lingers)
		return;
	int64_t before = before_limit(k, limit_at);
	if (before > 0 && now >= before) {
		k->checkpoint->limit_at = limit_at;
		keeper_checkpoint_ask(k, "time_limit");
	} else if (k->checkpoint->next_at > 0 && now >= k->checkpoint->next_at) {
		k->checkpoint->next_at = now + (int64_t)k->order->spec.checkpoint_interval_s * 1000000;
		keeper_checkpoint_ask(k, "interval");
	}
}

int64_t keeper_checkpoint_next(const struct keeper *k, int64_t limit_at)
{
	if (!is_leading(k) || k->suspended || k->lingers)
		return 0;
	int64_t before = before_limit(k, limit_at), next = k->checkpoint->next_at;
	return before == 0 || (next > 0 && next < before) ? next : before;
}

/* Does the process run rota-checkpoint? An update may have replaced its file: the kernel then adds " (deleted)" to the path. The path is only
 * read, because to follow it may ask a file system of the user, which may not answer. Call this for children of the keeper, whose numbers do not
 * change hands: only the keeper reaps them. */
static bool runs_program(const struct keeper *k, pid_t child)
{
	char link[64], path[PATH_MAX];
	const char *program = k->checkpoint->program;
	snprintf(link, sizeof link, "/proc/%ld/exe", (long)child);
	ssize_t length = readlink(link, path, sizeof path - 1);
	path[length > 0 ? length : 0] = '\0';
	size_t size = strlen(program);
	return strncmp(path, program, size) == 0 && (!path[size] || strcmp(path + size, " (deleted)") == 0);
}

/* Keep a handle of the process if it is a child of the keeper that runs rota-checkpoint. */
static void note_guard(const struct descendants_process *p, void *keeper)
{
	const struct keeper *k = keeper;
	if (k->checkpoint->guard < 0 && descendants_is_child(p, NULL) && runs_program(k, p->pid))
		k->checkpoint->guard = pidfd_open(p->pid, 0);
}

static void find_guard(const struct keeper *k)
{
	descendants_each(descendants_is_child, NULL, k->owner.uid, note_guard, (void *)k);
}

/* Has the guard ended, and every other process of rota-checkpoint? A child that was reaped is unknown to waitid(). */
static bool guard_is_gone(const struct keeper *k)
{
	struct keeper_checkpoint *c = k->checkpoint;
	siginfo_t info;
	while (c->guard >= 0 && waitid(P_PIDFD, (id_t)c->guard, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
		close(c->guard);
		c->guard = -1;
		find_guard(k);
	}
	return c->guard < 0;
}

static bool is_ended(const struct keeper *k)
{
	return k->request == KEEPER_REQUEST_END;
}

/* DMTCP has ended the tasks here, since they have lost the coordinator on the first node. If a task has failed there, or its keeper is gone, the
 * job manager knows that soon, and ends the step here: how the attempt ended is then its matter, and exit code 99 says nothing. Otherwise the first
 * node is lost, or the way to it, which the job manager learns here. */
static void await_cause(struct keeper *k)
{
	k->lingers = true;
	keeper_wait(k, is_ended, clock_boot_us() + (int64_t)CAUSE_S * 1000000);
	k->lingers = false;
	if (is_ended(k)) {
		k->exit_code = 0;
		return;
	}
	snprintf(k->cause, sizeof k->cause, "node_lost");
	snprintf(k->message, sizeof k->message, "tasks on node %s have lost DMTCP's coordinator on the first node of the step",
		 k->order->node);
}

/* The guard (dmtcp_guard.c) is an orphan that runs rota-checkpoint. It ends with the coordinator, and this with the last process that
 * DMTCP runs, on whatever node. So the end of the guard, which SIGCHLD reports, ends the wait. A checkpoint that is being taken is also
 * such a process. What else the tasks of this node have left is killed, as after other tasks: DMTCP would wait for it too.
 *
 * If a task of this node has failed, the job manager ends the tasks of the other nodes when this node is done, so the keeper does not
 * wait. If the step is being ended, the others have the same grace time as the tasks here had. */
void keeper_checkpoint_await(struct keeper *k)
{
	bool failed = k->failure != KEEPER_FAILURE_NONE || (!*k->cause && (k->exit_code != 0 || k->signal != 0));
	if (shares_coordinator(k) && !serves_nodes(k) && failed && k->exit_code == DMTCP_EXIT)
		await_cause(k);
	if (!serves_nodes(k) || k->task_count == 0 || failed)
		return;
	find_guard(k);
	if (k->checkpoint->guard < 0)
		return;
	k->lingers = true;
	keeper_manager_end(k);
	keeper_sweep_others(k, runs_program);
	keeper_wait(k, guard_is_gone, 0);
	k->lingers = false;
}

void keeper_checkpoint_end(struct keeper *k)
{
	bool well = k->exit_code == 0 && !*k->cause, again = k->exit_code == CHECKPOINT_EXIT_AGAIN;
	if (!k->checkpoint || k->task_count == 0 || k->failure != KEEPER_FAILURE_NONE || k->signal != 0 || !(well || again))
		return;
	if (again && !is_leading(k))
		return;
	struct task_start start = {0};
	prepare_start(k, "end", again ? "again" : k->order->spec.per_task ? "all" : "well", none, &start);
	if (!keeper_hook_unrecorded(k, &start, END_S))
		log_info("attempt %s: rota-checkpoint failed after its tasks", k->name);
	keeper_hook_free(&start);
}
