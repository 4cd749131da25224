/* daemon.h - what every daemon does once at its start: one instance a name, found by others. */
#ifndef ROTA_DAEMON_H
#define ROTA_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Take PATH as the pid file of this process: locked for the life of the process (the lock, not the number, says that it
 * lives), our pid and version written into it. Fails where another process holds it, and names its pid. */
bool daemon_lock(const char *path, struct err *e);

/* Write something behind pid and version into the pid file that we hold, in place of what stood there. */
bool daemon_note(const char *text, struct err *e);

/* The pid of the process that holds PATH, 0 where none does. */
pid_t daemon_holder(const char *path);

/* Hold PATH in the place of a process that is gone: until the descriptor is closed nobody can take it, and who had it open before
 * it was removed never can. -1 where a process holds it. */
int daemon_seize(const char *path);

/* The version of Rota that this process has written beside its pid; malloc'ed, "" where none holds PATH. Only for the files of
 * others: reading one's own would give its lock away. */
char *daemon_version(const char *path);

/* As root, become `account` for good (groups, gid, uid); "" and the account we already are: nothing. */
bool daemon_become(const char *account, struct err *e);

/* PROGRAM-NAME.pid in run/ of a private instance, locked as above; a system installation has systemd instead. */
bool daemon_lock_instance(const struct conf *conf, const char *program, const char *name, struct err *e);

/* What the four daemons differ in at their start. */
struct daemon_program {
	const char *name;
	const char *usage;	/* --help, and what misuse prints */
	const char *names;	/* the option that names this one: "name" (else it is host:pid) or "node" (must be given) */
	bool (*run)(const struct conf *conf, const char *name, int launcher_fd, struct err *e); /* returns at the end */
};

/* A daemon's main: its command line (--config, --name or --node, --launcher-fd, --dry-run, --virtual, --verbose, --help, --version), its log, its
 * configuration, its run. Returns the exit status. */
int daemon_main(const struct daemon_program *program, int argc, char **argv);

#endif
