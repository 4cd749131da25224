/* checkpoint.c - makes checkpoints of a step: from files that its program has written, or from what its driver saves.
 *
 * Called by: bin/rota-checkpoint.c.
 * Invariants:
 * - The folder of a checkpoint gets its number (generation) as name when all of its files are on disk. The checkpoint is used
 *   only once the database has the digests of the files.
 * - This process runs as the owner of the job, in the step's cgroup, without further rights. */
#include "procmgr/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/conf.h"
#include "lib/crash.h"
#include "procmgr/checkpoint/checkpoint_call.h"
#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/checkpoint_tasks.h"
#include "procmgr/checkpoint/checkpoint_tmpdir.h"
#include "procmgr/checkpoint/driver.h"

/* Remove from the folder of the step the checkpoints with the numbers in `list`. */
static void discard_listed(const struct driver *driver, int step, const json_t *list)
{
	const json_t *number;
	size_t i;
	char name[CHECKPOINT_NAME_SIZE];
	json_array_foreach (list, i, number) {
		snprintf(name, sizeof name, "%lld", (long long)json_integer_value(number));
		driver->discard(step, name);
	}
}

/* Find the driver of the step, whose program was started already. Returns false with an error if there is no such driver on this
 * node. */
static bool find_driver(const struct checkpoint *c, struct driver_use *use, struct err *e)
{
	struct conf conf;
	return conf_load(&conf, c->config, e) && driver_find(c->driver, &conf, use, e);
}

/* Put one file that the program has named into the folder `part`: move it if it is in ROTA_CHECKPOINT_DIR (`next`), copy it if it
 * is elsewhere. */
static bool take_file(const char *path, int next, int part, struct err *e)
{
	const char *dir = checkpoint_step_variable("ROTA_CHECKPOINT_DIR"), *slash = strrchr(path, '/'),
		   *name = slash ? slash + 1 : path;
	size_t length = strlen(dir);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, "\"%s\" is no file", path);
	if (faccessat(part, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, "two files have the name \"%s\"", name);
	if (strncmp(path, dir, length) == 0 && path + length == slash)
		return renameat(next, name, part, name) == 0 || err_sys(e, "could not move file \"%s\"", path);
	return folder_copy(path, part, name, e);
}

/* Make the folder `part` and move or copy the files of the program's checkpoint into it. Opens the folder as *fd. */
static bool gather_files(int step, const char *part, char *const *files, int *fd, struct err *e)
{
	char name[CHECKPOINT_NAME_SIZE];
	bool good;
	checkpoint_step_next(name);
	*fd = -1;
	if (!folder_remove(step, part))
		return err_sys(e, "could not remove folder \"%s\"", part);
	if (!*files)
		good = (renameat(step, name, step, part) == 0 && mkdirat(step, name, 0700) == 0) ||
		       err_sys(e, "could not move folder \"%s\"", name);
	else
		good = mkdirat(step, part, 0700) == 0 || err_sys(e, "could not make folder \"%s\"", part);
	*fd = good ? folder_open_own(step, part, false, e) : -1;
	int next = *fd >= 0 ? folder_open_own(step, name, false, e) : -1;
	good = next >= 0;
	for (int i = 0; good && files[i]; i++)
		good = take_file(files[i], next, *fd, e);
	if (next >= 0)
		close(next);
	return good && tmpdir_save(checkpoint_step_variable("ROTA_TMPDIR"), *fd, e);
}

/* Make the folder of the checkpoint `number` from the files that the program has written: move or copy them into it. Returns
 * the list of the folder's files with their digests, NULL with an error. */
static json_t *make_generation(int step, const char *number, char *const *files, struct err *e)
{
	char part[CHECKPOINT_NAME_SIZE + 8];
	int fd;
	snprintf(part, sizeof part, "%s.part", number);
	json_t *list = gather_files(step, part, files, &fd, e) ? folder_hash(fd, e) : NULL;
	if (fd >= 0)
		close(fd);
	crash_point(CRASH_checkpoint_gathered);
	if (list && json_array_size(list) == 0)
		err_set(e, "the program has written no file to ROTA_CHECKPOINT_DIR");
	else if (list && (!folder_remove(step, number) || renameat(step, part, step, number) < 0 || fsync(step) < 0))
		err_sys(e, "could not make folder \"%s\"", number);
	else if (list)
		return list;
	json_decref(list);
	folder_remove(step, part);
	return NULL;
}

