/* field.c - the table of accounting fields, from which `rota acct` takes its columns, its help and its exports. */
#include "acct/field.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct acct_field FIELDS[] = {
	{"job_id", NULL, "JOB", ACCT_NUMBER, 0, "number of the job"},
	{"label", "JobID", "JOB", ACCT_LABEL, 12, "job, step and array index: 812, 812.solve, 812.solve[7]"},
	{"step", NULL, "STEP", ACCT_TEXT, 6, "name of the step"},
	{"name", "JobName", "NAME", ACCT_TEXT, 6, "name of the job"},
	{"user", "User", "USER", ACCT_TEXT, 5, "its owner"},
	{"account", "Account", "ACCOUNT", ACCT_TEXT, 5, "account that paid"},
	{"qos", "QOS", "QOS", ACCT_TEXT, 5, "quality of service; of jobs only"},
	{"partition", "Partition", "PARTITION", ACCT_TEXT, 5, "partition"},
	{"state", "State", "STATE", ACCT_STATE, 9, "state"},
	{"exit_code", "ExitCode", "EXIT", ACCT_EXIT, 0, "exit code, or the signal that ended it"},
	{"signal", NULL, "SIGNAL", ACCT_NUMBER, 1, "number of the signal"},
	{"cause", NULL, "CAUSE", ACCT_TEXT, 5, "why it ended"},
	{"submit_at", "Submit", "SUBMITTED", ACCT_WHEN, 0, "when it was submitted"},
	{"started_at", "Start", "STARTED", ACCT_WHEN, 0, "when it started"},
	{"ended_at", "End", "ENDED", ACCT_WHEN, 0, "when it ended"},
	{"elapsed_s", "Elapsed", "TIME", ACCT_SECONDS, 0, "how long it ran"},
	{"cpus", "AllocCPUS", "CPUS", ACCT_NUMBER, 0, "CPUs allocated"},
	{"cpu_s", "TotalCPU", "CPU TIME", ACCT_SECONDS, 0, "CPU time used, user and system, by all attempts together"},
	{"max_rss_kb", "MaxRSS", "MEMORY", ACCT_KILOBYTES, 0, "most memory of a task"},
	{"nodes", "NodeList", "NODES", ACCT_TEXT, 4, "nodes it ran on"},
	{"attempts", NULL, "TRIES", ACCT_NUMBER, 0, "how often it was started"},
	{"attempt", NULL, "ATTEMPT", ACCT_NUMBER, 0, "number of the attempt, from 1; with --attempts"},
	{"output_file", NULL, "OUTPUT", ACCT_TEXT, 12, "file that standard output of the attempt went to; with --attempts"},
	{"ntasks", "NTasks", "TASKS", ACCT_NUMBER, 0, "number of tasks"},
	{"read_bytes", "TotDiskRead", "READ", ACCT_BYTES, 0, "bytes read from storage"},
	{"write_bytes", "TotDiskWrite", "WRITTEN", ACCT_BYTES, 0, "bytes written to storage"},
};

enum { FIELD_COUNT = sizeof(FIELDS) / sizeof(FIELDS[0]) };

const struct acct_field *acct_fields(int *count)
{
	*count = FIELD_COUNT;
	return FIELDS;
}

const struct acct_field *acct_field(const char *name)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(FIELDS[i].name, name) || (FIELDS[i].slurm && !strcasecmp(FIELDS[i].slurm, name)))
			return &FIELDS[i];
	return NULL;
}
