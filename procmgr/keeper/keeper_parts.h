/* keeper_parts.h - the keeper's one object and how its files hang together:
 *
 * keeper.c is the sequence (prolog, tasks, epilog, end) and the only one who decides what comes next; keeper_wait.c turns the
 * loop meanwhile; keeper_control.c does what control messages and clocks ask for; keeper_lease.c ends it with the lease; keeper_task.c starts and reaps tasks;
 * keeper_memory.c holds the memory limit where no control group does; keeper_hook.c runs a prolog or epilog; keeper_if_changed.c looks whether the step need run; keeper_group.c shares a prolog between the steps of a group; keeper_sweep.c kills;
 * keeper_record.c writes the journal; keeper_next.c gets it another attempt; keeper_file.c reads what is to be run; keeper_dry.c only writes the journal. */
#ifndef ROTA_PROCMGR_KEEPER_PARTS_H
#define ROTA_PROCMGR_KEEPER_PARTS_H

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/pattern.h"
#include "lib/seal.h"
#include "procmgr/keeper/cores.h"
#include "procmgr/keeper/keeper.h"
#include "procmgr/record/lease.h"
#include "procmgr/record/record.h"
#include "procmgr/keeper/stats.h"
#include "procmgr/keeper/task.h"

enum { KEEPER_TAIL_SIZE = 4096, KEEPER_CAUSE_SIZE = 32, KEEPER_TOLD_MOST = 8 };
enum { KEEPER_TOLD_KEEPER = 1, KEEPER_TOLD_RUN = 2, KEEPER_TOLD_TASK = 4, KEEPER_TOLD_DONE = 8 };

struct keeper_task {
	pid_t pid;  /* 0: over */
	int report; /* -1: it runs its program */
	int counts; /* of stats_open */
	int rank;
	int64_t started_at;
	char error[512]; /* why it never ran its program */
};

/* A hook under way. */
struct keeper_hook {
	pid_t pid;
	bool users;	    /* runs as the user */
	int report, output; /* -1: closed */
	int status;
	char error[512];
	char tail[2 * KEEPER_TAIL_SIZE];
	size_t tail_length;
};

/* A file of the cache, as its hash says it is. */
struct keeper_blob {
	char hash[SEAL_HEX_SIZE]; /* "": none */
	char *bytes;		  /* NUL-terminated */
	size_t size;
};

/* A file that held what the order names: those lines of the script. What it was just before it was read, long after its last change. */
struct keeper_seen {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	int pre_from, pre_to, from, to;
};

/* What a keeper that had attempts before knows from them. */
struct keeper_known {
	struct keeper_blob environment, script; /* of the last attempt, where they are not large */
	struct keeper_seen seen;		/* the script in its folder; all 0: not known */
	bool pbs;				/* the script has lines for PBS */
	bool brief;				/* its tasks took a moment only */

	struct task_owner owner;     /* of the last attempt */
	int64_t owner_until;	     /* when to look it up anew; 0: nobody is known */
	char group[RECORD_KEY_SIZE]; /* whose empty control group is left for the next attempt; "": nobody's */
	int64_t group_mem_mb;	     /* its limit */
};

struct keeper;

/* What the loop (keeper_wait.c) calls. keeper.c registers it, so the loop calls none of the files that wait in it. */
struct keeper_handlers {
	void (*control)(struct keeper *k);	  /* the control socket can be read */
	void (*clocks)(struct keeper *k);	  /* after every poll: timers that may have run out */
	int64_t (*next)(const struct keeper *k);  /* when the next timer runs out, 0 = never */
	void (*hook_report)(struct keeper *k);	  /* the hook's process reports its start, or why it failed */
	void (*hook_output)(struct keeper *k);	  /* the hook has written something */
	void (*task_report)(struct keeper *k, struct keeper_task *t);
	bool (*task_reap)(struct keeper *k, pid_t pid); /* a child has ended; false: it is not a task */
	bool (*hook_reap)(struct keeper *k, pid_t pid); /* false: it is not the hook */
};

