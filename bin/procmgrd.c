/* procmgrd - the unprivileged half of a node's process manager, started by rota-launcher. */
#include "lib/daemon.h"
#include "procmgr/agent/agent.h"

static const char usage[] = "Usage: procmgrd [--config FILE] --node NAME [--launcher-fd N] [--dry-run] [--virtual N] [--verbose]\n"
			    "Take the orders of node NAME from the database to its launcher, and its journal back.\n"
			    "rota-launcher starts it, with a socket as descriptor N (3), and with --dry-run where it runs nothing.\n"
			    "With --virtual it serves N nodes, NAME1 to NAMEN, over one connection.\n";

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"procmgrd", usage, "node", agent_run};
	return daemon_main(&program, argc, argv);
}
