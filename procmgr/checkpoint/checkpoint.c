/* checkpoint.c - starts the program of a step from its latest whole checkpoint, and makes checkpoints of what the program writes.
 *
 * Called by: bin/rota-checkpoint.c.
 * Below --checkpoint-dir there is a folder for each step, LABEL. In it, next.ATTEMPT is what the program writes to (ROTA_CHECKPOINT_DIR), and
 * each checkpoint is a folder with the number of its generation.
 * Invariants:
 * - A folder gets the number of a generation when all of its files are on disk. It counts once the database has the digests.
 * - Only files with these digests are given to a program, and a program that is not given any starts from the beginning.
 * - This process is the owner's, in the step's cgroup. It has no rights but the owner's. */
#include "procmgr/checkpoint/checkpoint.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "procmgr/checkpoint/driver.h"

enum { NAME_SIZE = 64, EXIT_AGAIN = 85, EXIT_WRONG = 1 };

static int report_error(const struct err *e)
{
	fprintf(stderr, "rota-checkpoint: %s\n", e->message);
	return EXIT_WRONG;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

static void name_next(char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "next.%s", variable("ROTA_ATTEMPT"));
}

/* Returns the path of an entry of the step's folder, malloc'ed. */
static char *step_path(const struct checkpoint *c, const char *name)
{
	return xasprintf("%s/%s/%s", c->dir, variable("ROTA_STEP_LABEL"), name);
}

/* Open the folder of the step, made if `make` is true. Returns a descriptor, -1 with an error. */
static int step_open(const struct checkpoint *c, bool make, struct err *e)
{
	int above = make ? folder_open(c->dir, e) : open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (above < 0 && !make)
		err_sys(e, "could not open folder \"%s\"", c->dir);
	int fd = above < 0 ? -1 : folder_open_own(above, variable("ROTA_STEP_LABEL"), make, e);
	if (above >= 0)
		close(above);
	return fd;
}

/* Is the name that of a generation in a list of numbers? */
static bool is_listed(const char *name, const json_t *list)
{
	const json_t *number;
	size_t i;
	json_array_foreach (list, i, number)
		if (strspn(name, "0123456789") == strlen(name) && atoll(name) == json_integer_value(number))
			return true;
	return false;
}

/* Remove all that earlier attempts have left in the step's folder, but the checkpoints of the list. */
static void clean_entry(int folder, const char *name, void *arg)
{
	bool ours = isdigit((unsigned char)*name) || strncmp(name, "next.", 5) == 0;
	if (ours && !is_listed(name, arg))
		folder_remove(folder, name);
}

/* Remove the checkpoints of a list. */
static void discard_listed(const struct driver *driver, int step, const json_t *list)
{
	const json_t *number;
	size_t i;
	char name[NAME_SIZE];
	json_array_foreach (list, i, number) {
		snprintf(name, sizeof name, "%lld", (long long)json_integer_value(number));
		driver->discard(step, name);
	}
}

/* Find the driver of the step, and check that the driver works on this node. */
static bool find_driver(const struct checkpoint *c, struct driver_use *use, struct err *e)
{
	struct conf conf;
	return conf_load(&conf, c->config, e) && driver_find(c->driver, conf.node_checkpoint_folder, use, e) &&
	       use->driver->detect(use, e);
}

