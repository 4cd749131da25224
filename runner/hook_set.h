/* hook_set.h - the programs of one kind that runnerd handles: those that wait or run, and those whose end is not in the database
 * yet. */
#ifndef ROTA_RUNNER_HOOK_SET_H
#define ROTA_RUNNER_HOOK_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/db.h"
#include "runner/hook.h"

/* Most programs that all sets together run at once. One place is kept for each set without a program, so no kind of program waits
 * for another kind. */
struct hook_bound {
	int most;
	const struct hook_set *first; /* the sets, linked by `next` */
};

struct hook_set {
	struct hook_bound *bound;
	const struct hook_set *next;
	int most;     /* programs of this set that run at once */
	int reserved; /* places reserved for programs, while the database is asked for them */
	struct hook *running, *ended;
	struct hook *reporting; /* programs whose report to the database is under way */
	struct hook *waiting;	/* programs that start when others have ended, in the order of their arrival */
	int running_count, waiting_count;
};

/* Begin a set of at most `most` programs at once. bound->most must be at least the number of its sets. */
void hook_set_open(struct hook_set *set, struct hook_bound *bound, int most);

/* Returns how many more programs of the set may start now. */
int hook_set_room(const struct hook_set *set);

/* hook_set_reserve() reserves all places of hook_set_room() while the database is asked for programs to start, and returns their
 * number. hook_set_unreserve() frees them when the answer has come. */
int hook_set_reserve(struct hook_set *set);
void hook_set_unreserve(struct hook_set *set);

/* Returns true if a program of the set runs or waits, or has ended and is not reported yet. */
bool hook_set_is_busy(const struct hook_set *set);

/* Returns the program with this id that runs, waits or has ended and is not being reported, or NULL. */
struct hook *hook_set_find(const struct hook_set *set, int64_t id);

/* Returns the ids of all programs that run, wait or are being reported. */
struct db_array *hook_set_ids(const struct hook_set *set);

/* The list of waiting programs: hook_set_wait() adds one at the end, hook_set_next() takes out the first one, hook_set_remove()
 * takes out the given one. */
void hook_set_wait(struct hook_set *set, struct hook *h);
struct hook *hook_set_next(struct hook_set *set);
bool hook_set_remove(struct hook_set *set, struct hook *h); /* returns false if the program does not wait */

/* Add a program that was started, to the list `running`, or one without a process, which counts as ended. If it failed, log the
 * reason. */
void hook_set_add(struct hook_set *set, struct hook *h);

/* If the ended process `pid` is that of a program of the set, reap it and move the program to the list `ended`. Returns the
 * program, or NULL if the process is none of the set. */
struct hook *hook_set_reap(struct hook_set *set, pid_t pid);

/* hook_set_report(): all ended programs are being reported. hook_set_reported(): the database has answered the report. If it did
 * not store the report, they are reported again. */
void hook_set_report(struct hook_set *set);
void hook_set_reported(struct hook_set *set, bool is_stored);

/* Kill the running programs and move them to the list `dying`, and drop all other programs of the set. */
void hook_set_end(struct hook_set *set, struct hook **dying);

/* For the end of runnerd: kill the running programs, and free all programs. */
void hook_set_free(struct hook_set *set);

/* Lists of hooks, linked by `next`. */
void hook_list_free(struct hook **list);

/* If the ended process `pid` is that of a hook of the list, reap it and take the hook out of the list. Returns the hook, or
 * NULL. */
struct hook *hook_list_reap(struct hook **list, pid_t pid);

#endif
