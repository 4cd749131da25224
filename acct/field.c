/* field.c - the one table of accounting's fields; `rota acct` reads it for its columns, its help and its exports. */
#include "acct/field.h"

#include <string.h>

static const struct acct_field FIELDS[] = {
	{"job_id", "JOB", ACCT_NUMBER, 0, "number of the job"},
	{"label", "JOB", ACCT_LABEL, 12, "job, step and array index: 812, 812.solve, 812.solve[7]"},
	{"step", "STEP", ACCT_TEXT, 6, "name of the step"},
	{"name", "NAME", ACCT_TEXT, 6, "name of the job"},
	{"user", "USER", ACCT_TEXT, 5, "its owner"},
	{"account", "ACCOUNT", ACCT_TEXT, 5, "account that paid"},
	{"partition", "PARTITION", ACCT_TEXT, 5, "partition"},
	{"state", "STATE", ACCT_STATE, 0, "state"},
	{"exit_code", "EXIT", ACCT_EXIT, 0, "exit code, or the signal that ended it"},
	{"signal", "SIGNAL", ACCT_NUMBER, 1, "number of the signal"},
	{"cause", "CAUSE", ACCT_TEXT, 5, "why it ended"},
	{"submit_at", "SUBMITTED", ACCT_WHEN, 0, "when it was submitted"},
	{"started_at", "STARTED", ACCT_WHEN, 0, "when it started"},
	{"ended_at", "ENDED", ACCT_WHEN, 0, "when it ended"},
	{"elapsed_s", "TIME", ACCT_SECONDS, 0, "how long it ran"},
	{"cpus", "CPUS", ACCT_NUMBER, 0, "CPUs allocated"},
	{"cpu_s", "CPU TIME", ACCT_SECONDS, 0, "CPU time used, user and system"},
	{"max_rss_kb", "MEMORY", ACCT_KILOBYTES, 0, "most memory of a task"},
	{"nodes", "NODES", ACCT_TEXT, 4, "nodes it ran on"},
	{"attempts", "TRIES", ACCT_NUMBER, 0, "how often it was started"},
	{"ntasks", "TASKS", ACCT_NUMBER, 0, "number of tasks"},
	{"read_bytes", "READ", ACCT_BYTES, 0, "bytes read from storage"},
	{"write_bytes", "WRITTEN", ACCT_BYTES, 0, "bytes written to storage"},
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
		if (!strcmp(FIELDS[i].name, name))
			return &FIELDS[i];
	return NULL;
}
