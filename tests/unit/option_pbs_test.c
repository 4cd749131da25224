/* option_pbs_test.c - #PBS options as Rota's options. */
#include <time.h>

#include "jobmgr/translate/option_pbs.h"
#include "tests/unit/unit.h"

#define NOW INT64_C(1900000000) /* 2030-03-17T17:46:40 UTC, a Sunday */

/* The options of Rota that #PBS options become: "name=text name=text". */
static void collect(void *to, const struct option_row *row, const char *text, bool total)
{
	char *out = to;
	size_t used = strlen(out);
	snprintf(out + used, 500 - used, "%s%s=%s%s", used ? " " : "", row->name, text, total ? "(total)" : "");
}

static void pbs(void **state)
{
	static const struct {
		char letter;
		const char *value, *expected, *error;
	} cases[] = {
		{'N', "heat", "job-name=heat", NULL},
		{'q', "fast", "partition=fast", NULL},
		{'h', "", "hold=yes", NULL},
		{'n', "", "exclusive=yes", NULL},
		{'r', "n", "requeue=no", NULL},
		{'r', "y", "requeue=yes", NULL},
		{'r', "x", NULL, "is neither y nor n"},
		{'p', "-10", "nice=10", NULL},
		{'p', "2000", NULL, "is not a number from -1024"},
		{'m', "abe", "mail-type=FAIL,BEGIN,END", NULL},
		{'m', "x", NULL, "is not made of a, b, e or n"},
		{'m', "", NULL, "empty"},
		{'m', "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL, "is not made of"},
		{'V', "", "export=ALL", NULL},
		{'v', "A,B=c", "export=A,B=c", NULL},
		{'j', "oe", "error=", NULL},
		{'j', "n", NULL, "only \"oe\" is supported"},
		{'o', "out.txt", "output=out.txt", NULL},
		{'o', "host:/out.txt", NULL, "names a host"},
		{'o', "/a:/b", "output=/a:/b", NULL},
		{'J', "0-9", "array=0-9", NULL},
		{'t', "0-9%2", "array=0-9%2", NULL},
		{'S', "/bin/sh", "shell=/bin/sh", NULL},
		{'a', "1800", "begin=2030-03-17T18:00:00", NULL},
		{'a', "1700", "begin=2030-03-18T17:00:00", NULL},
		{'a', "161200", "begin=2030-04-16T12:00:00", NULL},
		{'a', "03161200", "begin=2031-03-16T12:00:00", NULL},
		{'a', "3005011230.15", "begin=2030-05-01T12:30:15", NULL},
		{'a', "203005011230", "begin=2030-05-01T12:30:00", NULL},
		{'a', "123", NULL, "is not a time as PBS"},
		{'a', "1800.5", NULL, "is not a time as PBS"},
		{'W', "umask=022", "umask=022", NULL},
		{'W', "depend=afterok:812:813", "dependency=afterok:812:813", NULL},
		{'W', "group_list=x", "group-list=x", NULL},
		{'W', "block=true", NULL, "cannot have the caller wait"},
		{'W', "grouplist=x", NULL, "unknown attribute \"grouplist=x\""},
		{'W', "umask", NULL, "unknown attribute"},
		{'l', "walltime=1:00:00", "time=0:3600", NULL},
		{'l', "walltime=90", "time=0:90", NULL},
		{'l', "walltime=1:2:3:4", NULL, "is not a duration as PBS"},
		{'l', "walltime=x", NULL, "is not a duration as PBS"},
		{'l', "mem=2gb", "mem=2097152K(total)", NULL},
		{'l', "mem=100", "mem=1K(total)", NULL},
		{'l', "mem=1mw", "mem=8192K(total)", NULL},
		{'l', "mem=x", NULL, "is not a size as PBS"},
		{'l', "mem=2xb", NULL, "is not a size as PBS"},
		{'l', "pmem=1gb", "mem-per-cpu=1048576K", NULL},
		{'k', "oe", "keep-files=oe", NULL},
		{'l', "vmem=2gb", "vmem=2gb", NULL},
		{'l', "cput=1:00:00", "cput=1:00:00", NULL},
		{'l', "ncpus=4", "cpus-per-task=4", NULL},
		{'l', "procs=8", "ntasks=8", NULL},
		{'l', "nodes=2:ppn=4", "nodes=2 ntasks-per-node=4", NULL},
		{'l', "nodes=2:ppn=4:gpus=1:bigmem", "nodes=2 ntasks-per-node=4 gpus-per-node=1 constraint=bigmem", NULL},
		{'l', "nodes=n7:ppn=2", "nodes=1 nodelist=n7 ntasks-per-node=2", NULL},
		{'l', "select=2:ncpus=4:mem=4gb:ngpus=1", "nodes=2 mem=4194304K gpus-per-node=1 cpus-per-task=4", NULL},
		{'l', "select=1:ncpus=8:mpiprocs=4:ompthreads=2", "nodes=1 ntasks-per-node=4 cpus-per-task=2", NULL},
		{'l', "select=ncpus=2", "nodes=1 cpus-per-task=2", NULL},
		{'l', "select=1:ncpus=8:ompthreads=2", NULL, "ompthreads=2, but each process has 8 CPUs"},
		{'l', "select=1:ncpus=x", NULL, "is not a number from 1"},
		{'l', "select=1:ncpus=4+2:ncpus=1", NULL, "several kinds"},
		{'l', "nodes=1:ppm=4", NULL, "unknown resource \"ppm\""},
		{'l', "nodes=0", NULL, "\"0\" is not a number of nodes"},
		{'l', "select=:ncpus=2", NULL, "\"\" is not a number of nodes"},
		{'l', "place=scatter:excl", "exclusive=yes", NULL},
		{'l', "place=pack", NULL, "place=pack is not supported"},
		{'l', "waltime=1:00", NULL, "unknown resource \"waltime\""},
		{'l', "walltime", NULL, "\"walltime\" is not name=value"},
		{'I', "", NULL, "a script cannot be interactive"},
		{'l', "min_walltime=10:00", "time-min=0:600", NULL},
		{'l', "host=n3", "nodelist=n3", NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char out[500] = "";
		struct err e = {0};
		struct option_pbs reader = {collect, out, NOW};
		bool good = option_pbs_read(&reader, cases[i].letter, cases[i].value, &e);
		if (good != !cases[i].error)
			fail_msg("-%c %s: %s %s", cases[i].letter, cases[i].value,
				 good ? "passed as" : "refused:", good ? out : e.message);
		if (good)
			assert_string_equal(out, cases[i].expected);
		else if (!strstr(e.message, cases[i].error))
			fail_msg("-%c %s: \"%s\" lacks \"%s\"", cases[i].letter, cases[i].value, e.message, cases[i].error);
	}
	struct err e;
	struct option_pbs reader = {collect, (char[500]){""}, NOW};
	assert_false(option_pbs_read(&reader, 'l', "waltime=1", &e));
	assert_string_equal(e.hint, "did you mean \"walltime\"?");
	assert_false(option_pbs_takes_value('h') || option_pbs_takes_value('V') || option_pbs_takes_value('n'));
	assert_true(option_pbs_takes_value('l'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pbs),
	};
	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
