/* driver.h - the interface of checkpoint drivers, which start the program of a step, save it, and start it from a checkpoint. */
#ifndef ROTA_CHECKPOINT_DRIVER_H
#define ROTA_CHECKPOINT_DRIVER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/conf.h"
#include "lib/err.h"
#include "procmgr/checkpoint/checkpoint_folder.h"

enum { DRIVER_PATH_SIZE = 4096, DRIVER_WHY_SIZE = 400 };

/* A driver as a step uses it. For "script:mana", `name` is "mana", and `folder` has the programs of the driver. */
struct driver_use {
	const struct driver *driver;
	const char *name;
	char folder[DRIVER_PATH_SIZE];
	const char *dir;     /* folder of the checkpoints, --checkpoint-dir; only before the program is started */
	const char *script;  /* path of the step's script; only before the program is started; NULL: the step has none */
	const json_t *hosts; /* hosts of the nodes of the step, in their order; NULL: it has one node */
	int wait_s;	     /* seconds within which the step is to be saved, or restored */
	bool is_task;	/* the script of the step runs once for each task (--run=tasks); only before the program is started */
	bool is_choice; /* this process only chooses the driver; another process starts the program of the step */
};

/* A driver, which is one file: six operations on checkpoints, the needs of a restart, and two operations on devices. */
struct driver {
	const char *prefix; /* "app", or "script:" where a name follows */
	/* Can the driver serve a step on this node? If not, the error says why. `program`: path of the program to start; NULL:
	 * the program runs already. */
	bool (*detect)(const struct driver_use *use, const char *program, struct err *e);
	/* Set the command that starts the program of the step (launch), or has it go on from ROTA_RESTART_DIR (restart).
	 * *instead: path and arguments of that command, malloc'ed, to which the program and its arguments are added; NULL: the
	 * program itself is executed. */
	bool (*launch)(const struct driver_use *use, char ***instead, struct err *e);
	bool (*restart)(const struct driver_use *use, char ***instead, struct err *e);
	/* The driver restores the processes themselves: `restart` is executed without the program and its arguments, and the
	 * script of the step must have the same path in each attempt. */
	bool restores_processes;
	/* Save the step into ROTA_CHECKPOINT_DIR. NULL: the program of the step saves itself when it gets a signal. */
	bool (*checkpoint)(const struct driver_use *use, struct err *e);
	/* Compare the files of a checkpoint in `folder` with the list that was made when it was taken. */
	enum folder_match (*verify)(int folder, const json_t *files, struct err *e);
	/* Remove the checkpoint `name` from the folder of its step. */
	bool (*discard)(int step, const char *name);
	/* Set *needs to the facts of this node, {NAME: TEXT}, that another node must share to restart a checkpoint taken here;
	 * NULL: any node can. Returns false with an error if they could not be found out. The pointer is NULL for a driver
	 * without needs. */
	bool (*needs)(const struct driver_use *use, json_t **needs, struct err *e);
	/* suspend: have all programs of the step, or none, leave its devices before the step is suspended. resume: have them
	 * use the devices again when the step goes on. NULL: the driver handles no devices. */
	bool (*suspend)(const struct driver_use *use, struct err *e);
	bool (*resume)(const struct driver_use *use, struct err *e);
};

extern const struct driver driver_app, driver_dmtcp, driver_criu, driver_script;
/* Only suspends and resumes: --checkpoint cannot name this driver. */
extern const struct driver driver_cuda;

/* Find the driver that --checkpoint names; for auto, the driver with which the running program was started. */
bool driver_find(const char *named, const struct conf *conf, struct driver_use *use, struct err *e);
/* Find the driver that --checkpoint names, before the program is started. For auto, choose one that can serve `program` on this
 * node. The caller has set use->is_choice and use->script. `dir`: --checkpoint-dir; `why`: why auto chose the driver, "" if the step named it. */
bool driver_choose(const char *named, const struct conf *conf, const char *dir, const char *program, struct driver_use *use,
		   char why[DRIVER_WHY_SIZE], struct err *e);
/* Returns the name of a driver as --checkpoint gives it, malloc'ed. */
char *driver_full_name(const struct driver_use *use);
/* Does this node meet the `needs` of a checkpoint? If not, the error names the first one that the node does not meet. */
bool driver_meets(const struct driver_use *use, const json_t *needs, struct err *e);

/* Returns the driver that took a checkpoint, by its name in the catalogue; for a driver of the site or NULL, the driver app, which reads
 * the files as they do. */
const struct driver *driver_of(const char *taken);

/* Was the program of this step started under DMTCP? Was it started in a namespace for CRIU? */
bool driver_dmtcp_is_used(void);
bool driver_criu_is_used(void);

#endif
