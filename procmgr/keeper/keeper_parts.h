/* keeper_parts.h - the keeper's object, and the functions of its files.
 *
 * Calls go one way: keeper.c (the sequence) calls all others; keeper_task.c and keeper_hook.c start processes; keeper_control.c
 * and keeper_lease.c act on these processes through keeper_ending.c and keeper_sweep.c; keeper_wait.c (the loop) calls only the
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
#include "procmgr/keeper/private_folders.h"
#include "procmgr/record/record.h"
#include "procmgr/record/stats.h"
#include "procmgr/keeper/task.h"

enum { KEEPER_TAIL_SIZE = 4096, KEEPER_CAUSE_SIZE = 32 };

struct keeper_task {
	pid_t pid;	  /* the task's process; 0 if it has ended */
	bool may_restore; /* the process is the first of a PID namespace, and its child is the program (keeper_program.c) */
	int report;	  /* descriptor of task_start that reports the start; -1 once the program runs */
	int counts;	  /* descriptor of stats_open with the byte counts */
	int rank;
	int64_t started_at;
	char error[512]; /* why the task's program did not start; "" if it started */
};

/* A hook that the keeper runs. */
struct keeper_hook {
	pid_t pid;
	bool users;	    /* the hook runs as the user, not as root */
	int report, output; /* descriptors of the hook's start report and output; -1 if closed */
	int status;
	char error[512];
	char tail[2 * KEEPER_TAIL_SIZE];
	size_t tail_length;
};

/* A cached script or environment whose hash has been verified. */
struct keeper_blob {
	char hash[SEAL_HEX_SIZE]; /* hash of the content; "" if there is no content */
	char *bytes;		  /* content of the file, NUL-terminated */
	size_t size;
};

/* The state of a script file when its lines were verified. The last change of the file was then so long ago that a further change
 * shows in `changed`. */
struct keeper_script_state {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	int pre_from, pre_to, from, to;
};

/* Data of an attempt that a keeper caches for its next attempt. */
struct keeper_cache {
	struct keeper_blob environment, script; /* environment and script of the last attempt, unless they are large */
	struct keeper_script_state state;	/* state of the script in the keeper's spool folder; all 0 if unknown */
	uid_t script_uid;			/* user for whom the script in the spool folder was written */
	bool pbs;				/* the script has #PBS lines */
	bool by_env;				/* the script begins with "#!/usr/bin/env" */
	bool brief;				/* the tasks of the last attempt took less than a quarter of a second */

	struct task_owner owner;     /* the user that ran the last attempt */
	int64_t owner_until;	     /* when to look up the owner again; 0: the owner is unknown */
	char group[RECORD_KEY_SIZE]; /* name of the attempt whose released cgroup can be reused; "" if there is none */
	int64_t group_mem_mb;	     /* memory limit, in MiB, of the cgroup `group` */
	int mounts;		     /* open mount table (fuse_mounts_changed); 0 if it is not open */
	int step_socket;	     /* unused socket for sub-steps in the keeper's spool folder; 0 if there is none */
	uid_t step_uid;		     /* owner of this socket */
	gid_t step_gid;
};

/* Why the tasks of an attempt were not started. */
enum keeper_failure {
	KEEPER_FAILURE_NONE,
	KEEPER_FAILURE_USER_PROLOG,
	KEEPER_FAILURE_SITE_PROLOG, /* the site prolog failed, here or on the step that runs the prolog of the job group */
	KEEPER_FAILURE_NODE,	    /* the tasks could not be started, and the node is at fault */
	KEEPER_FAILURE_LAUNCH,	    /* the tasks could not be started, and the step is at fault */
	KEEPER_FAILURE_UP_TO_DATE,  /* no failure: by --if-changed, the outputs are up to date */
};

struct keeper;

/* Callbacks of the keeper's loop (keeper_wait.c). keeper.c registers the callbacks, so the loop does not depend on the files that
 * wait in it. */
