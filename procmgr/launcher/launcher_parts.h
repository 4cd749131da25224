/* launcher_parts.h - the launcher's object, and the functions of its files.
 *
 * Calls go one way: launcher.c and launcher_control.c (messages) call launcher_order.c (starts), which calls launcher_lost.c,
 * launcher_idle.c, launcher_child.c, launcher_tmpdir.c and launcher_reservation.c; these call launcher_spool.c (folders and sockets).
 * launcher_agent.c calls only the function that launcher.c registers. */
#ifndef ROTA_PROCMGR_LAUNCHER_PARTS_H
#define ROTA_PROCMGR_LAUNCHER_PARTS_H

#include <sys/types.h>

#include "lib/order.h"
#include "lib/seal_tree.h"
#include "procmgr/launcher/launcher.h"
#include "procmgr/keeper/cgroups.h"
#include "procmgr/record/record.h"
#include "procmgr/record/attempt_set.h"

enum { LAUNCHER_MESSAGE_LARGEST = 128 * 1024, LAUNCHER_PATH_SIZE = RECORD_KEY_SIZE + 32 };

/* A keeper that this launcher forked and that runs an attempt. */
struct launcher_child {
	pid_t pid;
	struct record_key key;
	int64_t space; /* journal space in bytes that is reserved for the attempt's records */
	int cpus;
	int ctl; /* the keeper's control socket, which it uses again if it becomes idle; -1 if the keeper ends with its attempt */
};

/* An idle keeper, with its folder in spare/. */
struct launcher_idle {
	pid_t pid;
	struct record_key key; /* the attempt after which the folder is named */
	int ctl;	       /* the idle keeper's socket */
};

struct launcher;
typedef void launcher_take(struct launcher *l, const char *text, size_t size);

/* Data of one file each: the file defines the struct, and no other file reads or writes its members. */
struct launcher_agent;	  /* launcher_agent.c: procmgrd's process and socket */
struct launcher_children; /* launcher_child.c: keepers that have an attempt */
struct launcher_control;  /* launcher_control.c: control messages that are not sent yet, and the next truncation of the journal */
struct launcher_dry;	  /* launcher_dry.c: attempts of a dry run */
struct launcher_idle_list;   /* launcher_idle.c: idle keepers */
struct launcher_lease;	     /* launcher_lease.c: the node's lease as last read */
struct launcher_loop;	     /* launcher.c: signals, and the time of the next poll */
struct launcher_tmpdir;	     /* launcher_tmpdir.c: the process that removes folders TMPDIR */
struct launcher_reservation; /* launcher_reservation.c: journal space of attempts of an earlier launcher */

/* The state that all files of the launcher share. The comment of a member names the file that writes the member; others only
 * read it. */
struct launcher {
	const struct conf *conf;      /* launcher.c, once */
	const char *node;	      /* launcher.c, once */
	char *dir;		      /* launcher_spool.c, once: absolute path of the node's folder, the working directory */
	uid_t agent_uid;	      /* launcher_spool.c, once */
	gid_t agent_gid;	      /* launcher_spool.c, once */
	struct journal *journal;      /* launcher.c, once */
	struct seal_verify_key *key;  /* launcher.c, once */
	struct keeper_keys *keys;     /* launcher_credential.c, once: this node's keys for credentials; NULL: the node has none */
	struct seal_root root;	      /* launcher_order.c: the signed root that was verified last; one root covers many orders */
	struct cgroups *cgroups;      /* launcher.c, once; NULL if this machine has no cgroups, or node.cgroup is off */
	struct attempt_set *accepted; /* launcher.c, launcher_order.c: accepted or cancelled attempts, until orders expire */
	bool stop;		      /* launcher.c: SIGTERM came, so the launcher ends and keepers continue */
	bool end_all;		      /* launcher.c: SIGUSR1 came, so the launcher ends all attempts, then itself */

