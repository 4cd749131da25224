/* instance.h - a private instance on this machine: its folder, its account and its processes.
 *
 * The state folder ($ROTA_HOME) has etc/ (rota.conf, munge.key), keys/, run/ (sockets, pid files), log/, pg/data (PostgreSQL's) and node/ (a
 * folder for each node). With an instance of root, root owns the folders that root reads (the home, etc/, log/, node/), and the account owns
 * the rest. With an instance of a user, the user owns all. */
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
	char *account;	  /* of PostgreSQL and the daemons */
	uid_t uid;
	gid_t gid;
	char *daemons; /* folder of jobmgrd and the other daemons */
	bool quiet;
	int lock; /* descriptor of the lock that one `up` or `down` at a time holds, -1 */
};

/* Set folder and account; `account` NULL: the caller, or for root the configured account, else "rota". */
bool instance_open(struct instance *in, const char *account, struct err *e);
void instance_close(struct instance *in);

/* Lock out other `rota up` and `rota down` of this home until instance_close. */
bool instance_lock(struct instance *in, struct err *e);

/* HOME/<formatted>, malloc'ed. */
char *instance_path(const struct instance *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print a line about progress to standard error, unless quiet. */
void instance_say(const struct instance *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* libpq's connection string for `database` as `role`, through the instance's own socket; malloc'ed. */
char *instance_conninfo(const struct instance *in, const char *database, const char *role);

/* The pids of the parts; 0: it does not run. */
pid_t instance_munged(const struct instance *in);
pid_t instance_postgres(const struct instance *in);
pid_t instance_daemon(const struct instance *in, const char *name);
pid_t instance_launcher(const struct instance *in, const char *node);

/* Is the process one of the instance's PostgreSQL? Any such process, 0: none; children may outlive a killed server. */
bool instance_postgres_is(const struct instance *in, pid_t pid);
pid_t instance_postgres_any(const struct instance *in);

/* Remove the lock files of a dead server, so that this process can start one. Run it in process_as_account. */
bool instance_postgres_unlock(const struct instance *in, struct err *e);

/* The processes of the instance on this machine, a list of {"role", "name", "node", "pid", "version"}: PostgreSQL, munged, a
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
