/* keeper_memory.c - measures the memory of a step now and then, for its peak, and to enforce its limit if no cgroup does.
 *
 * Called by: the keeper, by its timers and when it starts a process of the user.
 * Invariants:
 * - Only memory that the kernel cannot drop counts: resident anonymous and shared memory. Pages of files do not.
 * - Without a cgroup, a page that several processes share counts once. A cheap sum, in which such a page counts in each process,
 *   shows when the exact sum is needed: when it could be a new peak. A step is killed only for an exact sum.
 * - A keeper spends at most a hundredth of a CPU on measuring where it enforces a limit, and a thousandth elsewhere, however many
 *   processes the machine has. */
#include <stdlib.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/proc_file.h"
#include "procmgr/keeper/descendants.h"
#include "procmgr/keeper/keeper_parts.h"

enum { PAUSE_LEAST_USEC = 100000 };

/* The longest pause between two measurements, and the pause for each unit of time that a measurement took. */
static const struct pace {
	int64_t most_usec, cost_factor;
} enforcing = {1000000, 100}, watching = {5000000, 1000};

struct keeper_memory {
	int64_t at;    /* when to measure the memory next; 0: never */
	int64_t pause; /* pause before the next measurement */
};

int64_t keeper_memory_next(const struct keeper *k)
{
	return k->memory ? k->memory->at : 0;
}

void keeper_memory_begin(struct keeper *k)
{
	if (!k->memory)
		k->memory = xcalloc(1, sizeof *k->memory);
	k->memory->pause = PAUSE_LEAST_USEC;
	k->memory->at = clock_boot_us() + PAUSE_LEAST_USEC;
}

/* Must the keeper enforce the memory limit? */
static bool has_to_enforce(const struct keeper *k)
{
	return k->order->mem_mb > 0 && !cgroups_limit_memory(k->cgroups);
}

static void add_resident(const struct descendants_process *p, void *sum)
{
	*(int64_t *)sum += p->resident_kb;
}

/* Add a process's share of resident memory. A process that ends meanwhile, or cannot be read, counts as 0. */
static void add_share(const struct descendants_process *p, void *sum)
{
	char text[4096];
	proc_file_read(p->pid, "smaps_rollup", text, sizeof text);
	int64_t anonymous_kb = proc_file_number(text, "Pss_Anon:"), shared_kb = proc_file_number(text, "Pss_Shmem:");
	*(int64_t *)sum += (anonymous_kb > 0 ? anonymous_kb : 0) + (shared_kb > 0 ? shared_kb : 0);
}

static int64_t sum_kb(const struct keeper *k, void (*add)(const struct descendants_process *p, void *sum))
{
	int64_t sum = 0;
	descendants_each(descendants_is_child, NULL, k->owner.uid, add, &sum);
	return sum;
}

/* Returns the memory that the step has now, or less if it is no more than the peak so far. */
static int64_t measure_kb(const struct keeper *k)
{
	if (cgroups_limit_memory(k->cgroups))
		return cgroups_memory_kb(k->cgroups, k->name);
	int64_t most_kb = sum_kb(k, add_resident);
	return most_kb > k->peak_kb ? sum_kb(k, add_share) : most_kb;
}

/* Returns when to measure again: soon if the limit is near, and the later the more a measurement costs. */
static int64_t next_time(const struct keeper *k, int64_t began, int64_t used_kb)
{
	bool enforced = has_to_enforce(k), near = enforced && used_kb > k->order->mem_mb * 1024 / 2;
	const struct pace *pace = enforced ? &enforcing : &watching;
	int64_t now = clock_boot_us(), cost = (now - began) * pace->cost_factor;
	k->memory->pause = near ? PAUSE_LEAST_USEC : k->memory->pause * 2;
	k->memory->pause = k->memory->pause < pace->most_usec ? k->memory->pause : pace->most_usec;
	return now + (cost > k->memory->pause ? cost : k->memory->pause);
}

void keeper_memory_poll(struct keeper *k)
{
	int64_t began = clock_boot_us();
	if (!k->memory || k->memory->at == 0 || began < k->memory->at)
		return;
	int64_t used_kb = measure_kb(k);
	if (used_kb > k->peak_kb)
		k->peak_kb = used_kb;
	bool over = has_to_enforce(k) && used_kb > k->order->mem_mb * 1024;
	k->memory->at = over || !k->has_user_processes ? 0 : next_time(k, began, used_kb);
	if (over) /* SIGKILL at once, as the kernel would: during a grace time, memory use could go on growing */
		keeper_ending_kill(k, "out_of_memory");
}
