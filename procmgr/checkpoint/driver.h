/* driver.h - the interface of drivers: how the program of a step is started, saved, and started from what was saved. */
#ifndef ROTA_CHECKPOINT_DRIVER_H
#define ROTA_CHECKPOINT_DRIVER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "procmgr/checkpoint/checkpoint_folder.h"

enum { DRIVER_PATH_SIZE = 4096 };

/* A driver for a step: of "script:dmtcp" the name is "dmtcp", and the folder that of its programs. */
struct driver_use {
	const struct driver *driver;
	const char *name;
	char folder[DRIVER_PATH_SIZE];
};

/* The six operations of a checkpoint driver. Each driver is one file. */
struct driver {
	const char *prefix; /* "app", or "script:" where a name follows */
	/* Can the driver serve a step on this node? False with the reason. */
	bool (*detect)(const struct driver_use *use, struct err *e);
	/* Returns the program that is executed instead of that of the step, with that program and its arguments as its arguments, to start it, or
	 * to have it go on from ROTA_RESTART_DIR. malloc'ed. NULL: the program of the step itself. */
	char *(*launch)(const struct driver_use *use);
	char *(*restart)(const struct driver_use *use);
	/* Save the step into ROTA_CHECKPOINT_DIR. NULL: its program does that itself when it is signalled. */
	bool (*checkpoint)(const struct driver_use *use, struct err *e);
	/* Are the files of a checkpoint unchanged? */
	enum folder_match (*verify)(int folder, const json_t *files, struct err *e);
	/* Remove the checkpoint `name` from the folder of its step. */
	bool (*discard)(int step, const char *name);
};

extern const struct driver driver_app, driver_script;

/* Find the driver that --checkpoint names. `scripts`: the folder with the drivers of the site (node.checkpoint_folder), "" for none. */
bool driver_find(const char *named, const char *scripts, struct driver_use *use, struct err *e);

#endif
