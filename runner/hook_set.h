/* hook_set.h - the programs of one kind that the runner has: those that run, and those whose end is not in the database yet. */
#ifndef ROTA_RUNNER_HOOK_SET_H
#define ROTA_RUNNER_HOOK_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/db.h"
#include "runner/hook.h"

/* The bound of all sets together. Each set that has no program keeps one place, so no kind of program waits for another kind. */
struct hook_bound {
	int most;
	const struct hook_set *first; /* the sets, linked by `next` */
};

struct hook_set {
	struct hook_bound *bound;
	const struct hook_set *next;
	int most;     /* programs of this set that run at once */
	int reserved; /* places of programs that the database is asked for */
	struct hook *running, *ended;
	struct hook *reporting; /* programs whose report to the database is under way */
	struct hook *waiting;	/* programs that start when others have ended, in the order of their arrival */
	int running_count, waiting_count;
};

/* Begin a set of at most `most` programs at once. `bound` has a place for each of its sets. */
void hook_set_open(struct hook_set *set, struct hook_bound *bound, int most);

/* Returns how many more programs of the set may start now. */
int hook_set_room(const struct hook_set *set);

/* Reserve all of this room while the database is asked for programs to start, and end that with its answer. Returns the room. */
int hook_set_reserve(struct hook_set *set);
void hook_set_unreserve(struct hook_set *set);

/* Does a program of the set run or wait, or has one ended without being reported yet? */
bool hook_set_is_busy(const struct hook_set *set);

/* Returns the program with this id that runs, waits or has ended and is not being reported, or NULL. */
struct hook *hook_set_find(const struct hook_set *set, int64_t id);

/* Returns the ids of all programs but those that have ended and are not being reported. */
struct db_array *hook_set_ids(const struct hook_set *set);

/* Add a waiting program; take out the first waiting one; take out the given one. */
void hook_set_wait(struct hook_set *set, struct hook *h);
struct hook *hook_set_next(struct hook_set *set);
bool hook_set_remove(struct hook_set *set, struct hook *h); /* returns false if the program does not wait */

/* Add a program. Without a process, it has ended; if it failed, log the reason. */
void hook_set_add(struct hook_set *set, struct hook *h);

/* Reap the process if it is that of a program of the set, which has ended then. Returns the program; NULL: the process is of none. */
struct hook *hook_set_reap(struct hook_set *set, pid_t pid);

/* A report of all ended programs is under way, and has been answered. If it is not stored, they are to be reported again. */
void hook_set_report(struct hook_set *set);
void hook_set_reported(struct hook_set *set, bool is_stored);

/* Kill the programs that run, add them to `dying`, and drop all others. */
void hook_set_end(struct hook_set *set, struct hook **dying);

/* Kill the programs that run, since runnerd ends, and free all. */
void hook_set_free(struct hook_set *set);

/* Lists of hooks, linked by `next`. */
void hook_list_free(struct hook **list);

/* Reap the process if it is that of a hook of the list. Returns the hook, which is no longer in the list, or NULL. */
struct hook *hook_list_reap(struct hook **list, pid_t pid);

#endif