struct keeper_handlers {
	void (*control)(struct keeper *k);	 /* called when the control socket can be read */
	void (*timers)(struct keeper *k);	 /* called after every poll: handles timers that have run out */
	int64_t (*next)(const struct keeper *k); /* returns when the next timer runs out; 0 means never */
	void (*hook_report)(struct keeper *k);	 /* called when the hook's process has reported its start, or why it failed */
	void (*hook_output)(struct keeper *k);	 /* called when the hook has written output */
	void (*task_report)(struct keeper *k, struct keeper_task *t);
	bool (*task_reap)(struct keeper *k, pid_t pid);	   /* called when a child has ended; false: the child is not a task */
	bool (*hook_reap)(struct keeper *k, pid_t pid);	   /* called when a child has ended; false: the child is not the hook */
	int (*manager_descriptor)(const struct keeper *k); /* returns the socket for sub-steps if it is to be watched, else -1 */
	void (*manager_connect)(struct keeper *k);	   /* called when a program has connected to this socket */
	bool (*manager_reap)(struct keeper *k, pid_t pid); /* called when a child has ended; false: not the step manager */
	/* Called when an orphan was reaped, with its pid, its start time (stats_start_time), its wait status and what it has used. */
	void (*manager_orphan)(struct keeper *k, pid_t pid, int64_t started, int status, const struct stats *stats);
};

/* Progress of the attempt, by its records in the journal. The phase only advances; keeper_record.c writes it. */
enum keeper_phase {
	KEEPER_PREPARING, /* no task has started */
	KEEPER_RUNNING,	  /* the record `run` is made: a task has started */
	KEEPER_DONE,	  /* the record `done` is made: every task has ended, or none was started */
};

/* The most that was requested of the attempt. A request only rises: after END, GO changes nothing. */
enum keeper_request {
	KEEPER_REQUEST_NONE,
	KEEPER_REQUEST_GO,  /* the control message `go` came: the tasks may start */
	KEEPER_REQUEST_END, /* the control message `end` came, or the attempt is to end for another reason */
};

/* The transfers after the tasks. */
enum keeper_stage_out {
	KEEPER_STAGE_OUT_NONE, /* the stage-out transfers have not begun, or have ended */
	KEEPER_STAGE_OUT_RUNS,
	KEEPER_STAGE_OUT_ENDING,   /* a cancel ends the stage-out transfers */
	KEEPER_STAGE_OUT_UNWANTED, /* a cancel came after the tasks, so the stage-out transfers do not begin */
};

/* Data of one file each: the file defines the struct, and no other file reads or writes its members. All are malloc'ed. */
struct keeper_records;	   /* keeper_record.c: records that are not in the journal yet */
struct keeper_timers;	   /* keeper_control.c: time limit, warning signal and suspensions */
struct keeper_memory;	   /* keeper_memory.c: when to measure memory */
struct keeper_lease;	   /* keeper_lease.c: the node's lease as last read */
struct keeper_manager;	   /* keeper_manager.c: the step manager's process and files */
struct keeper_credentials; /* keeper_credential.c: the credentials of the step, and the folder with them */
struct keeper_nodes;	   /* keeper_nodes.c: nodes of the step that have changed */

/* The state that all files of the keeper share. The comment of a member names the file that writes the member; others only read
 * it. */
struct keeper {
	const struct keeper_job *job;		/* keeper.c, once */
	const struct keeper_handlers *handlers; /* keeper.c, once */
	const struct order *order;		/* keeper.c, once */
	struct record_key key;			/* keeper.c, once */
	char name[RECORD_KEY_SIZE];		/* keeper.c, once: name of the attempt's spool folder and cgroup */
	char tag[RECORD_TAG_SIZE];		/* keeper.c, once: tag in the environment of the attempt's processes */
	int signals;				/* keeper.c, once: signalfd of SIGCHLD */
	/* keeper.c: the cgroup of the attempt; NULL if the machine has no cgroups, or this one could not be made */
	const struct cgroups *cgroups;
	struct cores cores;		/* keeper.c: cores that the keeper has claimed, if no cpuset pins the attempt */
	struct private_folders folders; /* keeper.c: the step's own /tmp and /dev/shm, if launcher.private_tmp is 1 */
	char *tmpdir;			/* keeper.c: the step's own TMPDIR; NULL: it has none */
	struct task_owner owner;	/* keeper.c: the user that runs the tasks; borrowed from keeper_cache */
	struct task_limit limits[TASK_LIMIT_MOST]; /* keeper.c */
	int limit_count;			   /* keeper.c */
	const struct keeper_blob *environment;	   /* keeper.c */
	char *script_path;			   /* keeper_file.c: absolute path of the step's script */
	bool by_env;				   /* keeper_file.c: the script begins with "#!/usr/bin/env" */
	char *node_file; /* keeper_file.c: absolute path of the node file; NULL if the script does not need it */

