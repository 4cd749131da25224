/* up_folders.c - the state folder of a private instance: folders and their owners, keys, configuration. For `rota up`. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/rand.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bin/rota/instance/process.h"
#include "bin/rota/instance/up.h"
#include "lib/seal.h"

/* Folders of the home. Folders from which root reads or executes belong to root; folders to which the account writes belong to
 * the account. Logs are not world-readable, because PostgreSQL's log quotes rows and failed statements. */
static const struct {
	const char *name;
	mode_t mode;
	bool accounts; /* the folder belongs to the account */
} FOLDERS[] = {
	{"etc", 0755, false}, {"log", 0750, false}, {"node", 0755, false},     {"run", 0755, true},
	{"keys", 0700, true}, {"pg", 0700, true},   {"scratch", 01777, false}, {"seen", 0755, false},
};

/* The longest socket path below the home. */
static const char LONGEST_SOCKET[] = "run/hook/hook.sock";

/* Make the parent folders of `path`, as mkdir -p does. */
static bool parents_make(const char *path, struct err *e)
{
	char *copy = xstrdup(path);
	bool ok = true;

	for (char *slash = strchr(copy + 1, '/'); ok && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			ok = err_sys(e, "could not make the folder \"%s\"", copy);
		*slash = '/';
	}
	free(copy);
	return ok;
}

bool up_folder_make(const char *path, mode_t mode, uid_t uid, gid_t gid, struct err *e)
{
	int fd;
	bool ok;

	if (mkdir(path, 0700) && errno != EEXIST)
		return err_sys(e, "could not make the folder \"%s\"", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "could not open the folder \"%s\"", path);
	ok = !fchown(fd, uid, gid) && !fchmod(fd, mode);
	if (!ok)
		err_sys(e, "could not set owner and mode of \"%s\"", path);
	close(fd);
	return ok;
}

/* Verify, as the account, that every folder on the way to the last part of `path` can be entered. Missing folders pass,
 * because they are made with a mode that lets everyone enter. */
static bool way_check(const struct instance *in, const char *path, struct err *e)
{
	char *way = xstrdup(path);
	struct stat st;
	bool ok = true;

	for (char *slash = strchr(way + 1, '/'); ok && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ok = !access(way, X_OK) || errno != EACCES;
		if (!ok && stat(way, &st))
			err_set(e, "the account \"%s\" cannot enter \"%s\"", in->account, way);
		else if (!ok)
			err_set(e, "the account \"%s\" cannot enter \"%s\" (mode %04o)", in->account, way, st.st_mode & 07777);
		*slash = '/';
	}
	free(way);
	return ok;
}

static bool home_reach(const struct instance *in, struct err *e)
{
	if (way_check(in, in->home, e))
		return true;
	return err_hint(
		e,
		"The instance would be in %s: set ROTA_HOME to a folder that the account can reach, or open the way (chmod o+x).",
		in->home);
}

static bool programs_reach(const struct instance *in, struct err *e)
{
	char *program = xasprintf("%s/jobmgrd", in->daemons);
	bool ok = way_check(in, program, e);

	if (!ok)
		err_hint(e,
			 "The programs are there: copy them to where it can (cmake --install build/release --prefix /usr/local), "
			 "or open the way (chmod o+x).");
	free(program);
	return ok;
}

/* Returns true if procmgrd has another account than the instance. procmgrd then reads its password in keys/. Also false for a new
 * instance, which has no configuration when its folders are first made. */
static bool node_is_apart(const struct instance *in)
{
	const char *account = in->conf.node_account;
	return in->root && account && *account && strcmp(account, in->account) != 0;
}

/* Returns true if the instance holds credentials of users (rota-credd). All users then read keys/cred.pub, to seal their
 * uploads. */
static bool holds_credentials(const struct instance *in)
{
	return in->conf.credentials_keys && *in->conf.credentials_keys;
}

bool up_reach(const struct instance *in, struct err *e)
{
	return !in->root || (process_as_account(in, home_reach, e) && process_as_account(in, programs_reach, e));
}

bool up_seen_make(const struct instance *in, uid_t uid, gid_t gid, struct err *e)
{
	const struct passwd *pw = getpwuid(uid);
	char *path = instance_path(in, "seen/%s", pw ? pw->pw_name : "unknown");
	bool ok = up_folder_make(path, 0755, uid, gid, e);

	free(path);
	return ok;
}

