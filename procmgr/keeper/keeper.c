/* keeper.c - the life of one step attempt on one node, from the signed order to the last record.
 *
 * The launcher forks into keeper_run and forgets the child; from here on the keeper depends on no daemon. It is the leader of
 * its own session and the subreaper of everything that its tasks leave behind. When the attempt is over it offers itself for another
 * (keeper_next.c), one at a time. What always holds: `done` is written exactly
 * once, when no process of the user's is left; `end` exactly once, when nothing at all is left; in between and before, whatever
 * goes wrong only decides what those two records say. */
#include "procmgr/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

enum { REMOVE_USEC = 20000, REMOVE_LATE_USEC = 5000000, OWNER_USEC = 30000000 };

static void protect_from_oom(void)
{
	int fd = geteuid() == 0 ? open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (write(fd, "-1000", 5) < 0)
		log_debug("keeper without protection: %m");
	close(fd);
}

static int compare_descriptors(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Nothing of the launcher's but the log and what the job names. */
static void leave_launcher(const struct keeper_job *job)
{
	int kept[] = {2, job->ctl, job->spare, journal_descriptor(job->journal)}, count = sizeof kept / sizeof *kept;
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	qsort(kept, (size_t)count, sizeof *kept, compare_descriptors);
	for (int i = 0; i < count; i++)
		close_range((unsigned)kept[i] + 1, i + 1 < count ? (unsigned)kept[i + 1] - 1 : ~0U, 0);
}

/* The descriptor by which we hear of our children. */
static int become_keeper(const struct keeper_job *job)
{
	sigset_t children;
	leave_launcher(job);
	setsid();
	prctl(PR_SET_NAME, "rota-keeper");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	protect_from_oom();
	umask(022);
	task_ignore_signals();
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_SETMASK, &children, NULL);
	int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		die("could not make a signal descriptor: %m");
	return signals;
}

/* From here on the launcher sees that the attempt has a keeper, and the journal hears of it. */
static void announce(struct keeper *k, bool again)
{
	struct err e;
	char path[RECORD_KEY_SIZE + 16];
	snprintf(path, sizeof path, "spool/%s/pid", k->name);
	if ((!again && !daemon_lock(path, &e)) || !keeper_lease_note(k, k->order->spec.fence, &e)) {
		log_error("%s: %s", k->name, e.message); /* a launcher has given the attempt up, or will */
		_exit(1);
	}
	crash_point(CRASH_keeper_locked);
	keeper_record_keeper(k, getpid());
}

/* The group of the attempt before, where that has left one that fits. */
static bool move_fence(struct keeper *k, struct keeper_known *known)
{
	bool fits = *known->group && known->group_mem_mb == k->order->mem_mb;
	bool moved = fits && fence_move(k->fence, known->group, k->name);
	if (*known->group && !fits)
		fence_remove(k->fence, known->group, 0);
	*known->group = '\0';
	return moved;
}

static void make_fence(struct keeper *k, struct keeper_known *known)
{
	struct err e;
	k->fence = k->job->fence;
	if (!k->fence)
		return;
	const char *cores = k->job->cores;
	bool moved = move_fence(k, known), made = moved || fence_make(k->fence, k->name, k->order->mem_mb, &e);
	if (!made || (cores && !fence_pin(k->fence, k->name, cores, &e))) {
		log_warning("%s runs without a control group: %s", k->name, e.message);
		k->fence = NULL;
	} else if (!moved && k->job->launcher > 0) {
		fence_hold(k->fence, k->name);
	}
}

/* Whose tasks they are. Accounts and groups do not change often, and a name service is not asked for each short step. */
static bool find_owner(struct keeper *k, struct keeper_known *known, struct err *e)
{
	const struct task_owner *o = &known->owner;
	bool same = clock_boot_us() < known->owner_until && strcmp(o->user, k->order->user) == 0 && o->uid == k->order->uid &&
		    o->gid == k->order->gid;
	if (!same) {
		task_owner_clear(&known->owner);
		known->owner_until = 0;
		if (!task_owner_find(k->order, &known->owner, e))
			return false;
		known->owner_until = clock_boot_us() + OWNER_USEC;
	}
	k->owner = known->owner;
	return true;
}

