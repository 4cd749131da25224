/* checkpoint_start.c - starts the program of a step from its latest whole checkpoint.
 *
 * Called by: bin/rota-checkpoint.c.
 * Invariants:
 * - A program or its driver gets only checkpoints whose files have the digests that the database has. A program that gets no
 *   checkpoint starts from the beginning.
 * - This process runs as the owner of the job, in the step's cgroup, without further rights. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/conf.h"
#include "lib/crash.h"
#include "procmgr/checkpoint/checkpoint.h"
#include "procmgr/checkpoint/checkpoint_call.h"
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/checkpoint_tasks.h"
#include "procmgr/checkpoint/checkpoint_tmpdir.h"
#include "procmgr/checkpoint/driver.h"

/* Is `name` the folder name of a checkpoint whose number is in the list? */
static bool is_listed(const char *name, const json_t *list)
{
	const json_t *number;
	size_t i;
	json_array_foreach (list, i, number)
		if (strspn(name, "0123456789") == strlen(name) && atoll(name) == json_integer_value(number))
			return true;
	return false;
}

/* Remove the entry `name` of the step's folder if an earlier attempt has left it: a folder to write to, or a checkpoint that is
 * not in the list `arg`. */
static void clean_entry(int folder, const char *name, void *arg)
{
	bool ours = isdigit((unsigned char)*name) || strncmp(name, "next.", 5) == 0;
	if (ours && !is_listed(name, arg) && !checkpoint_tasks_is_file(name))
		folder_remove(folder, name);
}

/* Report to the database that the checkpoint of `from` could not be used on this node, and why. */
static void report_unmet(const struct checkpoint *c, const json_t *from, struct err *e)
{
	struct err unsent;
	json_t *report = json_pack("{s:O, s:s}", "generation", json_object_get(from, "generation"), "message", e->message);
	json_decref(checkpoint_call(c->config, "unmet", report, CALL_LONG_S, &unsent));
}

/* Ask the database from which checkpoint to start, until the files of one are unchanged. Returns the answer, whose `generation`
 * is the number of the checkpoint, 0: start from the beginning; NULL with an error. A checkpoint whose files differ is refused
 * for ever. One whose files cannot be read here is not, since another node may read them. */
static json_t *choose_generation(const struct checkpoint *c, struct err *e)
{
	json_t *answer = checkpoint_call(c->config, "begin", json_object(), CALL_LONG_S, e);
	while (answer && json_integer_value(json_object_get(answer, "generation")) > 0) {
		struct err why;
		json_t *number = json_object_get(answer, "generation"), *before = answer;
		const char *path = json_string_value(json_object_get(answer, "path"));
		const struct driver *driver = driver_of(json_string_value(json_object_get(answer, "driver")));
		enum folder_match match =
			path ? checkpoint_step_compare(driver, path, json_object_get(answer, "files"), &why) : FOLDER_DIFFERS;
		if (match == FOLDER_SAME)
			return answer;
		if (match == FOLDER_UNREADABLE) {
			err_set(e, "could not read checkpoint %lld: %s", (long long)json_integer_value(number), why.message);
			report_unmet(c, answer, e);
			json_decref(answer);
			return NULL;
		}
		fprintf(stderr, "rota-checkpoint: checkpoint %lld is not used: %s\n", (long long)json_integer_value(number),
			path ? why.message : "it has no path");
		answer = checkpoint_call(
			c->config, "refused",
			json_pack("{s:O, s:s}", "generation", number, "message", path ? why.message : "it has no path"),
			CALL_LONG_S, e);
		json_decref(before);
	}
	return answer;
}

/* Make an empty folder to which the program will write its next checkpoint. */
static bool make_next(int step, struct err *e)
{
	char name[CHECKPOINT_NAME_SIZE];
	checkpoint_step_next(name);
	return (folder_remove(step, name) && mkdirat(step, name, 0700) == 0) || err_sys(e, "could not make folder \"%s\"", name);
}

/* Execute the program of the step. If `instead` is not NULL, execute that program of the driver, with the step's program (unless
 * it is NULL) and its arguments as further arguments. Returns only after an error, with the exit code of this process. */
static int start_execute(char *const *instead, const char *program, char *const *argv)
{
	int before = 0, count = 0;
	while (instead && instead[before])
		before++;
	while (program && argv[count])
		count++;
	char **all = xcalloc((size_t)before + (size_t)count + 1, sizeof *all);
	if (before > 0)
		memcpy(all, instead, (size_t)before * sizeof *all);
	if (count > 0)
		memcpy(all + before, argv, (size_t)count * sizeof *all);
	if (before > 0 && count > 0)
		all[before] = (char *)program;
	execv(before > 0 ? all[0] : program, all);
	fprintf(stderr, "rota-checkpoint: could not execute \"%s\": %s\n", before > 0 ? all[0] : program, strerror(errno));
	free(all);
	return errno == ENOENT ? 127 : 126;
}