	struct keeper_records *records;
	struct keeper_timers *timers;
	struct keeper_credentials *credentials;	  /* NULL: the step has no credentials */
	const struct task_credentials *delivered; /* keeper_credential.c: variables for the user's processes; NULL: none */
	struct keeper_memory *memory;		  /* NULL before keeper_memory_begin */
	struct keeper_lease *lease;		  /* NULL before keeper_lease_begin */
	struct keeper_manager *manager;		  /* NULL if no program of the job has run a sub-step */
	char *early_call;	    /* call of the step manager that came before the socket of the step; NULL: none */
	struct keeper_nodes *nodes; /* NULL if no node has changed, and no program has run a sub-step */
	int step_socket;	    /* keeper_manager.c: socket for sub-steps; -1 if there is none */
	char *step_path;	    /* keeper_manager.c: absolute path of this socket; NULL if there is none */

	struct keeper_task *tasks; /* keeper_task.c */
	int task_count;		   /* keeper_task.c */
	int live;		   /* keeper_task.c: tasks whose processes have not ended */
	bool cleared;		   /* keeper_task.c: the output files of the first task here were emptied before it starts */
	bool has_slow_start;	   /* keeper_task.c: a task was slow to start, so the memory that it reads is never freed */
	int exit_code, signal;	   /* keeper_task.c: highest exit code of the tasks here, and the signal that ended one */
	struct keeper_checkpoint *checkpoint; /* keeper_checkpoint.c; NULL for a step without --checkpoint */
	bool lingers; /* keeper_checkpoint.c: all tasks here have ended, but those of other nodes need a process here */
	struct keeper_hook *hook; /* keeper_hook.c: the hook that runs; NULL if there is none */

	enum keeper_phase phase;	 /* keeper_record.c */
	enum keeper_request request;	 /* keeper_ending.c */
	enum keeper_stage_out stage_out; /* keeper_mover.c, keeper_ending.c */
	int64_t kill_at;		 /* keeper_ending.c: when SIGKILL is due; 0 means never */
	bool suspended;			 /* keeper_sweep.c */
	bool devices_left;		 /* keeper_devices.c: programs may have left the GPUs */
	pid_t devices_return;	 /* keeper_devices.c: child that moves programs back to the GPUs; it may have ended; 0: none */
	int64_t devices_free_at; /* keeper_devices.c: clock of the record that the step's GPUs are free; 0: it has them */
	bool has_user_processes; /* keeper_sweep.c: a process of the user may be left */
	int64_t killed_at;	 /* keeper_sweep.c: when SIGKILL was first sent to processes that still run; 0: not yet */
	bool lease_lost;	 /* keeper_lease.c: the node's lease has run out, so no process of the user is started any more */
	bool epilogs;		 /* whether epilogs run after the tasks; keeper.c sets this after the prolog */

	char cause[KEEPER_CAUSE_SIZE];	/* keeper_ending.c, and keeper.c before `done`: why the attempt is being ended, or "" */
	int64_t since;			/* keeper_record.c: when the record `keeper` was made (clock_boot_us) */
	struct cgroups_figures figures; /* keeper.c, keeper_task.c: last figures of the attempt's cgroup */
	struct stats used; /* keeper_task.c, keeper_hook.c, keeper_wait.c: sum of the user's processes that were reaped */
	int64_t peak_kb;   /* keeper_memory.c: highest measured memory, in KiB, that counts against a limit; 0: never measured */
	enum keeper_failure failure; /* keeper.c, keeper_task.c, keeper_if_changed.c: the first failure */
	char message[512];	     /* written with `cause`, `failure` or a hook's failure: the reason for the user */
	char drain[512];	     /* keeper.c: reason to drain the node; "" if there is none */
};

/* keeper_wait.c: handle events until over(k) is true or until `deadline` (clock_boot_us; 0 means none). Returns over(k). */
bool keeper_wait(struct keeper *k, bool (*over)(const struct keeper *k), int64_t deadline);

/* keeper_next.c: offer the keeper and its folder to the launcher for another attempt. Returns false if that fails; the caller
 * then removes the folder. */
