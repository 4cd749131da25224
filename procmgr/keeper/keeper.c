/* keeper.c - runs one step attempt on one node, from the signed launch request to the last record.
 *
 * Called by: the launcher, which forks into keeper_run. From then on the keeper depends on no daemon. The keeper leads its own
 * session and is the subreaper of its tasks' descendants. After an attempt it offers itself for another attempt (keeper_next.c).
 * Invariants:
 * - The record `done` is written once, when no process of the user is left. The record `end` is written once, when no process of
 *   the attempt is left.
 * - An error before or between these two records only changes their content. */
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
#include "procmgr/keeper/fuse_mounts.h"
#include "procmgr/keeper/keeper_parts.h"
#include "procmgr/keeper/step_tmpdir.h"

enum { REMOVE_USEC = 20000, REMOVE_LATE_USEC = 5000000, OWNER_USEC = 30000000 };

static void protect_from_oom(void)
{
	int fd = geteuid() == 0 ? open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (write(fd, "-1000", 5) < 0)
		log_debug("could not protect the keeper from the out-of-memory killer: %m");
	close(fd);
}

static int compare_descriptors(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close all inherited descriptors except the log and those named in `job`. */
static void leave_launcher(const struct keeper_job *job)
{
	int kept[] = {2, job->ctl, job->idle, journal_descriptor(job->journal)}, count = sizeof kept / sizeof *kept;
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	qsort(kept, (size_t)count, sizeof *kept, compare_descriptors);
	for (int i = 0; i < count; i++)
		close_range((unsigned)kept[i] + 1, i + 1 < count ? (unsigned)kept[i + 1] - 1 : ~0U, 0);
}

/* Turn the forked child into a keeper. Returns the signalfd that reports ended children. */
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
		die("the keeper could not make a signal descriptor: %m");
	return signals;
}

/* Lock and write the attempt's pid file, by which the launcher sees that the attempt has a keeper. */
static void announce_attempt(struct keeper *k, bool again)
{
	struct err e;
	char path[RECORD_KEY_SIZE + 16];
	snprintf(path, sizeof path, "spool/%s/pid", k->name);
	if ((!again && !daemon_lock(path, &e)) || !keeper_lease_note(k, k->order->spec.fence, &e)) {
		/* Another process has locked the attempt's pid file, or the file could not be written: a launcher ends the
		 * attempt. */
		log_error("attempt %s is not run: %s", k->name, e.message);
		_exit(1);
	}
	crash_point(CRASH_keeper_locked);
	keeper_record_keeper(k, getpid());
}

/* Reuse the cgroup of the keeper's last attempt, if the memory limit is the same. */
static bool reuse_cgroups(struct keeper *k, struct keeper_cache *cache)
{
	bool fits = *cache->group && cache->group_mem_mb == k->order->mem_mb;
	bool moved = fits && cgroups_reuse(k->cgroups, cache->group, k->name);
	if (*cache->group && !fits)
		cgroups_remove(k->cgroups, cache->group, 0);
	*cache->group = '\0';
	return moved;
}

static void make_cgroups(struct keeper *k, struct keeper_cache *cache)
{
	struct err e;
	k->cgroups = k->job->cgroups;
	if (!k->cgroups)
		return;
	const char *cores = k->job->cores;
	bool moved = reuse_cgroups(k, cache), made = moved || cgroups_make(k->cgroups, k->name, k->order->mem_mb, &e);
	if (!made || (cores && !cgroups_pin(k->cgroups, k->name, cores, &e))) {
		log_warning("attempt %s runs without a cgroup: %s", k->name, e.message);
		k->cgroups = NULL;
	} else if (!moved && k->job->launcher > 0) {
		cgroups_keep_open(k->cgroups, k->name);
	}
}

/* Restrict the step to its devices, if launcher.devices says so. Without a cgroup the step does not start then. */
static bool restrict_devices(const struct keeper *k, struct err *e)
{
	struct device list[DEVICES_MOST];
	if (strcmp(k->job->conf->launcher_devices, "granted") != 0)
		return true;
	int count = devices_granted(k->job->conf->launcher_device_files, k->order->gres, list, e);
	if (count < 0)
		return false;
	return k->cgroups ? cgroups_restrict_devices(k->cgroups, k->name, list, count, e)
			  : err_set(e, "launcher.devices is \"granted\", and the step has no cgroup");
}

