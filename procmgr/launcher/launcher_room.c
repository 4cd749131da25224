/* launcher_room.c - no attempt begins whose end might not find room on the disk.
 *
 * Called for each believed order. What always holds: behind the journal's end there is room (journal_reserve) for every record that
 * the attempts under way can still write, and some for refusals; it is taken before an attempt is in the journal, so what was
 * believed can always say how it ended. The rest of a step (script, pid file) is covered by the floor, below which nothing starts. */
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"

/* HOOKS with 4 KiB of output each; what is not about one task; one task's end; refusals and control messages. */
enum { HOOKS = 4, ROOM_HOOK = 5 * 1024, ROOM_PLAIN = 6 * 1024, ROOM_TASK = 640, ROOM_OTHER = 128 * 1024, MB = 1024 * 1024 };

int64_t launcher_room_of(const struct order *o)
{
	int64_t tasks = o->spec.per_task ? o->tasks : 1;
	return HOOKS * ROOM_HOOK + ROOM_PLAIN + tasks * ROOM_TASK;
}

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
	return ROOM_OTHER + l->room_adopted + l->room;
}

bool launcher_room_for(struct launcher *l, const struct order *o, struct err *e)
{
	struct err why;
	int64_t room = wanted(l) + launcher_room_of(o);
	if (!check_floor(l, e))
		return false;
	if (journal_size(l->journal) + room > (int64_t)l->conf->node_journal_mb * MB)
		return err_set(e, "the journal has reached its limit of %d MiB", l->conf->node_journal_mb);
	return journal_reserve(l->journal, room, &why) || err_set(e, "no room for the journal: %.300s", why.message);
}

void launcher_room_open(struct launcher *l)
{
	struct err e;
	l->room_adopted = l->adopted > 0 ? journal_reserved(l->journal) : 0;
	if (!journal_reserve(l->journal, wanted(l), &e))
		log_warning("%s", e.message);
}
