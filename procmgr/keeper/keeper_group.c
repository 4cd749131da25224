/* keeper_group.c - shares one prolog between all steps of a job group on this node.
 *
 * Called by: keeper.c. The prolog's owner, which is the step whose launch request says prolog, writes the result to the file
 * spool/group.<job>.<group>. The other steps of the group wait for that file before their tasks and run no prolog or epilog.
 * Invariants: the file exists only from the end of the owner's prolog to the start of the owner's epilog. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/keeper/keeper_parts.h"

enum { POLL_USEC = 50000, SLACK_S = 60 };

static char *group_path(const struct keeper *k)
{
	return xasprintf("spool/group.%" PRId64 ".%s", k->order->job_id, k->order->spec.group);
}

static bool is_ended(const struct keeper *k)
{
	return k->request == KEEPER_REQUEST_END;
}

/* Read the result of the group's prolog. Returns false until the prolog's owner has written the result. */
static bool read_result(const char *path, bool *good)
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
	char *path = group_path(k);
	bool good = false, known = false;
	int64_t deadline = clock_boot_us() + (2LL * k->job->conf->node_hook_timeout + SLACK_S) * 1000000;
	while (!(known = read_result(path, &good)) && clock_boot_us() < deadline)
		if (keeper_wait(k, is_ended, clock_boot_us() + POLL_USEC))
			break;
	free(path);
	if (known && !good)
		return err_set(e, "the prolog of group \"%s\" failed", k->order->spec.group);
	return known || k->request == KEEPER_REQUEST_END ||
	       err_set(e, "the prolog of group \"%s\" did not run", k->order->spec.group);
}

void keeper_group_publish(struct keeper *k, bool good)
{
	char *path = group_path(k), *fresh = xasprintf("spool/%s/group", k->name);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	const char *word = good ? "good" : "bad";
	bool written = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word) && rename(fresh, path) == 0;
	if (!written)
		log_error("attempt %s: could not write \"%s\": %m", k->name, path);
	if (fd >= 0)
		close(fd);
	free(fresh);
	free(path);
}

void keeper_group_remove(struct keeper *k)
{
	char *path = group_path(k);
	unlink(path);
	free(path);
}
