/* launcher_lost.c - ends an attempt whose keeper has died, and writes its last records.
 *
 * Called by: launcher_order.c when a keeper has died; launcher.c for every attempt at its start, and regularly for attempts of an
 * earlier launcher; launcher_lease.c.
 * Invariants:
 * - The owner of the pid file's lock owns the attempt: a keeper, or the launcher. A keeper that was forked but has not locked the
 *   pid file yet finds it locked and ends (daemon_seize).
 * - The attempt's spool folder is removed last, so an interrupted recovery is repeated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/log.h"
#include "procmgr/keeper/descendants.h"
#include "procmgr/keeper/fuse_mounts.h"
#include "procmgr/launcher/launcher_parts.h"

enum { REMOVE_USEC = 100000, KILL_TRIES = 300, FUSE_TRIES = 100, KILL_USEC = 10000 };

/* Which records of an attempt the journal has. */
struct journaled {
	const struct record_key *key;
	bool used, done, end;
};

static bool note_record(const struct fields *record, void *arg)
{
	struct journaled *journaled = arg;
	struct record_key key;
	struct err e;
	const char *kind = fields_get(record, "kind");
	if (!kind || !record_key_read(record, &key, &e) || !record_key_equal(&key, journaled->key))
		return true;
	journaled->used = journaled->used || strcmp(kind, "used") == 0;
	journaled->done = journaled->done || strcmp(kind, "done") == 0;
	journaled->end = journaled->end || strcmp(kind, "end") == 0;
	return true;
}

static bool write_done(struct launcher *l, const struct record_key *key)
{
	struct fields *record = record_new("done", key);
	fields_add_int(record, "exit", -1); /* unknown */
	fields_add_int(record, "signal", 0);
	fields_add(record, "cause", "keeper_lost");
	fields_add(record, "outcome", "node_fail");
	fields_add(record, "message", "its keeper died");
	return record_write(l->journal, record);
}

/* Write the record `end`. Figures that only the dead keeper had are unknown; the database takes them from samples and ended
 * tasks. */
static bool write_end(struct launcher *l, const struct record_key *key, const struct cgroups_figures *figures, const char *drain)
{
	struct fields *record = record_new("end", key);
	fields_add(record, "drain", drain);
	fields_add_int(record, "peak_mb", -1);
	fields_add_int(record, "cgroup_peak_mb", figures->peak_mb);
	fields_add_int(record, "cpu_usec", figures->cpu_usec);
	fields_add_int(record, "system_usec", -1);
	return record_write(l->journal, record);
}

struct search {
	const struct launcher *l;
	char tag[sizeof "ROTA_MARK=" + RECORD_TAG_SIZE];
	uid_t owner;
};

/* Does the environment of the process have the attempt's tag? */
static bool has_tag(const struct search *s, const struct descendants_process *p)
{
	char *path = xasprintf("/proc/%ld/environ", (long)p->thread), *variable = NULL;
	FILE *file = p->uid == s->owner || p->uid == geteuid() ? fopen(path, "re") : NULL;
	size_t size = 0;
	bool found = false;
	while (file && !found && getdelim(&variable, &size, '\0', file) > 0)
		found = strcmp(variable, s->tag) == 0;
	if (file)
		fclose(file);
	free(variable);
	free(path);
	return found;
}

/* Is the process an orphan of a dead keeper? The launcher is a subreaper and forks only keepers, procmgrd and the
 * process that removes folders, so its other children are orphans. Orphans of a keeper that an earlier launcher forked have the attempt's tag in their environment. */
static bool is_orphan(const struct descendants_process *p, void *arg)
{
	const struct search *s = arg;
	bool known = p->pid == launcher_agent_pid(s->l) || launcher_child_is_keeper(s->l, p->pid) ||
		     launcher_idle_is_keeper(s->l, p->pid) || launcher_tmpdir_is_remover(s->l, p->pid);
	return !known && (p->parent == getpid() || has_tag(s, p));
}

/* Kill the processes of a dead keeper's attempt. Returns false if a process could not be killed. */
static bool kill_orphans(struct launcher *l, const struct record_key *key, const char *name)
{
	struct search search = {.l = l, .owner = launcher_spool_owner(key)};
	char tag[RECORD_TAG_SIZE];
	record_tag(l->dir, key, tag);
	snprintf(search.tag, sizeof search.tag, "ROTA_MARK=%s", tag);
	for (int try = 0; try < KILL_TRIES; try++) {
		bool killed = l->cgroups && cgroups_kill(l->cgroups, name);
		if (!descendants_kill(is_orphan, &search, DESCENDANTS_OF_ANY_USER) && !killed)
			return true;
		if (try >= FUSE_TRIES && (!l->cgroups || cgroups_have_thread(l->cgroups, name, fuse_mounts_hold, NULL)))
			fuse_mounts_abort(search.owner);
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

/* Write the records `done` and `end` of an attempt unless the journal has them. Returns true if no record is missing any more. */
static bool write_records(struct launcher *l, const struct record_key *key, bool had_keeper,
			  const struct cgroups_figures *figures, const char *drain)
{
	struct journaled journaled = {.key = key};
	struct err e;
	int64_t position = 0;
	if (!journal_read(l->journal, &position, note_record, &journaled, &e)) {
		log_error("%s", e.message);
		return false;
	}
	if (journaled.end || (!journaled.used && !had_keeper))
		return true;
	if (!journaled.done && !write_done(l, key))
		return false;
	crash_point(CRASH_lost_done);
	return write_end(l, key, figures, drain);
}

void launcher_lost_recover(struct launcher *l, const struct record_key *key)
{
	char name[RECORD_KEY_SIZE];
	bool had_keeper;
	int pid_file = launcher_spool_seize(key, &had_keeper);
	if (pid_file < 0)
		return;
	record_key_text(key, name);
	log_error("attempt %s has no keeper; it is ended", name);
	crash_point(had_keeper ? CRASH_lost_found : CRASH_lost_adopted);
	bool killed = kill_orphans(l, key, name);
	struct cgroups_figures figures = {.peak_mb = -1, .cpu_usec = -1};
	if (l->cgroups) {
		cgroups_read(l->cgroups, name, &figures);
		cgroups_remove(l->cgroups, name, REMOVE_USEC);
	}
	launcher_credential_recover(l, key);
	crash_point(CRASH_lost_killed);
	if (write_records(l, key, had_keeper, &figures, drain_for(l, killed))) {
		crash_point(CRASH_lost_end);
		launcher_spool_remove(key);
		launcher_tmpdir_sweep(l);
	}
	close(pid_file);
}