/* Set *restores: the driver restores the checkpoint; false: the program reads the checkpoint itself. Returns false with an error
 * if a restart from this checkpoint needs something that this node does not have. */
static bool find_restore(const struct driver_use *use, const json_t *from, bool *restores, struct err *e)
{
	const char *taken = json_string_value(json_object_get(from, "driver"));
	char *name = driver_full_name(use);
	*restores = taken && strcmp(taken, name) == 0;
	free(name);
	if (taken && !*restores && driver_of(taken)->restores_processes)
		return err_set(e, "the checkpoint was taken by %s, and this node would start the program by another driver",
			       taken);
	return !*restores || driver_meets(use, json_object_get(from, "needs"), e);
}

/* Put the files of TMPDIR that the checkpoint has into the TMPDIR of this attempt. */
static bool restore_tmpdir(const json_t *from, struct err *e)
{
	struct err why;
	if (tmpdir_restore(checkpoint_step_variable("ROTA_TMPDIR"), json_string_value(json_object_get(from, "path")), &why))
		return true;
	return err_set(e, "could not restore the files of TMPDIR: %s", why.message);
}

/* Is this the path of the script, which the keeper has in a folder of this attempt, beside the file `asked`? */
static bool is_of_attempt(const struct checkpoint *c, const char *path)
{
	const char *slash = strrchr(c->asked, '/');
	return slash && strncmp(path, c->asked, (size_t)(slash - c->asked) + 1) == 0;
}

/* If *path is the script in the folder of this attempt, copy the script to a path that is the same in all attempts, and set *path
 * to it. */