/* A checkpoint to make: of `files` that the program has written, or of what the driver saves if `saves` is true. `fail`: why it
 * cannot be made; NULL: it can. `reason`: why it is made; NULL: a request in the database may say why. `ended`: the program has
 * ended. `needs`: what a restart needs, as the driver said when it had saved the step; NULL: nothing. */
struct making {
	char *const *files;
	const char *reason, *fail;
	bool saves, ended;
	json_t *needs;
};

/* Add to the report which driver took the checkpoint, and what a node needs to restore it. */
static void describe_driver(const struct checkpoint *c, const struct driver_use *use, const struct making *m, json_t *report)
{
	const json_t *own = json_object_get(m->needs, use->driver->prefix),
		     *version = own ? own : json_object_get(m->needs, "version");
	char *name = m->saves ? driver_full_name(use) : xstrdup(strncmp(c->driver, "script:", 7) == 0 ? c->driver : "app");
	json_object_set_new(report, "driver", json_string(name));
	if (version || !m->needs) /* a driver that has needs is not of Rota's version */
		json_object_set_new(report, "version", version ? json_incref((json_t *)version) : json_string(ROTA_VERSION));
	if (m->needs)
		json_object_set(report, "needs", m->needs);
	free(name);
}

/* Report to the database a checkpoint with the list of its files or, if `list` is NULL, that none was made, with the reason in
 * `e`. Returns an exit code. */
static int report_generation(const struct checkpoint *c, const struct making *m, const struct driver_use *use, int step,
			     const char *number, json_t *list, struct err *e)
{
	const struct driver *driver = use->driver;
	int seconds = m->ended ? CALL_LONG_S : CALL_BRIEFLY_S;
	json_t *report = json_pack("{s:I}", "generation", (json_int_t)atoll(number)), *answer;
	struct err unsent;
	if (!list) {
		json_object_set_new(report, "message", json_string(e->message));
		json_decref(checkpoint_call(c->config, "failed", report, seconds, &unsent));
		return checkpoint_step_error(e);
	}
	char *path = checkpoint_step_path(c, number);
	json_object_set_new(report, "files", list);
	json_object_set_new(report, "path", json_string(path));
	json_object_set_new(report, "ended", json_boolean(m->ended));
	describe_driver(c, use, m, report);
	free(path);
	answer = checkpoint_call(c->config, "complete", report, seconds, e);
	crash_point(CRASH_checkpoint_complete);
	const char *failed = json_string_value(json_object_get(answer, "failed"));
	if (failed) {
		err_set(e, "%s", failed);
		driver->discard(step, number);
	}
	bool good = answer && !failed;
	if (good)
		discard_listed(driver, step, json_object_get(answer, "discard"));
	json_decref(answer);
	return good ? 0 : checkpoint_step_error(e);
}

/* Have the driver save the step, and say what a restart needs. */
static bool save_step(struct making *m, const struct driver_use *use, struct err *e)
{
	return use->driver->checkpoint(use, e) && (!use->driver->needs || use->driver->needs(use, &m->needs, e));
}

static json_t *make_files(struct making *m, const struct driver_use *use, int step, const char *number, struct err *e)
{
	if (m->fail) {
		err_set(e, "%s", m->fail);
		return NULL;
	}
	return !m->saves || save_step(m, use, e) ? make_generation(step, number, m->files, e) : NULL;
}

/* Lock the step's folder, since only one checkpoint of a step is made at a time. With `at_once`, fails if another one is being
 * made, so that a checkpoint of the driver is left out; without, waits for the lock, as for a checkpoint of the program
 * itself. */
static bool lock_step(int step, bool at_once, struct err *e)
{
	return flock(step, LOCK_EX | (at_once ? LOCK_NB : 0)) == 0 || err_sys(e, "another checkpoint of the step is being made");
}

/* Returns true if the step is to be saved by its driver, but the driver saves nothing: with --checkpoint=auto, that is a program
 * which was not started by a driver that saves, and handles no signal. */
static bool cannot_save(const struct making *m, const struct driver_use *use)
{
	return m->saves && !use->driver->checkpoint;
}

