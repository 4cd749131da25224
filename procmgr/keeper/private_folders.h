/* private_folders.h - gives a step a /tmp and a /dev/shm of its own (launcher.private_tmp). */
#ifndef ROTA_PROCMGR_PRIVATE_FOLDERS_H
#define ROTA_PROCMGR_PRIVATE_FOLDERS_H

#include <stdbool.h>

#include "lib/err.h"

enum { PRIVATE_FOLDERS = 2 };

struct private_folders {
	char path[PRIVATE_FOLDERS][64]; /* a folder of root in /tmp and one in /dev/shm; "" if it was not made */
};

/* Make the folders of a step, as root. */
bool private_folders_make(struct private_folders *f, struct err *e);

/* Put the folders in the place of /tmp and /dev/shm for the calling process, as root. */
bool private_folders_enter(const struct private_folders *f, struct err *e);

/* Remove the folders that were made, with all that the step has left in them. */
void private_folders_remove(struct private_folders *f);

/* Remove all that is in a folder. Returns false if something could not be removed. */
bool private_folders_empty(int top);

/* Is the absolute path in /tmp or /dev/shm, and so hidden from the processes of a step that has folders of its own there? */
bool private_folders_hide(const char *path);

#endif
