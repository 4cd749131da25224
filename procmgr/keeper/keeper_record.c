/* keeper_record.c - the journal records of a keeper: what happened, once each, in the order in which it happened.
 *
 * Called by the keeper's other files. What always holds: the fields are those that docs/formats.md lists for the kind; what is
 * ready together is written together, and before the keeper waits for anything, all is written; only that tasks have begun waits for their
 * end for a moment, where those of the attempt before took no longer: each time something is written, the node's other processes wait for
 * the journal, and procmgrd wakes up. Whoever asks whether an attempt has begun asks for `used`, which was there before the keeper. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/text.h"
#include "procmgr/keeper/keeper_parts.h"

enum { LINGER_USEC = 250000 };
/* HOOKS with 4 KiB of output each; what is not about one task; one task's end. */
enum { HOOKS = 4, ROOM_HOOK = 5 * 1024, ROOM_PLAIN = 6 * 1024, ROOM_TASK = 640 };

int64_t keeper_record_room(const struct order *order)
{
	int64_t tasks = order->spec.per_task ? order->tasks : 1;
	return HOOKS * ROOM_HOOK + ROOM_PLAIN + tasks * ROOM_TASK;
}

/* Records wait for what follows at once, not for anything that takes time: see keeper_record_flush. */
static void tell(struct keeper *k, struct fields *record)
{
	k->tell_at = 0;
	if (k->told_count == KEEPER_TOLD_MOST)
		keeper_record_flush(k);
	k->told[k->told_count++] = record;
}

/* The places of lib/crash.def that name a record are come to when it is in the journal. */
static void crash_points(unsigned kinds)
{
	if (kinds & KEEPER_TOLD_KEEPER)
		crash_point(CRASH_keeper_announced);
	if (kinds & KEEPER_TOLD_RUN)
		crash_point(CRASH_keeper_run);
	if (kinds & KEEPER_TOLD_TASK)
		crash_point(CRASH_keeper_task);
	if (kinds & KEEPER_TOLD_DONE)
		crash_point(CRASH_keeper_done);
}

void keeper_record_flush(struct keeper *k)
{
	if (k->told_count == 0)
		return;
	record_must(k->journal, k->told, k->told_count);
	k->told_count = 0;
	k->tell_at = 0;
	crash_points(k->told_kinds);
	k->told_kinds = 0;
}

void keeper_record_linger(struct keeper *k)
{
	if (k->brief)
		k->tell_at = clock_boot_us() + LINGER_USEC;
}

bool keeper_record_brief(const struct keeper *k)
{
	return k->task_count > 0 && clock_boot_us() - k->tasks[0].started_at < LINGER_USEC;
}

static struct fields *begin(struct keeper *k, const char *kind)
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
	tell(k, begin(k, kind));
}

void keeper_record_keeper(struct keeper *k, pid_t pid)
{
	struct fields *record = begin(k, "keeper");
	fields_add_int(record, "pid", pid);
	tell(k, record);
	k->told_kinds |= KEEPER_TOLD_KEEPER;
}

void keeper_record_hook(struct keeper *k, const char *name, int64_t usec)
{
	struct keeper_hook *h = k->hook;
	struct fields *record = begin(k, "hook");
	fields_add(record, "hook", name);
	add_status(record, h->status);
	fields_add_int(record, "usec", usec);
	fields_add(record, "output", h->tail);
	tell(k, record);
}

void keeper_record_run(struct keeper *k, pid_t pid)
{
	struct fields *record = begin(k, "run");
	int64_t tell_at = k->tell_at;
	fields_add_int(record, "pid", pid);
	fields_add_int(record, "session", pid);
	tell(k, record);
	k->tell_at = tell_at;
	k->told_kinds |= KEEPER_TOLD_RUN;
	k->running = true;
}

void keeper_record_task(struct keeper *k, const struct keeper_task *t, pid_t pid, int status, const char *cause,
			const struct stats *stats)
{
	struct fields *record = begin(k, "task");
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
	fields_add_int(record, "read_bytes", stats->read_bytes);
	fields_add_int(record, "write_bytes", stats->write_bytes);
	fields_add_int(record, "nvcsw", stats->nvcsw);
	fields_add_int(record, "nivcsw", stats->nivcsw);
	tell(k, record);
	k->told_kinds |= KEEPER_TOLD_TASK;
}

/* What an ending asked for from outside, or by the clock, is called. */
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

void keeper_record_outcome(const struct keeper *k, const char **cause, const char **outcome)
{
	if (k->failed_hook || k->failed_site) {
		*cause = "prolog";
		*outcome = k->failed_site ? "prolog_fail" : "fail";
	} else if (k->failed_start) {
		*cause = k->failed_node ? "node" : "launch";
		*outcome = k->failed_node ? "node_fail" : "fail";
	} else if (k->up_to_date) {
		*cause = "up_to_date";
		*outcome = "skip";
	} else if (*k->cause) {
		*cause = k->cause;
		*outcome = outcome_of_cause(k->cause);
	} else if (k->figures.oom_kills > 0) {
		*cause = "out_of_memory";
		*outcome = "oom";
	} else {
		*cause = k->signal ? "signal" : "exit";
		*outcome = k->signal || k->exit_code ? "fail" : "complete";
	}
}

/* How much it was, and how much it might have been. */
static void say_memory(struct keeper *k)
{
	char limit[48] = "no limit of its own", peak[48] = "";
	if (k->order->mem_mb > 0)
		snprintf(limit, sizeof limit, "limit %lld MiB", (long long)k->order->mem_mb);
	if (k->figures.peak_mb >= 0)
		snprintf(peak, sizeof peak, ", peak %lld MiB", (long long)k->figures.peak_mb);
	snprintf(k->message, sizeof k->message, "out of memory on node %s: %s%s", k->order->node, limit, peak);
}

void keeper_record_done(struct keeper *k)
{
	const char *cause, *outcome;
	keeper_record_outcome(k, &cause, &outcome);
	if (strcmp(outcome, "oom") == 0 && !*k->message)
		say_memory(k);
	text_clean(k->message);
	struct fields *record = begin(k, "done");
	fields_add_int(record, "exit", k->exit_code);
	fields_add_int(record, "signal", k->signal);
	fields_add(record, "cause", cause);
	fields_add(record, "outcome", outcome);
	fields_add(record, "message", k->message);
	tell(k, record);
	k->told_kinds |= KEEPER_TOLD_DONE;
}

void keeper_record_end(struct keeper *k)
{
	struct fields *record = begin(k, "end");
	fields_add(record, "drain", k->drain);
	fields_add_int(record, "peak_mb", k->figures.peak_mb);
	fields_add_int(record, "cpu_usec", k->figures.cpu_usec);
	tell(k, record);
}