/* Find the user that runs the tasks. Accounts and groups seldom change, so the result of the name service is cached for 30 s. */
static bool find_owner(struct keeper *k, struct keeper_cache *cache, struct err *e)
{
	const struct task_owner *o = &cache->owner;
	bool same = clock_boot_us() < cache->owner_until && strcmp(o->user, k->order->user) == 0 && o->uid == k->order->uid &&
		    o->gid == k->order->gid;
	if (!same) {
		task_owner_clear(&cache->owner);
		cache->owner_until = 0;
		if (!task_owner_find(k->order, &cache->owner, e))
			return false;
		cache->owner_until = clock_boot_us() + OWNER_USEC;
	}
	k->owner = cache->owner;
	return true;
}

/* Make the step's own TMPDIR, if it asks for one. */
static bool make_tmpdir(struct keeper *k, struct err *e)
{
	if (!k->order->spec.tmpdir)
		return true;
	k->tmpdir = step_tmpdir_make(k->job->conf->node_tmpdir, k->order->node, &k->key, k->owner.uid, k->owner.gid, e);
	return k->tmpdir != NULL;
}

static void remove_tmpdir(const struct keeper *k)
{
	if (k->order->spec.tmpdir)
		step_tmpdir_remove(k->job->conf->node_tmpdir, k->order->node, &k->key);
}

/* Make cgroups and read the files that the tasks need. A missing file or user is the node's fault, an invalid resource limit the
 * step's. The last check is that of PAM. */
static bool prepare_attempt(struct keeper *k, struct keeper_cache *cache)
{
	struct err e;
	make_cgroups(k, cache);
	if (!cgroups_limit_cpus(k->cgroups))
		cores_take(&k->cores, k->order->cpus);
	k->environment = &cache->environment;
	bool is_private = k->job->conf->launcher_private_tmp && geteuid() == 0;
	bool there = restrict_devices(k, &e) && (!is_private || private_folders_make(&k->folders, &e)) &&
		     keeper_file_read(&cache->environment, k->order->environment_hash, &e) && find_owner(k, cache, &e) &&
		     keeper_file_script(k, cache, &e) && keeper_file_nodes(k, cache, &e) && keeper_checkpoint_open(k, &e) &&
		     make_tmpdir(k, &e);
	if (there && task_limit_parse(k->order->spec.rlimits, k->limits, &k->limit_count, &e))
		return keeper_pam_admits(k);
	k->failure = there ? KEEPER_FAILURE_LAUNCH : KEEPER_FAILURE_NODE;
	snprintf(k->message, sizeof k->message, "%s", e.message);
	return false;
}

/* Does this step run the prolog and the epilog for the other steps of its job group? */
static bool owns_prolog(const struct keeper *k)
{
	return k->order->prolog && *k->order->spec.group;
}

static bool start_agent(struct keeper *k)
{
	bool started = *k->cause || keeper_credential_agent(k);
	if (!started)
		k->failure = KEEPER_FAILURE_LAUNCH;
	return started;
}

/* Run the prologs, or wait for the prolog of the job group. Returns false if the tasks must not start. */
static bool run_prologs(struct keeper *k)
{
	struct err e;
	if (!k->order->prolog) {
		bool passed = keeper_group_wait(k, &e);
		k->failure = passed ? KEEPER_FAILURE_NONE : KEEPER_FAILURE_SITE_PROLOG;
		if (!passed)
			snprintf(k->message, sizeof k->message, "%s", e.message);
		return passed && start_agent(k);
	}
	bool site = keeper_hook_site(k, "site_prolog", k->job->conf->node_site_prolog);
	k->epilogs = site;
	bool good = site && start_agent(k) &&
		    (*k->cause || (keeper_mover_before(k) && keeper_hook_user(k, "user_prolog", k->order->spec.user_prolog)));
	if (!site) {
		k->failure = KEEPER_FAILURE_SITE_PROLOG;
		snprintf(k->drain, sizeof k->drain, "prolog failed: %.400s", k->message);
	} else if (!good && !*k->cause && k->failure == KEEPER_FAILURE_NONE) {
		k->failure = KEEPER_FAILURE_USER_PROLOG;
	}
	if (owns_prolog(k))
		keeper_group_publish(k, good);
	return good;
}

static bool may_go(const struct keeper *k)
{
	return k->request >= KEEPER_REQUEST_GO;
}

static bool is_ended(const struct keeper *k)
{
	return k->request == KEEPER_REQUEST_END;
}

