/* launcher_spare.c - folders of attempts that are over, kept with their files and sockets for those to come.
 *
 * Making and removing a folder, a socket and two files for each attempt is what costs a short step most on some file systems, which
 * look for a free inode at length after many were freed. So a keeper moves its folder to spare/ as its last act, and the next attempt
 * gets it under its own name: the emptied pid file, the socket, which we hold open, and the script, which its keeper takes over if it
 * is the very same. What always holds: a folder in spare/ is no attempt; one is used again only when its keeper has been reaped, by the
 * launcher that made its socket; what it did not make, and what a node without attempts keeps, is removed. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "procmgr/launcher/launcher_parts.h"

bool launcher_spare_wanted(const struct launcher *l)
{
	return l->spare_count + l->spare_lent < LAUNCHER_SPARE_MOST;
}

/* Messages that came too late for the keeper before. */
static void drain(int ctl)
{
	char byte;
	while (recv(ctl, &byte, sizeof byte, MSG_DONTWAIT) >= 0)
		continue;
}

int launcher_spare_take(struct launcher *l, const struct record_key *key)
{
	while (l->spare_count > 0) {
		const struct launcher_spare *spare = &l->spare[--l->spare_count];
		char from[LAUNCHER_PATH_SIZE], to[LAUNCHER_PATH_SIZE];
		launcher_spool_path("spare", &spare->key, "", from);
		launcher_spool_path("spool", key, "", to);
		drain(spare->ctl);
		if (rename(from, to) == 0)
			return spare->ctl;
		close(spare->ctl);
	}
	return -1;
}

void launcher_spare_give(struct launcher *l, const struct record_key *key, int ctl)
{
	l->spare[l->spare_count++] = (struct launcher_spare){*key, ctl};
}

void launcher_spare_clear(struct launcher *l)
{
	struct record_key key;
	while (l->spare_count > 0)
		close(l->spare[--l->spare_count].ctl);
	DIR *dir = opendir("spare");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (record_key_parse(entry->d_name, &key))
			launcher_spool_clear("spare", &key);
	if (dir)
		closedir(dir);
}
