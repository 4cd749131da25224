/* criu_init.h - the first process of a step that CRIU saves and restores, in a PID namespace of the step's own. */
#ifndef ROTA_CRIU_INIT_H
#define ROTA_CRIU_INIT_H

/* `rota-checkpoint criu launch FOLDER PROGRAM ARGUMENT...` and `criu restore FOLDER SECONDS`. FOLDER has the program criu. Returns an exit code, that of the program. */
int criu_init_main(int argc, char **argv);
/* What CRIU runs, without arguments, for each of its stages. Returns an exit code. */
int criu_init_script(void);

/* The socket of this process, in the folder ROTA_CHECKPOINT_DIR.run: who connects says for how many seconds it waits, and reads "ok", or why the
 * step was not saved. */
#define CRIU_INIT_SOCKET "criu"
enum { CRIU_INIT_MESSAGE_SIZE = 600 };

/* When the numbers of processes have all been used, the kernel begins again with 300. So those below are free for CRIU, and this one is the program's
 * in each namespace. */
enum { CRIU_INIT_PROGRAM = 300 };

/* No signal ends the first process of a namespace. If one has ended the program, the name of this process is this with the number of the signal, and
 * its exit code is 128 more than that. */
#define CRIU_INIT_SIGNALLED "ended-by-"

#endif
