/* keeper_parts.h - the keeper's object, and the functions of its files.
 *
 * Calls go one way: keeper.c (the sequence) calls all others; keeper_task.c and keeper_hook.c start processes; keeper_control.c
 * and keeper_lease.c act on them through keeper_ending.c and keeper_sweep.c; keeper_wait.c (the loop) calls none of them, but the
 * handlers that keeper.c registers; keeper_record.c writes the journal. */
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

enum { KEEPER_TAIL_SIZE = 4096, KEEPER_CAUSE_SIZE = 32, KEEPER_RECORDS_MOST = 8 };
enum { KEEPER_RECORD_KEEPER = 1, KEEPER_RECORD_RUN = 2, KEEPER_RECORD_TASK = 4, KEEPER_RECORD_DONE = 8 };

struct keeper_task {
	pid_t pid;  /* 0: it has ended */
	int report; /* -1: the program runs */
	int counts; /* of stats_open */
	int rank;
	int64_t started_at;
	char error[512]; /* why the program did not start */
};

/* A hook that runs. */
struct keeper_hook {
	pid_t pid;
	bool users;	    /* runs as the user */
	int report, output; /* -1: closed */
	int status;
	char error[512];
	char tail[2 * KEEPER_TAIL_SIZE];
	size_t tail_length;
};

/* A file of the cache whose hash is verified. */
struct keeper_blob {
	char hash[SEAL_HEX_SIZE]; /* "": none */
	char *bytes;		  /* NUL-terminated */
	size_t size;
};

/* The state of a script file when its lines were verified, long after its last change. */
struct keeper_script_state {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	int pre_from, pre_to, from, to;
};

/* Cached from an attempt for the keeper's next one. */
struct keeper_cache {
	struct keeper_blob environment, script; /* of the last attempt, unless they are large */
	struct keeper_script_state state;	/* of the script in its folder; all 0: unknown */
	bool pbs;				/* the script has lines for PBS */
	bool brief;				/* the tasks of the last attempt took a moment only */

	struct task_owner owner;     /* of the last attempt */
	int64_t owner_until;	     /* when to look it up again; 0: it is unknown */
	char group[RECORD_KEY_SIZE]; /* the attempt whose released cgroup can be reused; "": none */
	int64_t group_mem_mb;	     /* its memory limit */
};

/* Why tasks were not started. */
enum keeper_failure {
	KEEPER_FAILURE_NONE,
	KEEPER_FAILURE_USER_PROLOG,
	KEEPER_FAILURE_SITE_PROLOG, /* here or at the prolog's owner */
	KEEPER_FAILURE_NODE,	    /* the node is at fault */
	KEEPER_FAILURE_LAUNCH,	    /* the step is at fault */
	KEEPER_FAILURE_UP_TO_DATE,  /* --if-changed: not a failure, its outputs are newer than its inputs */
};

struct keeper;

/* Callbacks of the loop (keeper_wait.c). keeper.c registers them, so the loop calls none of the files that wait in it. */
struct keeper_handlers {
	void (*control)(struct keeper *k);	 /* the control socket can be read */
	void (*timers)(struct keeper *k);	 /* after every poll: timers that may have run out */
	int64_t (*next)(const struct keeper *k); /* when the next timer runs out, 0 = never */
	void (*hook_report)(struct keeper *k);	 /* the hook's process reports its start, or why it failed */
	void (*hook_output)(struct keeper *k);	 /* the hook has written something */
	void (*task_report)(struct keeper *k, struct keeper_task *t);
	bool (*task_reap)(struct keeper *k, pid_t pid); /* a child has ended; false: it is not a task */
	bool (*hook_reap)(struct keeper *k, pid_t pid); /* false: it is not the hook */
};