static bool is_over(const struct keeper *k)
{
	return k->live == 0;
}

/* Does the step have tasks on this node? */
static bool has_tasks(const struct keeper *k)
{
	return k->order->spec.per_task ? k->order->tasks > 0 : k->order->node_index == 0;
}

/* Run the tasks, after the other nodes of the step are ready. On a node without tasks, wait until the step has ended: such a node gets
 * no `go`, and has only sub-steps. */
static void run_tasks(struct keeper *k, struct keeper_cache *cache)
{
	keeper_task_clear(k);
	if (!has_tasks(k))
		keeper_manager_open(k, cache);
	if (k->order->wait_for_go) {
		keeper_record_plain(k, "ready");
		crash_point(CRASH_keeper_ready);
		keeper_wait(k, may_go, 0);
	}
	if (k->request == KEEPER_REQUEST_END)
		return;
	if (has_tasks(k))
		keeper_manager_open(k, cache);
	keeper_manager_begin(k);
	keeper_task_start(k);
	keeper_wait(k, is_over, 0);
	keeper_checkpoint_await(k);
	if (k->task_count == 0)
		keeper_wait(k, is_ended, 0);
}

static void set_drain(struct keeper *k, const char *what, const char *message)
{
	if (!*k->drain)
		snprintf(k->drain, sizeof k->drain, "%s: %.400s", what, message);
}

static void sweep_processes(struct keeper *k, bool (*swept)(struct keeper *k))
{
	if (!swept(k))
		set_drain(k, "processes cannot be killed", k->order->step_label);
}

static void finish_tasks(struct keeper *k)
{
	if (has_tasks(k) && k->task_count == 0 && k->failure != KEEPER_FAILURE_UP_TO_DATE && !*k->cause)
		snprintf(k->cause, sizeof k->cause, "cancelled"); /* the attempt was cancelled before its tasks have started */
	keeper_manager_end(k);
	sweep_processes(k, keeper_sweep_user);
	if (k->cgroups)
		cgroups_read(k->cgroups, k->name, &k->figures);
	keeper_record_done(k);
}

static void run_epilogs(struct keeper *k)
{
	if (owns_prolog(k))
		keeper_group_remove(k);
	if (!k->lease_lost)
		keeper_checkpoint_end(k);
	if (k->epilogs && !k->lease_lost && *k->order->spec.user_epilog && !keeper_credential_agent(k))
		log_info("attempt %s: its user epilog has no ssh-agent: %s", k->name, k->message);
	if (k->epilogs && !k->lease_lost && !keeper_hook_user(k, "user_epilog", k->order->spec.user_epilog))
		log_info("attempt %s: its user epilog failed: %s", k->name, k->message);
	if (k->epilogs && !k->lease_lost && !keeper_mover_after(k))
		log_info("attempt %s: its stage-out failed: %s", k->name, k->message);
	sweep_processes(k, keeper_sweep_user);
	keeper_lease_release(k);
	if (k->epilogs && !keeper_hook_site(k, "site_epilog", k->job->conf->node_site_epilog))
		set_drain(k, "epilog failed", k->message);
	sweep_processes(k, keeper_sweep_all);
}

/* Detach the user's FUSE mounts after their servers have ended. */
static void detach_mounts(struct keeper *k, struct keeper_cache *cache)
{
	char text[KEEPER_TAIL_SIZE];
	if (geteuid() != 0 || k->owner.uid == 0 || !fuse_mounts_changed(&cache->mounts) || !fuse_mounts_are_dead(k->owner.uid))
		return;
	if (keeper_hook_call(k, false, fuse_mounts_detach, &k->owner.uid, text) == 0 && *text)
		log_info("attempt %s: FUSE mounts detached: %s", k->name, text);
}

