/* credential_folder.c - a folder in memory that belongs to the owner of an attempt.
 *
 * Called by: keeper_credential.c; the launcher, for attempts whose keepers have died.
 * Invariants:
 * - As root, the folder is a tmpfs of its own with the owner as its owner, and not swapped where the kernel can. So the owner fills no
 *   other file system, and its contents are gone when it is unmounted.
 * - The owner may put anything into the folder. Files are opened and made below its descriptor, no symbolic link is followed, and a
 *   secret is written to a new file alone. */
#include "procmgr/keeper/credential_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>

#include "lib/file.h"
#include "lib/log.h"
#include "procmgr/keeper/private_folders.h"

static const char memory[] = "/dev/shm", left[] = "rota-cred.";

enum { SPOOL_PATH = RECORD_KEY_SIZE + 16, SPARE_MIB = 1, INODES = 64, UNMOUNTS_MOST = 64 };

static void spool_path(const char *name, char path[SPOOL_PATH])
{
	snprintf(path, SPOOL_PATH, "spool/%s/cred", name);
}

/* Mount a tmpfs, without swap where the kernel knows that option. */
static bool mount_memory(const char *path, const struct task_owner *owner, int files)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	char options[160];
	snprintf(options, sizeof options, "size=%dm,nr_inodes=%d,mode=0700,uid=%ld,gid=%ld,noswap", files + SPARE_MIB, INODES,
		 (long)owner->uid, (long)owner->gid);
	if (mount("rota-cred", path, "tmpfs", flags, options) == 0)
		return true;
	*strrchr(options, ',') = '\0';
	return errno == EINVAL && mount("rota-cred", path, "tmpfs", flags, options) == 0;
}

static bool make_mount(struct credential_folder *f, const char *dir, const char *name, const struct task_owner *owner, int files,
		       struct err *e)
{
	char path[SPOOL_PATH];
	spool_path(name, path);
	if (mkdir(path, 0700) < 0)
		return err_sys(e, "could not make folder \"%s\"", path);
	if (!mount_memory(path, owner, files)) {
		err_sys(e, "could not mount a tmpfs for credentials on \"%s\"", path);
		rmdir(path);
		return false;
	}
	f->path = xasprintf("%s/%s", dir, path);
	return true;
}

static bool make_shared(struct credential_folder *f, const char *tag, struct err *e)
{
	f->path = xasprintf("%s/%s%s.XXXXXX", memory, left, tag);
	if (mkdtemp(f->path))
		return true;
	err_sys(e, "could not make a folder for credentials in \"%s\"", memory);
	free(f->path);
	f->path = NULL;
	return false;
}

bool credential_folder_make(struct credential_folder *f, const char *dir, const char *name, const char *tag,
			    const struct task_owner *owner, int files, struct err *e)
{
	if (!(geteuid() == 0 ? make_mount(f, dir, name, owner, files, e) : make_shared(f, tag, e)))
		return false;
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd >= 0)
		return true;
	err_sys(e, "could not open \"%s\"", f->path);
	credential_folder_destroy(f);
	return false;
}

/* Open a file of `folder` for writing. No link is followed, and no mount is entered: the owner may have a file system of his own there,
 * which would keep root waiting. */
