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

bool launcher_idle_open(struct launcher *l, struct err *e)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, l->idle_sockets) == 0 ||
	       err_sys(e, "could not make a socket pair for idle keepers");
}

bool launcher_idle_is_wanted(const struct launcher *l)
{
	return l->idle_count + l->reusable_count < LAUNCHER_IDLE_MOST;
}

static void remove_index(struct launcher *l, int i)
{
	l->idle_count--;
	memmove(&l->idle[i], &l->idle[i + 1], (size_t)(l->idle_count - i) * sizeof *l->idle);
	if (l->idle_least > l->idle_count)
		l->idle_least = l->idle_count;
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
	while (l->idle_count > 0) {
		char from[LAUNCHER_PATH_SIZE], to[LAUNCHER_PATH_SIZE];
		*idle = l->idle[l->idle_count - 1];
		remove_index(l, l->idle_count - 1);
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
	while (recv(l->idle_sockets[0], &offer, sizeof offer, MSG_DONTWAIT) == sizeof offer) {
		struct launcher_child child;
		if (launcher_child_remove(l, offer.pid, &offer.key, &child) && child.ctl >= 0)
			l->idle[l->idle_count++] = (struct launcher_idle){offer.pid, offer.key, child.ctl};
	}
}

static int find_index(const struct launcher *l, pid_t pid)
{
	int i = l->idle_count - 1;
	while (i >= 0 && l->idle[i].pid != pid)
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
	discard_folder(&l->idle[i]);
	remove_index(l, i);
	return true;
}

void launcher_idle_trim(struct launcher *l)
{
	for (int unused = l->idle_least; unused > 0; unused--) {
		struct launcher_idle idle = l->idle[0];
		remove_index(l, 0);
		launcher_idle_end(&idle);
		discard_folder(&idle);
	}
	l->idle_least = l->idle_count;
}

void launcher_idle_clear(struct launcher *l)
{
	struct record_key key;
	while (l->idle_count > 0) {
		launcher_idle_end(&l->idle[l->idle_count - 1]);
		close(l->idle[--l->idle_count].ctl);
	}
	l->idle_least = 0;
	DIR *dir = opendir("spare");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (record_key_parse(entry->d_name, &key))
			launcher_spool_clear("spare", &key);
	if (dir)
		closedir(dir);
}
