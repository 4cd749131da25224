/* rota-launcher - root's half of a node's process manager: rota-launcher --config FILE --node NAME. */
#include <malloc.h>

#include "lib/daemon.h"
#include "procmgr/launcher/launcher.h"

static const char usage[] =
	"Usage: rota-launcher [--config FILE] --node NAME [--dry-run] [--virtual N] [--verbose]\n"
	"The launcher of node NAME: verifies signed launch requests, starts their steps, and keeps procmgrd running.\n"
	"With --dry-run (or launcher.dry_run in rota.conf) it runs nothing and reports every step as completed at once.\n"
	"With --virtual (or launcher.virtual) it makes such a dry run for N nodes, NAME1 to NAMEN.\n"
	"SIGTERM ends it, and running steps continue; SIGUSR1 ends them first.\n";

static bool launcher_start(const struct conf *conf, const char *node, int launcher_fd, struct err *e)
{
	(void)launcher_fd;
	return launcher_run(conf, node, e);
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"rota-launcher", usage, "node", launcher_start};

	/* Return freed blocks of large tables to the system at once. A table that grows is copied, and memory that malloc()
	 * kept would be forked into every keeper. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	return daemon_main(&program, argc, argv);
}