bool keeper_next_offer(const struct keeper *k);
/* Wait for the next attempt and read its launch request into `order`. Returns false if the launcher has ended or the request is
 * invalid. */
bool keeper_next_take(struct keeper_job *job, struct order *order);

/* keeper_control.c */
void keeper_control_read(struct keeper *k);
void keeper_control_timers(struct keeper *k);
int64_t keeper_control_next_timer(const struct keeper *k); /* returns when to call keeper_control_timers; 0 means never */
void keeper_control_open(struct keeper *k);		   /* take the time limit from the launch request */
void keeper_control_start(struct keeper *k);		   /* let the time limit run, since the tasks have started */

/* keeper_ending.c */
/* Do tasks run here, or does the node still serve those of other nodes? */
bool keeper_ending_is_running(const struct keeper *k);
/* Does a process of the user run that gets signals and is ended with the attempt? Site hooks do not count, since they have a time
 * limit of their own. Nor do user epilogs and transfers after the tasks, unless the node's lease has run out, or the transfers
 * are cancelled. */
bool keeper_ending_is_busy(const struct keeper *k);
/* Raise k->request to `request`, unless it is that or higher already. */
void keeper_ending_request(struct keeper *k, enum keeper_request request);
void keeper_ending_kill_by(struct keeper *k, int64_t at); /* send SIGKILL at this time, or earlier if it is due earlier */
/* Send SIGTERM now and SIGKILL after the grace time (0: that of the launch request); a cause of "" means cancelled. After the tasks, only a
 * cancel has an effect: it ends the transfers. */
void keeper_ending_ask(struct keeper *k, const char *cause, int64_t grace_s);
void keeper_ending_kill(struct keeper *k, const char *cause); /* send SIGKILL to the step now */
void keeper_ending_timer(struct keeper *k, int64_t now);      /* send SIGKILL if the grace time is over */

/* keeper_memory.c */
void keeper_memory_begin(struct keeper *k); /* measure memory from now on, since a process of the user starts */
void keeper_memory_poll(struct keeper *k);
int64_t keeper_memory_next(const struct keeper *k); /* returns when to call keeper_memory_poll; 0 means never */

/* keeper_lease.c */
/* Write into the pid file the attempt's name, whether the attempt has to end with the lease, and the journal space of its
 * records. */
bool keeper_lease_note(const struct keeper *k, bool ends_with_lease, struct err *e);
void keeper_lease_begin(struct keeper *k); /* read the node's lease; without a lease, the attempt ends before it starts */
void keeper_lease_poll(struct keeper *k);
int64_t keeper_lease_next(const struct keeper *k); /* returns when to call keeper_lease_poll; 0 means never */
void keeper_lease_release(struct keeper *k);	   /* call when no process of the user is left or will be started */

/* keeper_credential.c */
/* Give the credentials of the step to its owner. If that fails, k->failure and k->message have the reason. */
bool keeper_credential_open(struct keeper *k);
/* Start the ssh-agent of the attempt, if the step has keys for it. Call before programs of the user. If that fails, k->message has the
 * reason. */
bool keeper_credential_agent(struct keeper *k);
void keeper_credential_look(struct keeper *k); /* compare the credentials with the boxes, which procmgrd may have changed */
/* Destroy the credentials. Call when no process of the user is left. */
void keeper_credential_close(struct keeper *k);
/* keeper_ssh_agent.c */
enum { KEEPER_SSH_KEYS_MOST = 7 };
/* Returns the end of a pipe from which a key is read, or -1. */
int keeper_ssh_agent_pipe(const void *key, size_t size, struct err *e);
/* Start ssh-agent, and let it read keys from pipes. Returns false unless the agent has all keys. */
bool keeper_ssh_agent_start(struct keeper *k, const int *keys, int count);
/* Let a running ssh-agent replace its keys by `keys`. Does not wait until the agent has done so. */
void keeper_ssh_agent_reload(struct keeper *k, const int *keys, int count);

/* keeper_place.c: what the environment of every program of the attempt is made of; a program that has credentials, a TMPDIR or the socket for
 * sub-steps adds these. `rank`: of the task; -1: no task. */
struct task_facts keeper_place_facts(const struct keeper *k, int rank);
/* Set where a process of the user runs: folder, limits, user, cgroup, cores. */
void keeper_place_process(const struct keeper *k, struct task_start *start);

