/* session_name.h - finds running sessions of the caller by their names. */
#ifndef ROTA_BIN_SESSION_NAME_H
#define ROTA_BIN_SESSION_NAME_H

#include <stdbool.h>

/* Find the running session of this name: inside a job in its step, otherwise in all jobs of this user. Returns the malloc'ed word
 * JOB.STEP.NUMBER, or NULL with EXIT_OK in *status if there is none, and with an error printed if there are several or the
 * database could not be asked. */
char *session_name_find(const char *verb, const char *name, int *status);

/* Attach to the running session of this name or, with `detach`, only print its word JOB.STEP.NUMBER. Returns false if there is
 * none; otherwise *status is the exit status. */
bool session_name_join(const char *verb, const char *name, bool detach, int *status);

#endif