/* Compare the files of the checkpoint in the folder `path`. */
static enum folder_match compare_files(const struct driver *driver, const char *path, const json_t *files, struct err *e)
{
	char *above = xstrdup(path), *slash = strrchr(above, '/');
	*slash = '\0';
	int parent = open(*above ? above : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool opened = parent >= 0 || err_sys(e, "could not open folder \"%s\"", above);
	int folder = opened ? folder_open_own(parent, slash + 1, false, e) : -1;
	enum folder_match match = folder >= 0			  ? driver->verify(folder, files, e)
				  : opened && folder_lacks(errno) ? FOLDER_DIFFERS
								  : FOLDER_UNREADABLE;
	if (folder >= 0)
		close(folder);
	if (parent >= 0)
		close(parent);
	free(above);
	return match;
}

/* Ask from which checkpoint to start, until one is whole. Returns the answer with its generation, 0 for the beginning; NULL with an error. Only
 * one whose files differ is refused, since that is for ever: on another node, a file that cannot be read here may be. */
static json_t *choose_generation(const struct checkpoint *c, const struct driver *driver, struct err *e)
{
	json_t *answer = checkpoint_call(c->config, "begin", json_object(), CALL_LONG_S, e);
	while (answer && json_integer_value(json_object_get(answer, "generation")) > 0) {
		struct err why;
		json_t *number = json_object_get(answer, "generation"), *before = answer;
		const char *path = json_string_value(json_object_get(answer, "path"));
		enum folder_match match =
			path ? compare_files(driver, path, json_object_get(answer, "files"), &why) : FOLDER_DIFFERS;
		if (match == FOLDER_SAME)
			return answer;
		if (match == FOLDER_UNREADABLE) {
			err_set(e, "could not read checkpoint %lld: %s", (long long)json_integer_value(number), why.message);
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

/* Set the variables that the program reads. `from`: the checkpoint, NULL where only the folder to write to counts. */
static void set_variables(const struct checkpoint *c, const json_t *from)
{
	char number[NAME_SIZE], name[NAME_SIZE];
	const char *path = json_string_value(json_object_get(from, "path"));
	snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(from, "generation")));
	name_next(name);
	char *next = step_path(c, name);
	setenv("ROTA_CONFIG", c->config, 0);
	setenv("ROTA_CHECKPOINT_DRIVER", c->driver, 1);
	setenv("ROTA_CHECKPOINT", c->asked, 1);
	setenv("ROTA_CHECKPOINT_DIR", next, 1);
	setenv("ROTA_CHECKPOINT_GENERATION", number, 1);
	if (path) {
		setenv("ROTA_RESTART", "1", 1);
		setenv("ROTA_RESTART_DIR", path, 1);
	}
	free(next);
}

/* Make the folder that the program writes to, empty. */
static bool make_next(int step, struct err *e)
{
	char name[NAME_SIZE];
	name_next(name);
	return (folder_remove(step, name) && mkdirat(step, name, 0700) == 0) || err_sys(e, "could not make folder \"%s\"", name);
}

/* Execute the program of the step, or that of its driver with it as the first argument. Returns an exit code after an error. */
static int execute(char *instead, const char *program, char *const *argv)
{
	int count = 0;
	while (argv[count])
		count++;
	char **all = xcalloc((size_t)count + 2, sizeof *all);
	all[0] = instead;
	all[1] = (char *)program;
	memcpy(all + 2, argv + 1, ((size_t)count - 1) * sizeof *all);
	if (instead)
		execv(instead, all);
	else
		execv(program, argv);
	fprintf(stderr, "rota-checkpoint: could not execute \"%s\": %s\n", instead ? instead : program, strerror(errno));
	free(all);
	return errno == ENOENT ? 127 : 126;
}

int checkpoint_start(const struct checkpoint *c, const char *program, char *const *argv)
{
	struct err e;
	struct driver_use use;
	if (!find_driver(c, &use, &e))
		return report_error(&e);
	json_t *from = choose_generation(c, use.driver, &e);
	/* An attempt that has ended stops here: the files may be those of the next attempt. */
	json_t *begun = from ? checkpoint_call(c->config, "began", json_object(), CALL_LONG_S, &e) : NULL;
	int step = begun ? step_open(c, true, &e) : -1;
	crash_point(CRASH_checkpoint_chosen);
	if (step >= 0)
		folder_each(step, clean_entry, json_object_get(from, "kept"));
	if (step < 0 || !make_next(step, &e)) {
		report_error(&e); /* the step is queued again, which is counted */
		return EXIT_AGAIN;
	}
	set_variables(c, from);
	char *instead = getenv("ROTA_RESTART") ? use.driver->restart(&use) : use.driver->launch(&use);
	json_decref(begun);
	json_decref(from);
	close(step);
	int code = execute(instead, program, argv);
	free(instead);
	return code;
}

/* Put one file that the program names into a folder: move it if it is in ROTA_CHECKPOINT_DIR, copy it if it is elsewhere. */
static bool take_file(const char *path, int next, int part, struct err *e)
{
	const char *dir = variable("ROTA_CHECKPOINT_DIR"), *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(dir);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, "\"%s\" is no file", path);
	if (faccessat(part, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, "two files have the name \"%s\"", name);
	if (strncmp(path, dir, length) == 0 && path + length == slash)
		return renameat(next, name, part, name) == 0 || err_sys(e, "could not move file \"%s\"", path);
	return folder_copy(path, part, name, e);
}

/* Make the folder `part` and fill it with what the program has written. Opens the folder as *fd. */
static bool gather_files(int step, const char *part, char *const *files, int *fd, struct err *e)
{
	char name[NAME_SIZE];
	bool good;
	name_next(name);
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
	return good;
}

/* Turn what the program has written into the folder `number`. Returns the list of its files, NULL with an error. */
static json_t *make_generation(int step, const char *number, char *const *files, struct err *e)
{
	char part[NAME_SIZE + 8];
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

/* Report a checkpoint with its files, or that there is none (`list` NULL, and why). Returns an exit code. */
static int report_generation(const struct checkpoint *c, const struct driver *driver, int step, const char *number, json_t *list,
			     bool ended, struct err *e)
{
	int seconds = ended ? CALL_LONG_S : CALL_BRIEFLY_S;
	json_t *report = json_pack("{s:I}", "generation", (json_int_t)atoll(number)), *answer;
	struct err unsent;
	if (!list) {
		json_object_set_new(report, "message", json_string(e->message));
		json_decref(checkpoint_call(c->config, "failed", report, seconds, &unsent));
		return report_error(e);
	}
	char *path = step_path(c, number);
	json_object_set_new(report, "files", list);
	json_object_set_new(report, "path", json_string(path));
	json_object_set_new(report, "version", json_string(ROTA_VERSION));
	json_object_set_new(report, "ended", json_boolean(ended));
	json_object_set_new(report, "driver",
			    json_string(c->driver && strncmp(c->driver, "script:", 7) == 0 ? c->driver : "app"));
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
	return good ? 0 : report_error(e);
}

/* Make a checkpoint: of files that the program has written, of what the driver saves (`saves`), or none, since it is known to `fail`.
 * `reason`: why, NULL if a request of the database may say so. `ended`: the program has. */
struct making {
	char *const *files;
	const char *reason, *fail;
	bool saves, ended;
};

static json_t *make_files(const struct making *m, const struct driver_use *use, int step, const char *number, struct err *e)
{
	if (m->fail) {
		err_set(e, "%s", m->fail);
		return NULL;
	}
	return !m->saves || use->driver->checkpoint(use, e) ? make_generation(step, number, m->files, e) : NULL;
}

/* One checkpoint of a step is made at a time. A program's own one waits for its turn; that of the driver is left out. */
static bool lock_step(int step, bool at_once, struct err *e)
{
	return flock(step, LOCK_EX | (at_once ? LOCK_NB : 0)) == 0 || err_sys(e, "another checkpoint of the step is being made");
}

static int make_checkpoint(const struct checkpoint *c, const struct making *m)
{
	struct err e;
	struct driver_use use;
	char number[NAME_SIZE];
	int step = find_driver(c, &use, &e) ? step_open(c, true, &e) : -1;
	if (step < 0 || !lock_step(step, m->saves || m->fail, &e)) {
		if (step >= 0)
			close(step);
		return report_error(&e);
	}
	json_t *report = json_object();
	if (m->reason)
		json_object_set_new(report, "reason", json_string(m->reason));
	json_t *taking = checkpoint_call(c->config, "take", report, m->ended ? CALL_LONG_S : CALL_BRIEFLY_S, &e);
	int code = EXIT_WRONG;
	if (taking) {
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(taking, "generation")));
		code = report_generation(c, use.driver, step, number, make_files(m, &use, step, number, &e), m->ended, &e);
	} else {
		report_error(&e);
	}
	json_decref(taking);
	close(step);
	return code;
}

/* Returns the reason for which the program was signalled last, if the node itself had one; else NULL. */
static const char *read_reason(const struct checkpoint *c, char text[NAME_SIZE])
{
	int fd = open(c->asked, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, NAME_SIZE - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	return strcmp(text, "interval") == 0 || strcmp(text, "time_limit") == 0 ? text : NULL;
}

int checkpoint_done(const struct checkpoint *c, char *const *files)
{
	char reason[NAME_SIZE];
	return make_checkpoint(c, &(struct making){.files = files, .reason = read_reason(c, reason)});
}

int checkpoint_take(const struct checkpoint *c, const char *fail)
{
	char reason[NAME_SIZE], *none[] = {NULL};
	set_variables(c, NULL);
	return make_checkpoint(c,
			       &(struct making){.files = none, .reason = read_reason(c, reason), .fail = fail, .saves = !fail});
}

int checkpoint_end(const struct checkpoint *c, bool again)
{
	struct err e;
	char name[NAME_SIZE], *none[] = {NULL};
	name_next(name);
	int step = step_open(c, false, &e), next = step < 0 ? -1 : folder_open_own(step, name, false, &e);
	bool saved = next >= 0 && !folder_is_empty(next);
	if (next >= 0)
		close(next);
	if (step >= 0)
		close(step);
	if (again)
		return saved ? make_checkpoint(c, &(struct making){.files = none, .reason = "exit", .ended = true}) : 0;
	json_t *over = checkpoint_call(c->config, "over", json_object(), CALL_BRIEFLY_S, &e);
	if (!over)
		return report_error(&e); /* a later attempt may be using the files */
	json_decref(over);
	int above = folder_open(c->dir, &e);
	bool removed = above >= 0 && folder_remove(above, variable("ROTA_STEP_LABEL"));
	if (above >= 0)
		close(above);
	rmdir(c->dir); /* the folder is empty if this was the last checkpoint */
	return removed ? 0 : EXIT_WRONG;
}

int checkpoint_verify(const char *path)
{
	struct err e;
	json_t *files = json_loadf(stdin, 0, NULL);
	if (!json_is_array(files) || *path != '/')
		err_set(&e, "the list of files is malformed");
	else if (compare_files(&driver_app, path, files, &e) == FOLDER_SAME) {
		json_decref(files);
		return 0;
	}
	json_decref(files);
	return report_error(&e);
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
	return removed ? 0 : report_error(&e);
}