/* Open a folder of `above` that may belong to the account of a daemon. Follows no symbolic link. Returns a descriptor, -1 if there is none. */
static int seen_open(int above, const char *name)
{
	return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Remove the file "incarnation" in the folder `name` of `above`, and in a folder "seen" there. */
static void seen_remove(int above, const char *name)
{
	int folder = seen_open(above, name), inner = folder < 0 ? -1 : seen_open(folder, "seen");

	if (folder >= 0)
		unlinkat(folder, "incarnation", 0);
	if (inner >= 0)
		unlinkat(inner, "incarnation", 0);
	if (inner >= 0)
		close(inner);
	if (folder >= 0)
		close(folder);
}

void up_seen_forget(const struct instance *in)
{
	static const char *const places[] = {"seen", "node"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *path = instance_path(in, "%s", places[i]);
		DIR *dir = opendir(path);

		for (struct dirent *entry; dir && (entry = readdir(dir));)
			if (*entry->d_name != '.')
				seen_remove(dirfd(dir), entry->d_name);
		if (dir)
			closedir(dir);
		free(path);
	}
}

bool up_folders(const struct instance *in, struct err *e)
{
	size_t longest = strlen(in->home) + 1 + strlen(LONGEST_SOCKET);

	if (longest >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
		err_set(e, "the path \"%s/%s\" is too long for a socket (%zu bytes, at most 107)", in->home, LONGEST_SOCKET,
			longest);
		return err_hint(e, "Set ROTA_HOME to a shorter path.");
	}
	if (!parents_make(in->home, e) || !up_folder_make(in->home, 0711, geteuid(), getegid(), e))
		return false;
	for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
		char *path = instance_path(in, "%s", FOLDERS[i].name);
		bool accounts = in->root && FOLDERS[i].accounts;
		bool entered = !strcmp(FOLDERS[i].name, "keys") && (node_is_apart(in) || holds_credentials(in));
		bool ok = up_folder_make(path, entered ? 0711 : FOLDERS[i].mode, accounts ? in->uid : geteuid(),
					 accounts ? in->gid : getegid(), e);

		free(path);
		if (!ok)
			return false;
	}
	return up_seen_make(in, in->root ? in->uid : geteuid(), in->root ? in->gid : getegid(), e);
}

const struct passwd *up_account_find(const char *key, const char *account, struct err *e)
{
	const struct passwd *pw = getpwnam(account);
	if (pw && pw->pw_uid != 0)
		return pw;
	err_set(e, pw ? "%s: daemons do not run as \"%s\"" : "%s: there is no account \"%s\"", key, account);
	err_hint(e, "Make it (useradd --system %s), or name another one with --set %s=NAME.", account, key);
	return NULL;
}

bool up_pid_file_make(const struct instance *in, const char *daemon, uid_t uid, gid_t gid, struct err *e)
{
	char *path = instance_path(in, "run/%s-1.pid", daemon);
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 && !fchown(fd, uid, gid);
	if (!ok)
		err_sys(e, "could not make \"%s\" for the account of %s", path, daemon);
	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

bool up_runner_files(const struct instance *in, struct err *e)
{
	const struct passwd *pw = in->root ? up_account_find("controller.account", conf_controller_account(&in->conf), e) : NULL;
	if (!pw && in->root)
		return false;
	char *folder = instance_path(in, "run/hook");
	bool ok = up_folder_make(folder, 0755, pw ? pw->pw_uid : geteuid(), pw ? pw->pw_gid : getegid(), e);
	free(folder);
	ok = ok && (!pw || up_seen_make(in, pw->pw_uid, pw->pw_gid, e));
	return ok && (!pw || up_pid_file_make(in, "runnerd", pw->pw_uid, pw->pw_gid, e));
}

/* Warn if scripts of the site, or rota-credd with secrets of users, would run as the account of jobmgrd, which can read all
 * keys. */
static void accounts_warn(const struct instance *in)
{
	const struct conf *c = &in->conf;
	bool has_hooks =
		conf_has_scripts(c) || *c->hooks_power_off || *c->hooks_power_on || *c->hooks_reboot || *c->hooks_node_folder;

	if (has_hooks && strcmp(conf_controller_account(c), in->account) == 0)
		fprintf(stderr,
			"rota: warning: the scripts of section hooks run as \"%s\", which can read the keys of jobmgrd; make an "
			"account for them (useradd --system rota-hook) and set it: rota up --set controller.account=rota-hook\n",
			in->account);
	if (*c->credentials_keys && strcmp(conf_credentials_account(c), in->account) == 0)
		fprintf(stderr,
			"rota: warning: rota-credd runs as \"%s\", so jobmgrd can read its keys; make an account for it (useradd "
			"--system rota-cred) and set it: rota up --set credentials.account=rota-cred\n",
			in->account);
}

bool up_accounts(const struct instance *in, struct err *e)
{
	if (!in->root)
		return true;
	accounts_warn(in);
	return up_account_find("node.account", conf_node_account(&in->conf), e) &&
	       up_account_find("controller.account", conf_controller_account(&in->conf), e) && up_folders(in, e);
}

/* Give a file that root made to the account. */
static bool file_give(const struct instance *in, const char *path, struct err *e)
{
	if (in->root && lchown(path, in->uid, in->gid))
		return err_sys(e, "could not give \"%s\" to \"%s\"", path, in->account);
	return true;
}

/* Make munged's key of 1024 random bytes. The key is written to a draft that is renamed, so that a partial key is never used. */
static bool munge_key_make(const struct instance *in, struct err *e)
{
	unsigned char key[1024];
	char *path = instance_path(in, "etc/munge.key"), *draft = instance_path(in, "etc/munge.key.new");
	bool ok = true;
	int fd;

	if (access(path, F_OK)) {
		unlink(draft);
		fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
		if (fd < 0 || RAND_bytes(key, sizeof(key)) != 1 || write(fd, key, sizeof(key)) != (ssize_t)sizeof(key) ||
		    fsync(fd))
			ok = err_sys(e, "could not write \"%s\"", draft);
		if (fd >= 0)
			close(fd);
		ok = ok && file_give(in, draft, e);
		if (ok && rename(draft, path))
			ok = err_sys(e, "could not rename \"%s\"", draft);
		explicit_bzero(key, sizeof(key));
	}
	free(draft);
	free(path);
	return ok;
}

/* Make the keys for signatures and authenticators. Called in a process of the account instance.account. */
static bool signing_keys_make(const struct instance *in, struct err *e)
{
	char *dir = instance_path(in, "keys");
	bool ok = seal_keys_make(dir, e);

	free(dir);
	return ok;
}

bool up_keys(const struct instance *in, struct err *e)
{
	return process_as_account(in, signing_keys_make, e) && munge_key_make(in, e);
}

/* Parse a whole number within [lowest, highest]. Returns false if `text` is no such number. */
static bool number(const char *text, int lowest, int highest, int *value)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < lowest || n > highest)
		return false;
	*value = (int)n;
	return true;
}

