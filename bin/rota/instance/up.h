/* up.h - the stages of `rota up`, each idempotent: what is there and runs is kept. */
#ifndef ROTA_BIN_UP_H
#define ROTA_BIN_UP_H

#include "bin/rota/instance/instance.h"

/* What the command line asked for; 0 and NULL where it did not say. */
struct up_wish {
	int nodes;
	int cpus;
	long mem_mb;
};

/* Refuse a home or programs in a folder that the account cannot enter, before anything is made. */
bool up_reach(const struct instance *in, struct err *e);

/* Folders with their owners, keys, rota.conf. */
bool up_folders(const struct instance *in, struct err *e);
bool up_keys(const struct instance *in, struct err *e);

/* A new configuration: every key at its default, then the paths of this home. */
void up_conf_new(struct instance *in);

/* Set section.key to a value; false for an unknown key or a bad number. */
bool up_conf_set(struct conf *conf, const char *key, const char *value, struct err *e);

/* munged; PostgreSQL with its database, brought up to this program's schema. */
bool up_munged(const struct instance *in, struct err *e);
bool up_database(const struct instance *in, struct err *e);

/* jobmgrd, ready to answer; nodemgrd; runnerd, where a controller prolog or epilog is configured, or mail can be sent. */
bool up_daemons(const struct instance *in, struct err *e);

/* The partition and the nodes asked for, their launchers, and the wait until all serve. */
bool up_nodes(const struct instance *in, const struct up_wish *wish, struct err *e);

/* Which limits of steps hold how, for nodes that have this in common: a list of {"nodes", "memory", "cpus"}, the words being cgroup, sampling,
 * affinity or none. Nodes whose launchers do not say are left out. */
json_t *up_limits(const struct instance *in);
/* The same for people. */
void up_limits_say(const struct instance *in);

#endif