/* Everything the tasks will need; what is missing is the node's fault, limits that make no sense are the step's. */
static bool prepare(struct keeper *k, struct keeper_known *known)
{
	struct err e;
	make_fence(k, known);
	if (!fence_limits_cpus(k->fence))
		cores_take(&k->cores, k->order->cpus);
	k->environment = &known->environment;
	bool there = keeper_file_read(&known->environment, k->order->environment_hash, &e) && find_owner(k, known, &e) &&
		     keeper_file_script(k, known, &e) && keeper_file_nodes(k, known, &e);
	if (there && task_limit_parse(k->order->spec.rlimits, k->limits, &k->limit_count, &e))
		return true;
	k->failed_start = true;
	k->failed_node = !there;
	snprintf(k->message, sizeof k->message, "%s", e.message);
	return false;
}

/* Does this step run prolog and epilog for others of its group? */
static bool is_holder(const struct keeper *k)
{
	return k->order->prolog && *k->order->spec.group;
}

/* The prologs; false where the tasks must not start. */
static bool prolog(struct keeper *k)
{
	struct err e;
	if (!k->order->prolog) {
		k->failed_hook = k->failed_site = !keeper_group_wait(k, &e);
		if (k->failed_hook)
			snprintf(k->message, sizeof k->message, "%s", e.message);
		return !k->failed_hook;
	}
	k->failed_site = !keeper_hook_site(k, "site_prolog", k->job->conf->node_site_prolog);
	k->epilogs = !k->failed_site;
	bool good = !k->failed_site && (*k->cause || keeper_hook_user(k, "user_prolog", k->order->spec.user_prolog));
	k->failed_hook = !good && !*k->cause;
	if (k->failed_site)
		snprintf(k->drain, sizeof k->drain, "prolog failed: %.400s", k->message);
	if (is_holder(k))
		keeper_group_tell(k, good);
	return good;
}

static bool may_go(const struct keeper *k)
{
	return k->go || k->end_asked;
}

static bool is_ended(const struct keeper *k)
{
	return k->end_asked;
}

static bool is_over(const struct keeper *k)
{
	return k->live == 0;
}

/* From the prolog's end to the last task's: other nodes are waited for, and a node that runs none of the tasks holds until it
 * is told that the step is over. */
static void run_tasks(struct keeper *k)
{
	keeper_task_clear(k);
	if (k->order->wait_for_go) {
		keeper_record_plain(k, "ready");
		crash_point(CRASH_keeper_ready);
		keeper_wait(k, may_go, 0);
	}
	if (k->end_asked)
		return;
	keeper_task_start(k);
	keeper_wait(k, is_over, 0);
	if (k->task_count == 0)
		keeper_wait(k, is_ended, 0);
}

static void drain(struct keeper *k, const char *what, const char *message)
{
	if (!*k->drain)
		snprintf(k->drain, sizeof k->drain, "%s: %.400s", what, message);
}

static void sweep(struct keeper *k, bool (*swept)(struct keeper *k))
{
	if (!swept(k))
		drain(k, "processes cannot be killed", k->order->step_label);
}

static void done(struct keeper *k)
{
	bool expected = k->order->spec.per_task ? k->order->tasks > 0 : k->order->node_index == 0;
	if (expected && k->task_count == 0 && !k->up_to_date && !*k->cause)
		snprintf(k->cause, sizeof k->cause, "cancelled"); /* ended before its tasks began */
	sweep(k, keeper_sweep_user);
	if (k->fence)
		fence_read(k->fence, k->name, &k->figures);
	keeper_record_done(k);
	k->done = true;
}

static void epilog(struct keeper *k)
{
	if (is_holder(k))
		keeper_group_over(k);
	if (k->epilogs && !k->fenced && !keeper_hook_user(k, "user_epilog", k->order->spec.user_epilog))
		log_info("%s: %s", k->name, k->message);
	sweep(k, keeper_sweep_user);
	keeper_lease_over(k);
	if (k->epilogs && !keeper_hook_site(k, "site_epilog", k->job->conf->node_site_epilog))
		drain(k, "epilog failed", k->message);
	sweep(k, keeper_sweep_all);
}

