/* criu_init.h - the first process of a step that CRIU saves and restores, in a PID namespace of the step's own. */
#ifndef ROTA_CRIU_INIT_H
#define ROTA_CRIU_INIT_H

/* Implements `rota-checkpoint criu launch FOLDER PROGRAM ARGUMENT...` and `rota-checkpoint criu restore FOLDER SECONDS`. FOLDER
 * has the program criu. Returns the exit code of the program, or another one after an error. */
int criu_init_main(int argc, char **argv);
/* The action script of CRIU, which CRIU runs without arguments at each of its stages. Returns an exit code. */
int criu_init_script(void);

/* The socket of this process, in the folder ROTA_CHECKPOINT_DIR.run. A client sends for how many seconds it waits, and reads
 * "ok" or why the step was not saved. */
#define CRIU_INIT_SOCKET "criu"
enum { CRIU_INIT_MESSAGE_SIZE = 600 };

/* The pid of the program in its namespace. After the highest pid the kernel begins again with 300, so lower ones stay free for
 * CRIU. */
enum { CRIU_INIT_PROGRAM = 300 };

/* No signal ends the first process of a namespace. If a signal has ended the program, this process sets its own name to this text
 * and the number of the signal, and exits with 128 and that number. */
#define CRIU_INIT_SIGNALLED "ended-by-"

#endif
