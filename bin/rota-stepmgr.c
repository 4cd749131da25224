/* rota-stepmgr.c - main of the step manager. The keeper starts it; people do not. */
#include <stdio.h>
#include <string.h>

#include "procmgr/stepmgr/stepmgr.h"

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("rota-stepmgr %s\n", ROTA_VERSION);
		return 0;
	}
	if (argc > 1) {
		fprintf(stderr, "rota-stepmgr: the keeper of a step starts this program; it has no options\n");
		return 2;
	}
	return stepmgr_run();
}
