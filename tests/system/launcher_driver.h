/* launcher_driver.h - what the files of launcher_driver share. */
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
void driver_send_fields(struct fields *f);	  /* send a packet to the launcher; frees the fields */

/* A member that an argument NAME=VALUE sets: the pointer that is not NULL says where and what it is. */
struct driver_setting {
	const char *name;
	int *number;
	int64_t *big;
	bool *flag;
	const char **text;
};

/* Set the member `name`. Returns false if there is none. A row without a name ends the settings. */
bool driver_set(const struct driver_setting *settings, const char *name, const char *value);

/* launcher_driver_order.c: launch SCRIPT [NAME=VALUE...] [env:NAME=VALUE...] [attack:...] */
int driver_launch(int argc, char **argv);

/* launcher_driver_box.c: box JOB NAME [NAME=VALUE...] <SECRET: put a box into the cache as procmgrd would. `file` is the name of
 * another one than NAME. */
int driver_seal_box(int argc, char **argv);

#endif
