/* substep_orphans.c - reads the keeper's file of orphans.
 *
 * Called by: substep_recovery.c, for tasks that an earlier step manager has started; substep_engine.c, for the end of the step.
 * Invariants: pid and start time together name one process. The first line of the file is what the keeper wants: "call" (call the
 * agents), "port" (listen for clients on other machines), "both" of these, "open" (neither), or "ends" (the step is ended). */
#include "procmgr/stepmgr/substep_orphans.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool head_is(int fd, const char *word)
{
	char head[4];
	return pread(fd, head, sizeof head, 0) == sizeof head && memcmp(head, word, sizeof head) == 0;
}

bool substep_orphans_ends(int fd)
{
	return head_is(fd, "ends");
}

bool substep_orphans_calls(int fd)
{
	return head_is(fd, "call") || head_is(fd, "both");
}

bool substep_orphans_listens(int fd)
{
	return head_is(fd, "port") || head_is(fd, "both");
}

bool substep_orphans_find(int fd, pid_t pid, int64_t started, int *status, struct stats *stats)
{
	char line[256];
	bool found = false;
	snprintf(line, sizeof line, "/proc/self/fd/%d", fd); /* a second open file description has an offset of its own */
	FILE *file = fopen(line, "re");
	while (file && !found && fgets(line, sizeof line, file)) {
		long one;
		long long at, user, system, rss, minflt, majflt, nvcsw, nivcsw;
		int ended;
		found = sscanf(line, "%ld %lld %d %lld %lld %lld %lld %lld %lld %lld", &one, &at, &ended, &user, &system, &rss,
			       &minflt, &majflt, &nvcsw, &nivcsw) == 10 &&
			one == pid && at == started;
		if (!found)
			continue;
		*status = ended;
		*stats = (struct stats){user, system, rss, minflt, majflt, -1, -1, -1, -1, nvcsw, nivcsw};
	}
	if (file)
		fclose(file);
	return found;
}
