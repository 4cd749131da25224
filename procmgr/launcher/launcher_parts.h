/* launcher_parts.h - the launcher's object, and the functions of its files.
 *
 * Calls go one way: launcher.c and launcher_control.c (messages) call launcher_order.c (starts), which calls launcher_lost.c,
 * launcher_idle.c, launcher_child.c and launcher_reservation.c; these call launcher_spool.c (folders and sockets).
 * launcher_agent.c calls only the function that launcher.c registers. */
#ifndef ROTA_PROCMGR_LAUNCHER_PARTS_H
#define ROTA_PROCMGR_LAUNCHER_PARTS_H

#include <sys/types.h>

#include "lib/order.h"
#include "lib/seal_tree.h"
#include "procmgr/launcher/launcher.h"
#include "procmgr/keeper/cgroups.h"
#include "procmgr/record/lease.h"
#include "procmgr/record/record.h"
#include "procmgr/record/attempt_set.h"

enum { LAUNCHER_MESSAGE_LARGEST = 128 * 1024, LAUNCHER_IDLE_MOST = 64, LAUNCHER_PATH_SIZE = RECORD_KEY_SIZE + 32 };

/* A keeper that this launcher forked and that runs an attempt. */
struct launcher_child {
	pid_t pid;
	struct record_key key;
	int64_t space; /* journal space in bytes that is reserved for the attempt's records */
	int cpus;
	int ctl; /* the keeper's socket, reused with the spool folder; -1 if the keeper ends with its attempt */
};

/* An idle keeper, with its folder in spare/. */
struct launcher_idle {
	pid_t pid;
	struct record_key key; /* the attempt after which the folder is named */
	int ctl;	       /* the idle keeper's socket */
};

struct launcher;
typedef void launcher_take(struct launcher *l, const char *text, size_t size);

struct launcher {
	const struct conf *conf;
	const char *node;
	char *dir; /* absolute path of the node's folder, which is also the working directory */
	uid_t agent_uid;
	gid_t agent_gid;
	struct journal *journal;
	struct seal_verify_key *key;
	struct seal_root root;	      /* the signed root that was verified last; one root covers many orders */
	struct cgroups *cgroups;      /* NULL if this machine has no cgroups, or node.cgroup is off */
	struct attempt_set *accepted; /* attempts whose launch requests were accepted and have not expired */
	struct launcher_child *children;
	int child_count, child_capacity;
	struct launcher_idle idle[LAUNCHER_IDLE_MOST];
	int idle_count, reusable_count; /* idle keepers, and children that may become idle */
	int idle_least;			/* the lowest value of `idle_count` since the last poll */
	int idle_sockets[2];		/* a socket pair: idle keepers write to the second socket, the launcher reads the first */
	int adopted;			/* attempts of an earlier launcher that the last poll found */
	int64_t space_adopted;		/* known journal space of the adopted attempts' records */
	bool space_is_unknown;		/* the journal space of at least one adopted attempt is unknown */
	int64_t space_found;		/* journal space that was reserved when this launcher started */
	int64_t space;			/* journal space that is reserved for the records of `children` */
	int cpus;			/* CPUs of the attempts of `children` */
	int64_t truncate_from;		/* lowest journal position up to which truncation pays */
	struct lease lease;		/* the node's lease as last read; all 0 before the first lease of this boot */
	int64_t lease_at;		/* when to read the node's lease again */
	int64_t poll_at;		/* when to poll for changes that cause no event */
	struct launcher_dry *dry;	/* attempts of a dry run; NULL if this launcher forks keepers */
	int signals;			/* descriptor of signalfd */
	bool stop;			/* SIGTERM came: the launcher ends and keepers continue */
	bool end_all;			/* SIGUSR1 came: the launcher ends all attempts, then itself */
	bool end_again;			/* a keeper's socket was full, so the message to end has to be sent again */

	char *agent_path;
	launcher_take *agent_take;
	pid_t agent_pid;
	int agent_socket; /* socket to procmgrd; -1 if procmgrd does not run */
	int64_t agent_started_at, agent_start_at;
	int64_t agent_pause; /* pause before procmgrd is started again */
};