	struct launcher_agent *agent;
	struct launcher_children *children;
	struct launcher_control *control;
	struct launcher_dry *dry;	 /* NULL if this launcher forks keepers */
	struct launcher_idle_list *idle; /* NULL before launcher_idle_open */
	struct launcher_lease *lease;
	struct launcher_loop *loop;
	struct launcher_reservation *reservation;
	struct launcher_tmpdir *tmpdir;
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
/* Is it certain that the attempt has no folder in spool/? */
bool launcher_spool_is_gone(const struct record_key *key);
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
int launcher_idle_count(const struct launcher *l);
/* Returns the descriptor that can be read when a keeper has become idle. */
int launcher_idle_socket(const struct launcher *l);
/* Returns the descriptor to which keepers write when they become idle. */
int launcher_idle_keeper_socket(const struct launcher *l);
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

/* launcher_tmpdir.c: remove the folders TMPDIR of all attempts of this node that have no spool folder. */
struct launcher_tmpdir *launcher_tmpdir_new(void);
void launcher_tmpdir_sweep(struct launcher *l);
bool launcher_tmpdir_is_remover(const struct launcher *l, pid_t pid);
/* Handle the end of the process that removes the folders TMPDIR. Returns false if `pid` is another process. */
bool launcher_tmpdir_reaped(struct launcher *l, pid_t pid);

/* launcher_credential.c: read this node's keys for credentials, if the node has keys. */
void launcher_credential_open(struct launcher *l);
void launcher_credential_free(struct launcher *l);
/* Destroy the credentials of an attempt whose keeper has died, after its processes have been killed. */
void launcher_credential_recover(const struct launcher *l, const struct record_key *key);
/* Destroy the credentials that ended attempts have left. */
void launcher_credential_tidy(const struct launcher *l);

/* launcher_reservation.c: reserve journal space for another attempt. Returns false if the disk or the journal is full; `e` has
 * the reason. */
bool launcher_reservation_make(struct launcher *l, const struct order *o, struct err *e);
struct launcher_reservation *launcher_reservation_new(void);
/* Reserve journal space for the attempts of an earlier launcher. */
void launcher_reservation_open(struct launcher *l);
/* Reset the sum of journal space of an earlier launcher's attempts to 0: launcher_reservation_adopt adds each of them. */
void launcher_reservation_reset(struct launcher *l);
/* Add the journal space of an attempt of an earlier launcher. */
void launcher_reservation_adopt(struct launcher *l, const struct record_key *key);

/* launcher_limits.c: write to the file `limits` how memory and CPU limits are enforced. */
void launcher_limits_write(const struct launcher *l);

/* launcher_lease.c: kill keepers that have not ended their attempts with the node's lease. */
struct launcher_lease *launcher_lease_new(void);
void launcher_lease_poll(struct launcher *l);
int64_t launcher_lease_next(const struct launcher *l); /* returns when to call launcher_lease_poll */

/* launcher_child.c */
struct launcher_children *launcher_child_new(void);
void launcher_child_free(struct launcher_children *children);
int launcher_child_count(const struct launcher *l);
int launcher_child_reusable(const struct launcher *l);	/* number of keepers that may become idle */
int64_t launcher_child_space(const struct launcher *l); /* journal space that is reserved for the keepers' records */
int launcher_child_cpus(const struct launcher *l);	/* CPUs of the keepers' attempts */
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
/* Why a launch request is refused: it is invalid (ORDER); its attempt was accepted before and is on the node (AGAIN); its
 * attempt, or a later one of the step, was accepted before and the node has nothing of it any more (GONE); the request has
 * expired (LATE); the node is at fault and should be drained (NODE); procmgrd cancelled the attempt before start (CANCELLED).
 * After LATE, NODE and CANCELLED, another launch request for the attempt may follow. */
enum launcher_fault {
	LAUNCHER_FAULT_ORDER,
	LAUNCHER_FAULT_AGAIN,
	LAUNCHER_FAULT_GONE,
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
struct launcher_control *launcher_control_new(void);
/* Has launcher_control_end_all to be called again, because a keeper's socket was full? */
bool launcher_control_is_end_unsent(const struct launcher *l);
void launcher_control_take(struct launcher *l, const char *text, size_t size);
void launcher_control_end_all(struct launcher *l);
/* Make the control message for keepers from a message of procmgrd. Returns NULL if the message is invalid; `e` has the reason. */
struct fields *launcher_control_check(const struct fields *message, struct err *e);

/* launcher_agent.c */
/* Find the program procmgrd, and register `take` as the function for its messages. */
bool launcher_agent_find(struct launcher *l, launcher_take *take, struct err *e);
void launcher_agent_free(struct launcher *l);
pid_t launcher_agent_pid(const struct launcher *l);    /* returns 0 if procmgrd does not run */
int launcher_agent_socket(const struct launcher *l);   /* returns -1 if procmgrd does not run */
int64_t launcher_agent_next(const struct launcher *l); /* returns when procmgrd is to be started; INT64_MAX if it runs */
void launcher_agent_poll(struct launcher *l);	       /* start procmgrd if the time for it has come */
void launcher_agent_read(struct launcher *l, bool all);
/* Answer procmgrd's control message `id`. If `taken` is false, not every keeper has the message, and procmgrd sends it again. */
void launcher_agent_answer(const struct launcher *l, int64_t id, bool taken);
void launcher_agent_reaped(struct launcher *l);
void launcher_agent_stop(struct launcher *l);

#endif
