/* admin.h - the objects of `rota admin` and the actions of each, for the verb itself and for shell completion. */
#ifndef ROTA_BIN_ADMIN_H
#define ROTA_BIN_ADMIN_H

struct admin_object {
	const char *name;
	const char *const actions[20]; /* NULL-terminated; empty if the object takes no action */
};

/* The objects of `rota admin` in the order of the help. The last row has a NULL name. */
enum { ADMIN_OBJECTS_MOST = 32 };
extern const struct admin_object ADMIN_OBJECTS[ADMIN_OBJECTS_MOST];

#endif