/* launcher_spool.c: make the node's folders if they are missing, verify their owners, and change to the node's folder. */
bool launcher_spool_enter(struct launcher *l, struct err *e);
/* Make the folder cache/, or restore procmgrd as its owner. */
bool launcher_spool_cache(const struct launcher *l, struct err *e);
/* Make the spool folder and the control socket of an attempt. Returns the socket, or -1 if that fails or the folder exists. */
int launcher_spool_make(const struct record_key *key, struct err *e);
/* Returns true if the attempt must not outlive the node's lease. */
bool launcher_spool_ends_with_lease(const struct record_key *key);
/* Returns the journal space that the attempt's keeper has noted in the pid file, or 0 if it is unknown. */
int64_t launcher_spool_space(const struct record_key *key);
/* Returns the process of the attempt's keeper, or 0 if there is none. */
pid_t launcher_spool_keeper(const struct record_key *key);
void launcher_spool_remove(const struct record_key *key);
/* Remove the folder of an attempt below the folder `above`, which is spool or spare. */
void launcher_spool_clear(const char *above, const struct record_key *key);
/* Make the path of a file in an attempt's folder below `above`. If `file` is "", make the path of the folder. */
void launcher_spool_path(const char *above, const struct record_key *key, const char *file, char path[LAUNCHER_PATH_SIZE]);
bool launcher_spool_has(const struct record_key *key);
/* Result of sending to a keeper: its socket has the message, its socket is full, or the keeper is gone. */
enum launcher_sent { LAUNCHER_SENT, LAUNCHER_SENT_LATER, LAUNCHER_SENT_NEVER };
/* Send a message to the keeper of an attempt. If it was not sent, `e` has the reason. */
enum launcher_sent launcher_spool_send(const struct record_key *key, const struct fields *message, struct err *e);
/* Call `each` for every attempt that has a spool folder. Returns the number of these attempts. */
int launcher_spool_each(struct launcher *l, void (*each)(struct launcher *l, const struct record_key *key));
/* Remove the files of job groups from spool/ if there is no attempt. */
void launcher_spool_tidy(struct launcher *l);
/* Lock the attempt's pid file with daemon_seize. Sets *kept to true if a keeper of the attempt had locked it before. */
int launcher_spool_seize(const struct record_key *key, bool *kept);
/* Returns the owner of the attempt's script, who runs its tasks, or the launcher's user if there is no script. */
uid_t launcher_spool_owner(const struct record_key *key);

/* launcher_idle.c */
bool launcher_idle_open(struct launcher *l, struct err *e);
/* Returns true if the next keeper may become idle after its attempt. */
bool launcher_idle_is_wanted(const struct launcher *l);
/* Take an idle keeper and rename its folder to the attempt's spool folder. Returns false if no keeper is idle. */
bool launcher_idle_take(struct launcher *l, const struct record_key *key, struct launcher_idle *idle);
/* Send a launch request to an idle keeper. Returns false if sending failed. */
bool launcher_idle_order(const struct record_key *key, const char *order, const char *node, const char *cores);
/* Read the messages of keepers that have become idle. */
void launcher_idle_read(struct launcher *l);
bool launcher_idle_is_keeper(const struct launcher *l, pid_t pid);
/* Is there an idle keeper's folder that is named after this attempt? */
bool launcher_idle_has(const struct record_key *key);
/* Remove an idle keeper that has ended. Returns false if `pid` was no idle keeper. */
bool launcher_idle_reaped(struct launcher *l, pid_t pid);
/* Kill an idle keeper. */
void launcher_idle_end(const struct launcher_idle *idle);
/* Kill the idle keepers that were not needed since the last call of this function. */
void launcher_idle_trim(struct launcher *l);
/* Kill all idle keepers, and remove all folders in spare/. */
void launcher_idle_clear(struct launcher *l);

/* launcher_lost.c: if the attempt has no keeper, kill its remaining processes and write its last records. */
void launcher_lost_recover(struct launcher *l, const struct record_key *key);

/* launcher_reservation.c: reserve journal space for another attempt. Returns false if the disk or the journal is full; `e` has
 * the reason. */
