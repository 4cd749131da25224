/* db_seen.c - keeps the newest incarnation of the database that this process has worked with in a file of one line.
 *
 * Called by: db_admit.c for each connection that is made; http.c for each request of a client; daemons and `rota` at their
 * start.
 * Invariants:
 * - The file is replaced as a whole, and its content is on disk before it is renamed: after a loss of power it has the old
 *   line or the new one.
 * - Processes of one account share the file. Each reads the file before it asks a server, and writes only the incarnation that
 *   the server has just answered. */
#include "lib/db_seen.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/log.h"

static struct {
	char *path; /* NULL: in memory only */
	struct db_seen newest;
	bool warns; /* log a warning if the file cannot be written */
} seen;

void db_seen_keep(const char *path, bool warns)
{
	free(seen.path);
	seen.path = xstrdup(path);
	seen.warns = warns;
}

void db_seen_keep_account(const struct conf *conf)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *home = conf->instance_home, *folder = conf->database_seen;
	char *path = xasprintf("%s%s/%s/incarnation",
			       *folder ? ""
			       : *home ? home
				       : "/var/lib/rota",
			       *folder ? folder : "/seen", pw ? pw->pw_name : "unknown");

	db_seen_keep(path, true);
	free(path);
}

void db_seen_text(const struct db_seen *of, char text[DB_SEEN_SIZE])
{
	snprintf(text, DB_SEEN_SIZE, "%d %lld %s", of->incarnation, (long long)of->timeline, of->began);
}

bool db_seen_parse(const char *text, struct db_seen *found)
{
	long long timeline;

	*found = (struct db_seen){0};
	if (sscanf(text, "%d %lld %39[0-9:.+ -]", &found->incarnation, &timeline, found->began) != 3 || found->incarnation <= 0)
		return false;
	found->timeline = timeline;
	return true;
}

bool db_seen_is_same(const struct db_seen *a, const struct db_seen *b)
{
	return a->incarnation == b->incarnation && strcmp(a->began, b->began) == 0;
}

struct db_seen db_seen_here(void)
{
	return seen.newest;
}

struct db_seen db_seen_read(void)
{
	FILE *in = seen.path ? fopen(seen.path, "re") : NULL;
	struct db_seen found;
	char line[DB_SEEN_SIZE] = "";

	if (in && fgets(line, sizeof line, in) && db_seen_parse(line, &found))
		seen.newest = found;
	else if (in)
		log_error("\"%s\" has no line INCARNATION TIMELINE TIME: the file is ignored, and written again", seen.path);
	if (in)
		fclose(in);
	return seen.newest;
}

/* Make those folders in the path of the file that are missing. */
static void folders_make(const char *path)
{
	char *copy = xstrdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
	free(copy);
}

static bool seen_store(const struct db_seen *now)
{
	char *fresh = xasprintf("%s.%d", seen.path, (int)getpid()), line[DB_SEEN_SIZE];
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool good;

	db_seen_text(now, line);
	strcat(line, "\n");
	good = fd >= 0 && file_write_all(fd, line, strlen(line)) && fsync(fd) == 0 && rename(fresh, seen.path) == 0;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !good)
		unlink(fresh);
	free(fresh);
	return good;
}

void db_seen_write(const struct db_seen *now)
{
	struct db_seen before = seen.newest;

	seen.newest = *now;
	if (!seen.path || (db_seen_is_same(&before, now) && access(seen.path, F_OK) == 0))
		return;
	folders_make(seen.path);
	if (seen_store(now) || !seen.warns)
		return;
	log_warning("could not write \"%s\": %m; after its next start this daemon accepts an older copy of the database",
		    seen.path);
	seen.warns = false;
}
