/* keeper_manager_files.h - the files of a step manager or agent, which outlive its process. */
#ifndef ROTA_PROCMGR_KEEPER_MANAGER_FILES_H
#define ROTA_PROCMGR_KEEPER_MANAGER_FILES_H

#include "procmgr/keeper/keeper_parts.h"

struct keeper_manager_files {
	int journal;	   /* journal of the step manager; this and the next two: -1 before the first start */
	int orphans;	   /* file of orphans (substep_orphans.c) */
	off_t orphans_end; /* size of the file of orphans */
	int growths;	   /* file of growths */
	bool has_store;
	int store[2]; /* a socket pair in which the step manager keeps output of tasks open (substep_store.c) */
};

extern const struct keeper_manager_files keeper_manager_files_none; /* none is open */

/* Make the files that are not open yet. `head` is the first line of the file of orphans. */
bool keeper_manager_files_make(const struct keeper *k, struct keeper_manager_files *f, bool for_agent, const char *head,
			       struct err *e);
void keeper_manager_files_close(struct keeper_manager_files *f);

/* Make the step manager's journal: the user writes it, procmgrd's account reads it (docs/formats.md). Returns -1 on an error. */
int keeper_manager_files_journal(const struct keeper *k, struct err *e);
/* Returns true if the journal is larger than a step manager may make it. */
bool keeper_manager_files_are_large(const struct keeper_manager_files *f);

/* Write the first line of the file of orphans, if there is one. Returns false with errno set if it could not. */
bool keeper_manager_files_set_head(const struct keeper_manager_files *f, const char *head);
/* Note the end of a task whose step manager has died. */
void keeper_manager_files_add_orphan(struct keeper_manager_files *f, pid_t pid, int64_t started, int status,
				     const struct stats *s);

#endif