bool up_conf_set(struct conf *conf, const char *key, const char *value, struct err *e)
{
#define CONF_TEXT(section, name, otherwise, help)                                                                                \
	if (!strcmp(key, #section "." #name)) {                                                                                  \
		free(conf->section##_##name);                                                                                    \
		conf->section##_##name = xstrdup(value);                                                                         \
		return true;                                                                                                     \
	}
#define CONF_WORD(section, name, words, otherwise, help)                                                                         \
	if (!strcmp(key, #section "." #name) && !conf_word_is(words, value))                                                     \
		return err_set(e, "\"%s\" must be one of %s, not \"%s\"", key, words, value);                                    \
	CONF_TEXT(section, name, otherwise, help)
#define CONF_PATH(section, name, otherwise, help)                                                                                \
	if (!strcmp(key, #section "." #name) && !conf_path_is(otherwise, value))                                                 \
		return err_set(e, "\"%s\" must be a path that begins with \"/\", not \"%s\"", key, value);                       \
	CONF_TEXT(section, name, otherwise, help)
#define CONF_INT(section, name, otherwise, lowest, highest, help)                                                                \
	if (!strcmp(key, #section "." #name))                                                                                    \
		return number(value, lowest, highest, &conf->section##_##name) ||                                                \
		       err_set(e, "\"%s\" must be a number from %d to %d, not \"%s\"", key, lowest, highest, value);
#include "lib/conf.def"
#undef CONF_TEXT
#undef CONF_INT
	err_set(e, "there is no setting \"%s\"", key);
	return err_hint(e, "Settings are written section.key=value; etc/rota.conf in the state folder lists them all.");
}

/* Replace a text setting by a malloc'ed one. */
static void setting_replace(char **setting, char *value)
{
	free(*setting);
	*setting = value;
}

void up_conf_new(struct instance *in)
{
	struct conf *conf = &in->conf;

#define CONF_TEXT(section, name, otherwise, help) setting_replace(&conf->section##_##name, xstrdup(otherwise));
#define CONF_INT(section, name, otherwise, lowest, highest, help) conf->section##_##name = otherwise;
#include "lib/conf.def"
#undef CONF_TEXT
#undef CONF_INT
	setting_replace(&conf->instance_account, xstrdup(in->root ? in->account : ""));
	setting_replace(&conf->instance_home, xstrdup(in->home));
	setting_replace(&conf->database_conninfo, instance_conninfo(in, "rota", NULL));
	setting_replace(&conf->gate_socket, instance_path(in, "run/gate.sock"));
	setting_replace(&conf->hooks_socket, instance_path(in, "run/hook/hook.sock"));
	setting_replace(&conf->munge_socket, instance_path(in, "run/munge.sock"));
	setting_replace(&conf->keys_dir, instance_path(in, "keys"));
	setting_replace(&conf->node_state, instance_path(in, "node"));
	setting_replace(&conf->staging_scratch, instance_path(in, "scratch/%%u/%%j"));
}
