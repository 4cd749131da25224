/* hook_set.c - keeps the programs of one kind from their start until their end is in the database (hook_set.h).
 *
 * Called by: the files runner_*.c; each has a set of its own.
 * Invariants:
 * - A program is in one list of its set at a time. It has a process if and only if it is in the list `running`.
 * - If the report of a program's end fails, the end is reported again.
 * - All sets of a struct hook_bound together never have more running programs and reserved places than the bound. A set without
 *   either counts as one place. */
#include "runner/hook_set.h"

#include <stddef.h>

#include "lib/log.h"

static void list_add(struct hook **list, struct hook *h)
{
	h->next = *list;
	*list = h;
}

/* Move all hooks of `from` to the end of `list`. */
static void list_append(struct hook **list, struct hook **from)
{
	while (*list)
		list = &(*list)->next;
	*list = *from;
	*from = NULL;
}

void hook_list_free(struct hook **list)
{
	for (struct hook *h; (h = *list);) {
		*list = h->next;
		hook_free(h);
	}
}

struct hook *hook_list_reap(struct hook **list, pid_t pid)
{
	struct hook *h;

	while (*list && (*list)->pid != pid)
		list = &(*list)->next;
	h = *list;
	if (h) {
		*list = h->next;
		hook_reap(h);
	}
	return h;
}

void hook_set_open(struct hook_set *set, struct hook_bound *bound, int most)
{
	set->bound = bound;
	set->most = most;
	set->next = bound->first;
	bound->first = set;
}

static int set_places(const struct hook_set *set)
{
	return set->running_count + set->reserved;
}

int hook_set_room(const struct hook_set *set)
{
	int own = set->most - set_places(set), all = set->bound->most - set_places(set);

	for (const struct hook_set *other = set->bound->first; other; other = other->next)
		if (other != set)
			all -= set_places(other) > 0 ? set_places(other) : 1;
	return own < 0 || all < 0 ? 0 : own < all ? own : all;
}

int hook_set_reserve(struct hook_set *set)
{
	return set->reserved = hook_set_room(set);
}

void hook_set_unreserve(struct hook_set *set)
{
	set->reserved = 0;
}

bool hook_set_is_busy(const struct hook_set *set)
{
	return set->running || set->ended || set->reporting || set->waiting;
}

struct hook *hook_set_find(const struct hook_set *set, int64_t id)
{
	struct hook *const lists[] = {set->running, set->waiting, set->ended};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (struct hook *h = lists[i]; h; h = h->next)
			if (h->id == id)
				return h;
	return NULL;
}

struct db_array *hook_set_ids(const struct hook_set *set)
{
	const struct hook *const lists[] = {set->running, set->waiting, set->reporting};
	struct db_array *ids = db_array_new();

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const struct hook *h = lists[i]; h; h = h->next)
			db_array_int(ids, h->id);
	return ids;
}

void hook_set_wait(struct hook_set *set, struct hook *h)
{
	h->next = NULL;
	list_append(&set->waiting, &h);
	set->waiting_count++;
}

bool hook_set_remove(struct hook_set *set, struct hook *h)
{
	struct hook **link = &set->waiting;

	while (*link && *link != h)
		link = &(*link)->next;
	if (!*link)
		return false;
	*link = h->next;
	set->waiting_count--;
	return true;
}

struct hook *hook_set_next(struct hook_set *set)
{
	struct hook *h = set->waiting;

	if (h)
		hook_set_remove(set, h);
	return h;
}

/* Add a program that has ended, or did not start, to the list `ended`. */
static void set_add_ended(struct hook_set *set, struct hook *h)
{
	if (*h->message)
		log_warning("%s: %s", h->label, h->message);
	list_add(&set->ended, h);
}

void hook_set_add(struct hook_set *set, struct hook *h)
{
	if (h->pid <= 0) {
		set_add_ended(set, h);
		return;
	}
	list_add(&set->running, h);
	set->running_count++;
}

struct hook *hook_set_reap(struct hook_set *set, pid_t pid)
{
	struct hook *h = hook_list_reap(&set->running, pid);

	if (h) {
		set->running_count--;
		set_add_ended(set, h);
	}
	return h;
}

void hook_set_report(struct hook_set *set)
{
	list_append(&set->reporting, &set->ended);
}

void hook_set_reported(struct hook_set *set, bool is_stored)
{
	if (is_stored)
		hook_list_free(&set->reporting);
	else
		list_append(&set->ended, &set->reporting);
}

void hook_set_end(struct hook_set *set, struct hook **dying)
{
	for (struct hook *h; (h = set->running);) {
		hook_kill(h, "was killed because its runnerd lost the leadership");
		set->running = h->next;
		list_add(dying, h);
	}
	set->running_count = set->waiting_count = 0;
	hook_list_free(&set->waiting);
	hook_list_free(&set->ended);
	hook_list_free(&set->reporting);
}

void hook_set_free(struct hook_set *set)
{
	for (struct hook *h = set->running; h; h = h->next)
		hook_kill(h, "was killed because its runnerd ended");
	hook_list_free(&set->running);
	hook_list_free(&set->waiting);
	hook_list_free(&set->ended);
	hook_list_free(&set->reporting);
}
