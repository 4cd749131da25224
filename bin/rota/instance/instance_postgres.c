/* instance_postgres.c - finds the PostgreSQL server of a private instance, and clears the lock files of one that was killed.
 *
 * Called by: up, down and status.
 * Invariants:
 * - A server is found by its processes: their working directory is pg/data. The number in postmaster.pid is a first guess, for after a
 *   reboot or a restore it names whatever process has that number now.
 * - Lock files are cleared only while no process of a server is left and the caller holds the instance's lock. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/instance/instance.h"

/* The first bytes of /proc/PID/FILE, "" where it cannot be read. */
static void proc_read(pid_t pid, const char *file, char *text, size_t size)
{
	char *path = xasprintf("/proc/%d/%s", (int)pid, file);
	FILE *in = fopen(path, "re");
	size_t got = in ? fread(text, 1, size - 1, in) : 0;

	text[got] = '\0';
	if (in)
		fclose(in);
	free(path);
}

bool instance_postgres_is(const struct instance *in, pid_t pid)
{
	char *data = instance_path(in, "pg/data"), *cwd = xasprintf("/proc/%d/cwd", (int)pid), name[32];
	struct stat ours, its;
	bool is = !stat(data, &ours) && !stat(cwd, &its) && ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;

	if (is) { /* a shell may stand there, too */
		proc_read(pid, "comm", name, sizeof(name));
		is = !strcmp(name, "postgres\n");
	}
	free(cwd);
	free(data);
	return is;
}

/* Whether a process of the server is one of its children: these write what they do over their command line. */
static bool is_child(pid_t pid)
{
	char command[32];

	proc_read(pid, "cmdline", command, sizeof(command));
	return !strncmp(command, "postgres: ", strlen("postgres: "));
}

/* Look through all processes for one of the server, its children included or not; 0 where there is none. */
static pid_t postgres_search(const struct instance *in, bool children)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && instance_postgres_is(in, pid) && (children || !is_child(pid)))
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
	return pid > 0 && instance_postgres_is(in, pid) && !is_child(pid) ? pid : postgres_search(in, false);
}

pid_t instance_postgres_any(const struct instance *in)
{
	return postgres_search(in, true);
}

/* Put `pid` in the place of the number in postmaster.pid, and keep its other lines. False where it has no number or cannot be written. */
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

/* PostgreSQL does not start while a process of its account has the number in a lock file, unless that is the number of the parent that
 * starts it: this program. The other lines of postmaster.pid stay, because by them it finds shared memory that is still in use. */
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
