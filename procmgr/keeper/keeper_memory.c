/* keeper_memory.c - enforces the memory limit of a step by measuring, if no cgroup limits memory.
 *
 * Called by: the keeper, by its timers and when it starts a process of the user.
 * Invariants:
 * - A step is killed only for the resident anonymous and shared memory that it has at one moment. Pages of files, which the
 *   kernel can drop, do not count. A page that several processes share counts once. A cheap sum, in which such a page counts in
 *   each process, only shows when the exact sum is needed.
 * - A keeper spends at most a hundredth of a CPU on measuring, however many processes the machine has. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "procmgr/keeper/descendants.h"
#include "procmgr/keeper/keeper_parts.h"

enum { PAUSE_LEAST_USEC = 100000, PAUSE_MOST_USEC = 1000000, COST_FACTOR = 100 };

struct keeper_memory {
	int64_t at;    /* when to measure next; 0 means never */
	int64_t pause; /* pause before the next measurement */
};

int64_t keeper_memory_next(const struct keeper *k)
{
	return k->memory ? k->memory->at : 0;
}

void keeper_memory_begin(struct keeper *k)
{
	bool samples = k->order->mem_mb > 0 && !cgroups_limit_memory(k->cgroups);
	if (!k->memory)
		k->memory = xcalloc(1, sizeof *k->memory);
	k->memory->pause = PAUSE_LEAST_USEC;
	k->memory->at = samples ? clock_boot_us() + PAUSE_LEAST_USEC : 0;
}

static bool is_child(const struct descendants_process *p, void *arg)
{
	(void)arg;
	return p->parent == getpid();
}

static void add_resident(const struct descendants_process *p, void *sum)
{
	*(int64_t *)sum += p->resident_kb;
}

/* Add a process's share of resident memory. A process that ends meanwhile, or cannot be read, counts as 0. */
static void add_share(const struct descendants_process *p, void *sum)
{
	static const char *const names[] = {"\nPss_Anon:", "\nPss_Shmem:"};
	char path[64], text[4096];
	snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", (long)p->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *at = strstr(text, names[i]);
		*(int64_t *)sum += at ? strtoll(at + strlen(names[i]), NULL, 10) : 0;
	}
}

static int64_t sum_kb(const struct keeper *k, void (*add)(const struct descendants_process *p, void *sum))
{
	int64_t sum = 0;
	descendants_each(is_child, NULL, k->owner.uid, add, &sum);
	return sum;
}

/* Kill a step over its memory limit at once, as the kernel does. Its memory could go on growing through the grace time. */
static void end_step(struct keeper *k, int64_t used_kb)
{
	k->figures.peak_mb = (used_kb + 1023) / 1024;
	k->memory->at = 0;
	keeper_ending_kill(k, "out_of_memory");
}

void keeper_memory_poll(struct keeper *k)
{
	int64_t began = clock_boot_us(), limit_kb = k->order->mem_mb * 1024;
	if (!k->memory || k->memory->at == 0 || began < k->memory->at)
		return;
	int64_t most_kb = sum_kb(k, add_resident), used_kb = most_kb > limit_kb ? sum_kb(k, add_share) : most_kb;
	if (used_kb > limit_kb) {
		end_step(k, used_kb);
		return;
	}
	int64_t now = clock_boot_us(), cost = (now - began) * COST_FACTOR;
	k->memory->pause = used_kb > limit_kb / 2 ? PAUSE_LEAST_USEC : k->memory->pause * 2;
	k->memory->pause = k->memory->pause < PAUSE_MOST_USEC ? k->memory->pause : PAUSE_MOST_USEC;
	k->memory->at = now + (cost > k->memory->pause ? cost : k->memory->pause);
}
