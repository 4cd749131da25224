/* device_users.h - finds processes that have devices open. */
#ifndef ROTA_PROCMGR_DEVICE_USERS_H
#define ROTA_PROCMGR_DEVICE_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "procmgr/keeper/devices.h"

struct device_set {
	const struct device *list;
	int count;
};

/* A search through threads that are stopped. What they share with threads that were searched before is not read again. */
struct device_search;

/* Begin a search for devices of the set, which must outlive it. */
struct device_search *device_users_begin(const struct device_set *set);
void device_users_end(struct device_search *search);

/* Does the thread have a device open, or mapped into its memory? `search` points to a struct device_search *. True also if the kernel
 * does not say. Memory maps are read only by root: the kernel shows the files of maps to nobody else. */
bool device_users_has(pid_t thread, const void *search);

#endif
