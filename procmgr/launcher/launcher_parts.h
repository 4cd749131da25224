/* launcher_parts.h - the launcher's one object and how its files hang together:
 *
 * launcher.c is start, loop and end; launcher_spool.c the node's folders and the sockets of its keepers;
 * launcher_spare.c keeps them for the next; launcher_order.c decides
 * whether an order is believed and forks its keeper; launcher_room.c whether its records will find room; launcher_limits.c says which limits hold how; launcher_lost.c ends what a
 * dead keeper has left; launcher_lease.c what a hanging one has; launcher_control.c passes control messages on; launcher_dry.c
 * stands in for keepers when nothing is to be run; launcher_agent.c keeps procmgrd running. */
#ifndef ROTA_PROCMGR_LAUNCHER_PARTS_H
#define ROTA_PROCMGR_LAUNCHER_PARTS_H

#include <sys/types.h>

#include "lib/order.h"
#include "lib/seal_tree.h"
#include "procmgr/launcher/launcher.h"
#include "procmgr/keeper/fence.h"
#include "procmgr/record/lease.h"
#include "procmgr/record/record.h"
#include "procmgr/record/attempt_set.h"

enum { LAUNCHER_MESSAGE_LARGEST = 128 * 1024, LAUNCHER_SPARE_MOST = 64, LAUNCHER_PATH_SIZE = RECORD_KEY_SIZE + 32 };

/* A keeper that this launcher forked. */
struct launcher_child {
	pid_t pid;
	struct record_key key;
	int64_t room; /* for its records */
	int cpus;
	int ctl;      /* the keeper's socket, to be used again with its folder; -1: it is the keeper's alone */
};

/* A keeper that waits for an attempt, with its folder in spare/. */
struct launcher_spare {
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
	struct seal_root root; /* under which orders were signed last */
	struct fence *fence; /* NULL: none on this machine, or switched off */
	struct attempt_set *accepted; /* attempts whose orders were accepted and have not expired */
	struct launcher_child *children;
	int child_count, child_room;
	struct launcher_spare spare[LAUNCHER_SPARE_MOST];
	int spare_count, spare_lent; /* lent: children that may become spare */
	int spare_least;	     /* how many there were at least since the last look */
	int spare_ends[2];	     /* keepers write to the second that they are free */
	int adopted;	      /* attempts that an earlier launcher had started, at the last look */
	int64_t room_adopted; /* for their records, together, as far as is known */
	bool room_unknown;    /* of one at least it is not */
	int64_t room_found;   /* reserved when this launcher started */
	int64_t room;	      /* for those of the children, together */
	int cpus;	      /* of the children, together */
	int64_t truncate_from; /* position before which it does not pay to drop the journal's front */
	struct lease lease;   /* of the node, as last read; all 0 = none yet in this boot */
	int64_t lease_at;     /* when to look at it again */
	int64_t look_at;      /* when to look for what nobody tells of */
	struct launcher_dry *dry; /* attempts that run nothing, NULL: this launcher forks keepers */
	int signals;	      /* signalfd */
	bool stop;	      /* SIGTERM */
	bool end_all;	      /* SIGUSR1 */
	bool end_again;	      /* not every keeper could be told of that yet */

	char *agent_path;
	launcher_take *agent_take;
	pid_t agent_pid;
	int agent_socket; /* -1: procmgrd does not run */
	int64_t agent_started_at, agent_start_at;
	int64_t agent_pause; /* before the next start */
};

/* launcher_spool.c: the node's folders, made where they are absent, checked, entered (chdir). */
bool launcher_spool_enter(struct launcher *l, struct err *e);
/* Make cache/, or make it procmgrd's again. */
bool launcher_spool_cache(const struct launcher *l, struct err *e);
/* Make the folder of an attempt with its control socket; -1 where that fails or it is there already. */
int launcher_spool_make(const struct record_key *key, struct err *e);
/* Is there something that must not outlive the node's lease? */
bool launcher_spool_is_fenced(const struct record_key *key);
/* Journal space that its keeper noted for its records, 0 = it has not. */
int64_t launcher_spool_room(const struct record_key *key);
/* The process that keeps it, 0 = none does. */
pid_t launcher_spool_keeper(const struct record_key *key);
void launcher_spool_remove(const struct record_key *key);
/* The same for a folder below `above`. */
void launcher_spool_clear(const char *above, const struct record_key *key);
/* The path of a file ("": the folder itself) of an attempt below `above`. */
void launcher_spool_path(const char *above, const struct record_key *key, const char *file, char path[LAUNCHER_PATH_SIZE]);
bool launcher_spool_has(const struct record_key *key);
/* A message for a keeper: its socket has it; it lives, and its socket is full; there is none any more. */
enum launcher_sent { LAUNCHER_SENT, LAUNCHER_SENT_LATER, LAUNCHER_SENT_NEVER };
/* Send a control message to the keeper of an attempt; the reason where it was not sent. */
enum launcher_sent launcher_spool_send(const struct record_key *key, const struct fields *message, struct err *e);
/* Call `each` for every attempt that has a folder; returns how many there are. */
int launcher_spool_each(struct launcher *l, void (*each)(struct launcher *l, const struct record_key *key));
/* Remove what groups have left behind, when there is no attempt. */
void launcher_spool_tidy(struct launcher *l);
/* Take the attempt's pid file, as daemon_seize; *kept: a keeper had it before. */
int launcher_spool_seize(const struct record_key *key, bool *kept);
/* Whose tasks they are, as far as it is known. */
uid_t launcher_spool_owner(const struct record_key *key);

