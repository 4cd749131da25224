/* launcher_spool.c - the node's folder, and in it one folder for each attempt.
 *
 * Called by: all files of the launcher. The folder node.state/<node> belongs to root, or to the user of a private instance. It
 * has the files journal and launcher.pid. cache/, seen/ and substeps/ belong to procmgrd; substeps/ has the journals of step managers.
 * spool/<key>/ has an attempt's script, node file, control socket and pid file; once there is a keeper, the pid file names the
 * attempt. spare/ has the folders of idle keepers.
 * Invariants:
 * - Launcher and keepers enter the node's folder and use only paths below it, so moving a parent folder does not redirect them.
 * - A folder in spool/ without a living keeper is an attempt whose end is not recorded yet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/daemon.h"
#include "lib/log.h"
#include "procmgr/launcher/launcher_parts.h"
#include "procmgr/record/lease.h"

static bool make_path(const char *path, struct err *e)
{
	char *copy = xstrdup(path);
	bool made = true;
	for (char *slash = strchr(copy + 1, '/'); made; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		made = mkdir(copy, 0755) == 0 || errno == EEXIST;
		if (!slash)
			break;
		*slash = '/';
	}
	free(copy);
	return made || err_sys(e, "could not make folder \"%s\"", path);
}

/* Warn if users other than root can change a parent of the node's folder: they could replace the node's folder before the next
 * start. */
static void warn_about_parents(const char *dir)
{
	char *path = xstrdup(dir);
	struct stat st;
	for (char *slash; geteuid() == 0 && (slash = strrchr(path, '/')) && slash != path;) {
		*slash = '\0';
		bool loose = stat(path, &st) == 0 && (st.st_uid != 0 || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)));
		if (loose)
			log_warning("folder \"%s\" above \"%s\" can be changed by others than root", path, dir);
	}
	free(path);
}

static bool find_agent_account(struct launcher *l, struct err *e)
{
	l->agent_uid = geteuid();
	l->agent_gid = getegid();
	const char *account = conf_node_account(l->conf);
	if (geteuid() != 0 || !*account)
		return true;
	const struct passwd *pw = getpwnam(account);
	if (!pw)
		return err_set(e, "account \"%s\" does not exist", account);
	l->agent_uid = pw->pw_uid;
	l->agent_gid = pw->pw_gid;
	return true;
}