struct keeper {
	const struct keeper_job *job;
	const struct keeper_handlers *handlers;
	const struct order *order;
	struct record_key key;
	char name[RECORD_KEY_SIZE];  /* of spool folder and control group */
	char mark[RECORD_MARK_SIZE]; /* in the environment of its processes */
	const struct fence *fence;   /* NULL: none, or its group could not be made */
	struct cores cores;	     /* it is kept to, where no cpuset does that */
	struct journal *journal;
	struct fields *told[KEEPER_TOLD_MOST]; /* records that are not in the journal yet */
	int told_count;
	unsigned told_kinds;	 /* which, as far as somebody asks */
	int64_t tell_at;	 /* until when they may wait for the tasks' end; 0: for nothing */
	bool brief;		 /* the tasks of the attempt before took a moment only */
	int signals;		 /* signalfd of SIGCHLD */
	struct task_owner owner; /* as keeper_known has it */
	struct task_limit limits[TASK_LIMIT_MOST];
	int limit_count;
	char *script_path; /* absolute */
	char *node_file;   /* the same; NULL: nobody asks for it */
	const struct keeper_blob *environment;

	struct keeper_task *tasks;
	int task_count, live;
	struct keeper_hook *hook; /* NULL: none under way */

	bool go;	/* control `go` came */
	bool end_asked; /* control `end` came, or whatever ends a hold */
	bool epilogs;	/* to be run */
	bool running;	/* the record `run` is written */
	bool suspended;
	bool cleared;		       /* the first task's output files are empty already */
	bool clean;		       /* nothing of the user's is left, and none was started since */
	bool lent;		       /* a task's process was slow to begin, and what it reads is not freed */
	bool done;		       /* the record `done` is written: every task has ended */
	char cause[KEEPER_CAUSE_SIZE]; /* why it is being ended, "" = it is not */
	int64_t kill_at;	       /* when SIGKILL follows, 0 = never */
	int64_t limit_at;	       /* when the time limit strikes, 0 = never or suspended */
	int64_t limit_s;	       /* as it is now, 0 = none */
	int64_t warn_at;	       /* when the signal ahead of the limit is sent, 0 = never, or it was */
	int64_t warned_at;	       /* when it was sent, 0 = not yet */
	int64_t warned_paused;	       /* what `paused` was then */
	int64_t memory_at;	       /* when to measure its memory, 0 = never */
	int64_t memory_pause;	       /* before the next time */
	int64_t paused, paused_at;     /* how long it was suspended, and since when it is */
	struct lease lease;	       /* of the node, as last read */
	int64_t lease_at;	       /* when to look at it again, 0 = never */
	bool fenced;		       /* it ran out: nothing of the user's is started any more */
	struct fence_figures figures;  /* as last read */

	int exit_code, signal; /* of the step on this node */
	bool failed_start;
	bool failed_node; /* it is the node's fault, not the step's */
	bool failed_hook; /* a prolog failed */
	bool up_to_date;  /* the step's outputs are, so its tasks are not started */
	bool failed_site; /* and it was the site's, here or at the group's holder */
	char message[512];
	char drain[512];
};

/* keeper_wait.c: handle what comes, once at least, until over(k), or until the time `deadline` (of clock_boot_us; 0 = none); true
 * when over. */
bool keeper_wait(struct keeper *k, bool (*over)(const struct keeper *k), int64_t deadline);

/* keeper_next.c: leave the folder to the launcher; false where it is to be removed. */
bool keeper_next_offer(const struct keeper *k);
/* Wait for another attempt, whose order `order` then holds; false: there will be none. */
bool keeper_next_take(struct keeper_job *job, struct order *order);

/* keeper_control.c */
void keeper_control_read(struct keeper *k);
void keeper_control_clocks(struct keeper *k);
int64_t keeper_control_next(const struct keeper *k); /* when keeper_control_clocks has something to do, 0 = never */
void keeper_control_limit(struct keeper *k, int64_t limit_s); /* from its start, without suspensions; 0 = none */

/* keeper_ending.c */
/* Does something of the user's run that signals and endings are for? The site's hooks have a time limit of their own. So have the
 * epilogs, except at the end of the node's lease. */
bool keeper_ending_is_busy(const struct keeper *k);
void keeper_ending_ask(struct keeper *k, const char *cause);  /* SIGTERM now, SIGKILL after the grace time; "": cancelled */
void keeper_ending_kill(struct keeper *k, const char *cause); /* SIGKILL now */
void keeper_ending_clock(struct keeper *k, int64_t now);      /* SIGKILL where the grace time is over */

/* keeper_memory.c */
void keeper_memory_begin(struct keeper *k); /* something of the user's begins */
void keeper_memory_look(struct keeper *k);

