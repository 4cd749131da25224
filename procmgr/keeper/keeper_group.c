/* keeper_group.c - one prolog for all steps of a group on this node.
 *
 * The group's holder (the step whose order says prolog) tells how its prolog went in the file spool/group.<job>.<group>; the
 * other steps of the group wait for that before their tasks, and never run a prolog or epilog themselves. Called by the keeper's
 * sequence. What always holds: the file exists only between the end of the holder's prolog and the beginning of its epilog. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

enum { LOOK_USEC = 50000, SLACK_S = 60 };

static char *path_of(const struct keeper *k)
{
	return xasprintf("spool/group.%" PRId64 ".%s", k->order->job_id, k->order->spec.group);
}

static bool is_ended(const struct keeper *k)
{
	return k->end_asked;
}

/* How the holder's prolog went; false while it has not said so. */
static bool look(const char *path, bool *good)
{
	char word[8];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t size = read(fd, word, sizeof word - 1);
	close(fd);
	word[size > 0 ? size : 0] = '\0';
	*good = strcmp(word, "good") == 0;
	return size > 0;
}

bool keeper_group_wait(struct keeper *k, struct err *e)
{
	char *path = path_of(k);
	bool good = false, told = false;
	int64_t deadline = clock_boot_us() + (2LL * k->job->conf->node_hook_timeout + SLACK_S) * 1000000;
	while (!(told = look(path, &good)) && clock_boot_us() < deadline)
		if (keeper_wait(k, is_ended, clock_boot_us() + LOOK_USEC))
			break;
	free(path);
	if (told && !good)
		return err_set(e, "the prolog of group \"%s\" failed", k->order->spec.group);
	return told || k->end_asked || err_set(e, "the prolog of group \"%s\" did not run", k->order->spec.group);
}

void keeper_group_tell(struct keeper *k, bool good)
{
	char *path = path_of(k), *fresh = xasprintf("spool/%s/group", k->name);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	const char *word = good ? "good" : "bad";
	bool written = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word) && rename(fresh, path) == 0;
	if (!written)
		log_error("%s: could not write \"%s\": %m", k->name, path);
	if (fd >= 0)
		close(fd);
	free(fresh);
	free(path);
}

void keeper_group_over(struct keeper *k)
{
	char *path = path_of(k);
	unlink(path);
	free(path);
}
