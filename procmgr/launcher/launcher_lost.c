/* launcher_lost.c - an attempt whose keeper is no more: nothing of it goes on, and its end is told.
 *
 * Called when a keeper has died under the launcher, for every attempt found at start before anything is served, and now and then
 * for those that an earlier launcher forked. What always holds: whoever holds the attempt's pid file has the attempt, a keeper or
 * we; so a keeper that was forked but had not come as far yet finds it taken and ends (daemon_seize); the folder is removed last,
 * so whatever is cut short here is begun again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "procmgr/keeper/below.h"
#include "procmgr/launcher/launcher_parts.h"

enum { REMOVE_USEC = 100000, KILL_TRIES = 300, KILL_USEC = 10000 };

/* What the journal says of the attempt. */
struct told {
	const struct record_key *key;
	bool used, done, end;
};

static bool note(const struct fields *record, void *arg)
{
	struct told *told = arg;
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	if (!kind || !record_key_read(record, &key, &e) || !record_key_equal(&key, told->key))
		return true;
	told->used = told->used || strcmp(kind, "used") == 0;
	told->done = told->done || strcmp(kind, "done") == 0;
	told->end = told->end || strcmp(kind, "end") == 0;
	return true;
}

static bool tell_done(struct launcher *l, const struct record_key *key)
{
	struct fields *record = record_new("done", key);
	fields_add_int(record, "exit", 0);
	fields_add_int(record, "signal", 0);
	fields_add(record, "cause", "keeper_lost");
	fields_add(record, "outcome", "node_fail");
	fields_add(record, "message", "its keeper died");
	return record_write(l->journal, record);
}

static bool tell_end(struct launcher *l, const struct record_key *key, const char *drain)
{
	struct fields *record = record_new("end", key);
	fields_add(record, "drain", drain);
	fields_add_int(record, "peak_mb", -1);
	fields_add_int(record, "cpu_usec", -1);
	return record_write(l->journal, record);
}

struct search {
	const struct launcher *l;
	char mark[sizeof "ROTA_MARK=" + RECORD_MARK_SIZE];
	uid_t owner;
};

/* Does the process have the attempt's mark in its environment? */
static bool has_mark(const struct search *s, const struct below_process *p)
{
	char *path = xasprintf("/proc/%ld/environ", (long)p->pid), *variable = NULL;
	FILE *file = p->uid == s->owner || p->uid == geteuid() ? fopen(path, "re") : NULL;
	size_t room = 0;
	bool found = false;
	while (file && !found && getdelim(&variable, &room, '\0', file) > 0)
		found = strcmp(variable, s->mark) == 0;
	if (file)
		fclose(file);
	free(variable);
	free(path);
	return found;
}

/* Orphans of a dead keeper are ours (we are a subreaper, and fork nothing but keepers and procmgrd), or, where the keeper was
 * forked by an earlier launcher, told by their mark. */
static bool is_left(const struct below_process *p, void *arg)
{
	const struct search *s = arg;
	bool known = p->pid == s->l->agent_pid || launcher_child_is_keeper(s->l, p->pid) || launcher_spare_is_keeper(s->l, p->pid);
	return !known && (p->parent == getpid() || has_mark(s, p));
}

/* Kill what is left of the attempt; false where something could not be killed. */
static bool kill_all(struct launcher *l, const struct record_key *key, const char *name)
{
	struct search search = {.l = l, .owner = launcher_spool_owner(key)};
	char mark[RECORD_MARK_SIZE];
	record_mark(l->dir, key, mark);
	snprintf(search.mark, sizeof search.mark, "ROTA_MARK=%s", mark);
	for (int try = 0; try < KILL_TRIES; try++) {
		bool fenced = l->fence && fence_kill(l->fence, name);
		if (!below_kill(is_left, &search, BELOW_ANYBODY) && !fenced)
			return true;
		usleep(KILL_USEC);
	}
	return false;
}

static const char *drain_for(const struct launcher *l, bool killed)
{
	if (!killed)
		return "a keeper died and processes of its step cannot be killed";
	return *l->conf->node_site_epilog ? "a keeper died before its site epilog" : "";
}

/* Done and end into the journal, where they are not yet; true when both are there. */
static bool tell(struct launcher *l, const struct record_key *key, bool kept, const char *drain)
{
	struct told told = {.key = key};
	struct err e;
	int64_t position = 0;
	if (!journal_read(l->journal, &position, note, &told, &e)) {
		log_error("%s", e.message);
		return false;
	}
	if (told.end || (!told.used && !kept))
		return true;
	if (!told.done && !tell_done(l, key))
		return false;
	crash_point(CRASH_lost_done);
	return tell_end(l, key, drain);
}

void launcher_lost_recover(struct launcher *l, const struct record_key *key)
{
	char name[RECORD_KEY_SIZE];
	bool kept;
	int pid_file = launcher_spool_seize(key, &kept);
	if (pid_file < 0)
		return;
	record_key_text(key, name);
	log_error("attempt %s has no keeper", name);
	crash_point(kept ? CRASH_lost_found : CRASH_lost_adopted);
	bool killed = kill_all(l, key, name);
	if (l->fence)
		fence_remove(l->fence, name, REMOVE_USEC);
	crash_point(CRASH_lost_killed);
	if (tell(l, key, kept, drain_for(l, killed))) {
		crash_point(CRASH_lost_end);
		launcher_spool_remove(key);
	}
	close(pid_file);
}