struct keeper {
	const struct keeper_job *job;
	const struct keeper_handlers *handlers;
	const struct order *order;
	struct record_key key;
	char name[RECORD_KEY_SIZE];    /* of spool folder and cgroup */
	char tag[RECORD_TAG_SIZE];     /* in the environment of its processes */
	const struct cgroups *cgroups; /* NULL: there are none, or the attempt's cgroup could not be made */
	struct cores cores;	       /* that it has claimed, where no cpuset pins it */
	struct journal *journal;
	struct fields *records[KEEPER_RECORDS_MOST]; /* records that are not in the journal yet */
	int record_count;
	unsigned record_kinds;	 /* which of them have crash points */
	int64_t write_at;	 /* until when they may wait for the tasks' end; 0: not at all */
	bool brief;		 /* the tasks of the attempt before took a moment only */
	int signals;		 /* signalfd of SIGCHLD */
	struct task_owner owner; /* borrowed from keeper_cache */
	struct task_limit limits[TASK_LIMIT_MOST];
	int limit_count;
	char *script_path; /* absolute */
	char *node_file;   /* absolute; NULL: the script does not need it */
	const struct keeper_blob *environment;

	struct keeper_task *tasks;
	int task_count, live;
	struct keeper_hook *hook; /* NULL: none runs */

	bool go;	/* control message `go` came */
	bool end_asked; /* control message `end` came, or another reason not to wait any more */
	bool epilogs;	/* epilogs are to run */
	bool running;	/* the record `run` is written */
	bool suspended;
	bool cleared;			/* the output files of the first task are empty already */
	bool clean;			/* no process of the user is left, and none was started since */
	bool has_slow_start;		/* a task's process was slow to start, so the memory it reads is not freed */
	bool done;			/* the record `done` is written: every task has ended */
	char cause[KEEPER_CAUSE_SIZE];	/* why it is being ended; "": it is not */
	int64_t kill_at;		/* when SIGKILL follows, 0 = never */
	int64_t limit_at;		/* when the time limit is reached, 0 = never, or suspended */
	int64_t limit_s;		/* the current time limit, 0 = none */
	int64_t warn_at;		/* when the warning signal is due, 0 = never, or it was sent */
	int64_t warned_at;		/* when it was sent, 0 = not yet */
	int64_t warned_paused;		/* the value of `paused` then */
	int64_t memory_at;		/* when to measure memory, 0 = never */
	int64_t memory_pause;		/* before the next measurement */
	int64_t paused, paused_at;	/* how long it was suspended, and since when it is */
	struct lease lease;		/* of the node, as last read */
	int64_t lease_at;		/* when to read it again, 0 = never */
	bool lease_lost;		/* the lease has run out: nothing of the user is started any more */
	struct cgroups_figures figures; /* as last read */

	int exit_code, signal; /* of the step on this node */
	enum keeper_failure failure;
	char message[512];
	char drain[512];
};

/* keeper_wait.c: handle events, at least once, until over(k) or until `deadline` (clock_boot_us; 0 = none). Returns over(k). */
bool keeper_wait(struct keeper *k, bool (*over)(const struct keeper *k), int64_t deadline);

/* keeper_next.c: offer keeper and folder to the launcher. False where that is not possible; the caller removes the folder. */
bool keeper_next_offer(const struct keeper *k);
/* Wait for the next attempt and read its order into `order`; false where there will be none. */
bool keeper_next_take(struct keeper_job *job, struct order *order);

/* keeper_control.c */
void keeper_control_read(struct keeper *k);
void keeper_control_timers(struct keeper *k);
int64_t keeper_control_next_timer(const struct keeper *k); /* when keeper_control_timers has something to do, 0 = never */
void keeper_control_limit(struct keeper *k,
			  int64_t limit_s); /* counts from the start of the tasks, without suspensions; 0 = none */

/* keeper_ending.c */
/* Does something of the user's run that signals and endings are for? The site's hooks have a time limit of their own. So have
 * the epilogs, except at the end of the node's lease. */
bool keeper_ending_is_busy(const struct keeper *k);
void keeper_ending_ask(struct keeper *k, const char *cause);  /* SIGTERM now, SIGKILL after the grace time; "": cancelled */
void keeper_ending_kill(struct keeper *k, const char *cause); /* SIGKILL now */
void keeper_ending_timer(struct keeper *k, int64_t now);      /* SIGKILL where the grace time is over */

/* keeper_memory.c */
void keeper_memory_begin(struct keeper *k); /* a process of the user starts */
void keeper_memory_poll(struct keeper *k);

/* keeper_lease.c */
/* Write into the pid file which attempt this is, whether it has to end with the lease, and how much journal space its records
 * take. */