static void remove_folder(const struct keeper *k)
{
	static const char *const files[] = {"script", "nodes", "ctl", "pid"};
	char path[RECORD_KEY_SIZE + 32];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "spool/%s/%s", k->name, files[i]);
		unlink(path);
	}
	crash_point(CRASH_keeper_unlocked);
	snprintf(path, sizeof path, "spool/%s", k->name);
	if (rmdir(path) < 0)
		log_warning("could not remove \"%s\": %m", path);
}

/* Does the group, being empty, stay for another attempt? Not after anything out of the common has befallen it. */
static bool keep_fence(const struct keeper *k)
{
	return k->fence && k->job->launcher > 0 && k->clean && !*k->cause && !k->suspended && k->figures.oom_kills == 0 &&
	       fence_keep(k->fence, k->name, k->job->cores);
}

/* The folder is there until `end` is: a keeper that dies before is found by it. True where keeper and folder are free for another
 * attempt. */
static bool end(struct keeper *k, struct keeper_known *known)
{
	cores_release(&k->cores); /* before the step that gets these CPUs next can be started */
	if (k->fence && *k->order->spec.user_epilog)
		fence_read(k->fence, k->name, &k->figures); /* it was in the group, and is not in what `done` saw */
	bool kept = keep_fence(k), removed = !k->fence || kept || fence_remove(k->fence, k->name, 0);
	if (!removed) {
		keeper_record_flush(k); /* what is known need not wait for the rest */
		removed = fence_remove(k->fence, k->name, REMOVE_USEC);
	}
	keeper_record_end(k);
	keeper_record_flush(k);
	crash_point(CRASH_keeper_end);
	bool spare = removed && !*k->drain && !k->lent && keeper_next_offer(k);
	if (!spare)
		remove_folder(k);
	crash_point(CRASH_keeper_removed);
	if (!removed || (kept && !spare))
		fence_remove(k->fence, k->name, REMOVE_LATE_USEC);
	snprintf(known->group, sizeof known->group, "%s", kept && spare ? k->name : "");
	known->group_mem_mb = k->order->mem_mb;
	return spare;
}

static void clear(struct keeper *k)
{
	free(k->script_path);
	free(k->node_file);
	free(k->tasks);
}

static const struct keeper_handlers handlers = {
	.control = keeper_control_read,
	.clocks = keeper_control_clocks,
	.next = keeper_control_next,
	.hook_report = keeper_hook_report,
	.hook_output = keeper_hook_output,
	.hook_reap = keeper_hook_reap,
	.task_report = keeper_task_report,
	.task_reap = keeper_task_reap,
};

/* One attempt from beginning to end; `again`: this keeper had others before. True where it may have another. */
static bool keep(const struct keeper_job *job, int signals, struct keeper_known *known, bool again)
{
	struct keeper k = {.job = job, .handlers = &handlers, .journal = job->journal, .signals = signals, .order = job->order};
	k.limit_s = job->order->time_limit_s;
	k.figures = (struct fence_figures){-1, -1, 0};
	k.clean = true;
	k.brief = known->brief;
	k.key = (struct record_key){job->order->job_id, job->order->step_id, job->order->attempt, 0};
	record_key_text(&k.key, k.name);
	record_mark(job->dir, &k.key, k.mark);
	announce(&k, again);
	keeper_lease_begin(&k);
	bool prepared = prepare(&k, known);
	crash_point(CRASH_keeper_prepared);
	bool good = prepared && !k.fenced && prolog(&k);
	crash_point(CRASH_keeper_prolog);
	if (good && !k.end_asked && keeper_if_changed(&k))
		run_tasks(&k);
	done(&k);
	if (is_holder(&k) && good)
		keeper_wait(&k, is_ended, 0);
	epilog(&k);
	known->brief = keeper_record_brief(&k);
	bool spare = end(&k, known);
	keeper_file_trim(known);
	clear(&k);
	return spare;
}

void keeper_run(const struct keeper_job *first)
{
	struct keeper_job job = *first;
	struct order order;
	struct keeper_known known = {.owner_until = 0};
	int signals = become_keeper(first);
	crash_point(CRASH_keeper_forked);
	for (bool again = false; keep(&job, signals, &known, again) && keeper_next_take(&job, &order); again = true)
		continue;
	if (*known.group)
		fence_remove(first->fence, known.group, 0);
	_exit(0);
}
