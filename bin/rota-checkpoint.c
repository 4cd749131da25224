/* rota-checkpoint.c - main of the program that starts steps from checkpoints, and makes checkpoints of the files that they save.
 * The keeper, `rota checkpoint` and drivers of the site start it; people do not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procmgr/checkpoint/checkpoint.h"
#include "procmgr/checkpoint/criu_init.h"
#include "procmgr/checkpoint/dmtcp_guard.h"
#include "procmgr/checkpoint/dmtcp_tasks.h"

static int usage(void)
{
	fputs("usage: rota-checkpoint CONFIG DRIVER DIR ASKED start PROGRAM ARGUMENT...\n"
	      "       rota-checkpoint CONFIG DRIVER DIR ASKED task PROGRAM ARGUMENT...\n"
	      "       rota-checkpoint CONFIG DRIVER DIR ASKED choose PROGRAM ARGUMENT...\n"
	      "       rota-checkpoint CONFIG DRIVER DIR ASKED take [WHY NOT]\n"
	      "       rota-checkpoint CONFIG DRIVER DIR ASKED end again|well|all\n"
	      "       rota-checkpoint run INPUT OUTPUT ERROR PROGRAM ARGUMENT...\n"
	      "       rota-checkpoint join SECONDS INPUT OUTPUT ERROR PROGRAM ARGUMENT...\n"
	      "       rota-checkpoint criu launch FOLDER PROGRAM ARGUMENT...\n"
	      "       rota-checkpoint criu restore FOLDER SECONDS\n"
	      "       rota-checkpoint guard PROGRAMS FOLDER\n"
	      "       rota-checkpoint done [FILE]...\n"
	      "       rota-checkpoint verify PATH DRIVER\n"
	      "       rota-checkpoint discard PATH\n"
	      "       rota-checkpoint CONFIG devices suspend|resume\n",
	      stderr);
	return 2;
}

/* Make a checkpoint of files, inside a step. The step's folder is the parent of ROTA_CHECKPOINT_DIR, and the folder for all steps
 * is the parent of that. */
static int call_done(char *const *files)
{
	const char *next = getenv("ROTA_CHECKPOINT_DIR"), *config = getenv("ROTA_CONFIG"), *asked = getenv("ROTA_CHECKPOINT"),
		   *driver = getenv("ROTA_CHECKPOINT_DRIVER");
	char *dir = next && *next == '/' ? strdup(next) : NULL, *slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		*slash = '\0';
	slash = slash ? strrchr(dir, '/') : NULL;
	if (!slash || !config || !asked || !driver) {
		fputs("rota-checkpoint: this is not inside a step with --checkpoint=app\n", stderr);
		free(dir);
		return 1;
	}
	*slash = '\0';
	int code = checkpoint_done(&(struct checkpoint){config, driver, dir, asked, false}, files);
	free(dir);
	return code;
}

/* Start a coordinator of DMTCP for a driver of the site, and print the port of its guard. */
static int call_guard(const char *programs, const char *folder)
{
	struct err e;
	int port = dmtcp_guard_start(&(struct dmtcp_guard){.programs = programs, .path = folder}, &e);
	if (port < 0) {
		fprintf(stderr, "rota-checkpoint: %s\n", e.message);
		return 1;
	}
	printf("%d\n", port);
	return 0;
}

/* Execute the program of one of several tasks as soon as all tasks run under DMTCP. */
static int call_join(int seconds, char *const *files, char *const *argv)
{
	struct err e;
	if (dmtcp_tasks_join(seconds, &e))
		return checkpoint_run(files, argv[0], argv);
	fprintf(stderr, "rota-checkpoint: %s\n", e.message);
	return CHECKPOINT_EXIT_AGAIN;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("rota-checkpoint %s\n", ROTA_VERSION);
		return 0;
	}
	if (argc >= 6 && strcmp(argv[1], "run") == 0)
		return checkpoint_run(argv + 2, argv[5], argv + 5);
	if (argc >= 7 && strcmp(argv[1], "join") == 0)
		return call_join(atoi(argv[2]), argv + 3, argv + 6);
	if (argc == 1 && getenv("CRTOOLS_SCRIPT_ACTION"))
		return criu_init_script();
	if (argc >= 3 && strcmp(argv[1], "criu") == 0)
		return criu_init_main(argc - 2, argv + 2);
	if (argc == 4 && strcmp(argv[1], "guard") == 0)
		return call_guard(argv[2], argv[3]);
	if (argc >= 2 && strcmp(argv[1], "done") == 0)
		return call_done(argv + 2);
	if (argc == 4 && strcmp(argv[1], "verify") == 0 && *argv[2] == '/')
		return checkpoint_verify(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "discard") == 0 && *argv[2] == '/')
		return checkpoint_discard(argv[2]);
	if (argc == 4 && strcmp(argv[2], "devices") == 0)
		return checkpoint_devices(argv[1], argv[3]);
	if (argc < 6)
		return usage();
	struct checkpoint c = {argv[1], argv[2], argv[3], argv[4], strcmp(argv[5], "task") == 0};
	if ((strcmp(argv[5], "start") == 0 || c.is_task) && argc >= 8)
		return checkpoint_start(&c, argv[6], argv + 7);
	if (strcmp(argv[5], "choose") == 0 && argc >= 8)
		return checkpoint_choose(&c, argv[6], argv + 7);
	if (strcmp(argv[5], "take") == 0 && argc <= 7)
		return checkpoint_take(&c, argv[6]);
	if (strcmp(argv[5], "end") == 0 && argc == 7)
		return strcmp(argv[6], "again") == 0 ? checkpoint_again(&c) : checkpoint_end(&c, strcmp(argv[6], "all") == 0);
	return usage();
}