/* keeper_manager_environment.c: returns the environment of the step manager, or of an agent, with the variable `call` if that is not
 * NULL. The caller frees it with task_environment_free(). */
char **keeper_manager_environment(const struct keeper *k, const char *call);

/* keeper_manager.c */
/* Make the socket at which programs of the job ask for sub-steps. Call before the tasks start. */
void keeper_manager_open(struct keeper *k, struct keeper_cache *cache);
/* Close the socket and all files, or leave an unused socket to the next attempt. Call when no process of the user is left. */
void keeper_manager_close(struct keeper *k, struct keeper_cache *cache);
int keeper_manager_descriptor(const struct keeper *k);
void keeper_manager_connect(struct keeper *k);
/* Start an agent on this node, which connects to the step manager on the step's first node by `host`, `port` and `key`. Returns
 * false if a text is NULL, or if no sub-step may run here any more. */
bool keeper_manager_call(struct keeper *k, const char *host, const char *port, const char *key);
/* Start the step manager if the step wants it with its tasks. */
void keeper_manager_begin(struct keeper *k);
/* Have the step manager, on the step's first node, call its agents. Returns false if this is another node, or if the step ends. */
bool keeper_manager_want_agents(struct keeper *k);
/* Have the step manager, on the step's first node, listen for clients on other machines. Returns false as
 * keeper_manager_want_agents() does. */
bool keeper_manager_want_port(struct keeper *k);
/* Have the step manager use node `on` of the attempt `growth`, or no longer use it. `what`: "grow" or "shrink". Returns false if this is
 * not the first node of the step, or if the step ends. */
bool keeper_manager_grow(struct keeper *k, const char *what, const char *growth, const char *on);
/* Have the step manager, on the step's first node, read the file of changes of nodes (keeper_nodes_file). */
void keeper_manager_wake(const struct keeper *k);
void keeper_manager_poll(struct keeper *k);
void keeper_manager_end(
	const struct keeper *k); /* have the step manager start no more sub-steps. Call before processes are signalled */
int64_t keeper_manager_next(const struct keeper *k); /* returns when to call keeper_manager_poll; 0 means never */
bool keeper_manager_reap(struct keeper *k, pid_t pid);
void keeper_manager_orphan(struct keeper *k, pid_t pid, int64_t started, int status, const struct stats *s);

/* keeper_nodes.c */
/* Store the state of a node of the step, and signal the tasks if they want it (--notify). Returns false if a text is NULL or the state is
 * unknown. */
bool keeper_nodes_change(struct keeper *k, const char *name, const char *state, const char *reason);
/* Returns the file of changes for the step manager: lines of name, state and reason. -1: there is none. */
int keeper_nodes_file(struct keeper *k);
void keeper_nodes_close(struct keeper *k);

/* keeper_task.c */
void keeper_task_start(struct keeper *k); /* start all tasks of the step on this node */
void keeper_task_report(struct keeper *k, struct keeper_task *t);
bool keeper_task_reap(struct keeper *k, pid_t pid); /* returns false if the child is not a task */
/* Empty the output files that several tasks share, before any of them can write. */
void keeper_task_clear(struct keeper *k);

/* Returns the values for the patterns (%j, %t ...) in the paths of a task's input and output. */
struct pattern_facts keeper_task_facts(const struct keeper *k, int rank);

/* keeper_program.c: returns the process of the task's program. That is the task's process, unless CRIU saves the task. */
pid_t keeper_program_pid(const struct keeper_task *t);
/* Signal only the program of a task, if it still runs; with `only_handled`, only if it handles the signal. Returns true if it was signalled. */
bool keeper_program_signal(const struct keeper_task *t, int signal, bool only_handled);
/* Returns the signal that ended the program of a task that CRIU saves, or 0. Call this before the task's process is reaped. */
int keeper_program_end(const struct keeper_task *t);

/* keeper_if_changed.c: do the tasks have to run? Returns false if the outputs are up to date by --if-changed, or if the check
 * failed. */
bool keeper_if_changed(struct keeper *k);

