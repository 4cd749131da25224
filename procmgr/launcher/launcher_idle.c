/* launcher_idle.c - keeps keepers whose attempts have ended, and their folders, for new attempts. To fork a keeper and to make
 * and remove its folder, socket and files is most of what a short step costs.
 *
 * Called by: launcher_order.c for each start and end, launcher.c for offers and at its end.
 * Invariants:
 * - A folder in spare/ belongs to no attempt. The keeper moves its folder to spare/. The launcher moves the folder back to spool/
 *   under the new attempt's name.
 * - A launch request is sent once to a keeper that has reported that it is idle. If sending fails, that keeper is killed and a
 *   new keeper gets the request.
 * - Idle keepers end with the launcher, or when they were not needed for a while. The keeper that became idle last is used
 *   first. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/log.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/launcher/launcher_parts.h"

enum { IDLE_MOST = 64 };

struct launcher_idle_list {
	struct launcher_idle rows[IDLE_MOST];
	int count;
	int least;	/* the lowest value of `count` since the last launcher_idle_trim */
	int sockets[2]; /* a socket pair: idle keepers write to the second socket, the launcher reads the first */
};

bool launcher_idle_open(struct launcher *l, struct err *e)
{
	l->idle = xcalloc(1, sizeof *l->idle);
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, l->idle->sockets) == 0 ||
	       err_sys(e, "could not make a socket pair for idle keepers");
}

int launcher_idle_count(const struct launcher *l)
{
	return l->idle->count;
}

int launcher_idle_socket(const struct launcher *l)
{
	return l->idle->sockets[0];
}

int launcher_idle_keeper_socket(const struct launcher *l)
{
	return l->idle->sockets[1];
}

bool launcher_idle_is_wanted(const struct launcher *l)
{
	return l->idle->count + launcher_child_reusable(l) < IDLE_MOST;
}

static void remove_index(struct launcher *l, int i)
{
	l->idle->count--;
	memmove(&l->idle->rows[i], &l->idle->rows[i + 1], (size_t)(l->idle->count - i) * sizeof *l->idle->rows);
	if (l->idle->least > l->idle->count)
		l->idle->least = l->idle->count;
}

void launcher_idle_end(const struct launcher_idle *idle)
{
	kill(idle->pid, SIGKILL);
	waitpid(idle->pid, NULL, 0);
}

static void discard_folder(const struct launcher_idle *idle)
{
	close(idle->ctl);
	launcher_spool_clear("spare", &idle->key);
}

bool launcher_idle_take(struct launcher *l, const struct record_key *key, struct launcher_idle *idle)
{
	while (l->idle->count > 0) {
		char from[LAUNCHER_PATH_SIZE], to[LAUNCHER_PATH_SIZE];
		*idle = l->idle->rows[l->idle->count - 1];
		remove_index(l, l->idle->count - 1);
		launcher_spool_path("spare", &idle->key, "", from);
		launcher_spool_path("spool", key, "", to);
		if (rename(from, to) == 0)
			return true;
		launcher_idle_end(idle);
		discard_folder(idle);
	}
	return false;
}

bool launcher_idle_order(const struct record_key *key, const char *order, const char *node, const char *cores)
{
	struct err e;
	struct fields *message = fields_new();
	fields_add(message, "order", order);
	fields_add_int(message, "step", key->step_id);
	fields_add(message, "node", node);
	fields_add(message, "cores", cores ? cores : "");
	bool sent = launcher_spool_send(key, message, &e) == LAUNCHER_SENT;
	if (!sent)
		log_warning("%s", e.message);
	fields_free(message);
	return sent;
}

void launcher_idle_read(struct launcher *l)
{
	struct keeper_idle offer;
	while (recv(l->idle->sockets[0], &offer, sizeof offer, MSG_DONTWAIT) == sizeof offer) {
		struct launcher_child child;
		if (launcher_child_remove(l, offer.pid, &offer.key, &child) && child.ctl >= 0)
			l->idle->rows[l->idle->count++] = (struct launcher_idle){offer.pid, offer.key, child.ctl};
	}
}

static int find_index(const struct launcher *l, pid_t pid)
{
	int i = l->idle->count - 1;
	while (i >= 0 && l->idle->rows[i].pid != pid)
		i--;
	return i;
}

bool launcher_idle_is_keeper(const struct launcher *l, pid_t pid)
{
	return find_index(l, pid) >= 0;
}

bool launcher_idle_has(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	launcher_spool_path("spare", key, "", path);
	return access(path, F_OK) == 0;
}

bool launcher_idle_reaped(struct launcher *l, pid_t pid)
{
	int i = find_index(l, pid);
	if (i < 0)
		return false;
	discard_folder(&l->idle->rows[i]);
	remove_index(l, i);
	return true;
}

void launcher_idle_trim(struct launcher *l)
{
	for (int unused = l->idle->least; unused > 0; unused--) {
		struct launcher_idle idle = l->idle->rows[0];
		remove_index(l, 0);
		launcher_idle_end(&idle);
		discard_folder(&idle);
	}
	l->idle->least = l->idle->count;
}

void launcher_idle_clear(struct launcher *l)
{
	struct record_key key;
	while (l->idle->count > 0) {
		launcher_idle_end(&l->idle->rows[l->idle->count - 1]);
		close(l->idle->rows[--l->idle->count].ctl);
	}
	l->idle->least = 0;
	DIR *dir = opendir("spare");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (record_key_parse(entry->d_name, &key))
			launcher_spool_clear("spare", &key);
	if (dir)
		closedir(dir);
}
