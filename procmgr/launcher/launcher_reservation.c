/* launcher_reservation.c - reserves disk space in the journal for the records of every attempt under way.
 *
 * Called by: launcher_order.c for each verified order; launcher.c at its start and for each attempt of an earlier launcher.
 * Invariants:
 * - After the journal's end there is reserved space (journal_reserve) for every record that the attempts under way can still
 *   write, and for refusals. Space for an attempt is reserved before the attempt is accepted.
 * - An attempt of an earlier launcher counts with the journal space that its pid file names, so restarts reserve nothing twice.
 * - Script and pid file of a step are covered by node.disk_floor_mb, below which no attempt starts. */
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"

enum { SPACE_OTHER = 128 * 1024, MB = 1024 * 1024 }; /* SPACE_OTHER is for records of refusals and of late control messages */

struct launcher_reservation {
	int64_t adopted; /* known journal space of the records of attempts of an earlier launcher */
	bool is_unknown; /* the journal space of at least one attempt of an earlier launcher is unknown */
	int64_t found;	 /* journal space that was reserved when this launcher started */
};

struct launcher_reservation *launcher_reservation_new(void)
{
	return xcalloc(1, sizeof(struct launcher_reservation));
}

static bool check_floor(const struct launcher *l, struct err *e)
{
	struct statvfs st;
	if (statvfs(".", &st) < 0)
		return err_sys(e, "could not check the file system of \"%s\"", l->dir);
	uint64_t left = (uint64_t)(geteuid() == 0 ? st.f_bfree : st.f_bavail) * st.f_frsize / MB;
	return left >= (uint64_t)l->conf->node_disk_floor_mb ||
	       err_set(e, "disk full: %llu MiB left in \"%s\", node.disk_floor_mb is %d", (unsigned long long)left, l->dir,
		       l->conf->node_disk_floor_mb);
}

static int64_t space_wanted(const struct launcher *l)
{
	int64_t adopted = l->reservation->adopted;
	/* The space that was reserved at the start covers keepers that have not written their pid file yet, or are of an earlier
	 * version. */
	if (l->reservation->is_unknown && adopted < l->reservation->found)
		adopted = l->reservation->found;
	return SPACE_OTHER + adopted + launcher_child_space(l);
}

bool launcher_reservation_make(struct launcher *l, const struct order *o, struct err *e)
{
	struct err why;
	int64_t space = space_wanted(l) + keeper_record_space(o);
	if (!check_floor(l, e))
		return false;
	if (journal_size(l->journal) + space > (int64_t)l->conf->node_journal_mb * MB)
		return err_set(e, "the journal has reached its limit of %d MiB", l->conf->node_journal_mb);
	return journal_reserve(l->journal, space, &why) || err_set(e, "no disk space for the journal: %.300s", why.message);
}

void launcher_reservation_reset(struct launcher *l)
{
	l->reservation->adopted = 0;
	l->reservation->is_unknown = false;
}

void launcher_reservation_adopt(struct launcher *l, const struct record_key *key)
{
	int64_t space = launcher_spool_space(key);
	l->reservation->adopted += space;
	l->reservation->is_unknown |= space == 0;
}

void launcher_reservation_open(struct launcher *l)
{
	struct err e;
	l->reservation->found = journal_reserved(l->journal) - SPACE_OTHER;
	if (!journal_reserve(l->journal, space_wanted(l), &e))
		log_warning("%s", e.message);
}