/* Make a folder below the working directory, and set its owner and mode. */
static bool make_folder(const char *name, uid_t uid, gid_t gid, mode_t mode, struct err *e)
{
	struct stat st;
	if (mkdir(name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "could not make folder \"%s\"", name);
	if (lstat(name, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, "\"%s\" is not a folder", name);
	if ((st.st_uid != uid || st.st_gid != gid) && lchown(name, uid, gid) < 0)
		return err_sys(e, "could not change the owner of folder \"%s\"", name);
	return chmod(name, mode) == 0 || err_sys(e, "could not set the mode of folder \"%s\"", name);
}

/* Enter the node's folder, if no other user can write to it. */
static bool enter_folder(struct launcher *l, struct err *e)
{
	struct stat st;
	int fd = open(l->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "could not open folder \"%s\"", l->dir);
	bool ours = fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022);
	bool entered = ours && fchown(fd, geteuid(), l->agent_gid) == 0 && fchmod(fd, 0751) == 0 && fchdir(fd) == 0;
	if (!ours)
		err_set(e, "folder \"%s\" belongs to somebody else, or others can write to it", l->dir);
	else if (!entered)
		err_sys(e, "could not enter folder \"%s\"", l->dir);
	close(fd);
	return entered;
}

/* Let the account of procmgrd read a journal that was made for another account. */
static bool give_journal(const struct launcher *l, struct err *e)
{
	struct stat st;
	if (lstat("journal", &st) < 0 || st.st_gid == l->agent_gid || lchown("journal", (uid_t)-1, l->agent_gid) == 0)
		return true;
	return err_sys(e, "could not change the group of the journal");
}

bool launcher_spool_cache(const struct launcher *l, struct err *e)
{
	return make_folder("cache", l->agent_uid, l->agent_gid, 0700, e) &&
	       make_folder("seen", l->agent_uid, l->agent_gid, 0700, e) &&
	       make_folder("substeps", l->agent_uid, l->agent_gid, 0700, e);
}

/* Warn if keepers cannot keep users from changing their scripts (procmgr/keeper/user_file.c). */
static void warn_about_access_lists(const struct launcher *l)
{
	if (geteuid() == 0 && getxattr(".", "system.posix_acl_access", NULL, 0) < 0 && errno == EOPNOTSUPP)
		log_warning("the file system of folder \"%s\" has no access control lists, so users can write to the scripts of "
			    "their jobs there; move node.state to a file system that has them",
			    l->dir);
}

bool launcher_spool_enter(struct launcher *l, struct err *e)
{
	char absolute[PATH_MAX];
	umask(022);
	if (!find_agent_account(l, e) || !make_path(l->conf->node_state, e))
		return false;
	if (!realpath(l->conf->node_state, absolute))
		return err_sys(e, "could not find folder \"%s\"", l->conf->node_state);
	l->dir = xasprintf("%s/%s", absolute, l->node);
	if (mkdir(l->dir, 0751) < 0 && errno != EEXIST)
		return err_sys(e, "could not make folder \"%s\"", l->dir);
	warn_about_parents(l->dir);
	if (!enter_folder(l, e))
		return false;
	warn_about_access_lists(l);
	return launcher_spool_cache(l, e) && give_journal(l, e) && make_folder("spool", geteuid(), l->agent_gid, 0751, e) &&
	       make_folder("spare", geteuid(), getegid(), 0700, e) && lease_make(l->agent_uid, l->agent_gid, e);
}

void launcher_spool_path(const char *above, const struct record_key *key, const char *file, char path[LAUNCHER_PATH_SIZE])
{
	char name[RECORD_KEY_SIZE];
	record_key_text(key, name);
	snprintf(path, LAUNCHER_PATH_SIZE, "%s/%s%s%s", above, name, *file ? "/" : "", file);
}

static void spool_path(const struct record_key *key, const char *file, char path[LAUNCHER_PATH_SIZE])
{
	launcher_spool_path("spool", key, file, path);
}

static struct sockaddr_un address_of(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	spool_path(key, "ctl", path);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	return address;
}

static bool make_pid_file(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "pid", path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int make_socket(const struct record_key *key)
{
	struct sockaddr_un address = address_of(key);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	mode_t before = umask(077);
	bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
	umask(before);
	if (fd >= 0 && !bound)
		close(fd);
	return bound ? fd : -1;
}

int launcher_spool_make(const struct record_key *key, struct err *e)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "", path);
	if (mkdir(path, 0711) < 0) {
		err_sys(e, "could not make folder \"%s\"", path);
		return -1;
	}
	int ctl = make_pid_file(key) ? make_socket(key) : -1;
	if (ctl < 0) {
		err_sys(e, "could not make the files of folder \"%s\"", path);
		launcher_spool_remove(key);
	}
	return ctl;
}

void launcher_spool_clear(const char *above, const struct record_key *key)
{
	static const char *const files[] = {
		"script", "nodes", "ctl",  "steps", "asked",
		"group",  "fence", "cred", "pid",   ""}; /* keepers of an earlier version wrote the file `fence` */
	char path[LAUNCHER_PATH_SIZE];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		launcher_spool_path(above, key, files[i], path);
		if (remove(path) < 0 && errno != ENOENT)
			log_warning("could not remove \"%s\": %m", path);
	}
}

void launcher_spool_remove(const struct record_key *key)
{
	launcher_spool_clear("spool", key);
}

bool launcher_spool_has(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "", path);
	return access(path, F_OK) == 0;
}

bool launcher_spool_is_gone(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "", path);
	/* any other error, as EIO and ESTALE, and a spool/ that is gone as a whole say nothing of the attempt */
	return access(path, F_OK) < 0 && errno == ENOENT && access("spool", F_OK) == 0;
}

/* The content of an attempt's pid file. */
struct note {
	bool locked;	      /* a keeper has written its pid into the file */
	bool named;	      /* the keeper has also written the name of an attempt */
	bool its;	      /* the name is that of the attempt to which the pid file belongs */
	bool ends_with_lease; /* the named attempt must not outlive the node's lease */
	long long space;      /* journal space for the attempt's records; 0 from a keeper of an earlier version */
	long uid;	      /* user of the attempt; -1 from a keeper of an earlier version */
};

