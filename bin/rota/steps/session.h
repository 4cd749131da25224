/* session.h - functions that verbs about sub-steps share: the connection to the step manager, names of sub-steps, signals as
 * events. */
#ifndef ROTA_BIN_SESSION_H
#define ROTA_BIN_SESSION_H

#include <stdbool.h>

#include "lib/rota.h"

/* Returns true if this program runs in a step, so that there is a step manager. */
bool session_is_inside(void);

/* Connect to the step manager. If that fails, prints an error that says what to do, and returns NULL with the exit status in
 * *status. */
struct rota_steps *session_open(const char *verb, int *status);

/* Print an error of a connection. Returns the exit status. */
int session_failed(const char *verb, const struct rota_steps *steps);

/* Returns the name of a sub-step for people, as "812.solve.3"; valid until the next call. */
const char *session_label(int substep);

/* Returns the exit status for the end of a sub-step: the highest exit code of its tasks, 128 + the signal that ended one, or
 * 1. */
int session_status(const struct rota_end *end);

/* Returns the end in words, as "failed (exit code 3)"; valid until the next call. */
const char *session_words(const struct rota_end *end);

/* Returns the number of sub-steps to have under way: twice the CPUs of the allocation, so that the step manager always has one to
 * start. 0 on failure. */
long session_request_limit(struct rota_steps *steps);

/* Block SIGINT, SIGTERM, SIGHUP and SIGWINCH, and return a descriptor that reads them. session_signal() returns the number of the next
 * one, 0 if there is none. */
int session_signals(void);
int session_signal(int descriptor);

#endif
