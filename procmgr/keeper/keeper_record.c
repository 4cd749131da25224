/* keeper_record.c - writes a keeper's journal records: each event of the attempt once, in the sequence of the events.
 *
 * Called by: all other files of the keeper.
 * Invariants:
 * - The fields are those of docs/formats.md.
 * - Records are buffered and written together, before the keeper waits for anything. Only the records of the tasks' start may
 *   wait for the tasks' end, if the tasks of the last attempt were brief. Each write makes other processes of the node wait for
 *   the journal, and wakes procmgrd. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/text.h"
#include "procmgr/keeper/keeper_parts.h"
#include "procmgr/record/lease.h"

enum { DELAY_USEC = 250000, RECORDS_MOST = 8 };

/* Kinds of records that have a crash point. */
enum { KIND_KEEPER = 1, KIND_RUN = 2, KIND_TASK = 4, KIND_DONE = 8 };

struct keeper_records {
	struct journal *journal;
	struct fields *rows[RECORDS_MOST]; /* records that are not in the journal yet */
	int count;
	unsigned kinds;	  /* kinds of these records */
	int64_t write_at; /* until when the gathered records may wait for the end of the tasks; 0: they may not wait */
	bool brief;	  /* the tasks of the keeper's last attempt took less than a quarter of a second */
};

/* Bytes of journal space. SPACE_HOOK covers a hook with 4 KiB of output, SPACE_TASK the end of a task, SPACE_PLAIN all other
 * records. */
enum { HOOKS = 4, SPACE_HOOK = 5 * 1024, SPACE_PLAIN = 6 * 1024, SPACE_TASK = 704 };

int64_t keeper_record_space(const struct order *order)
{
	int64_t tasks = order->spec.per_task ? order->tasks : 1;
	return HOOKS * SPACE_HOOK + SPACE_PLAIN + tasks * SPACE_TASK;
}

struct keeper_records *keeper_record_new(struct journal *journal, bool brief)
{
	struct keeper_records *records = xcalloc(1, sizeof *records);
	records->journal = journal;
	records->brief = brief;
	return records;
}

int64_t keeper_record_due(const struct keeper *k)
{
	return k->records->count > 0 ? k->records->write_at : 0;
}

/* The only function that changes the phase. An attempt whose tasks were not started goes from KEEPER_PREPARING to KEEPER_DONE. */
static void enter_phase(struct keeper *k, enum keeper_phase phase)
{
	if (phase <= k->phase)
		die("attempt %s cannot go from phase %d to phase %d", k->name, k->phase, phase);
	k->phase = phase;
}

/* Buffer a record. keeper_record_flush writes it to the journal. */
static void add_record(struct keeper *k, struct fields *record)
{
	k->records->write_at = 0;
	if (k->records->count == RECORDS_MOST)
		keeper_record_flush(k);
	k->records->rows[k->records->count++] = record;
}

/* Pass the crash points (lib/crash.def) of the records that have just been written to the journal. */
static void crash_points(unsigned kinds)
{
	if (kinds & KIND_KEEPER)
		crash_point(CRASH_keeper_announced);
	if (kinds & KIND_RUN)
		crash_point(CRASH_keeper_run);
	if (kinds & KIND_TASK)
		crash_point(CRASH_keeper_task);
	if (kinds & KIND_DONE)
		crash_point(CRASH_keeper_done);
}

void keeper_record_flush(struct keeper *k)
{
	if (k->records->count == 0)
		return;
	record_must(k->records->journal, k->records->rows, k->records->count);
	k->records->count = 0;
	k->records->write_at = 0;
	crash_points(k->records->kinds);
	k->records->kinds = 0;
}

void keeper_record_delay(struct keeper *k)
{
	if (k->records->brief)
		k->records->write_at = clock_boot_us() + DELAY_USEC;
}

bool keeper_record_is_brief(const struct keeper *k)
{
	return k->task_count > 0 && clock_boot_us() - k->tasks[0].started_at < DELAY_USEC;
}

static struct fields *make_record(struct keeper *k, const char *kind)
{
	return record_new(kind, &k->key);
}

