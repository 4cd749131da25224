/* instance.h - a private instance on this machine: where it lives, whom it runs as, and its processes.
 *
 * The state folder ($ROTA_HOME) holds etc/ (rota.conf, munge.key), keys/, run/ (sockets, pid files), log/, pg/data (PostgreSQL's)
 * and node/ (one folder a node). As root, the folders that root itself believes (the home, etc/, log/, node/) belong to root and
 * the rest to the account; as a user, all of it belongs to that user. For `rota up`, `down` and `status`. */
#ifndef ROTA_BIN_INSTANCE_H
#define ROTA_BIN_INSTANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

struct instance {
	char *home;
	struct conf conf; /* meaningful once loaded or set up */
	bool made;	  /* etc/rota.conf existed */
	bool root;	  /* the caller is root: daemons drop to the account */
	char *account;	  /* whom PostgreSQL and the daemons run as */
	uid_t uid;
	gid_t gid;
	char *daemons; /* folder of jobmgrd and its kin */
	bool quiet;
	int lock; /* descriptor of the lock that one `up` or `down` at a time holds, -1 */
};

/* Fill in where the instance is; `account` NULL: the caller, or for root the configured one, else "rota". */
bool instance_open(struct instance *in, const char *account, struct err *e);
void instance_close(struct instance *in);

/* Keep other `up` and `down` runs on this home out until instance_close. */
bool instance_lock(struct instance *in, struct err *e);

/* HOME/<formatted>, malloc'ed. */
char *instance_path(const struct instance *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Progress, one line on standard error, unless quiet. */
void instance_say(const struct instance *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* libpq's connection string for `database` as `role`, through the instance's own socket; malloc'ed. */
char *instance_conninfo(const struct instance *in, const char *database, const char *role);

/* The pids of the parts, 0 where one does not run. */
pid_t instance_munged(const struct instance *in);
pid_t instance_postgres(const struct instance *in);
pid_t instance_daemon(const struct instance *in, const char *name);
pid_t instance_launcher(const struct instance *in, const char *node);

/* Whether a process is one of the instance's PostgreSQL; any such process, 0 where there is none: children outlive a killed server. */
bool instance_postgres_is(const struct instance *in, pid_t pid);
pid_t instance_postgres_any(const struct instance *in);

/* Clear the lock files of a server of which no process is left, so that this process can start one; as the account, in
 * process_as_account. */
bool instance_postgres_unlock(const struct instance *in, struct err *e);

/* What of the instance is to be found on this machine, a list of {"role", "name", "node", "pid", "version"}: PostgreSQL, munged, a
 * launcher for each node that has been made, each daemon (pid null: it does not run). */
json_t *instance_parts(const struct instance *in);

/* The munged program that instances start. */
const char *instance_munged_program(void);

/* Names of the nodes that have a folder under node/, and of the daemons of a kind ("jobmgrd-1") that have a pid file; sorted,
 * NULL-terminated, for instance_names_free. */
char **instance_nodes(const struct instance *in);
char **instance_daemons(const struct instance *in, const char *kind);
void instance_names_free(char **names);

#endif