static bool keep_script(const struct checkpoint *c, int step, const char **path, struct err *e)
{
	static const char name[] = "next.script";
	if (!is_of_attempt(c, *path))
		return true;
	if (faccessat(step, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    (!folder_copy(*path, step, name, e) ||
	     (fchmodat(step, name, 0700, 0) < 0 && !err_sys(e, "could not make the script executable"))))
		return false;
	*path = checkpoint_step_path(c, name);
	return true;
}

static bool keep_scripts(const struct checkpoint *c, int step, const char **program, char **argv, struct err *e)
{
	bool kept = keep_script(c, step, program, e);
	for (int i = 0; kept && argv[i]; i++)
		kept = keep_script(c, step, (const char **)&argv[i], e);
	return kept;
}

/* Make the folder of the step ready for this attempt: remove what earlier attempts have left, and make a folder to write to. */
static bool make_ready(int step, const json_t *from, struct err *e)
{
	folder_each(step, clean_entry, json_object_get(from, "kept"));
	return make_next(step, e);
}

/* Execute the program from the checkpoint that the database's answer `from` names. `tell`: descriptor by which task 0 tells the other
 * tasks; -1: there are no others, or this is one of them. Returns only after an error, with the exit code of this process. */
static int start_from(const struct checkpoint *c, const struct driver_use *use, const json_t *from, bool restores, int tell,
		      const char *program, char **argv)
{
	struct err e;
	char **instead = NULL;
	int step = checkpoint_step_open(c, true, &e);
	bool follows = checkpoint_tasks_are_several(c) && tell < 0;
	crash_point(CRASH_checkpoint_chosen);
	bool ready = step >= 0 && (follows || make_ready(step, from, &e)) &&
		     (!use->driver->restores_processes || keep_scripts(c, step, &program, argv, &e));
	if (step >= 0)
		close(step);
	if (ready) {
		checkpoint_step_export(c, from);
		ready = restores ? use->driver->restart(use, &instead, &e) : use->driver->launch(use, &instead, &e);
	}
	if (!ready || (tell >= 0 && !checkpoint_tasks_tell(tell, from, restores, &e))) {
		checkpoint_step_error(&e); /* the step is queued again, which is counted */
		return CHECKPOINT_EXIT_AGAIN;
	}
	return start_execute(instead, restores && use->driver->restores_processes ? NULL : program, argv);
}

/* Returns the report of an attempt whose program begins: the driver, and why --checkpoint=auto has chosen it. */
static json_t *describe_start(const struct driver_use *use, const char *why)
{
	char *name = driver_full_name(use);
	json_t *report = json_pack("{s:s, s:s}", "driver", name, "why", why);
	free(name);
	return report;
}

/* Returns the path of the step's script, which is the program itself or an argument of the shell that reads it; NULL: the step
 * has none. */
static const char *find_script(const struct checkpoint *c, const char *program, char *const *argv)
{
	const char *found = is_of_attempt(c, program) ? program : NULL;
	for (int i = 0; !found && argv[i]; i++)
		found = is_of_attempt(c, argv[i]) ? argv[i] : NULL;
	return found;
}

/* Start a task that is not task 0 from the checkpoint that task 0 has chosen. Returns only after an error, with the exit code of this
 * process. */
static int start_other(const struct checkpoint *c, struct driver_use *use, const char *program, char **argv)
{
	struct err e;
	bool restores;
	json_t *from = checkpoint_tasks_await(c, &restores, &e);
	int code = CHECKPOINT_EXIT_AGAIN;
	bool here = strcmp(checkpoint_step_variable("ROTA_NODE_INDEX"), "0") == 0; /* task 0 has checked this node */
	bool meets = from && (here || !restores || driver_meets(use, json_object_get(from, "needs"), &e));
	if (from && !meets)
		report_unmet(c, from, &e);
	if (meets) {
		checkpoint_step_wait(use, from);
		code = start_from(c, use, from, restores, -1, program, argv);
	} else {
		checkpoint_step_error(&e);
	}
	json_decref(from);
	return code;
}

/* Choose a checkpoint, and start the program from it. `tell` is as for start_from(). Returns only after an error, with the exit
 * code of this process. */
static int start_first(const struct checkpoint *c, struct driver_use *use, const char *why, int tell, const char *program,
		       char **argv)
{
	struct err e;
	bool restores = false, ready = false;
	json_t *from = choose_generation(c, &e);
	if (from && !(ready = find_restore(use, from, &restores, &e) && restore_tmpdir(from, &e)))
		report_unmet(c, from, &e);
	/* An attempt that has ended stops here: the files may be those of the next attempt. */
	json_t *begun = ready ? checkpoint_call(c->config, "began", describe_start(use, why), CALL_LONG_S, &e) : NULL;
	int code = CHECKPOINT_EXIT_AGAIN;
	if (begun) {
		checkpoint_step_wait(use, from);
		code = start_from(c, use, from, restores, tell, program, argv);
	} else {
		checkpoint_step_error(&e);
	}
	json_decref(begun);
	json_decref(from);
	return code;
}

int checkpoint_start(const struct checkpoint *c, const char *program, char **argv)
{
	struct err e;
	struct conf conf;
	struct driver_use use = {.script = find_script(c, program, argv), .is_task = c->is_task};
	char why[DRIVER_WHY_SIZE];
	int tell = -1;
	if (!conf_load(&conf, c->config, &e) || !driver_choose(c->driver, &conf, c->dir, program, &use, why, &e))
		return checkpoint_step_error(&e);
	if (checkpoint_tasks_are_several(c) && checkpoint_tasks_rank() > 0)
		return start_other(c, &use, program, argv);
	if (checkpoint_tasks_are_several(c) && (tell = checkpoint_tasks_lead(c, &e)) < 0)
		return checkpoint_step_error(&e);
	return start_first(c, &use, why, tell, program, argv);
}

int checkpoint_choose(const struct checkpoint *c, const char *program, char *const *argv)
{
	struct err e;
	struct conf conf;
	struct driver_use use = {.is_choice = true, .script = find_script(c, program, argv)};
	char why[DRIVER_WHY_SIZE];
	if (!conf_load(&conf, c->config, &e) || !driver_choose(c->driver, &conf, c->dir, program, &use, why, &e))
		return checkpoint_step_error(&e);
	return use.driver == &driver_criu ? 0 : CHECKPOINT_EXIT_WRONG;
}

int checkpoint_run(char *const *files, const char *program, char *const *argv)
{
	static const int flags[] = {O_RDONLY, O_WRONLY | O_APPEND, O_WRONLY | O_APPEND};
	for (int fd = 0; fd <= 2; fd++) {
		bool same = fd == 2 && strcmp(files[1], files[2]) == 0;
		int file = !*files[fd] ? fd : same ? 1 : open(files[fd], flags[fd]);
		struct err e;
		if (file < 0 || (file != fd && dup2(file, fd) < 0)) {
			err_sys(&e, "could not open \"%s\"", files[fd]);
			return checkpoint_step_error(&e);
		}
		if (file > 2)
			close(file);
	}
	return start_execute(NULL, program, argv);
}
