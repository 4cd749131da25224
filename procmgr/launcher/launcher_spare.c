/* launcher_spare.c - keepers whose attempts are over, with their folders, for attempts to come.
 *
 * Forking a keeper, and making and removing a folder, a socket and two files for each attempt, is what costs a short step most. So a
 * keeper moves its folder to spare/ when its attempt is over, tells us, and waits; the next attempt gets the folder under its own name
 * and the keeper gets the order through its socket. What always holds: a folder in spare/ is no attempt; an order goes to a keeper that
 * has told that it is free, once, or, where it could not be sent, to a new one when the old one is dead; keepers that are free end with
 * us, or when they were not needed for a while: the one that was free last is the next to be used. */
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

bool launcher_spare_open(struct launcher *l, struct err *e)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, l->spare_ends) == 0 ||
	       err_sys(e, "could not make a socket pair");
}

bool launcher_spare_wanted(const struct launcher *l)
{
	return l->spare_count + l->spare_lent < LAUNCHER_SPARE_MOST;
}

static void remove_one(struct launcher *l, int i)
{
	l->spare_count--;
	memmove(&l->spare[i], &l->spare[i + 1], (size_t)(l->spare_count - i) * sizeof *l->spare);
	if (l->spare_least > l->spare_count)
		l->spare_least = l->spare_count;
}

void launcher_spare_end(const struct launcher_spare *spare)
{
	kill(spare->pid, SIGKILL);
	waitpid(spare->pid, NULL, 0);
}

static void discard(const struct launcher_spare *spare)
{
	close(spare->ctl);
	launcher_spool_clear("spare", &spare->key);
}

bool launcher_spare_take(struct launcher *l, const struct record_key *key, struct launcher_spare *spare)
{
	while (l->spare_count > 0) {
		char from[LAUNCHER_PATH_SIZE], to[LAUNCHER_PATH_SIZE];
		*spare = l->spare[l->spare_count - 1];
		remove_one(l, l->spare_count - 1);
		launcher_spool_path("spare", &spare->key, "", from);
		launcher_spool_path("spool", key, "", to);
		if (rename(from, to) == 0)
			return true;
		launcher_spare_end(spare);
		discard(spare);
	}
	return false;
}

bool launcher_spare_order(const struct record_key *key, const char *order, const char *node, const char *cores)
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

void launcher_spare_read(struct launcher *l)
{
	struct keeper_spare said;
	while (recv(l->spare_ends[0], &said, sizeof said, MSG_DONTWAIT) == sizeof said) {
		struct launcher_child child;
		if (launcher_child_remove(l, said.pid, &said.key, &child) && child.ctl >= 0)
			l->spare[l->spare_count++] = (struct launcher_spare){said.pid, said.key, child.ctl};
	}
}

static int find(const struct launcher *l, pid_t pid)
{
	int i = l->spare_count - 1;
	while (i >= 0 && l->spare[i].pid != pid)
		i--;
	return i;
}

bool launcher_spare_is_keeper(const struct launcher *l, pid_t pid)
{
	return find(l, pid) >= 0;
}

bool launcher_spare_has(const struct record_key *key)
{
	char path[LAUNCHER_PATH_SIZE];
	launcher_spool_path("spare", key, "", path);
	return access(path, F_OK) == 0;
}

bool launcher_spare_reaped(struct launcher *l, pid_t pid)
{
	int i = find(l, pid);
	if (i < 0)
		return false;
	discard(&l->spare[i]);
	remove_one(l, i);
	return true;
}

void launcher_spare_trim(struct launcher *l)
{
	for (int unused = l->spare_least; unused > 0; unused--) {
		struct launcher_spare spare = l->spare[0];
		remove_one(l, 0);
		launcher_spare_end(&spare);
		discard(&spare);
	}
	l->spare_least = l->spare_count;
}

void launcher_spare_clear(struct launcher *l)
{
	struct record_key key;
	while (l->spare_count > 0) {
		launcher_spare_end(&l->spare[l->spare_count - 1]);
		close(l->spare[--l->spare_count].ctl);
	}
	l->spare_least = 0;
	DIR *dir = opendir("spare");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (record_key_parse(entry->d_name, &key))
			launcher_spool_clear("spare", &key);
	if (dir)
		closedir(dir);
}