/* launcher_spare.c */
bool launcher_spare_open(struct launcher *l, struct err *e);
/* May the next keeper stay when its attempt is over? */
bool launcher_spare_wanted(const struct launcher *l);
/* Make the folder of a keeper that is free that of the attempt; false where there is none. */
bool launcher_spare_take(struct launcher *l, const struct record_key *key, struct launcher_spare *spare);
/* Give the keeper its order; false where it did not get it. */
bool launcher_spare_order(const struct record_key *key, const char *order, const char *node, const char *cores);
/* Hear which keepers are free now. */
void launcher_spare_read(struct launcher *l);
bool launcher_spare_is_keeper(const struct launcher *l, pid_t pid);
/* Does the folder of this attempt wait for another one? */
bool launcher_spare_has(const struct record_key *key);
/* A process has ended: was it a keeper that was free? */
bool launcher_spare_reaped(struct launcher *l, pid_t pid);
/* End such a keeper. */
void launcher_spare_end(const struct launcher_spare *spare);
/* End those that were not wanted since this was called before. */
void launcher_spare_trim(struct launcher *l);
/* End them all, and remove what is in spare/. */
void launcher_spare_clear(struct launcher *l);

/* launcher_lost.c: where no keeper has the attempt, end what is left of it and say so in the journal. */
void launcher_lost_recover(struct launcher *l, const struct record_key *key);

/* launcher_room.c: may another attempt begin, as far as disk and journal go? False with the reason. */
bool launcher_room_for(struct launcher *l, const struct order *o, struct err *e);
/* Hold what those under way may need that an earlier launcher had started. */
void launcher_room_open(struct launcher *l);
/* Count in an attempt that an earlier launcher had started. */
void launcher_room_adopt(struct launcher *l, const struct record_key *key);

/* launcher_limits.c: say which limits hold how. */
void launcher_limits_write(const struct launcher *l);

/* launcher_lease.c: end what no keeper has ended with the node's lease. */
void launcher_lease_turn(struct launcher *l);

/* launcher_child.c */
void launcher_child_add(struct launcher *l, const struct launcher_child *child);
bool launcher_child_has(const struct launcher *l, const struct record_key *key);
bool launcher_child_is_keeper(const struct launcher *l, pid_t pid);
/* Take the keeper of this attempt (NULL: of any) out of the table; false where there is none. */
bool launcher_child_remove(struct launcher *l, pid_t pid, const struct record_key *key, struct launcher_child *child);

/* launcher_order.c */
void launcher_order_take(struct launcher *l, const struct fields *message);
bool launcher_order_next(const char **list, int *number); /* of the others that a message is for, "18,19"; false behind the last */
void launcher_order_reaped(struct launcher *l, pid_t pid);
/* Why an order is not run: something is wrong with it; its attempt runs or ran here; it came too late, so that another order may
 * follow; the node cannot, and should get no more; procmgrd does not want it any more. From LATE on another may follow. */
enum launcher_fault {
	LAUNCHER_FAULT_ORDER,
	LAUNCHER_FAULT_AGAIN,
	LAUNCHER_FAULT_LATE,
	LAUNCHER_FAULT_NODE,
	LAUNCHER_FAULT_WITHDRAWN
};
/* The order in this message; order->fields stays NULL, with the reason, where it is not signed or cannot be run. */
bool launcher_order_read(struct launcher *l, const struct fields *message, struct order *order, struct err *e);
/* Is it, as it was read, to be run for this attempt? Picks that attempt's element. False with the reason, unless it could not be read. */
bool launcher_order_believe(const struct launcher *l, struct order *order, const struct record_key *asked, int64_t now,
			    enum launcher_fault *fault, struct err *e);

/* launcher_dry.c: in place of keepers */
struct launcher_dry *launcher_dry_new(void);
void launcher_dry_start(struct launcher *l, const struct order *o, const struct record_key *key);
bool launcher_dry_send(struct launcher *l, const struct record_key *key, const struct fields *message); /* false: none such */
void launcher_dry_gather(struct launcher *l, bool more); /* nothing being started, what a message leads to is written in one go */
void launcher_dry_end_all(struct launcher *l); /* what waits, which nobody else could */

/* launcher_control.c */
void launcher_control_take(struct launcher *l, const char *text, size_t size);
void launcher_control_end_all(struct launcher *l);
/* The control message for keepers that a checked message of procmgrd's makes; NULL with the reason. */
struct fields *launcher_control_check(const struct fields *message, struct err *e);

/* launcher_agent.c */
/* Find the program procmgrd, and give `take` each message that procmgrd sends. */
bool launcher_agent_find(struct launcher *l, launcher_take *take, struct err *e);
void launcher_agent_turn(struct launcher *l); /* start it when its time has come */
void launcher_agent_read(struct launcher *l, bool all);
/* Tell it that keepers have the control message of this number; taken false: not all, and it is to be sent again. */
void launcher_agent_answer(const struct launcher *l, int64_t id, bool taken);
void launcher_agent_reaped(struct launcher *l);
void launcher_agent_stop(struct launcher *l);

#endif
