/* procmgrd - the unprivileged half of a node's process manager, started by rota-launcher. */
#include "lib/daemon.h"
#include "lib/db.h"
#include "procmgr/agent/agent.h"

static const char usage[] =
	"Usage: procmgrd [--config FILE] --node NAME [--launcher-fd N] [--dry-run] [--virtual N] [--verbose]\n"
	"The unprivileged agent of node NAME: fetches launch requests and control messages from the database for\n"
	"rota-launcher, and reports to the database what happens to steps on the node.\n"
	"rota-launcher starts it, with a socket as descriptor N (3). Do not start it yourself.\n"
	"With --dry-run it serves a launcher that runs nothing. With --virtual it serves N nodes, NAME1 to NAMEN.\n";

static bool procmgrd_run(const struct conf *conf, const char *name, int launcher_fd, struct err *e)
{
	return db_conninfo_check(conf, e) && agent_run(conf, name, launcher_fd, e);
}

int main(int argc, char **argv)
{
	static const struct daemon_program program = {"procmgrd", usage, "node", procmgrd_run};
	return daemon_main(&program, argc, argv);
}
