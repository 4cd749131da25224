/* instance.c - folder, account and processes of a private instance.
 *
 * Called by: `rota up`, `rota down` and `rota status`.
 * Invariants:
 * - A daemon is alive if it holds its lock. PostgreSQL is alive if a process has pg/data as its working directory. A pid file
 *   alone proves nothing. */
#include "bin/rota/instance/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/daemon.h"
#include "lib/text.h"

char *instance_path(const struct instance *in, const char *format, ...)
{
	char *tail = NULL, *path;
	va_list args;

	va_start(args, format);
	if (vasprintf(&tail, format, args) < 0)
		die("out of memory");
	va_end(args);
	path = xasprintf("%s/%s", in->home, tail);
	free(tail);
	return path;
}

void instance_say(const struct instance *in, const char *format, ...)
{
	va_list args;

	if (in->quiet)
		return;
	va_start(args, format);
	fputs("rota: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* Returns the folder of the daemons: the folder of this program in a build tree, else ../sbin. */
static char *daemons_folder(void)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *beside, *sbin;

	if (length < 0)
		die("could not read \"/proc/self/exe\": %s", strerror(errno));
	self[length] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	beside = xasprintf("%s/jobmgrd", self);
	sbin = xasprintf("%s/../sbin", self);
	if (!access(beside, X_OK)) {
		free(sbin);
		sbin = xstrdup(self);
	}
	free(beside);
	return sbin;
}

/* Choose the account of the instance and read its passwd entry. */
static bool account_find(struct instance *in, const char *account, struct err *e)
{
	const char *wanted = account ? account : in->made && in->conf.instance_account[0] ? in->conf.instance_account : "rota";
	struct passwd *pw = in->root ? getpwnam(wanted) : getpwuid(geteuid());

	if (!pw && in->root) {
		err_set(e, "there is no account \"%s\" for PostgreSQL and the daemons to run as", wanted);
		return err_hint(e, "Let bin/bootstrap make it, name another with --account, or run as an ordinary user.");
	}
	if (!pw)
		return err_set(e, "user id %d has no account", (int)geteuid());
	if (in->root && pw->pw_uid == 0) {
		err_set(e, "PostgreSQL and the daemons do not run as root");
		return err_hint(e, "Name an unprivileged account with --account.");
	}
	if (!in->root && account && strcmp(account, pw->pw_name)) {
		err_set(e, "only root starts an instance as another account");
		return err_hint(e, "Leave --account out: the instance then runs as \"%s\".", pw->pw_name);
	}
	in->account = xstrdup(pw->pw_name);
	in->uid = pw->pw_uid;
	in->gid = pw->pw_gid;
	return true;
}

/* Refuse the home of another user's instance, also to root. */
static bool owner_check(const struct instance *in, struct err *e)
{
	struct stat st;
	struct passwd *pw;

	if (lstat(in->home, &st)) {
		if (errno == ENOENT)
			return true;
		return err_sys(e, "could not stat \"%s\"", in->home);
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(e, "\"%s\" is not a folder", in->home);
	if (!in->made || st.st_uid == geteuid())
		return true;
	pw = getpwuid(st.st_uid);
	err_set(e, "the instance in \"%s\" belongs to another user", in->home);
	return err_hint(e, "Run this as \"%s\", or set ROTA_HOME to a folder of your own.", pw ? pw->pw_name : "its owner");
}

bool instance_open(struct instance *in, const char *account, struct err *e)
{
	char *path;
	bool ok = true;

	*in = (struct instance){.home = conf_home(), .root = geteuid() == 0, .lock = -1};
	in->daemons = daemons_folder();
	if (in->home[0] != '/')
		return err_set(e, "ROTA_HOME is not an absolute path: \"%s\"", in->home);
	if (strpbrk(in->home, ",\n")) {
		err_set(e, "ROTA_HOME has a comma or a newline: \"%s\"", in->home);
		return err_hint(e, "PostgreSQL would cut the path of its socket there; name another folder.");
	}
	path = instance_path(in, "etc/rota.conf");
	in->made = !access(path, F_OK);
	if (in->made)
		ok = conf_load(&in->conf, path, e);
	free(path);
	return ok && owner_check(in, e) && account_find(in, account, e);
}

void instance_close(struct instance *in)
{
	conf_clear(&in->conf);
	free(in->home);
	free(in->account);
	free(in->daemons);
	if (in->lock >= 0)
		close(in->lock);
}

bool instance_lock(struct instance *in, struct err *e)
{
	char *path = instance_path(in, "up.lock");

	in->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (in->lock < 0)
		err_sys(e, "could not open \"%s\"", path);
	free(path);
	if (in->lock < 0)
		return false;
	if (!flock(in->lock, LOCK_EX | LOCK_NB))
		return true;
	if (errno != EWOULDBLOCK)
		return err_sys(e, "could not lock \"%s/up.lock\"", in->home);
	instance_say(in, "waiting for another `rota up` or `rota down` of this instance to end");
	while (flock(in->lock, LOCK_EX))
		if (errno != EINTR)
			return err_sys(e, "could not lock \"%s/up.lock\"", in->home);
	return true;
}

static void conninfo_add(FILE *out, const char *key, const char *value)
{
	char *quoted = text_quoted(value);

	fprintf(out, "%s='%s' ", key, quoted);
	free(quoted);
}

char *instance_conninfo(const struct instance *in, const char *database, const char *role)
{
	char *text = NULL, *run = instance_path(in, "run");
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	conninfo_add(out, "host", run);
	conninfo_add(out, "dbname", database);
	if (role)
		conninfo_add(out, "user", role);
	if (fclose(out))
		die("out of memory");
	text[size - 1] = '\0';
	free(run);
	return text;
}

pid_t instance_munged(const struct instance *in)
{
	char *path = instance_path(in, "run/munge.sock.lock");
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	pid_t pid = 0;

	free(path);
	if (fd < 0)
		return 0;
	if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK)
		pid = lock.l_pid;
	close(fd);
	return pid;
}

pid_t instance_daemon(const struct instance *in, const char *name)
{
	char *path = instance_path(in, "run/%s.pid", name);
	pid_t pid = daemon_holder(path);

	free(path);
	return pid;
}

pid_t instance_launcher(const struct instance *in, const char *node)
{
	char *path = instance_path(in, "node/%s/launcher.pid", node);
	pid_t pid = daemon_holder(path);

	free(path);
	return pid;
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Returns the names in a folder of the instance that begin with `head` and end with `tail`, without the tail. */
static char **entries(const struct instance *in, const char *folder, const char *head, const char *tail)
{
	char *path = instance_path(in, "%s", folder), **names;
	struct dirent **found = NULL;
	int count = scandir(path, &found, NULL, by_version), kept = 0;

	free(path);
	names = xcalloc((count > 0 ? count : 0) + 1, sizeof(*names));
	for (int i = 0; i < count; i++) {
		const char *name = found[i]->d_name;
		size_t length = strlen(name), end = strlen(tail);

		if (name[0] != '.' && !strncmp(name, head, strlen(head)) && length > end && !strcmp(name + length - end, tail))
			names[kept++] = xstrndup(name, length - end);
		free(found[i]);
	}
	free(found);
	return names;
}

char **instance_nodes(const struct instance *in)
{
	return entries(in, "node", "", "");
}

char **instance_daemons(const struct instance *in, const char *kind)
{
	char *head = xasprintf("%s-", kind), **names = entries(in, "run", head, ".pid");

	free(head);
	return names;
}

void instance_names_free(char **names)
{
	for (int i = 0; names[i]; i++)
		free(names[i]);
	free(names);
}