/* keeper_lease.c */
/* Write into the pid file which attempt this is, whether there may be something of the user's that must not outlive the lease, and
 * how much journal space its records take. */
bool keeper_lease_note(const struct keeper *k, bool fence, struct err *e);
void keeper_lease_begin(struct keeper *k); /* without a lease, it ends before it has begun */
void keeper_lease_look(struct keeper *k);
void keeper_lease_over(struct keeper *k); /* nothing of the user's is left, or will be */

/* keeper_task.c */
void keeper_task_start(struct keeper *k); /* all tasks of this node */
void keeper_task_report(struct keeper *k, struct keeper_task *t);
bool keeper_task_reap(struct keeper *k, pid_t pid); /* false: it is no task */
/* Empty the output that several tasks may share, before any of them can write to it. */
void keeper_task_clear(struct keeper *k);

struct pattern_facts keeper_task_facts(const struct keeper *k, int rank); /* what paths of this task may name */

/* keeper_if_changed.c: whether the tasks are to run; false where outputs are up to date, or where that cannot be found out. */
bool keeper_if_changed(struct keeper *k);

/* keeper_hook.c: false where it failed; nothing to run is success. */
bool keeper_hook_site(struct keeper *k, const char *name, const char *path);
bool keeper_hook_user(struct keeper *k, const char *name, const char *path);
/* Run one program as the user without a record. */
bool keeper_hook_quiet(struct keeper *k, const struct task_start *start);
/* Call a function as the user, in a process of its own: what it returns, and in `text` what it has written to descriptor 1; -1: it did
 * not get as far, and `text` says why. */
int keeper_hook_call(struct keeper *k, int (*function)(const void *argument), const void *argument, char text[KEEPER_TAIL_SIZE]);
void keeper_hook_output(struct keeper *k);
void keeper_hook_report(struct keeper *k);
bool keeper_hook_reap(struct keeper *k, pid_t pid);

/* keeper_group.c */
bool keeper_group_wait(struct keeper *k, struct err *e);
void keeper_group_tell(struct keeper *k, bool good);
void keeper_group_over(struct keeper *k);

/* keeper_sweep.c */
void keeper_sweep_signal(const struct keeper *k, int signal); /* to every process of the step */
void keeper_sweep_signal_but(const struct keeper *k, int signal, pid_t but); /* to every other process of the step */
void keeper_sweep_freeze(struct keeper *k, bool frozen); /* stop every process of the step, or let them go on */
void keeper_sweep_kill(const struct keeper *k);
bool keeper_sweep_user(struct keeper *k); /* until nothing of the user's is left */
bool keeper_sweep_all(struct keeper *k);  /* until nothing at all is left */

/* keeper_record.c: what is told is written by keeper_record_flush, together */
void keeper_record_flush(struct keeper *k);
/* The tasks have begun: that may be written together with how they end, where that is to be expected in a moment. */
void keeper_record_linger(struct keeper *k);
/* Did they take no longer than that? */
bool keeper_record_brief(const struct keeper *k);
void keeper_record_plain(struct keeper *k, const char *kind);
void keeper_record_keeper(struct keeper *k, pid_t pid);
void keeper_record_hook(struct keeper *k, const char *name, int64_t usec);
void keeper_record_run(struct keeper *k, pid_t pid);
void keeper_record_task(struct keeper *k, const struct keeper_task *t, pid_t pid, int status, const char *cause,
			const struct stats *stats);
void keeper_record_done(struct keeper *k);
void keeper_record_end(struct keeper *k);
/* What happened to the step on this node, as `done` says it. */
void keeper_record_outcome(const struct keeper *k, const char **cause, const char **outcome);

/* keeper_file.c: read cache/<hash> whole, where it is not in the blob already; refuses what is too large or hashes otherwise. */
bool keeper_file_read(struct keeper_blob *blob, const char *hash, struct err *e);
/* Write the step's script into the spool folder, the owner's, mode 0500. */
bool keeper_file_script(struct keeper *k, struct keeper_known *known, struct err *e);
/* Behind that: where the script was written for PBS, a file in the spool folder that names the node of each task. */
bool keeper_file_nodes(struct keeper *k, const struct keeper_known *known, struct err *e);
/* The attempt is over: forget what is large. */
void keeper_file_trim(struct keeper_known *known);

#endif