/* keeper_hook.c: run a site hook or a user hook. Returns false if the hook failed. An empty path counts as success. */
bool keeper_hook_site(struct keeper *k, const char *name, const char *path);
bool keeper_hook_user(struct keeper *k, const char *name, const char *path);
/* Run a program as the user, with its arguments, for `limit` seconds at most; 0: as long as the attempt lasts. */
bool keeper_hook_program(struct keeper *k, const char *name, char *const *argv, int limit);
/* Run a program as the user, without a record in the journal; `limit` as above. */
bool keeper_hook_unrecorded(struct keeper *k, const struct task_start *start, int limit);
/* Start a program as the user beside the tasks. It is reaped as any orphan of the step. Frees argv and environment of `start`, and returns true,
 * unless the program still reads them. *child becomes its pid, or 0 if it did not start. */
bool keeper_hook_beside(struct keeper *k, struct task_start *start, pid_t *child);
void keeper_hook_free(struct task_start *start); /* free argv and environment of a start, which are malloc'ed */
/* Call a function in a process of its own: as the user in the step's cgroup, or as root outside. Returns the result of the
 * function, and in `text` its output to descriptor 1. Returns -1 if the function was not called; `text` then has the reason. */
int keeper_hook_call(struct keeper *k, bool as_user, int (*function)(const void *argument), const void *argument,
		     char text[KEEPER_TAIL_SIZE]);
void keeper_hook_output(struct keeper *k);
void keeper_hook_report(struct keeper *k);
bool keeper_hook_reap(struct keeper *k, pid_t pid);

/* keeper_mover.c: the path of rota-mover and its first arguments, for a step that makes transfers. The object owns these
 * texts. */
struct keeper_mover *keeper_mover_new(const struct keeper *k, const char *when, struct err *e);
char *const *keeper_mover_argv(const struct keeper_mover *m);
void keeper_mover_free(struct keeper_mover *m);
/* Have the transfers of the step on this node made: before its tasks, or after them. Returns false if one failed. */
bool keeper_mover_before(struct keeper *k);
bool keeper_mover_after(struct keeper *k);

/* keeper_checkpoint.c: make k->checkpoint if the step has --checkpoint. */
bool keeper_checkpoint_open(struct keeper *k, struct err *e);
void keeper_checkpoint_close(struct keeper *k);
/* Returns the arguments of rota-checkpoint, which starts the program `path` with `argv` from the latest checkpoint. The list is
 * malloc'ed; its texts belong to others. Only for a step with --checkpoint. */
char **keeper_checkpoint_argv(const struct keeper *k, const char *path, char *const *argv);
/* May the task that starts the program `path` restore processes (task_start)? Asks rota-checkpoint, as the user, if --checkpoint=auto chooses. */
bool keeper_checkpoint_may_restore(struct keeper *k, const char *path, char *const *argv);
void keeper_checkpoint_begin(struct keeper *k); /* call when the tasks have started */
/* Ask the step's program to save itself. `reason`: asked, interval or time_limit. */
void keeper_checkpoint_ask(struct keeper *k, const char *reason);
/* Take a new time limit. If a checkpoint is under way for the old limit, its reason becomes `asked`, so the step is not queued
 * again. */
void keeper_checkpoint_limit(struct keeper *k, int64_t limit_at);
void keeper_checkpoint_poll(struct keeper *k, int64_t now, int64_t limit_at);
/* returns when to call keeper_checkpoint_poll() next; 0: never */
int64_t keeper_checkpoint_next(const struct keeper *k, int64_t limit_at);
/* After the tasks of this node have ended: wait as long as those of other nodes need a process here. */
void keeper_checkpoint_await(struct keeper *k);
/* After the tasks have ended: keep the checkpoints if the step is to run again, remove all of them if it has completed. */
void keeper_checkpoint_end(struct keeper *k);

/* keeper_devices.c: move the programs of the step off its GPUs before it is suspended. Messages of the launcher are handled meanwhile. */
/* Returns whether all programs have left. */
bool keeper_devices_leave(struct keeper *k);
/* Keep the stopped processes of the step from its GPUs, which are free from `at` on. Returns false if a process uses one, or may. */
bool keeper_devices_close(struct keeper *k, int64_t at);
/* Let the processes use the GPUs again. `at`: clock of the suspension that is to end. Returns false if the GPUs are free and were
 * not given back for this suspension: the step stays suspended. */
