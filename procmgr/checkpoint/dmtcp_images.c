/* dmtcp_images.c - makes, empties and moves the folders of the images that DMTCP writes (dmtcp_images.h).
 *
 * Called by: driver_dmtcp.c.
 * DMTCP writes images to the folder next.images, beside ROTA_CHECKPOINT_DIR; those of one of several tasks to a folder task.N in it.
 * A checkpoint of several nodes has the empty file "several-nodes" beside the images.
 * Invariants:
 * - The images have that path in them, so it is the same in all attempts. */
#include "procmgr/checkpoint/dmtcp_images.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procmgr/checkpoint/checkpoint_folder.h"
#include "procmgr/checkpoint/checkpoint_step.h"
#include "procmgr/checkpoint/checkpoint_tasks.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"

/* Returns the path of the folder of all images, malloc'ed. */
static char *images_path(void)
{
	const char *next = checkpoint_step_variable("ROTA_CHECKPOINT_DIR"), *slash = strrchr(next, '/');
	return xasprintf("%.*s/next.images", slash ? (int)(slash - next) : 0, next);
}

int dmtcp_images_open(struct err *e)
{
	char *path = images_path();
	int fd = folder_open_own(AT_FDCWD, path, true, e);
	free(path);
	return fd;
}

/* Returns the path of the folder of this task in `folder`, a folder of images, which it frees; malloc'ed. */
static char *own_path(char *folder)
{
	char name[DMTCP_TASK_NAME_SIZE], *path = folder;
	if (dmtcp_tasks_folder(checkpoint_tasks_rank(), name)) {
		path = xasprintf("%s/%s", folder, name);
		free(folder);
	}
	return path;
}

char *dmtcp_images_path(void)
{
	return own_path(images_path());
}

char *dmtcp_images_restart_path(void)
{
	return own_path(xstrdup(checkpoint_step_variable("ROTA_RESTART_DIR")));
}

/* Open the folder of a task in `folder`, a folder of images. Returns a descriptor, -1 with an error. */
static int open_task(int folder, int rank, struct err *e)
{
	char name[DMTCP_TASK_NAME_SIZE];
	return folder_open_own(folder, dmtcp_tasks_folder(rank, name) ? name : ".", true, e);
}

/* Open the folder to which DMTCP writes the images of this task. */
static int open_own_images(struct err *e)
{
	int images = dmtcp_images_open(e), own = images >= 0 ? open_task(images, checkpoint_tasks_rank(), e) : -1;
	if (images >= 0)
		close(images);
	return own;
}

bool dmtcp_images_make(struct err *e)
{
	int own = open_own_images(e);
	if (own >= 0)
		close(own);
	return own >= 0;
}

/* Copy the file `name` of a folder into the folder *arg. DMTCP looks for its copies of open files in the folder to which it
 * writes next. */
static void copy_file(int folder, const char *name, void *arg)
{
	struct err e;
	char *path = xasprintf("/proc/self/fd/%d/%s", folder, name);
	folder_copy(path, *(int *)arg, name, &e);
	free(path);
}

static void copy_folder(int folder, const char *name, void *arg)
{
	static const char ending[] = "_files";
	size_t length = strlen(name), tail = sizeof ending - 1;
	struct err e;
	if (length <= tail || strcmp(name + length - tail, ending) != 0)
		return;
	int from = folder_open_own(folder, name, false, &e), to = folder_open_own(*(int *)arg, name, true, &e);
	if (from >= 0 && to >= 0)
		folder_each(from, copy_file, &to);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
}

bool dmtcp_images_copy_files(const char *from, struct err *e)
{
	int old = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), images = open_own_images(e);
	bool opened = images >= 0 && (old >= 0 || err_sys(e, "could not open folder \"%s\"", from));
	if (opened)
		folder_each(old, copy_folder, &images);
	if (old >= 0)
		close(old);
	if (images >= 0)
		close(images);
	return opened;
}

static void remove_any(int folder, const char *name, void *arg)
{
	(void)arg;
	folder_remove(folder, name);
}

/* Remove the entry `name` if it is the script that DMTCP writes: it would restart the images at the path where they were. */
static void remove_script(int folder, const char *name, void *arg)
{
	(void)arg;
	if (strncmp(name, "dmtcp_restart_script", 20) == 0)
		folder_remove(folder, name);
}

static const char image_ending[] = ".dmtcp";

/* A move of all images into the folder `to` of the checkpoint. */
struct image_move {
	int to;
	int images; /* how many of the entries are images */
	bool failed;
};

static void move_entry(int folder, const char *name, void *arg)
{
	struct image_move *move = arg;
	size_t length = strlen(name), tail = sizeof image_ending - 1;
	if (renameat(folder, name, move->to, name) < 0)
		move->failed = true;
	move->images += length > tail && strcmp(name + length - tail, image_ending) == 0;
}

bool dmtcp_images_remove(int images, struct err *e)
{
	bool good = true;
	for (int rank = 0; good && rank < dmtcp_tasks_count(); rank++) {
		int own = open_task(images, rank, e);
		good = own >= 0;
		if (good)
			folder_each(own, remove_any, NULL);
		if (good)
			close(own);
	}
	return good;
}

/* Have the kernel read a folder anew if other nodes may have written to it: in a network file system, it does so after a change that
 * it has made itself. */
static void refresh_folder(int folder)
{
	static const char name[] = "look";
	int fd = dmtcp_tasks_nodes() > 1 ? openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return;
	close(fd);
	unlinkat(folder, name, 0);
}

/* Move the images of a task into the folder `next`, into a folder of the task's own if there are several tasks. */
static bool move_task(int images, int next, int rank, struct err *e)
{
	int from = open_task(images, rank, e);
	struct image_move move = {.to = from >= 0 ? open_task(next, rank, e) : -1};
	bool opened = move.to >= 0;
	if (opened) {
		refresh_folder(from);
		folder_each(from, remove_script, NULL);
		folder_each(from, move_entry, &move);
		close(move.to);
	}
	if (from >= 0)
		close(from);
	if (opened && move.failed)
		return err_set(e, "could not move the images of DMTCP to the checkpoint");
	return opened &&
	       (move.images > 0 || err_set(e, "task %d has left no image; is --checkpoint-dir one folder for all nodes?", rank));
}

static const char several_nodes[] = "several-nodes";

static bool mark_nodes(int next, struct err *e)
{
	int fd = openat(next, several_nodes, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || err_sys(e, "could not make \"%s\"", several_nodes);
}

bool dmtcp_images_move(int images, int next, struct err *e)
{
	bool good = true;
	folder_each(next, remove_any, NULL);
	for (int rank = 0; good && rank < dmtcp_tasks_count(); rank++)
		good = move_task(images, next, rank, e);
	return good && (dmtcp_tasks_nodes() == 1 || mark_nodes(next, e));
}

bool dmtcp_images_fit_nodes(struct err *e)
{
	char *path = xasprintf("%s/%s", checkpoint_step_variable("ROTA_RESTART_DIR"), several_nodes);
	bool fit = dmtcp_tasks_nodes() == 1 || access(path, F_OK) == 0;
	free(path);
	return fit || err_set(e, "checkpoint %s is of tasks on one node, so the step needs --nodes=1",
			      checkpoint_step_variable("ROTA_CHECKPOINT_GENERATION"));
}
