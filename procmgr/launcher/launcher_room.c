/* launcher_room.c - reserve disk space in the journal for the records of every attempt under way.
 *
 * Called by: launcher_order.c for each verified order; launcher.c at its start and for each attempt of an earlier launcher.
 * Invariants:
 * - behind the journal's end there is space (journal_reserve) for every record that the attempts under way can still write, and for
 *   refusals; it is reserved before an attempt is in the journal;
 * - an attempt of an earlier launcher counts with what its keeper's pid file says, so restarts add nothing;
 * - script and pid file of a step are covered by the floor, below which nothing starts. */
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"

enum { ROOM_OTHER = 128 * 1024, MB = 1024 * 1024 }; /* other: refusals and control messages */

static bool check_floor(const struct launcher *l, struct err *e)
{
	struct statvfs st;
	if (statvfs(".", &st) < 0)
		return err_sys(e, "could not look at the file system of \"%s\"", l->dir);
	uint64_t left = (uint64_t)(geteuid() == 0 ? st.f_bfree : st.f_bavail) * st.f_frsize / MB;
	return left >= (uint64_t)l->conf->node_disk_floor_mb ||
	       err_set(e, "disk full: %llu MiB left in \"%s\", %d MiB wanted", (unsigned long long)left, l->dir,
		       l->conf->node_disk_floor_mb);
}

static int64_t wanted(const struct launcher *l)
{
	int64_t adopted = l->room_adopted;
	/* A keeper that has not written its note yet, or is of an earlier version: what was reserved covers it. */
	if (l->room_unknown && adopted < l->room_found)
		adopted = l->room_found;
	return ROOM_OTHER + adopted + l->room;
}

bool launcher_room_for(struct launcher *l, const struct order *o, struct err *e)
{
	struct err why;
	int64_t room = wanted(l) + keeper_record_room(o);
	if (!check_floor(l, e))
		return false;
	if (journal_size(l->journal) + room > (int64_t)l->conf->node_journal_mb * MB)
		return err_set(e, "the journal has reached its limit of %d MiB", l->conf->node_journal_mb);
	return journal_reserve(l->journal, room, &why) || err_set(e, "no room for the journal: %.300s", why.message);
}

void launcher_room_adopt(struct launcher *l, const struct record_key *key)
{
	int64_t room = launcher_spool_room(key);
	l->room_adopted += room;
	l->room_unknown |= room == 0;
}

void launcher_room_open(struct launcher *l)
{
	struct err e;
	l->room_found = journal_reserved(l->journal) - ROOM_OTHER;
	if (!journal_reserve(l->journal, wanted(l), &e))
		log_warning("%s", e.message);
}
