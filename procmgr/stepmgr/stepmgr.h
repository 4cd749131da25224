/* stepmgr.h - the step manager: runs sub-steps inside an allocation, as the owner of the job. */
#ifndef ROTA_PROCMGR_STEPMGR_H
#define ROTA_PROCMGR_STEPMGR_H

/* Serve until the keeper ends the step. Descriptors from the keeper: 3 the listening socket, 4 the journal, 5 the file of orphans,
 * 6 and 7 the ends of the store of output.
 * Returns the exit code. */
int stepmgr_run(void);

#endif