bool launcher_reservation_make(struct launcher *l, const struct order *o, struct err *e);
/* Reserve journal space for the attempts of an earlier launcher. */
void launcher_reservation_open(struct launcher *l);
/* Add the journal space of an attempt of an earlier launcher. */
void launcher_reservation_adopt(struct launcher *l, const struct record_key *key);

/* launcher_limits.c: write to the file `limits` how memory and CPU limits are enforced. */
void launcher_limits_write(const struct launcher *l);

/* launcher_lease.c: kill keepers that have not ended their attempts with the node's lease. */
void launcher_lease_poll(struct launcher *l);

/* launcher_child.c */
void launcher_child_add(struct launcher *l, const struct launcher_child *child);
bool launcher_child_has(const struct launcher *l, const struct record_key *key);
bool launcher_child_is_keeper(const struct launcher *l, pid_t pid);
/* Remove the keeper with this pid and attempt from the table; a `key` of NULL means any attempt. Returns false if there is
 * none. */
bool launcher_child_remove(struct launcher *l, pid_t pid, const struct record_key *key, struct launcher_child *child);

/* launcher_order.c */
void launcher_order_take(struct launcher *l, const struct fields *message);
/* Read the next step or node number from a list such as "18,19". Returns false after the last number. */
bool launcher_order_next(const char **list, int *number);
void launcher_order_reaped(struct launcher *l, pid_t pid);
/* Why a launch request is refused: it is invalid (ORDER); its attempt was accepted before (AGAIN); it has expired (LATE); the
 * node is at fault and should be drained (NODE); procmgrd cancelled the attempt before start (CANCELLED). After LATE, NODE and
 * CANCELLED, another launch request for the attempt may follow. */
enum launcher_fault {
	LAUNCHER_FAULT_ORDER,
	LAUNCHER_FAULT_AGAIN,
	LAUNCHER_FAULT_LATE,
	LAUNCHER_FAULT_NODE,
	LAUNCHER_FAULT_CANCELLED
};
/* Read the launch request of a message and verify its signature. If the request is invalid, order->fields stays NULL and `e` has
 * the reason. */
bool launcher_order_read(struct launcher *l, const struct fields *message, struct order *order, struct err *e);
/* Is the launch request valid for this attempt? Selects the attempt's step and node in `order`. If false, `e` has the reason,
 * unless the request could not be read. */
bool launcher_order_verify(const struct launcher *l, struct order *order, const struct record_key *asked, int64_t now,
			   enum launcher_fault *fault, struct err *e);

/* launcher_dry.c: attempts of a dry run, which have no keepers */
struct launcher_dry *launcher_dry_new(void);
void launcher_dry_start(struct launcher *l, const struct order *o, const struct record_key *key);
/* Pass a control message to an attempt of a dry run. Returns false if the attempt does not wait. */
bool launcher_dry_send(struct launcher *l, const struct record_key *key, const struct fields *message);
void launcher_dry_gather(struct launcher *l, bool more); /* gather the journal records of one message (`more`), then write them */
void launcher_dry_end_all(struct launcher *l);		 /* end all waiting attempts of a dry run */

/* launcher_control.c */
void launcher_control_take(struct launcher *l, const char *text, size_t size);
void launcher_control_end_all(struct launcher *l);
/* Make the control message for keepers from a message of procmgrd. Returns NULL if the message is invalid; `e` has the reason. */
struct fields *launcher_control_check(const struct fields *message, struct err *e);

/* launcher_agent.c */
/* Find the program procmgrd, and register `take` as the function for its messages. */
bool launcher_agent_find(struct launcher *l, launcher_take *take, struct err *e);
void launcher_agent_poll(struct launcher *l); /* start procmgrd if its next start is due */
void launcher_agent_read(struct launcher *l, bool all);
/* Answer procmgrd's control message `id`. If `taken` is false, not every keeper has the message, and procmgrd sends it again. */
void launcher_agent_answer(const struct launcher *l, int64_t id, bool taken);
void launcher_agent_reaped(struct launcher *l);
void launcher_agent_stop(struct launcher *l);

#endif
