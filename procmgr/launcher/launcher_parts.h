/* launcher_parts.h - the launcher's object, and the functions of its files.
 *
 * Calls go one way: launcher.c and launcher_control.c (messages) call launcher_order.c (starts), which calls launcher_lost.c,
 * launcher_idle.c, launcher_child.c and launcher_reservation.c; these call launcher_spool.c (folders and sockets).
 * launcher_agent.c calls none of them, but the function that launcher.c registers. */
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

/* A keeper that this launcher forked. */
struct launcher_child {
	pid_t pid;
	struct record_key key;
	int64_t space; /* reserved in the journal for its records */
	int cpus;
	int ctl; /* the keeper's socket, which is used again with the folder; -1: the keeper ends with its attempt */
};

/* An idle keeper, with its folder in spare/. */
struct launcher_idle {
	pid_t pid;
	struct record_key key; /* name of the folder */
	int ctl;	       /* its socket */
};

struct launcher;
typedef void launcher_take(struct launcher *l, const char *text, size_t size);

struct launcher {
	const struct conf *conf;
	const char *node;
	char *dir; /* the node's folder, absolute; also the working directory */
	uid_t agent_uid;
	gid_t agent_gid;
	struct journal *journal;
	struct seal_verify_key *key;
	struct seal_root root;	      /* that was verified last; it signs many orders */
	struct cgroups *cgroups;      /* NULL: this machine has none, or node.cgroup is off */
	struct attempt_set *accepted; /* attempts whose orders were accepted and have not expired */
	struct launcher_child *children;
	int child_count, child_capacity;
	struct launcher_idle idle[LAUNCHER_IDLE_MOST];
	int idle_count, reusable_count; /* reusable: children that may become idle */
	int idle_least;			/* the lowest idle_count since the last poll */
	int idle_sockets[2];		/* keepers send to the second that they are idle */
	int adopted;			/* attempts of an earlier launcher, at the last poll */
	int64_t space_adopted;		/* reserved for their records, as far as known */
	bool space_is_unknown;		/* of at least one it is unknown */
	int64_t space_found;		/* was reserved when this launcher started */
	int64_t space;			/* reserved for the children's records */
	int cpus;			/* that the children have */
	int64_t truncate_from;		/* a truncation up to an earlier position does not pay */
	struct lease lease;		/* of the node, as last read; all 0 = none yet in this boot */
	int64_t lease_at;		/* when to read it again */
	int64_t poll_at;		/* when to poll what causes no event */
	struct launcher_dry *dry;	/* attempts of a dry run; NULL: this launcher forks keepers */
	int signals;			/* signalfd */
	bool stop;			/* SIGTERM */
	bool end_all;			/* SIGUSR1 */
	bool end_again;			/* a keeper's socket was full, so end_all has to be repeated */

	char *agent_path;
	launcher_take *agent_take;
	pid_t agent_pid;
	int agent_socket; /* -1: procmgrd does not run */
	int64_t agent_started_at, agent_start_at;
	int64_t agent_pause; /* before the next start */
};

/* launcher_spool.c: make the node's folders where they are absent, check and enter them (chdir). */
bool launcher_spool_enter(struct launcher *l, struct err *e);
/* Make cache/, or give it back to procmgrd. */
bool launcher_spool_cache(const struct launcher *l, struct err *e);
/* Make the folder of an attempt and its control socket; -1 where that fails or the folder exists. */
int launcher_spool_make(const struct record_key *key, struct err *e);
/* Must the attempt not outlive the node's lease? */
bool launcher_spool_ends_with_lease(const struct record_key *key);
/* The journal space that its keeper has noted for its records, 0 = unknown. */
int64_t launcher_spool_space(const struct record_key *key);
/* The process that keeps the attempt, 0 = none. */
pid_t launcher_spool_keeper(const struct record_key *key);
void launcher_spool_remove(const struct record_key *key);
/* The same for a folder below `above`. */
void launcher_spool_clear(const char *above, const struct record_key *key);
/* The path of an attempt's file ("": of its folder) below `above`. */
void launcher_spool_path(const char *above, const struct record_key *key, const char *file, char path[LAUNCHER_PATH_SIZE]);
bool launcher_spool_has(const struct record_key *key);
/* A keeper's socket has the message; it is full; or there is no keeper any more. */
enum launcher_sent { LAUNCHER_SENT, LAUNCHER_SENT_LATER, LAUNCHER_SENT_NEVER };
/* Send a message to the keeper of an attempt; with the reason where it was not sent. */
enum launcher_sent launcher_spool_send(const struct record_key *key, const struct fields *message, struct err *e);
/* Call `each` for every attempt that has a folder; returns how many there are. */
int launcher_spool_each(struct launcher *l, void (*each)(struct launcher *l, const struct record_key *key));
/* Remove files of groups, when there is no attempt. */
void launcher_spool_tidy(struct launcher *l);
/* Lock the attempt's pid file as daemon_seize does. *kept: a keeper had it before. */
int launcher_spool_seize(const struct record_key *key, bool *kept);
/* The user of its tasks, as far as known. */
uid_t launcher_spool_owner(const struct record_key *key);

