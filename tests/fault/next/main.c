/* main.c - `upgrade_next CONNINFO`: "rota admin db upgrade" of a build that has one migration more (9000_next.sql). The same file makes
 * `upgrade_past`, of a build that has the baseline of migrations alone, and no functions and views.
 *
 * Called by: tests/fault/upgrade. */
#include <stdio.h>

#include "bin/rota/admin/admin_db.h"

int main(int argc, char **argv)
{
	struct admin_db_report report;
	struct err e = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CONNINFO\n", argv[0]);
		return 2;
	}
	if (!admin_db_upgrade(argv[1], &report, &e)) {
		fprintf(stderr, "%s: %s\n", argv[0], e.message);
		return 1;
	}
	printf("%d %d %d\n", report.version, report.migrations, report.files);
	return 0;
}
