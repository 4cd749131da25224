/* lease.c - reads and writes the file `lease`: one record of fixed size, with a checksum.
 *
 * Called by: procmgrd to write a lease that the database has granted; keepers and the launcher to read the file when the lease
 * that they read last has run out.
 * Invariants:
 * - The file is overwritten in place, which needs no space on a full disk.
 * - A torn record, or a record of another boot, is no lease. The reader keeps the lease that it read before. */
#include "procmgr/record/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RECORD_SIZE = 128, TRIES = 5, PAUSE_USEC = 1000 };

static const char path[] = "lease";

/* The boot id is cached, since no process outlives a boot. */
void lease_boot_id(char id[LEASE_BOOT_SIZE])
{
	static char known[LEASE_BOOT_SIZE];
	FILE *file = *known ? NULL : fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file && fscanf(file, "%63s", known) != 1)
		*known = '\0';
	if (file)
		fclose(file);
	memcpy(id, known, sizeof known);
}

/* Format the lease record: text padded with blanks to a fixed size, a checksum of the text before the blanks, and a newline. */
static void record_make(const struct lease *lease, char record[RECORD_SIZE + 1])
{
	char text[RECORD_SIZE], boot[LEASE_BOOT_SIZE];
	lease_boot_id(boot);
	snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64 " %.40s", lease->since, lease->until, lease->dead_by,
		 boot);
	snprintf(record, RECORD_SIZE + 1, "%-*.*s %08lx\n", RECORD_SIZE - 10, RECORD_SIZE - 10, text,
		 crc32(0, (const unsigned char *)text, (uInt)strlen(text)));
}

static bool record_read(const char *record, struct lease *lease)
{
	char again[RECORD_SIZE + 1];
	if (sscanf(record, "%19" SCNd64 " %19" SCNd64 " %19" SCNd64, &lease->since, &lease->until, &lease->dead_by) != 3)
		return false;
	/* A lease record of this boot has one spelling, so compare it with a newly made record. */
	record_make(lease, again);
	return strcmp(record, again) == 0 && lease->since <= lease->until && lease->until <= lease->dead_by;
}

bool lease_make(uid_t uid, gid_t gid, struct err *e)
{
	struct stat st;
	char blank[RECORD_SIZE];
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "could not make \"%s\"", path);
	memset(blank, ' ', sizeof blank);
	bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	bool made = plain && ((st.st_uid == uid && st.st_gid == gid) || fchown(fd, uid, gid) == 0) && fchmod(fd, 0600) == 0 &&
		    (st.st_size == RECORD_SIZE || pwrite(fd, blank, sizeof blank, 0) == (ssize_t)sizeof blank);
	if (!plain)
		err_set(e, "\"%s\" is not a plain file", path);
	else if (!made)
		err_sys(e, "could not make \"%s\"", path);
	close(fd);
	return made;
}

bool lease_write(const struct lease *lease, struct err *e)
{
	char record[RECORD_SIZE + 1];
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	record_make(lease, record);
	bool written = fd >= 0 && pwrite(fd, record, RECORD_SIZE, 0) == RECORD_SIZE;
	if (!written)
		err_sys(e, "could not write \"%s\"", path);
	if (fd >= 0)
		close(fd);
	return written;
}

bool lease_read(struct lease *lease)
{
	char record[RECORD_SIZE + 1] = "";
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool good = false;
	for (int try = 0; fd >= 0 && !good && try < TRIES; try++) {
		if (try > 0)
			usleep(PAUSE_USEC);
		ssize_t size = pread(fd, record, RECORD_SIZE, 0);
		record[size > 0 ? size : 0] = '\0';
		good = record_read(record, lease);
	}
	if (fd >= 0)
		close(fd);
	return good;
}

struct lease lease_extended(const struct lease *before, int64_t sent, int lease_s, int margin_s)
{
	struct lease lease = {.since = sent, .until = sent + (int64_t)lease_s * 1000000};
	if (before && sent <= before->until)
		lease.since = before->since;
	lease.dead_by = lease.until + (int64_t)margin_s * 1000000;
	return lease;
}

int64_t lease_kill_at(const struct lease *lease)
{
	return lease->until + (lease->dead_by - lease->until) / 4 * 3;
}

int64_t lease_sweep_at(const struct lease *lease)
{
	return lease->until + (lease->dead_by - lease->until) / 8 * 7;
}
