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
	struct conf conf; /* configuration; valid once loaded or set up */
	bool made;	  /* etc/rota.conf existed when the instance was opened */
	bool root;	  /* the caller is root, so daemons switch to `account` */
	char *account;	  /* user name that PostgreSQL and the daemons run as */
	uid_t uid;
	gid_t gid;
	char *daemons; /* folder of jobmgrd and the other daemons */
	bool quiet;
	int lock; /* descriptor of the lock that one `rota up` or `rota down` at a time holds; -1 = not locked */
};

/* Set the folder and the account of an instance. If `account` is NULL, the account is the caller, or for root the configured
 * account, else "rota". */
bool instance_open(struct instance *in, const char *account, struct err *e);
void instance_close(struct instance *in);

/* Take the lock of the instance, so that no other `rota up` or `rota down` changes it until instance_close(). */
bool instance_lock(struct instance *in, struct err *e);

/* Returns a malloc'ed path below the home of the instance; `format` gives the part after the home. */
char *instance_path(const struct instance *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print a line about progress to standard error, unless the instance is `quiet`. */
void instance_say(const struct instance *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns libpq's connection string for `database` as `role`, through the socket of the instance; malloc'ed. */
char *instance_conninfo(const struct instance *in, const char *database, const char *role);

/* Return the pid of munged, of PostgreSQL, of a daemon or of a launcher; 0 if the process does not run. */
pid_t instance_munged(const struct instance *in);
pid_t instance_postgres(const struct instance *in);
pid_t instance_daemon(const struct instance *in, const char *name);
pid_t instance_launcher(const struct instance *in, const char *node);

/* instance_postgres_is(): Returns true if the process belongs to the PostgreSQL server of the instance. instance_postgres_any():
 * Returns the pid of any process of that server, 0 if there is none. Child processes may outlive a killed server. */
bool instance_postgres_is(const struct instance *in, pid_t pid);
pid_t instance_postgres_any(const struct instance *in);

/* Remove the lock files of a dead PostgreSQL server, so that this process can start a new one. Call this function through
 * process_as_account(). */
bool instance_postgres_unlock(const struct instance *in, struct err *e);

/* Returns the processes of the instance on this machine, a list of {"role", "name", "node", "pid", "version"}: PostgreSQL,
 * munged, each daemon, and a launcher for each node that has a folder. The pid of a process that does not run is null. */
json_t *instance_parts(const struct instance *in);

/* Returns the path of the munged program that instances start. */
const char *instance_munged_program(void);

/* Return the names of the nodes that have a folder under node/, or of the daemons of a kind ("jobmgrd-1") that have a pid
 * file. Both lists are sorted and NULL-terminated. Free them with instance_names_free(). */
char **instance_nodes(const struct instance *in);
char **instance_daemons(const struct instance *in, const char *kind);
void instance_names_free(char **names);

#endif
