/* up.h - the stages of `rota up`. Each stage is idempotent: existing files and running processes are kept. */
#ifndef ROTA_BIN_UP_H
#define ROTA_BIN_UP_H

#include <pwd.h>

#include "bin/rota/instance/instance.h"

/* Numbers from the command line of `rota up`; 0 if an option was not given. */
struct up_wish {
	int nodes;
	int cpus;
	long mem_mb;
};

/* Returns false with an error if the account of the instance cannot enter the home or the folder of programs. Called before
 * anything is made. */
bool up_reach(const struct instance *in, struct err *e);

/* Make the folders of an instance with their owners; make its keys. */
bool up_folders(const struct instance *in, struct err *e);
bool up_keys(const struct instance *in, struct err *e);

/* Check the accounts that the configuration gives to procmgrd and runnerd, and prepare the folders for them. Warns if scripts of the site
 * or rota-credd have no account of their own. */
bool up_accounts(const struct instance *in, struct err *e);

/* Make (or keep) one folder with owner and mode. A link in the place of the folder is refused. */
bool up_folder_make(const char *path, mode_t mode, uid_t uid, gid_t gid, struct err *e);

/* Make the folder in which daemons of an account store the newest incarnation of the database that they have seen. */
bool up_seen_make(const struct instance *in, uid_t uid, gid_t gid, struct err *e);

/* Remove the incarnations that the daemons and nodes of the instance have stored, because the database is a new one. */
void up_seen_forget(const struct instance *in);

/* Find the account that the setting `key` gives to a daemon; NULL with an error if there is none. */
const struct passwd *up_account_find(const char *key, const char *account, struct err *e);

/* Make the pid file of a daemon, which belongs to its account. */
bool up_pid_file_make(const struct instance *in, const char *daemon, uid_t uid, gid_t gid, struct err *e);

/* If the instance holds credentials, make the keys of rota-credd, and the key of the nodes. */
bool up_credential_keys(const struct instance *in, const struct up_wish *wish, struct err *e);

/* Make the pid file of runnerd and the folder of its socket. The account of runnerd cannot make files in folders of the
 * instance's account. */
bool up_runner_files(const struct instance *in, struct err *e);

/* Set a new configuration: the default of every key, then the account and the paths of the instance. */
void up_conf_new(struct instance *in);

/* Set a configuration key ("section.key") to a value. Returns false for an unknown key or an invalid value. */
bool up_conf_set(struct conf *conf, const char *key, const char *value, struct err *e);

/* Start munged. Start PostgreSQL with a connection for each node, make its database, and upgrade the schema to that of this
 * program. */
bool up_munged(const struct instance *in, struct err *e);
bool up_database(const struct instance *in, const struct up_wish *wish, struct err *e);

/* Write pg_hba.conf and pg_ident.conf of a new cluster in `folder` of the instance; runs as the account. */
bool up_doors_make(const struct instance *in, const char *folder, struct err *e);
/* Make sure that all roles of Rota may connect to the running PostgreSQL server. */
bool up_doors(const struct instance *in, struct err *e);

/* Start jobmgrd and wait until it answers. Start nodemgrd, and rota-credd if the instance holds credentials. Start runnerd if a controller prolog or epilog is configured or
 * mail can be sent. */
bool up_daemons(const struct instance *in, struct err *e);

/* Make sure that each login of `nodes`, rows of the API's verb `nodes`, has a password in the password file that the database
 * accepts. */
bool up_logins(const struct instance *in, const json_t *nodes, struct err *e);

/* Name of the one launcher of virtual nodes, and of the login of its process manager; it serves n1, n2 and so on. */
extern const char UP_VIRTUAL_NAME[];

/* Make the partition and the requested nodes, start their launchers, and wait until all nodes are up, drained or powering off. */
bool up_nodes(const struct instance *in, const struct up_wish *wish, struct err *e);

/* Returns how nodes enforce the limits of steps: a list of {"nodes", "memory", "cpus"}, one row for all nodes with the same
 * methods. A method is cgroup, sampling, affinity or none. Nodes whose launchers report no methods are left out. */
json_t *up_limits(const struct instance *in);
/* Print how nodes enforce the limits of steps. */
void up_limits_say(const struct instance *in);

#endif