static struct note read_note(int fd, const struct record_key *key)
{
	char text[256], name[RECORD_KEY_SIZE], its[RECORD_KEY_SIZE] = "", word[8] = "";
	long long space = 0;
	long uid = -1;
	ssize_t size = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	bool named = sscanf(text, "%*d %*s %47s %7s %lld %ld", its, word, &space, &uid) >= 1;
	record_key_text(key, name);
	return (struct note){size > 0, named, strcmp(its, name) == 0, strcmp(word, "fence") == 0, space, uid};
}

static struct note open_note(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "pid", path);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct note note = read_note(fd, key);
	if (fd >= 0)
		close(fd);
	return note;
}

int64_t launcher_spool_space(const struct record_key *key)
{
	struct note note = open_note(key);
	return note.its && note.space > 0 ? note.space : 0;
}

bool launcher_spool_ends_with_lease(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	struct note note = open_note(key);
	/* A pid file that still names the keeper's last attempt means that the new attempt has not started. The new attempt then
	 * counts as ending with the lease. */
	if (note.named)
		return note.ends_with_lease || !note.its;
	/* Keepers of an earlier version wrote the file "fence" for an attempt that must end when the node's lease runs out. */
	spool_path(key, "fence", path);
	return access(path, F_OK) == 0;
}

pid_t launcher_spool_keeper(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "pid", path);
	return daemon_holder(path);
}

int launcher_spool_seize(const struct record_key *key, bool *kept)
{
	char path[LAUNCHER_PATH_SIZE];
	spool_path(key, "pid", path);
	int fd = daemon_seize(path);
	struct note note = read_note(fd, key);
	*kept = note.locked && (note.its || !note.named);
	return fd;
}

uid_t launcher_spool_owner(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	struct stat st;
	struct note note = open_note(key);
	if (note.its && note.uid >= 0)
		return (uid_t)note.uid;
	spool_path(key, "script", path); /* keepers of an earlier version gave the script to the user */
	return lstat(path, &st) == 0 ? st.st_uid : geteuid();
}

static bool send_from(int fd, const struct record_key *key, const struct fields *message)
{
	size_t size;
	const char *text = fields_text(message, &size);
	struct sockaddr_un address = address_of(key);
	return fd >= 0 && sendto(fd, text, size, 0, (struct sockaddr *)&address, sizeof address) == (ssize_t)size;
}

enum launcher_sent launcher_spool_send(const struct record_key *key, const struct fields *message, struct err *e)
{
	static int fd = -1; /* socket that sends to all keepers */
	if (fd >= 0 && send_from(fd, key, message))
		return LAUNCHER_SENT;
	/* Messages that other keepers have not read use up the buffer of the sending socket. Only a new sending socket shows
	 * whether this keeper's socket is full. */
	if (fd >= 0)
		close(fd);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (send_from(fd, key, message))
		return LAUNCHER_SENT;
	/* ENOENT and ECONNREFUSED mean that the keeper's socket is removed or no longer open. All other errors are temporary. */
	bool never = errno == ENOENT || errno == ECONNREFUSED;
	err_sys(e, "could not reach the keeper at \"%s\"", address_of(key).sun_path);
	return never ? LAUNCHER_SENT_NEVER : LAUNCHER_SENT_LATER;
}

int launcher_spool_each(struct launcher *l, void (*each)(struct launcher *l, const struct record_key *key))
{
	int count = 0;
	DIR *dir = opendir("spool");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct record_key key;
		if (!record_key_parse(entry->d_name, &key))
			continue;
		count++;
		if (each)
			each(l, &key);
	}
	if (dir)
		closedir(dir);
	return count;
}

/* Remove files of job groups. Such a file stays if the keeper that ran the group's prolog dies. While there is no attempt, no
 * keeper reads these files. */
void launcher_spool_tidy(struct launcher *l)
{
	if (launcher_spool_each(l, NULL) > 0)
		return;
	DIR *dir = opendir("spool");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (strncmp(entry->d_name, "group.", strlen("group.")) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}
