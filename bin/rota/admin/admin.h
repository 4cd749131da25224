/* admin.h - the objects of `rota admin`, and what can be done with each: for the verb itself and for the completion. */
#ifndef ROTA_BIN_ADMIN_H
#define ROTA_BIN_ADMIN_H

struct admin_object {
	const char *name;
	const char *const actions[8]; /* ends with NULL; none: what follows is no action */
};

/* In the order of the help; ends with a NULL name. */
enum { ADMIN_OBJECTS_MOST = 32 };
extern const struct admin_object ADMIN_OBJECTS[ADMIN_OBJECTS_MOST];

#endif
