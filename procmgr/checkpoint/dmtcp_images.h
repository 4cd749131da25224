/* dmtcp_images.h - the folders of the images that DMTCP writes and restores, one for each task of the step. */
#ifndef ROTA_DMTCP_IMAGES_H
#define ROTA_DMTCP_IMAGES_H

#include <stdbool.h>

#include "lib/err.h"

/* Returns the path of the folder to which DMTCP writes the images of this task, malloc'ed. */
char *dmtcp_images_path(void);
/* Returns the path of the folder with the images of this task in the checkpoint from which the step goes on, malloc'ed. */
char *dmtcp_images_restart_path(void);
/* Open the folder that has the folders of all tasks; make it if it does not exist. Returns a descriptor, -1 with an error. */
int dmtcp_images_open(struct err *e);
/* Make the folder to which DMTCP writes the images of this task. */
bool dmtcp_images_make(struct err *e);
/* Copy the copies of open files from the folder `from` of a checkpoint to where DMTCP writes the images of this task: DMTCP looks
 * for them there. */
bool dmtcp_images_copy_files(const char *from, struct err *e);
/* Empty the folders of the tasks' images. The folders stay, as the tasks have them open. */
bool dmtcp_images_remove(int images, struct err *e);
/* Move the images into the folder `next`, where the files of the checkpoint are gathered. Removes all files there first: those of
 * a checkpoint that failed would be restored too. */
bool dmtcp_images_move(int images, int next, struct err *e);
/* Can the step go on from its checkpoint on as many nodes as it has? From one of tasks on one node, it cannot go on on several. */
bool dmtcp_images_fit_nodes(struct err *e);

#endif
