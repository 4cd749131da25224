/* launcher_driver.h - functions that the files of launcher_driver share. */
#ifndef ROTA_TESTS_LAUNCHER_DRIVER_H
#define ROTA_TESTS_LAUNCHER_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"
#include "lib/err.h"
#include "lib/fields.h"

extern struct conf driver_conf;
extern const char *driver_node;

void driver_must(bool good, const struct err *e); /* end with the error unless `good` */
void driver_send_fields(struct fields *f);	  /* send the fields to the launcher as one packet, and free them */

/* A variable that an argument NAME=VALUE sets: one pointer is not NULL; it points to the variable, and says of which type that
 * is. */
struct driver_setting {
	const char *name;
	int *number;
	int64_t *big;
	bool *flag;
	const char **text;
};

/* Set the variable of the setting `name`. Returns false if no setting has this name. A row without a name ends the settings. */
bool driver_set(const struct driver_setting *settings, const char *name, const char *value);

/* launcher_driver_order.c: launch SCRIPT [NAME=VALUE...] [env:NAME=VALUE...] [attack:...] */
int driver_launch(int argc, char **argv);

/* launcher_driver_box.c: box JOB NAME [NAME=VALUE...] <SECRET: put the sealed credential NAME into the node's cache as procmgrd
 * would. With file=OTHER, the file has the name for the credential OTHER. */
int driver_seal_box(int argc, char **argv);

#endif
