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
	{"user", "User", "USER", ACCT_TEXT, 5, "owner of the job"},
	{"account", "Account", "ACCOUNT", ACCT_TEXT, 5, "account that paid"},
	{"qos", "QOS", "QOS", ACCT_TEXT, 5, "quality of service; of jobs only"},
	{"partition", "Partition", "PARTITION", ACCT_TEXT, 5, "partition of the job or step"},
	{"state", "State", "STATE", ACCT_STATE, 9, "state of the job or step"},
	{"exit_code", "ExitCode", "EXIT", ACCT_EXIT, 0, "exit code, or the signal that ended the job or step"},
	{"signal", NULL, "SIGNAL", ACCT_NUMBER, 1, "number of the signal that ended the job or step"},
	{"cause", NULL, "CAUSE", ACCT_TEXT, 5, "why the job or step ended"},
	{"staging", NULL, "DATA", ACCT_TEXT, 8,
	 "state of the data of a job that burst_buffer.lua stages, as in rota show; staging_out, stage_out_failed: after its "
	 "end"},
	{"submit_at", "Submit", "SUBMITTED", ACCT_WHEN, 0, "when the job was submitted"},
	{"started_at", "Start", "STARTED", ACCT_WHEN, 0, "when the job or step started"},
	{"ended_at", "End", "ENDED", ACCT_WHEN, 0, "when the job or step ended"},
	{"elapsed_s", "Elapsed", "ELAPSED", ACCT_SECONDS, 0,
	 "from start to end: of steps without epilogs, of all with suspensions"},
	{"cpus", "AllocCPUS", "CPUS", ACCT_NUMBER, 0, "CPUs allocated"},
	{"wait_s", "Planned", "WAITED", ACCT_SECONDS, 0, "how long the job or step waited before it started"},
	{"suspended_s", "Suspended", "SUSPENDED", ACCT_SECONDS, 0, "how long the job or step was suspended"},
	{"time_limit_s", "Timelimit", "LIMIT", ACCT_SECONDS, 0, "time limit, 0 = none; of steps and attempts only"},
	{"cpu_s", "TotalCPU", "CPU TIME", ACCT_SECONDS, 0, "CPU time used, user and system, by all attempts together"},
	{"user_s", "UserCPU", "USER TIME", ACCT_SECONDS, 0, "part of the CPU time in user mode"},
	{"system_s", "SystemCPU", "SYSTEM TIME", ACCT_SECONDS, 0, "part of the CPU time in the kernel"},
	{"cpu_held_s", "CPUTimeRAW", "CPU ALLOCATED", ACCT_SECONDS, 0,
	 "CPU time allocated: CPUs times the time for which they were allocated"},
	{"max_rss_kb", "MaxRSS", "MAX RSS", ACCT_KILOBYTES, 0,
	 "most memory of a process of a task, with pages of files that it maps"},
	{"ave_rss_kb", "AveRSS", "MEAN RSS", ACCT_KILOBYTES, 0,
	 "mean over the tasks of the most memory of each; of steps and attempts only"},
	{"peak_mb", NULL, "PEAK", ACCT_MEGABYTES, 0, "most memory on a node that counts against a limit, without pages of files"},
	{"energy_j", "ConsumedEnergyRaw", "ENERGY", ACCT_NUMBER, 0, "energy used, in joules, if the nodes measure it"},
	{"mem_requested_mb", "ReqMem", "MEM REQUESTED", ACCT_MEGABYTES, 0, "memory requested, over all nodes"},
	{"alloc_tres", "AllocTRES", "ALLOCATED", ACCT_TEXT, 12,
	 "allocated resources: cpu=, mem=, node=, gres/; of steps and attempts only"},
	{"priority", "Priority", "PRIORITY", ACCT_NUMBER, 0,
	 "points of priority given to the job, less those that its owner gave up"},
	{"submit_line", "SubmitLine", "SUBMITTED AS", ACCT_TEXT, 12,
	 "command line of the submission; of your own jobs only, unless you are an operator"},
	{"nodes", "NodeList", "NODES", ACCT_TEXT, 4, "nodes on which the job or step ran"},
	{"attempts", NULL, "ATTEMPTS", ACCT_NUMBER, 0, "how often the job or step was started"},
	{"attempt", NULL, "ATTEMPT", ACCT_NUMBER, 0, "number of the attempt, from 1; with --attempts and --substeps"},
	{"output_file", NULL, "OUTPUT", ACCT_TEXT, 12, "file for standard output of the attempt; with --attempts"},
	{"substep", NULL, "SUB-STEP", ACCT_NUMBER, 0, "number of the sub-step, from 1; this and the next five with --substeps"},
	{"substep_name", NULL, "SUB-STEP NAME", ACCT_TEXT, 6, "name of the sub-step"},
	{"command", NULL, "COMMAND", ACCT_TEXT, 12, "program and arguments; of your own jobs only, unless you are an operator"},
	{"runs", NULL, "RUNS", ACCT_NUMBER, 0, "how often the sub-step was started"},
	{"queued_at", NULL, "QUEUED", ACCT_WHEN, 0, "when the sub-step was queued"},
	{"tasks_failed", NULL, "FAILED TASKS", ACCT_NUMBER, 0, "how many tasks of the sub-step failed"},
	{"session", NULL, "SESSION", ACCT_TEXT, 6, "name of the session; this and the next seven with --sessions"},
	{"gres", NULL, "GRES", ACCT_TEXT, 6, "generic resources of the sub-step"},
	{"attached", NULL, "ATTACHED", ACCT_TEXT, 8, "who is attached, and from which host"},
	{"last_key_at", NULL, "LAST KEY", ACCT_WHEN, 0, "when a key was last typed"},
	{"last_output_at", NULL, "LAST OUTPUT", ACCT_WHEN, 0, "when output was last written"},
	{"idle_s", NULL, "IDLE", ACCT_SECONDS, 0, "how long there was neither a key nor output"},
	{"idle_timeout_s", NULL, "IDLE LIMIT", ACCT_SECONDS, 0, "idle time after which the session is ended"},
	{"idle_timeout_of", NULL, "LIMIT OF", ACCT_TEXT, 8,
	 "what sets the idle limit: the session, job, partition or quality of service"},
	{"ntasks", "NTasks", "TASKS", ACCT_NUMBER, 0, "number of tasks"},
	{"rchar", NULL, "READ CALLS", ACCT_BYTES, 0, "bytes that read calls returned, from any file, pipe or socket"},
	{"wchar", NULL, "WRITE CALLS", ACCT_BYTES, 0, "bytes passed to write calls, to any file, pipe or socket"},
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