static int make_checkpoint(const struct checkpoint *c, struct making *m)
{
	struct err e;
	struct driver_use use = {0};
	char number[CHECKPOINT_NAME_SIZE];
	int step = find_driver(c, &use, &e) ? checkpoint_step_open(c, true, &e) : -1;
	if (step >= 0 && cannot_save(m, &use) && m->reason && strcmp(m->reason, "interval") == 0) {
		close(step);
		return 0;
	}
	if (step >= 0 && cannot_save(m, &use)) {
		m->saves = false;
		m->fail = "no process of the step handles the signal; for the shell of its script, write "
			  "--checkpoint-signal=B:USR1";
	}
	if (step < 0 || !lock_step(step, m->saves || m->fail, &e)) {
		if (step >= 0)
			close(step);
		return checkpoint_step_error(&e);
	}
	json_t *report = json_object();
	if (m->reason)
		json_object_set_new(report, "reason", json_string(m->reason));
	json_t *taking = checkpoint_call(c->config, "take", report, m->ended ? CALL_LONG_S : CALL_BRIEFLY_S, &e);
	int code = CHECKPOINT_EXIT_WRONG;
	if (taking) {
		checkpoint_step_wait(&use, taking);
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(taking, "generation")));
		json_t *list = make_files(m, &use, step, number, &e);
		code = report_generation(c, m, &use, step, number, list, &e);
	} else {
		checkpoint_step_error(&e);
	}
	json_decref(taking);
	json_decref(m->needs);
	close(step);
	return code;
}

/* Returns the reason for which the keeper signalled the program last, if that was "interval" or "time_limit"; else NULL. */
static const char *read_reason(const struct checkpoint *c, char text[CHECKPOINT_NAME_SIZE])
{
	int fd = open(c->asked, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, CHECKPOINT_NAME_SIZE - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	return strcmp(text, "interval") == 0 || strcmp(text, "time_limit") == 0 ? text : NULL;
}

int checkpoint_done(const struct checkpoint *c, char *const *files)
{
	char reason[CHECKPOINT_NAME_SIZE];
	return make_checkpoint(c, &(struct making){.files = files, .reason = read_reason(c, reason)});
}

int checkpoint_take(const struct checkpoint *c, const char *fail)
{
	char reason[CHECKPOINT_NAME_SIZE], *none[] = {NULL};
	checkpoint_step_export(c, NULL);
	return make_checkpoint(c,
			       &(struct making){.files = none, .reason = read_reason(c, reason), .fail = fail, .saves = !fail});
}

int checkpoint_again(const struct checkpoint *c)
{
	struct err e;
	char name[CHECKPOINT_NAME_SIZE], *none[] = {NULL};
	checkpoint_step_next(name);
	int step = checkpoint_step_open(c, false, &e), next = step < 0 ? -1 : folder_open_own(step, name, false, &e);
	bool saved = next >= 0 && !folder_is_empty(next);
	if (next >= 0)
		close(next);
	if (step >= 0)
		close(step);
	return saved ? make_checkpoint(c, &(struct making){.files = none, .reason = "exit", .ended = true}) : 0;
}

int checkpoint_end(const struct checkpoint *c, bool all_nodes)
{
	struct err e;
	if (all_nodes && !checkpoint_tasks_are_over(c))
		return 0; /* the last node calls again */
	json_t *over = checkpoint_call(c->config, "over", json_object(), CALL_BRIEFLY_S, &e);
	if (!over)
		return checkpoint_step_error(&e); /* a later attempt may be using the files */
	json_decref(over);
	int above = folder_open(c->dir, &e);
	bool removed = above >= 0 && folder_remove(above, checkpoint_step_variable("ROTA_STEP_LABEL"));
	if (above >= 0)
		close(above);
	rmdir(c->dir); /* the folder is empty if this was the last checkpoint */
	return removed ? 0 : CHECKPOINT_EXIT_WRONG;
}

int checkpoint_verify(const char *path, const char *driver)
{
	struct err e;
	json_t *files = json_loadf(stdin, 0, NULL);
	if (!json_is_array(files) || *path != '/')
		err_set(&e, "the list of files on standard input is malformed");
	else if (checkpoint_step_compare(driver_of(driver), path, files, &e) == FOLDER_SAME) {
		json_decref(files);
		return 0;
	}
	json_decref(files);
	return checkpoint_step_error(&e);
}

int checkpoint_discard(const char *path)
{
	struct err e;
	char *above = xstrdup(path), *slash = strrchr(above, '/');
	*slash = '\0';
	int parent = open(*above ? above : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool removed = (parent < 0 && errno == ENOENT) || (parent >= 0 && folder_remove(parent, slash + 1));
	if (!removed)
		err_sys(&e, "could not remove folder \"%s\"", path);
	if (parent >= 0)
		close(parent);
	free(above);
	return removed ? 0 : checkpoint_step_error(&e);
}