static void add_status(struct fields *record, int status)
{
	fields_add_int(record, "exit", WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	fields_add_int(record, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void keeper_record_plain(struct keeper *k, const char *kind)
{
	add_record(k, make_record(k, kind));
}

void keeper_record_suspended(struct keeper *k, int64_t at, bool devices_left)
{
	struct fields *record = record_new_at("suspended", &k->key, at);
	if (devices_left)
		fields_add_int(record, "devices_left", 1);
	add_record(k, record);
}

void keeper_record_keeper(struct keeper *k, pid_t pid)
{
	k->since = clock_boot_us();
	struct fields *record = record_new_at("keeper", &k->key, k->since);
	fields_add_int(record, "pid", pid);
	add_record(k, record);
	k->records->kinds |= KIND_KEEPER;
}

void keeper_record_hook(struct keeper *k, const char *name, int64_t usec)
{
	struct keeper_hook *h = k->hook;
	struct fields *record = make_record(k, "hook");
	fields_add(record, "hook", name);
	add_status(record, h->status);
	fields_add_int(record, "usec", usec);
	fields_add(record, "output", h->tail);
	add_record(k, record);
}

void keeper_record_run(struct keeper *k, pid_t pid, int64_t started_at)
{
	struct fields *record = record_new_at("run", &k->key, started_at);
	int64_t write_at = k->records->write_at;
	fields_add_int(record, "pid", pid);
	fields_add_int(record, "session", pid);
	add_record(k, record);
	k->records->write_at = write_at;
	k->records->kinds |= KIND_RUN;
	enter_phase(k, KEEPER_RUNNING);
}

void keeper_record_task(struct keeper *k, const struct keeper_task *t, pid_t pid, int status, const char *cause,
			const struct stats *stats)
{
	struct fields *record = make_record(k, "task");
	fields_add_int(record, "task", t->rank);
	add_status(record, status);
	fields_add(record, "cause", cause);
	fields_add_int(record, "pid", pid);
	fields_add_int(record, "start_usec", t->started_at);
	fields_add_int(record, "user_usec", stats->user_usec);
	fields_add_int(record, "system_usec", stats->system_usec);
	fields_add_int(record, "max_rss_kb", stats->max_rss_kb);
	fields_add_int(record, "minflt", stats->minflt);
	fields_add_int(record, "majflt", stats->majflt);
	fields_add_int(record, "rchar", stats->rchar);
	fields_add_int(record, "wchar", stats->wchar);
	fields_add_int(record, "read_bytes", stats->read_bytes);
	fields_add_int(record, "write_bytes", stats->write_bytes);
	fields_add_int(record, "nvcsw", stats->nvcsw);
	fields_add_int(record, "nivcsw", stats->nivcsw);
	add_record(k, record);
	k->records->kinds |= KIND_TASK;
}

/* Returns the outcome of a step that a control message or a timer ended. */
static const char *outcome_of_cause(const char *cause)
{
	if (strcmp(cause, "time_limit") == 0)
		return "timeout";
	if (strcmp(cause, "out_of_memory") == 0)
		return "oom";
	if (strcmp(cause, "node") == 0 || strcmp(cause, "node_lost") == 0 || strcmp(cause, "shutdown") == 0)
		return "node_fail";
	return "cancel";
}

/* Returns true if this attempt was ended without a failure: it is a growth that was given back, or on a node of a step that was
 * given back (never the first), or a growth of an attempt that has ended. */
static bool is_given_back(const struct keeper *k)
{
	if (strcmp(k->cause, "given_back") == 0)
		return k->order->spec.grows || k->order->node_index > 0;
	return strcmp(k->cause, "grown_ended") == 0 && k->order->spec.grows;
}

void keeper_record_outcome(const struct keeper *k, const char **cause, const char **outcome)
{
	static const struct {
		const char *cause, *outcome;
	} failures[] = {
		[KEEPER_FAILURE_USER_PROLOG] = {"prolog", "fail"},    [KEEPER_FAILURE_SITE_PROLOG] = {"prolog", "prolog_fail"},
		[KEEPER_FAILURE_NODE] = {"node", "node_fail"},	      [KEEPER_FAILURE_LAUNCH] = {"launch", "fail"},
		[KEEPER_FAILURE_UP_TO_DATE] = {"up_to_date", "skip"},
	};
	if (k->failure != KEEPER_FAILURE_NONE) {
		*cause = failures[k->failure].cause;
		*outcome = failures[k->failure].outcome;
	} else if (*k->cause) {
		*cause = k->cause;
		*outcome = is_given_back(k) ? "complete" : outcome_of_cause(k->cause);
	} else if (k->figures.oom_kills > 0) {
		*cause = "out_of_memory";
		*outcome = "oom";
	} else {
		*cause = k->signal ? "signal" : "exit";
		*outcome = k->signal || k->exit_code ? "fail" : "complete";
	}
}

/* Returns the most memory that counted against a limit, in MiB, or -1 if it is not known. A process that ended before it was
 * measured counts by its own high-water mark. That may include pages of files, so the result is at most the cgroup's own peak. If
 * the step was killed for memory, the result is that peak. */
static int64_t peak_mb(const struct keeper *k)
{
	int64_t kb = k->peak_kb > k->used.max_rss_kb ? k->peak_kb : k->used.max_rss_kb, mb = (kb + 1023) / 1024;
	int64_t most = k->figures.peak_mb;
	if (most >= 0 && (k->figures.oom_kills > 0 || mb > most))
		mb = most;
	return mb > 0 ? mb : -1;
}

/* Write the step's peak memory and memory limit into the step's message. */
static void describe_memory(struct keeper *k)
{
	char limit[48] = "no limit of its own", peak[48] = "";
	if (k->order->mem_mb > 0)
		snprintf(limit, sizeof limit, "limit %lld MiB", (long long)k->order->mem_mb);
	if (peak_mb(k) >= 0)
		snprintf(peak, sizeof peak, ", peak %lld MiB", (long long)peak_mb(k));
	snprintf(k->message, sizeof k->message, "out of memory on node %s: %s%s", k->order->node, limit, peak);
}

/* Write into the step's message that the step reached the limit of processes. The step's program sees only that fork() failed. */
static void describe_processes(struct keeper *k)
{
	snprintf(k->message, sizeof k->message, "limit of %d processes and threads reached on node %s (launcher.max_processes)",
		 k->job->conf->launcher_max_processes, k->order->node);
}

/* Returns the exit code of the attempt here, or -1 if there is none, because no task has started. A task whose program could not be
 * started has one, although the attempt is still in the phase KEEPER_PREPARING then. */
static int exit_code(const struct keeper *k)
{
	return k->phase == KEEPER_PREPARING && k->exit_code == 0 ? -1 : k->exit_code;
}

void keeper_record_done(struct keeper *k)
{
	const char *cause, *outcome;
	keeper_record_outcome(k, &cause, &outcome);
	if (strcmp(outcome, "oom") == 0 && !*k->message)
		describe_memory(k);
	if (k->figures.forks_refused > 0 && !*k->message)
		describe_processes(k);
	text_clean(k->message);
	struct fields *record = make_record(k, "done");
	fields_add_int(record, "exit", exit_code(k));
	fields_add_int(record, "signal", k->signal);
	fields_add(record, "cause", cause);
	fields_add(record, "outcome", outcome);
	fields_add(record, "message", k->message);
	add_record(k, record);
	k->records->kinds |= KIND_DONE;
	enter_phase(k, KEEPER_DONE);
}

/* CPU time is that of the cgroup, which counts processes that nobody waited for too; without a cgroup, that of all processes that
 * were waited for, by the keeper in the end. */
void keeper_record_end(struct keeper *k)
{
	struct fields *record = make_record(k, "end");
	fields_add(record, "drain", k->drain);
	char boot[LEASE_BOOT_SIZE];
	lease_boot_id(boot);
	fields_add_int(record, "since", k->since);
	fields_add(record, "boot", boot);
	int64_t reaped = k->used.user_usec + k->used.system_usec, cpu = k->figures.cpu_usec < 0 ? reaped : k->figures.cpu_usec;
	fields_add_int(record, "peak_mb", peak_mb(k));
	fields_add_int(record, "cgroup_peak_mb", k->figures.peak_mb);
	fields_add_int(record, "cpu_usec", cpu);
	fields_add_int(record, "system_usec", k->used.system_usec < cpu ? k->used.system_usec : cpu);
	add_record(k, record);
}
