/* keeper_manager_files.c - the files of a step manager or agent: its journal, orphans, growths, and a store of output.
 *
 * Called by: keeper_manager.c.
 * Invariants:
 * - The keeper holds the files open, so a step manager that is started again finds them as they were.
 * - The file of orphans has the ends of tasks that the keeper has reaped. Its first line says what the step manager is to do, in
 *   HEAD_SIZE bytes that one write replaces.
 * - The file of growths has a line for each node that has come or gone, in order. */
#include "procmgr/keeper/keeper_manager_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ORPHANS_MOST = 4 << 20, JOURNAL_MOST = 256 << 20, HEAD_SIZE = 5 };

const struct keeper_manager_files keeper_manager_files_none = {.journal = -1, .orphans = -1, .growths = -1};

int keeper_manager_files_journal(const struct keeper *k, struct err *e)
{
	char path[RECORD_KEY_SIZE + 16];
	struct stat folder;
	snprintf(path, sizeof path, "substeps/%s", k->name);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
	bool made =
		fd >= 0 && (geteuid() != 0 || (stat("substeps", &folder) == 0 && fchown(fd, k->owner.uid, folder.st_gid) == 0));
	if (made && fchmod(fd, 0640) == 0)
		return fd;
	err_sys(e, "could not make \"%s\"", path);
	if (fd >= 0)
		close(fd);
	return -1;
}

bool keeper_manager_files_set_head(const struct keeper_manager_files *f, const char *head)
{
	return f->orphans < 0 || pwrite(f->orphans, head, HEAD_SIZE, 0) == HEAD_SIZE;
}

static bool files_make_orphans(struct keeper_manager_files *f, const char *head, struct err *e)
{
	f->orphans = memfd_create("rota-orphans", MFD_CLOEXEC);
	f->orphans_end = HEAD_SIZE;
	return (f->orphans >= 0 && keeper_manager_files_set_head(f, head)) || err_sys(e, "could not make a file for orphans");
}

/* The journal of an agent is in memory: only the step manager reads it. */
static int files_make_agent_journal(struct err *e)
{
	int fd = memfd_create("rota-journal", MFD_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
		err_sys(e, "could not make a journal");
	return fd;
}

bool keeper_manager_files_make(const struct keeper *k, struct keeper_manager_files *f, bool for_agent, const char *head,
			       struct err *e)
{
	if (f->journal < 0)
		f->journal = for_agent ? files_make_agent_journal(e) : keeper_manager_files_journal(k, e);
	if (f->journal < 0)
		return false;
	if (f->orphans < 0 && !files_make_orphans(f, head, e))
		return false;
	if (f->growths < 0)
		f->growths = memfd_create("rota-growths", MFD_CLOEXEC);
	if (f->growths < 0 || fcntl(f->growths, F_SETFL, O_APPEND) < 0)
		return err_sys(e, "could not make a file for growths");
	return f->has_store || (f->has_store = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f->store) == 0) ||
	       err_sys(e, "could not make a store for output");
}

void keeper_manager_files_close(struct keeper_manager_files *f)
{
	const int open[] = {f->journal, f->orphans, f->growths};
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		if (open[i] >= 0)
			close(open[i]);
	for (int i = 0; f->has_store && i < 2; i++)
		close(f->store[i]);
	*f = keeper_manager_files_none;
}

bool keeper_manager_files_are_large(const struct keeper_manager_files *f)
{
	struct stat st;
	return fstat(f->journal, &st) == 0 && st.st_size > JOURNAL_MOST;
}

void keeper_manager_files_add_orphan(struct keeper_manager_files *f, pid_t pid, int64_t started, int status,
				     const struct stats *s)
{
	char line[256];
	if (f->orphans < 0)
		return;
	if (f->orphans_end > ORPHANS_MOST && ftruncate(f->orphans, HEAD_SIZE) == 0)
		f->orphans_end = HEAD_SIZE; /* the step manager has read these bytes long ago */
	int size = snprintf(line, sizeof line, "%ld %lld %d %lld %lld %lld %lld %lld %lld %lld\n", (long)pid, (long long)started,
			    status, (long long)s->user_usec, (long long)s->system_usec, (long long)s->max_rss_kb,
			    (long long)s->minflt, (long long)s->majflt, (long long)s->nvcsw, (long long)s->nivcsw);
	if (pwrite(f->orphans, line, (size_t)size, f->orphans_end) == size)
		f->orphans_end += size;
}
