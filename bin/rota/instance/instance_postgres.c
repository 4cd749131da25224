/* instance_postgres.c - finds the PostgreSQL server of a private instance, and removes the lock files of a killed one.
 *
 * Called by: up, down and status.
 * Invariants:
 * - The processes of a server are those with the working directory pg/data. The pid in postmaster.pid is only tried first: after a reboot or
 *   a restore, another process may have it.
 * - Lock files are removed only while no process of a server is left and the caller holds the lock of the instance. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/instance/instance.h"
#include "lib/proc_file.h"

bool instance_postgres_is(const struct instance *in, pid_t pid)
{
	char *data = instance_path(in, "pg/data"), *cwd = xasprintf("/proc/%d/cwd", (int)pid), name[32];
	struct stat ours, its;
	bool is = !stat(data, &ours) && !stat(cwd, &its) && ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;

	if (is) { /* a shell may have the working directory pg/data too */
		proc_file_read(pid, "comm", name, sizeof(name));
		is = !strcmp(name, "postgres\n");
	}
	free(cwd);
	free(data);
	return is;
}

/* Returns true if this process of the server is a child of the postmaster: children replace their command line by a title. */
static bool postgres_is_child(pid_t pid)
{
	char command[32];

	proc_file_read(pid, "cmdline", command, sizeof(command));
	return !strncmp(command, "postgres: ", strlen("postgres: "));
}

/* Search all processes for one of the PostgreSQL server; with `children`, also for children of the postmaster. Returns its
 * pid, 0 if there is none. */
static pid_t postgres_search(const struct instance *in, bool children)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && instance_postgres_is(in, pid) && (children || !postgres_is_child(pid)))
			found = pid;
	}
	if (dir)
		closedir(dir);
	return found;
}

pid_t instance_postgres(const struct instance *in)
{
	char *path = instance_path(in, "pg/data/postmaster.pid");
	FILE *file = fopen(path, "re");
	int pid = 0;

	if (file && fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	free(path);
	return pid > 0 && instance_postgres_is(in, pid) && !postgres_is_child(pid) ? pid : postgres_search(in, false);
}

pid_t instance_postgres_any(const struct instance *in)
{
	return postgres_search(in, true);
}

/* Replace the pid in postmaster.pid, and keep the other lines. Returns false if the file has no pid or cannot be written. */
static bool number_replace(const char *path, const char *draft, pid_t pid)
{
	char text[4096];
	FILE *old = fopen(path, "re"), *file;
	size_t got = old ? fread(text, 1, sizeof(text) - 1, old) : 0;
	const char *rest;
	bool ok;

	text[got] = '\0';
	rest = strchr(text, '\n');
	if (old)
		fclose(old);
	if (!rest || atoi(text) <= 0)
		return false;
	file = fopen(draft, "we");
	ok = file && fprintf(file, "%d%s", (int)pid, rest) > 0;
	ok = file && !fclose(file) && ok;
	return ok && !rename(draft, path);
}

/* PostgreSQL does not start while a process of its account has the pid in a lock file, unless that process is its parent. So
 * the file gets the pid of this program, which will be the parent. PostgreSQL reads the other lines of postmaster.pid to find
 * shared memory that is still in use, so those lines are kept. */
bool instance_postgres_unlock(const struct instance *in, struct err *e)
{
	char *lock = instance_path(in, "pg/data/postmaster.pid"), *draft = instance_path(in, "pg/data/postmaster.pid.new");
	char *socket = instance_path(in, "run/.s.PGSQL.5432.lock");
	bool ok = true;

	if (!number_replace(lock, draft, in->root ? getppid() : getpid()) && unlink(lock) && errno != ENOENT)
		ok = err_sys(e, "could not remove \"%s\"", lock);
	if (ok && unlink(socket) && errno != ENOENT)
		ok = err_sys(e, "could not remove \"%s\"", socket);
	free(socket);
	free(draft);
	free(lock);
	return ok;
}
