/* act.h - send a verb that acts on jobs or steps, and print what came of each. */
#ifndef ROTA_BIN_ACT_H
#define ROTA_BIN_ACT_H

#include <jansson.h>
#include <stdbool.h>

/* `request` is taken over; the exit status of the process. */
int act_send(const char *verb, json_t *request, bool json, bool quiet);

#endif
