/* agent_measure.c - measures the resource usage of steps: by the step's cgroup if it has one, else by the descendants of its
 * keeper. The tasks of a step with several tasks are always measured by their processes.
 *
 * Called by: agent_sample.c, once for each attempt that is due.
 * Invariants:
 * - A measurement reads the processes of the machine at most once, and only if an attempt needs them.
 * - A figure that is unknown is left out of the row. */
#include "procmgr/agent/agent_measure.h"

#include <stdlib.h>

static bool is_of_keeper(const struct agent_sampled *one, const struct figures_process *p)
{
	return one->keeper > 0 && p->root == one->keeper;
}

/* Find the attempt's keeper, which is the process that has locked the attempt's pid file. */
static void find_keeper(struct agent_measurement *m, struct agent_sampled *one)
{
	char key[RECORD_KEY_SIZE];
	if (one->keeper > 0)
		return;
	if (!m->locks)
		m->locks = figures_file("/proc/locks");
	record_key_text(&one->key, key);
	char *path = xasprintf("spool/%s/pid", key);
	one->keeper = m->locks ? figures_lock_owner(m->locks, path) : 0;
	free(path);
}

static void read_processes(struct agent_measurement *m)
{
	pid_t *keepers = xcalloc((unsigned long)m->count + 1, sizeof *keepers);
	int count = 0;
	for (int i = 0; i < m->count; i++) {
		find_keeper(m, &m->list[i]);
		if (m->list[i].keeper > 0)
			keepers[count++] = m->list[i].keeper;
	}
	figures_processes_read(&m->all, "/proc");
	figures_find_keepers(&m->all, keepers, count);
	free(keepers);
	m->has_processes = true;
}

static int compare_starts(const void *a, const void *b)
{
	const struct figures_process *const *x = a, *const *y = b;
	if ((*x)->started != (*y)->started)
		return (*x)->started < (*y)->started ? -1 : 1;
	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

/* Find the process of each rank: the keeper starts tasks by rank, each as the leader of a session. Unless all tasks are seen at
 * once, the ranks stay unknown and figures of single tasks are left out. */
static void find_tasks(const struct agent_measurement *m, struct agent_sampled *one)
{
	const struct figures_process **found = xcalloc((unsigned long)one->tasks, sizeof *found);
	int count = 0;
	for (int i = 0; i < m->all.count && count <= one->tasks; i++) {
		const struct figures_process *p = &m->all.list[i];
		if (!is_of_keeper(one, p) || p->task != p->pid || p->session != p->pid)
			continue;
		if (count < one->tasks)
			found[count] = p;
		count++;
	}
	if (count == one->tasks) {
		qsort(found, (size_t)count, sizeof(const struct figures_process *), compare_starts);
		one->pids = xcalloc((unsigned long)count, sizeof *one->pids);
		for (int i = 0; i < count; i++)
			one->pids[i] = found[i]->pid;
	}
	free(found);
}

static void add_number(json_t *row, const char *name, int64_t number)
{
	if (number >= 0)
		json_object_set_new(row, name, json_integer(number));
}

/* Make a row of a task, or of the whole step if `task` is -1. */
static json_t *make_row(const struct agent_sampled *one, int task, const struct figures *f)
{
	json_t *row = json_pack("{s:I, s:i, s:i, s:i}", "job", (json_int_t)one->key.job_id, "step", one->key.step_id, "attempt",
				one->key.attempt, "task", task);
	if (task < 0 && one->tasks == 1)
		json_object_set_new(row, "only_task", json_integer(one->first_task));
	add_number(row, "cpu_usec", f->cpu_usec);
	add_number(row, "rss_kb", f->rss_kb);
	add_number(row, "swap_kb", f->swap_kb);
	add_number(row, "minor_faults", f->minor_faults);
	add_number(row, "major_faults", f->major_faults);
	add_number(row, "rchar", f->rchar);
	add_number(row, "wchar", f->wchar);
	add_number(row, "read_bytes", f->read_bytes);
	add_number(row, "write_bytes", f->write_bytes);
	add_number(row, "processes", f->processes);
	add_number(row, "threads", f->threads);
	return row;
}

/* Is the process one of the task's? If its parent has ended, the process is still in the task's session. */
static bool is_of_task(const struct agent_sampled *one, const struct figures_process *p, pid_t task)
{
	return is_of_keeper(one, p) && (p->task == task || p->session == task);
}

static void measure_tasks(struct agent_measurement *m, struct agent_sampled *one)
{
	if (!one->pids)
		find_tasks(m, one);
	for (int t = 0; one->pids && t < one->tasks; t++) {
		struct figures f;
		figures_set_zero(&f);
		for (int i = 0; i < m->all.count; i++)
			if (is_of_task(one, &m->all.list[i], one->pids[t]))
				figures_add(&f, &m->all.list[i], "/proc");
		if (f.processes > 0)
			json_array_append_new(m->steps, make_row(one, one->first_task + t, &f));
	}
}

bool agent_measure_step(struct agent_measurement *m, struct agent_sampled *one)
{
	char key[RECORD_KEY_SIZE];
	struct figures f;
	record_key_text(&one->key, key);
	char *group = xasprintf("%s/%s", m->group, key);
	bool has_cgroup = figures_of_group(m->mounts, group, &f);
	free(group);
	if (!m->has_processes && (!has_cgroup || one->tasks > 1))
		read_processes(m);
	if (!has_cgroup) {
		find_keeper(m, one);
		figures_set_zero(&f);
		for (int i = 0; i < m->all.count; i++)
			if (is_of_keeper(one, &m->all.list[i]))
				figures_add(&f, &m->all.list[i], "/proc");
	}
	if (f.processes <= 0)
		return false;
	json_array_append_new(m->steps, make_row(one, -1, &f));
	m->has_devices |= one->has_devices;
	if (one->tasks > 1)
		measure_tasks(m, one);
	return true;
}

void agent_measure_end(struct agent_measurement *m)
{
	json_decref(m->steps);
	figures_processes_free(&m->all);
	free(m->locks);
}