bool keeper_lease_note(const struct keeper *k, bool ends_with_lease, struct err *e);
void keeper_lease_begin(struct keeper *k); /* without a lease, the attempt ends before it starts */
void keeper_lease_poll(struct keeper *k);
void keeper_lease_release(struct keeper *k); /* no process of the user is left, or will be started */

/* keeper_task.c */
void keeper_task_start(struct keeper *k); /* all tasks of this node */
void keeper_task_report(struct keeper *k, struct keeper_task *t);
bool keeper_task_reap(struct keeper *k, pid_t pid); /* false: it is not a task */
/* Empty the output files that several tasks share, before any of them can write. */
void keeper_task_clear(struct keeper *k);

struct pattern_facts keeper_task_facts(const struct keeper *k, int rank); /* values for the patterns in paths of the task */

/* keeper_if_changed.c: are the tasks to run? False where the outputs are up to date, or where the check failed. */
bool keeper_if_changed(struct keeper *k);

/* keeper_hook.c: false where the hook failed; an empty path is success. */
bool keeper_hook_site(struct keeper *k, const char *name, const char *path);
bool keeper_hook_user(struct keeper *k, const char *name, const char *path);
/* Run a program as the user without a record. */
bool keeper_hook_unrecorded(struct keeper *k, const struct task_start *start);
/* Call a function as the user in a process of its own. Returns its result, and in `text` what it wrote to descriptor 1. -1: it
 * was not called, and `text` says why. */
int keeper_hook_call(struct keeper *k, int (*function)(const void *argument), const void *argument, char text[KEEPER_TAIL_SIZE]);
void keeper_hook_output(struct keeper *k);
void keeper_hook_report(struct keeper *k);
bool keeper_hook_reap(struct keeper *k, pid_t pid);

/* keeper_group.c */
bool keeper_group_wait(struct keeper *k, struct err *e);
void keeper_group_publish(struct keeper *k, bool good);
void keeper_group_remove(struct keeper *k);

/* keeper_sweep.c */
void keeper_sweep_signal(const struct keeper *k, int signal);			/* to every process of the step */
void keeper_sweep_signal_others(const struct keeper *k, int signal, pid_t but); /* except `but` */
void keeper_sweep_freeze(struct keeper *k, bool frozen); /* stop every process of the step, or let them go on */
void keeper_sweep_kill(const struct keeper *k);
bool keeper_sweep_user(struct keeper *k); /* until no process of the user is left */
bool keeper_sweep_all(struct keeper *k);  /* until no process is left at all */

/* keeper_record.c: records are buffered, and written together by keeper_record_flush. */
void keeper_record_flush(struct keeper *k);
/* The tasks run: if the last attempt was brief, that record may wait for the tasks' end. */
void keeper_record_delay(struct keeper *k);
/* Did the tasks take less time than such a record waits? */
bool keeper_record_is_brief(const struct keeper *k);
void keeper_record_plain(struct keeper *k, const char *kind);
void keeper_record_keeper(struct keeper *k, pid_t pid);
void keeper_record_hook(struct keeper *k, const char *name, int64_t usec);
void keeper_record_run(struct keeper *k, pid_t pid);
void keeper_record_task(struct keeper *k, const struct keeper_task *t, pid_t pid, int status, const char *cause,
			const struct stats *stats);
void keeper_record_done(struct keeper *k);
void keeper_record_end(struct keeper *k);
/* The cause and the outcome of the attempt, for the record `done`. */
void keeper_record_outcome(const struct keeper *k, const char **cause, const char **outcome);

/* keeper_file.c: read cache/<hash> whole, unless the blob has it. Refuses a file that is too large or has another hash. */
bool keeper_file_read(struct keeper_blob *blob, const char *hash, struct err *e);
/* Write the step's script into the spool folder, owned by the user, mode 0500. */
bool keeper_file_script(struct keeper *k, struct keeper_cache *cache, struct err *e);
/* Then, if the script has lines for PBS, write a file that names the node of each task. */
bool keeper_file_nodes(struct keeper *k, const struct keeper_cache *cache, struct err *e);
/* The attempt has ended: drop large files from the cache. */
void keeper_file_trim(struct keeper_cache *cache);

#endif
