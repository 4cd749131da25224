/* daemon.h - starts a daemon: pid file, change of user, command line. Only one daemon of a name runs, and others can find it. */
#ifndef ROTA_DAEMON_H
#define ROTA_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/conf.h"
#include "lib/err.h"

/* Lock PATH as the pid file of this process until the process ends, and write its pid and version into the file. The lock, not
 * the written pid, says that the process is alive. If another process has the lock, daemon_lock fails and names the pid of that
 * process. */
bool daemon_lock(const char *path, struct err *e);

/* Write the note `text` after the pid and version in the pid file of this process. It replaces the previous note. */
bool daemon_note(const char *text, struct err *e);

/* Returns the pid of the process that has the pid file PATH locked, or 0 if none has. */
pid_t daemon_holder(const char *path);

/* Lock the pid file PATH of a process that has ended. Returns a descriptor that keeps the lock until it is closed, or -1 if
 * another process has the lock. Once the caller has removed the file, no process that opened it before can take it with
 * daemon_lock(). */
int daemon_seize(const char *path);

/* Returns the malloc'ed version of Rota in the pid file PATH, or "" if no process has the file locked. PATH must be the pid file
 * of another process: a process that opens and closes its own pid file loses the lock. */
char *daemon_version(const char *path);

/* Change the groups, gid and uid of this process from root to those of `account`, irrevocably. If `account` is empty or is
 * already the user of this process, do nothing. */
bool daemon_become(const char *account, struct err *e);

/* Returns the malloc'ed path of the program `name` in the folder of this process's own program. Returns NULL with an error if that
 * folder is unknown. */
char *daemon_beside(const char *name, struct err *e);

/* In a private instance, lock the pid file run/PROGRAM-NAME.pid. In a system installation do nothing: systemd starts each daemon
 * only once. */
bool daemon_lock_instance(const struct conf *conf, const char *program, const char *name, struct err *e);

/* Options of a daemon that has --name, as lines of its usage text. */
#define DAEMON_NAME_OPTIONS                                                                                                      \
	"Options:\n"                                                                                                             \
	"  --config FILE  configuration (default: $ROTA_HOME/etc/rota.conf, else /etc/rota/rota.conf)\n"                         \
	"  --name NAME    name of this process among several (default: host:pid)\n"                                              \
	"  --verbose      log debug messages too\n"                                                                              \
	"  --help         print this help\n"                                                                                     \
	"  --version      print the version\n"

/* The properties of a daemon that daemon_main() needs. */
struct daemon_program {
	const char *name;
	const char *usage; /* text for --help and after a wrong command line */
	const char *names; /* option that names the daemon: "name" (default HOST:PID) or "node" (required) */
	bool (*run)(const struct conf *conf, const char *name, int launcher_fd, struct err *e); /* returns when the daemon ends */
};

/* The main function of a daemon: reads the command line (--config, --name or --node, --launcher-fd, --dry-run, --virtual,
 * --verbose, --help, --version), opens the log, loads the configuration and calls `run` of the program. Returns the exit
 * status. */
int daemon_main(const struct daemon_program *program, int argc, char **argv);

#endif
