/* restart_facts.c - finds the properties of a node on which restoring an image of DMTCP or CRIU depends.
 *
 * Called by: driver_dmtcp.c and driver_criu.c, to compare the node where an image was written with the node that restores it;
 * agent.c, to report them to the scheduler. */
#include "procmgr/record/restart_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/err.h"
#include "procmgr/record/bounded_run.h"

enum { VERSION_SIZE = 256, VERSION_S = 10, CPUINFO_SIZE = 8192 };

/* Is this flag of a CPU an instruction set that programs use? glibc chooses its functions by them when a program starts. */
static bool is_instruction_set(const char *flag)
{
	static const char *const begins[] = {"sse",   "ssse", "avx",  "fma",  "bmi",  "aes",  "vaes", "popcnt", "movbe",
					     "abm",   "f16c", "adx",  "sha",  "gfni", "vpcl", "pclm", "rd",	"amx",
					     "xsave", "fsgs", "erms", "fsrm", "rtm",  "cmov", "cx16", "lahf"};
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (strncmp(flag, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Returns the instruction sets of the CPUs, malloc'ed. */
static char *read_cpu(void)
{
	char *text = xcalloc(1, CPUINFO_SIZE), *chosen = xstrdup(""), *rest = NULL;
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, CPUINFO_SIZE - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	char *flags = strstr(text, "\nflags"), *colon = flags ? strchr(flags, ':') : NULL;
	if (colon)
		colon[1 + strcspn(colon + 1, "\n")] = '\0';
	for (char *flag = colon ? strtok_r(colon + 1, " ", &rest) : NULL; flag; flag = strtok_r(NULL, " ", &rest)) {
		char *before = chosen;
		if (!is_instruction_set(flag))
			continue;
		chosen = xasprintf("%s%s%s", before, *before ? " " : "", flag);
		free(before);
	}
	free(text);
	return chosen;
}

/* Add to the facts the version of a program in `folder`: the first line that it prints for --version, after the prefix `before`.
 * If `folder` is "", the node does not have the program. */
static void add_version(json_t *facts, const char *name, const char *folder, const char *file, const char *before)
{
	char text[VERSION_SIZE], *program = xasprintf("%s/%s", folder, file);
	bool has_run = *folder && bounded_run((char *[]){program, (char *)"--version", NULL}, VERSION_S, text, sizeof text) == 0;
	free(program);
	if (!has_run || strncmp(text, before, strlen(before)) != 0)
		return;
	const char *version = text + strlen(before);
	text[strcspn(text, "\n")] = '\0';
	if (*version)
		json_object_set_new(facts, name, json_string(version));
}

json_t *restart_facts(const char *dmtcp, const char *criu)
{
	struct utsname system;
	if (!*dmtcp && !*criu)
		return json_object();
	char *cpu = read_cpu();
	if (uname(&system) < 0)
		system.release[0] = '\0';
	json_t *facts = json_pack("{s:s, s:s}", "kernel", system.release, "cpu", cpu);
	add_version(facts, "dmtcp", dmtcp, "dmtcp_launch", "");
	add_version(facts, "criu", criu, "criu", "Version: ");
	free(cpu);
	return facts;
}

const char *restart_facts_lacking(const json_t *facts, const char *dmtcp, const char *criu)
{
	if (*dmtcp && !json_object_get(facts, "dmtcp"))
		return "dmtcp_launch";
	return *criu && !json_object_get(facts, "criu") ? "criu" : NULL;
}
