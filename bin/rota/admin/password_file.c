/* password_file.c - a file with passwords of database roles.
 *
 * Called by: `rota admin node enroll`, `rota up`.
 * Invariants:
 * - Lines that other programs or people wrote are kept, after those of Rota: libpq uses the first line that matches.
 * - Passwords are wiped from memory. */
#include "bin/rota/admin/password_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct password_file {
	char *path;
	struct stat folder; /* status of the folder that has the password file */
	uid_t uid;	    /* owner of the password file, if root writes the file */
	gid_t gid;
	bool is_given; /* the password file does not exist, or `uid` owns the file */
	char **lines;  /* lines of the file without their newlines */
	size_t count;
};

static void line_free(char *line)
{
	explicit_bzero(line, strlen(line));
	free(line);
}

static void lines_read(struct password_file *file, FILE *in)
{
	char *line = NULL;
	size_t size = 0;
	while (getline(&line, &size, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		file->lines = xrealloc(file->lines, (file->count + 1) * sizeof *file->lines);
		file->lines[file->count++] = xstrdup(line);
	}
	if (line)
		explicit_bzero(line, size);
	free(line);
}

/* Read the lines of the file, if it exists. */
static bool file_read(struct password_file *file, struct err *e)
{
	struct stat st;
	int fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || err_sys(e, "could not open \"%s\"", file->path);
	bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == file->folder.st_uid || st.st_uid == file->uid);
	FILE *in = ours ? fdopen(fd, "r") : NULL;
	if (in) {
		lines_read(file, in);
		fclose(in);
		file->is_given = geteuid() != 0 || st.st_uid == file->uid;
		return true;
	}
	close(fd);
	err_set(e, "\"%s\" is not a file of its folder's owner, nor of node.account", file->path);
	return err_hint(e, "Remove it, or name another file with --file.");
}

/* Set the owner of the file: the account, or the owner of the file's folder if `account` is NULL. */
static bool find_owner(struct password_file *file, const char *account, struct err *e)
{
	const struct passwd *pw = account && *account ? getpwnam(account) : NULL;
	if (account && *account && !pw)
		return err_set(e, "account \"%s\" does not exist", account);
	file->uid = pw ? pw->pw_uid : file->folder.st_uid;
	file->gid = pw ? pw->pw_gid : file->folder.st_gid;
	return true;
}

struct password_file *password_file_open(const char *path, const char *account, struct err *e)
{
	struct password_file *file = xcalloc(1, sizeof *file);
	file->is_given = true;
	char *copy = xstrdup(path), *folder = dirname(copy);
	file->path = xstrdup(path);
	bool ok = stat(folder, &file->folder) == 0 || err_sys(e, "could not find the folder \"%s\"", folder);
	ok = ok && find_owner(file, account, e) && file_read(file, e);
	free(copy);
	if (ok)
		return file;
	password_file_close(file);
	return NULL;
}

bool password_file_is_given(const struct password_file *file)
{
	return file->is_given;
}

const char *password_file_get(const struct password_file *file, const char *role)
{
	char *start = xasprintf("*:*:*:%s:", role);
	const char *found = NULL;
	for (size_t i = 0; i < file->count && !found; i++)
		if (strncmp(file->lines[i], start, strlen(start)) == 0)
			found = file->lines[i] + strlen(start);
	free(start);
	return found;
}

void password_file_set(struct password_file *file, const char *role, const char *password)
{
	char *start = xasprintf("*:*:*:%s:", role), *line = xasprintf("%s%s", start, password);
	size_t kept = 0;
	file->lines = xrealloc(file->lines, (file->count + 1) * sizeof *file->lines);
	for (size_t i = 0; i < file->count; i++)
		if (strncmp(file->lines[i], start, strlen(start)) == 0)
			line_free(file->lines[i]);
		else
			file->lines[kept++] = file->lines[i];
	memmove(file->lines + 1, file->lines, kept * sizeof *file->lines);
	file->lines[0] = line;
	file->count = kept + 1;
	free(start);
}

static bool lines_write(const struct password_file *file, int fd)
{
	FILE *out = fdopen(fd, "w");
	if (!out)
		return close(fd) == 0 && false;
	bool ok = fchmod(fd, 0600) == 0;
	if (geteuid() == 0)
		ok = ok && fchown(fd, file->uid, file->gid) == 0;
	for (size_t i = 0; ok && i < file->count; i++)
		ok = fprintf(out, "%s\n", file->lines[i]) > 0;
	ok = ok && fflush(out) == 0 && fsync(fd) == 0;
	return fclose(out) == 0 && ok;
}

bool password_file_save(const struct password_file *file, struct err *e)
{
	char *draft = xasprintf("%s.%ld", file->path, (long)getpid());
	unlink(draft);
	int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && lines_write(file, fd) && rename(draft, file->path) == 0;
	if (!ok) {
		err_sys(e, "could not write \"%s\"", file->path);
		unlink(draft);
	}
	free(draft);
	return ok;
}

void password_file_close(struct password_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		line_free(file->lines[i]);
	free(file->lines);
	free(file->path);
	free(file);
}