static void remove_folder(const struct keeper *k)
{
	static const char *const files[] = {"script", "nodes", "ctl", "steps", "asked", "pid"};
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

/* May the keeper's next attempt reuse the cgroup? Not if this attempt was ended early or suspended, or reached a limit. */
static bool release_cgroups(const struct keeper *k)
{
	return k->cgroups && k->job->launcher > 0 && !k->has_user_processes && !*k->cause && !k->suspended &&
	       k->figures.oom_kills == 0 && k->figures.forks_refused == 0 && cgroups_release(k->cgroups, k->name, k->job->cores);
}

/* Write the record `end`, then give up the spool folder: until then, the launcher finds by the folder that an attempt's keeper
 * has died. Returns true if keeper and folder are free for another attempt. */
static bool end_attempt(struct keeper *k, struct keeper_cache *cache)
{
	keeper_manager_close(k, cache);
	keeper_nodes_close(k);
	cores_release(&k->cores); /* release the cores before another step can get these CPUs */
	if (k->cgroups && *k->order->spec.user_epilog)
		cgroups_read(k->cgroups, k->name, &k->figures); /* the user epilog ran in the cgroup after the record `done` */
	bool kept = release_cgroups(k), removed = !k->cgroups || kept || cgroups_remove(k->cgroups, k->name, 0);
	if (!removed) {
		keeper_record_flush(k); /* flush records first: removing the cgroup may take a while */
		removed = cgroups_remove(k->cgroups, k->name, REMOVE_USEC);
	}
	keeper_record_end(k);
	keeper_record_flush(k);
	crash_point(CRASH_keeper_end);
	bool idle = removed && !*k->drain && !k->has_slow_start && keeper_next_offer(k);
	if (!idle)
		remove_folder(k);
	crash_point(CRASH_keeper_removed);
	if (!removed || (kept && !idle))
		cgroups_remove(k->cgroups, k->name, REMOVE_LATE_USEC);
	snprintf(cache->group, sizeof cache->group, "%s", kept && idle ? k->name : "");
	cache->group_mem_mb = k->order->mem_mb;
	return idle;
}

static void free_attempt(struct keeper *k)
{
	free(k->script_path);
	free(k->node_file);
	free(k->tasks);
	free(k->records);
	free(k->timers);
	keeper_checkpoint_close(k);
	free(k->memory);
	free(k->lease);
	free(k->tmpdir);
}

static const struct keeper_handlers handlers = {
	.control = keeper_control_read,
	.timers = keeper_control_timers,
	.next = keeper_control_next_timer,
	.hook_report = keeper_hook_report,
	.hook_output = keeper_hook_output,
	.hook_reap = keeper_hook_reap,
	.task_report = keeper_task_report,
	.task_reap = keeper_task_reap,
	.manager_descriptor = keeper_manager_descriptor,
	.manager_connect = keeper_manager_connect,
	.manager_reap = keeper_manager_reap,
	.manager_orphan = keeper_manager_orphan,
};

/* Run one attempt from start to end. `again` is true if this keeper has run another attempt before. Returns true if the keeper
 * may get another attempt. */
static bool run_attempt(const struct keeper_job *job, int signals, struct keeper_cache *cache, bool again)
{
	struct keeper k = {.job = job, .handlers = &handlers, .signals = signals, .order = job->order, .step_socket = -1};
	k.records = keeper_record_new(job->journal, cache->brief);
	keeper_control_open(&k);
	k.figures = (struct cgroups_figures){-1, -1, 0, 0};
	k.key = (struct record_key){job->order->job_id, job->order->step_id, job->order->attempt, 0};
	record_key_text(&k.key, k.name);
	record_tag(job->dir, &k.key, k.tag);
	announce_attempt(&k, again);
	keeper_lease_begin(&k);
	bool prepared = prepare_attempt(&k, cache);
	crash_point(CRASH_keeper_prepared);
	bool good = prepared && !k.lease_lost && keeper_credential_open(&k) && run_prologs(&k);
	crash_point(CRASH_keeper_prolog);
	if (good && k.request < KEEPER_REQUEST_END && keeper_if_changed(&k))
		run_tasks(&k, cache);
	finish_tasks(&k);
	if (owns_prolog(&k) && good)
		keeper_wait(&k, is_ended, 0);
	run_epilogs(&k);
	detach_mounts(&k, cache);
	keeper_credential_close(&k);
	remove_tmpdir(&k);
	private_folders_remove(&k.folders);
	cache->brief = keeper_record_is_brief(&k);
	bool idle = end_attempt(&k, cache);
	keeper_file_trim(cache);
	free_attempt(&k);
	return idle;
}

void keeper_run(const struct keeper_job *first)
{
	struct keeper_job job = *first;
	struct order order;
	struct keeper_cache cache = {.owner_until = 0};
	int signals = become_keeper(first);
	crash_point(CRASH_keeper_forked);
	for (bool again = false; run_attempt(&job, signals, &cache, again) && keeper_next_take(&job, &order); again = true)
		continue;
	if (*cache.group)
		cgroups_remove(first->cgroups, cache.group, 0);
	_exit(0);
}
