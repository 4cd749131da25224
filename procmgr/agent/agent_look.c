/* agent_look.c - one look at what steps use: by a step's control group where there is one, else, and for each task of several, by the
 * processes below its keeper.
 *
 * Called by agent_sample.c, once for each step that is due. What always holds: the processes of the machine are read once a look at the
 * most, and only where a step needs them; what is not known of a step is not in its row. */
#include "procmgr/agent/agent_look.h"

#include <stdlib.h>

/* The step's processes on this node: those of its group, or those below its keeper. */
static bool is_of(const struct look_step *one, const struct figures_process *p)
{
	return one->keeper > 0 && p->root == one->keeper;
}

static void find_keeper(struct look *l, struct look_step *one)
{
	char key[RECORD_KEY_SIZE];
	if (one->keeper > 0)
		return;
	if (!l->locks)
		l->locks = figures_file("/proc/locks");
	record_key_text(&one->key, key);
	char *path = xasprintf("spool/%s/pid", key);
	one->keeper = l->locks ? figures_holder(l->locks, path) : 0;
	free(path);
}

/* All processes of the machine, once a round and only where somebody needs them. */
static void scan(struct look *l)
{
	pid_t *keepers = xcalloc((unsigned long)l->count + 1, sizeof *keepers);
	int count = 0;
	for (int i = 0; i < l->count; i++) {
		find_keeper(l, &l->list[i]);
		if (l->list[i].keeper > 0)
			keepers[count++] = l->list[i].keeper;
	}
	figures_processes_read(&l->all, "/proc");
	figures_descend(&l->all, keepers, count);
	free(keepers);
	l->scanned = true;
}

static int by_start(const void *a, const void *b)
{
	const struct figures_process *const *x = a, *const *y = b;
	if ((*x)->started != (*y)->started)
		return (*x)->started < (*y)->started ? -1 : 1;
	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

/* Which process is the task of which rank: the keeper starts them in that order, each as the leader of a session. Known only where all
 * are seen at once; else figures of tasks are left out. */
static void find_tasks(const struct look *l, struct look_step *one)
{
	const struct figures_process **found = xcalloc((unsigned long)one->tasks, sizeof *found);
	int count = 0;
	for (int i = 0; i < l->all.count && count <= one->tasks; i++) {
		const struct figures_process *p = &l->all.list[i];
		if (!is_of(one, p) || p->task != p->pid || p->session != p->pid)
			continue;
		if (count < one->tasks)
			found[count] = p;
		count++;
	}
	if (count == one->tasks) {
		qsort(found, (size_t)count, sizeof(const struct figures_process *), by_start);
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

static json_t *row_json(const struct look_step *one, int task, const struct figures *f)
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
	add_number(row, "read_bytes", f->read_bytes);
	add_number(row, "write_bytes", f->write_bytes);
	add_number(row, "processes", f->processes);
	add_number(row, "threads", f->threads);
	return row;
}

/* Whoever has left its task's parentage is still in its session. */
static bool is_of_task(const struct look_step *one, const struct figures_process *p, pid_t task)
{
	return is_of(one, p) && (p->task == task || p->session == task);
}

static void look_at_tasks(struct look *l, struct look_step *one)
{
	if (!one->pids)
		find_tasks(l, one);
	for (int t = 0; one->pids && t < one->tasks; t++) {
		struct figures f;
		figures_begin(&f);
		for (int i = 0; i < l->all.count; i++)
			if (is_of_task(one, &l->all.list[i], one->pids[t]))
				figures_add(&f, &l->all.list[i], "/proc");
		if (f.processes > 0)
			json_array_append_new(l->steps, row_json(one, one->first_task + t, &f));
	}
}

bool agent_look_at(struct look *l, struct look_step *one)
{
	char key[RECORD_KEY_SIZE];
	struct figures f;
	record_key_text(&one->key, key);
	char *group = xasprintf("%s/%s", l->group, key);
	bool grouped = figures_of_group(l->mounts, group, &f);
	free(group);
	if (!l->scanned && (!grouped || one->tasks > 1))
		scan(l);
	if (!grouped) {
		find_keeper(l, one);
		figures_begin(&f);
		for (int i = 0; i < l->all.count; i++)
			if (is_of(one, &l->all.list[i]))
				figures_add(&f, &l->all.list[i], "/proc");
	}
	if (f.processes <= 0)
		return false;
	json_array_append_new(l->steps, row_json(one, -1, &f));
	l->units |= one->units;
	if (one->tasks > 1)
		look_at_tasks(l, one);
	return true;
}

void agent_look_end(struct look *l)
{
	json_decref(l->steps);
	figures_processes_free(&l->all);
	free(l->locks);
}