static int open_own(int folder, const char *file)
{
	struct open_how how = {.flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			       .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
	return (int)syscall(SYS_openat2, folder, file, &how, sizeof how);
}

/* Overwrite a plain file below `folder` with zeros: at most as many bytes as the largest secret has. */
static void wipe_file(int folder, const char *file)
{
	static const char zeros[4096];
	struct stat st;
	int fd = open_own(folder, file);
	if (fd < 0)
		return;
	off_t size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
	if (size > CREDENTIAL_SECRET_LARGEST)
		size = CREDENTIAL_SECRET_LARGEST;
	for (bool good = true; good && size > 0; size -= (off_t)sizeof zeros)
		good = file_write_all(fd, zeros, size < (off_t)sizeof zeros ? (size_t)size : sizeof zeros);
	close(fd);
}

bool credential_folder_write(const struct credential_folder *f, const struct task_owner *owner, const char *file,
			     const void *bytes, size_t size, struct err *e)
{
	char fresh[CREDENTIAL_NAME_SIZE + 32];
	unsigned long number = 0;
	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return err_sys(e, "could not get random bytes");
	snprintf(fresh, sizeof fresh, ".%s.%lx", file, number);
	int fd = openat(f->fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "could not make credential \"%s\"", file);
	bool written = (geteuid() != 0 || fchown(fd, owner->uid, owner->gid) == 0) && fchmod(fd, 0600) == 0 &&
		       file_write_all(fd, bytes, size);
	close(fd);
	if (written && renameat(f->fd, fresh, f->fd, file) == 0)
		return true;
	err_sys(e, "could not write credential \"%s\"", file);
	wipe_file(f->fd, fresh);
	unlinkat(f->fd, fresh, 0);
	return false;
}

void credential_folder_remove(const struct credential_folder *f, const char *file)
{
	wipe_file(f->fd, file);
	unlinkat(f->fd, file, 0);
}

static void wipe_files(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		wipe_file(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}

/* Unmount all that is on `path`: the owner may have mounted something over the folder. */
static void unmount_all(const char *path)
{
	int tries = 0;
	while (tries < UNMOUNTS_MOST && umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		tries++;
	if (errno != EINVAL && errno != ENOENT)
		log_warning("could not unmount \"%s\": %m", path);
}

static void remove_path(const char *path)
{
	if (rmdir(path) < 0 && errno != ENOENT)
		log_warning("could not remove \"%s\": %m", path);
}

void credential_folder_destroy(struct credential_folder *f)
{
	if (!f->path)
		return;
	if (f->fd >= 0)
		wipe_files(f->fd);
	if (geteuid() != 0 && f->fd >= 0)
		private_folders_empty(f->fd);
	if (f->fd >= 0)
		close(f->fd);
	if (geteuid() == 0)
		unmount_all(f->path);
	remove_path(f->path);
	free(f->path);
	*f = (struct credential_folder){NULL, -1};
}

/* Read the attempt `key` from the name of a folder in /dev/shm. Returns false unless the name has the hash of this node's
 * folder. */
static bool shared_parse(const char *entry, const char *hash, struct record_key *key)
{
	char text[RECORD_KEY_SIZE];
	const char *rest = entry + strlen(left) + strlen(hash), *dot = strrchr(entry, '.');
	if (strncmp(entry, left, strlen(left)) != 0 || strncmp(entry + strlen(left), hash, strlen(hash)) != 0 || dot < rest)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)(dot - rest), rest);
	return record_key_parse(text, key);
}

/* Remove a folder in /dev/shm, if it belongs to this user. */
static void destroy_shared(const char *path)
{
	struct stat st;
	struct credential_folder f = {xstrdup(path), open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
	if (f.fd >= 0 && fstat(f.fd, &st) == 0 && st.st_uid == geteuid()) {
		credential_folder_destroy(&f);
		return;
	}
	if (f.fd >= 0)
		close(f.fd);
	free(f.path);
}

void credential_folder_tidy(const char *dir, bool (*is_running)(void *arg, const struct record_key *key), void *arg)
{
	const struct record_key any = {1, 0, 1, 0};
	char hash[RECORD_TAG_SIZE], path[sizeof memory + 256];
	struct record_key key;
	record_tag(dir, &any, hash);
	strchr(hash, '.')[1] = '\0';
	DIR *shared = opendir(memory);
	for (struct dirent *entry; shared && (entry = readdir(shared));) {
		if (!shared_parse(entry->d_name, hash, &key) || is_running(arg, &key))
			continue;
		snprintf(path, sizeof path, "%s/%s", memory, entry->d_name);
		destroy_shared(path);
	}
	if (shared)
		closedir(shared);
}

static bool is_another(void *arg, const struct record_key *key)
{
	return !record_key_equal(key, arg);
}

/* As root, unmounting frees the contents. They are not read before: a file system of the owner that is mounted over them may not answer. */
void credential_folder_recover(const char *dir, const struct record_key *key)
{
	char name[RECORD_KEY_SIZE], path[SPOOL_PATH];
	record_key_text(key, name);
	spool_path(name, path);
	if (geteuid() == 0) {
		unmount_all(path);
		remove_path(path);
	} else {
		credential_folder_tidy(dir, is_another, (void *)key);
	}
}