/* launcher_idle.c */
bool launcher_idle_open(struct launcher *l, struct err *e);
/* May the next keeper become idle after its attempt? */
bool launcher_idle_is_wanted(const struct launcher *l);
/* Move the folder of an idle keeper to that of the attempt; false where no keeper is idle. */
bool launcher_idle_take(struct launcher *l, const struct record_key *key, struct launcher_idle *idle);
/* Send the keeper its order; false where that failed. */
bool launcher_idle_order(const struct record_key *key, const char *order, const char *node, const char *cores);
/* Read which keepers have become idle. */
void launcher_idle_read(struct launcher *l);
bool launcher_idle_is_keeper(const struct launcher *l, pid_t pid);
/* Is there a folder of an idle keeper under the attempt's name? */
bool launcher_idle_has(const struct record_key *key);
/* A child has ended: was it an idle keeper? */
bool launcher_idle_reaped(struct launcher *l, pid_t pid);
/* Kill an idle keeper. */
void launcher_idle_end(const struct launcher_idle *idle);
/* Kill the idle keepers that were not needed since the last call. */
void launcher_idle_trim(struct launcher *l);
/* Kill all of them, and remove what is in spare/. */
void launcher_idle_clear(struct launcher *l);

/* launcher_lost.c: if no keeper has the attempt, kill what is left of it and write its last records. */
void launcher_lost_recover(struct launcher *l, const struct record_key *key);

/* launcher_reservation.c: reserve journal space for another attempt; false, with the reason, where disk or journal are full. */
bool launcher_reservation_make(struct launcher *l, const struct order *o, struct err *e);
/* Reserve what attempts of an earlier launcher may need. */
void launcher_reservation_open(struct launcher *l);
/* Count an attempt of an earlier launcher. */
void launcher_reservation_adopt(struct launcher *l, const struct record_key *key);

/* launcher_limits.c: write how limits are enforced. */
void launcher_limits_write(const struct launcher *l);

/* launcher_lease.c: kill keepers that have not ended their attempts with the node's lease. */
void launcher_lease_poll(struct launcher *l);

/* launcher_child.c */
void launcher_child_add(struct launcher *l, const struct launcher_child *child);
bool launcher_child_has(const struct launcher *l, const struct record_key *key);
bool launcher_child_is_keeper(const struct launcher *l, pid_t pid);
/* Take the keeper of this attempt (NULL: of any) out of the table; false where there is none. */
bool launcher_child_remove(struct launcher *l, pid_t pid, const struct record_key *key, struct launcher_child *child);

/* launcher_order.c */
void launcher_order_take(struct launcher *l, const struct fields *message);
bool launcher_order_next(const char **list,
			 int *number); /* the next of the other steps or nodes of a message, "18,19"; false after the last */
void launcher_order_reaped(struct launcher *l, pid_t pid);
/* Why an order is refused: it is invalid; its attempt was accepted before; it is late; the node is at fault and should be
 * drained; procmgrd has cancelled it before start. From LATE on, another order for the attempt may follow. */
enum launcher_fault {
	LAUNCHER_FAULT_ORDER,
	LAUNCHER_FAULT_AGAIN,
	LAUNCHER_FAULT_LATE,
	LAUNCHER_FAULT_NODE,
	LAUNCHER_FAULT_CANCELLED
};
/* Read and verify the order of a message. order->fields stays NULL, with the reason, where it is not signed or cannot be run. */
bool launcher_order_read(struct launcher *l, const struct fields *message, struct order *order, struct err *e);
/* Is the order valid for this attempt? Picks the attempt's element. False with the reason, unless the order could not be read. */
bool launcher_order_verify(const struct launcher *l, struct order *order, const struct record_key *asked, int64_t now,
			   enum launcher_fault *fault, struct err *e);

/* launcher_dry.c: instead of keepers */
struct launcher_dry *launcher_dry_new(void);
void launcher_dry_start(struct launcher *l, const struct order *o, const struct record_key *key);
bool launcher_dry_send(struct launcher *l, const struct record_key *key,
		       const struct fields *message);	 /* false: it is not there */
void launcher_dry_gather(struct launcher *l, bool more); /* write the records of one message together */
void launcher_dry_end_all(struct launcher *l);		 /* end all that wait */

/* launcher_control.c */
void launcher_control_take(struct launcher *l, const char *text, size_t size);
void launcher_control_end_all(struct launcher *l);
/* Make the control message for keepers of a message of procmgrd; NULL, with the reason, where it is invalid. */
struct fields *launcher_control_check(const struct fields *message, struct err *e);

/* launcher_agent.c */
/* Find the program procmgrd, and give `take` each message that it sends. */
bool launcher_agent_find(struct launcher *l, launcher_take *take, struct err *e);
void launcher_agent_poll(struct launcher *l); /* start it, if it is due */
void launcher_agent_read(struct launcher *l, bool all);
/* Answer a control message by its number. taken false: not every keeper has it, and it has to be sent again. */
void launcher_agent_answer(const struct launcher *l, int64_t id, bool taken);
void launcher_agent_reaped(struct launcher *l);
void launcher_agent_stop(struct launcher *l);

#endif