bool keeper_devices_open(struct keeper *k, int64_t at);
/* Have the programs return to the GPUs, if they have left them and the step has its GPUs and is no longer suspended. */
void keeper_devices_poll(struct keeper *k);

/* keeper_pam.c: may the user run steps on this node, as PAM says? If not, k->failure and k->message have the reason. */
bool keeper_pam_admits(struct keeper *k);

/* keeper_group.c */
bool keeper_group_wait(struct keeper *k, struct err *e);
void keeper_group_publish(struct keeper *k, bool good);
void keeper_group_remove(struct keeper *k);

/* keeper_sweep.c */
void keeper_sweep_signal(const struct keeper *k, int signal); /* send a signal to every process of the step */
/* Returns true if is_it() returns true for some thread of the step. */
bool keeper_sweep_has(const struct keeper *k, bool (*is_it)(pid_t thread, const void *arg), const void *arg);
/* Send a signal to every process of the step except `but`. */
void keeper_sweep_signal_others(const struct keeper *k, int signal, pid_t but);
/* Send a signal to every process of the step, except `but`, that handles the signal. Returns their number. */
int keeper_sweep_signal_handlers(const struct keeper *k, int signal, pid_t but);
void keeper_sweep_freeze(struct keeper *k, bool frozen); /* stop every process of the step, or let all of them continue */
void keeper_sweep_kill(struct keeper *k);
void keeper_sweep_expect(struct keeper *k); /* call before a process of the user starts */
bool keeper_sweep_user(struct keeper *k);   /* kill processes until no process of the user is left */
/* Kill the user's processes below the keeper, but not those children that are spared, and their descendants. */
void keeper_sweep_others(struct keeper *k, bool (*is_spared)(const struct keeper *k, pid_t child));
bool keeper_sweep_all(struct keeper *k); /* kill processes until no process of the attempt is left */

/* keeper_record.c: records are buffered, and keeper_record_flush writes them together. `brief`: the tasks of the keeper's last
 * attempt were brief. */
struct keeper_records *keeper_record_new(struct journal *journal, bool brief);
/* Returns the time until which buffered records may wait (clock_boot_us); 0 if there are none, or they may not wait. */
int64_t keeper_record_due(const struct keeper *k);
void keeper_record_flush(struct keeper *k);
/* After the tasks have started: if the last attempt was brief, let the record `run` wait for the tasks' end. */
void keeper_record_delay(struct keeper *k);
/* Did the tasks take less time than the record `run` may wait? */
bool keeper_record_is_brief(const struct keeper *k);
void keeper_record_plain(struct keeper *k, const char *kind);
/* The processes were stopped at `at`. devices_left: they have left the GPUs, which are free. */
void keeper_record_suspended(struct keeper *k, int64_t at, bool devices_left);
void keeper_record_keeper(struct keeper *k, pid_t pid);
void keeper_record_hook(struct keeper *k, const char *name, int64_t usec);
void keeper_record_run(struct keeper *k, pid_t pid, int64_t started_at);
void keeper_record_task(struct keeper *k, const struct keeper_task *t, pid_t pid, int status, const char *cause,
			const struct stats *stats);
void keeper_record_done(struct keeper *k);
void keeper_record_end(struct keeper *k);
/* Find the cause and the outcome of the attempt for the record `done`. */
void keeper_record_outcome(const struct keeper *k, const char **cause, const char **outcome);

/* keeper_file.c: read a plain file of at most `largest` bytes, which procmgrd may have written, so it is not trusted. Returns the
 * malloc'ed content with a NUL after it. */
char *keeper_file_plain(const char *path, int largest, size_t *size, struct err *e);
/* Read the whole file cache/<hash>, unless `blob` already has it. Refuses a file that is too large or has another
 * hash. */
bool keeper_file_read(struct keeper_blob *blob, const char *hash, struct err *e);
/* Write the step's script into the spool folder, owned by the user, mode 0500. */
bool keeper_file_script(struct keeper *k, struct keeper_cache *cache, struct err *e);
/* If the script has #PBS lines, write a file that names the node of each task. Call after keeper_file_script. */
bool keeper_file_nodes(struct keeper *k, const struct keeper_cache *cache, struct err *e);
/* Drop large files from the keeper's cache, after an attempt has ended. */
void keeper_file_trim(struct keeper_cache *cache);

#endif
