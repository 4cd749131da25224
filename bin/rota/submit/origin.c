/* origin.c - adds command line, environment, working directory, umask and soft limits of this process to a request.
 *
 * Called by: `rota submit` and `rota check`; `rota modify` for the directory.
 * Invariants:
 * - The whole environment is sent; jobmgrd keeps the part that --export names.
 * - Variables that are not UTF-8 cannot be JSON. They are left out, with a message. */
#include "bin/rota/submit/origin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/rota/submit/command_line.h"

extern char **environ;

/* The soft limits that are sent, with their names in launch requests. */
static const struct {
	const char *name;
	int resource;
} LIMITS[] = {
	{"core", RLIMIT_CORE},	 {"cpu", RLIMIT_CPU},	      {"data", RLIMIT_DATA},
	{"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
	{"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},     {"as", RLIMIT_AS},
};

/* In a job that submits another job, ROTA_SUBMIT_HOST names the host of the first submission, so the variable is replaced. */
static const char host_name[] = "ROTA_SUBMIT_HOST=";

static json_t *host_variable(void)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	return json_sprintf("%s%s", host_name, host[0] ? host : "localhost");
}

static json_t *environment(void)
{
	json_t *list = json_array();

	json_array_append_new(list, host_variable());
	for (char **variable = environ; *variable; variable++)
		if (strchr(*variable, '=') && strncmp(*variable, host_name, strlen(host_name)) &&
		    json_array_append_new(list, json_string(*variable)))
			fprintf(stderr, "rota: left out variable \"%.*s\", whose value is not UTF-8\n",
				(int)strcspn(*variable, "="), *variable);
	return list;
}

static json_t *limits(void)
{
	char text[512];
	size_t used = 0;
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		if (getrlimit(LIMITS[i].resource, &limit))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=", used ? "," : "", LIMITS[i].name);
		if (limit.rlim_cur == RLIM_INFINITY)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "unlimited");
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%llu", (unsigned long long)limit.rlim_cur);
	}
	return json_stringn(text, used);
}

/* Returns the value of --workdir or --chdir among the options; NULL if neither is given. */
static const char *workdir_of(const json_t *options)
{
	static const char *const names[] = {"--workdir=", "--chdir="};
	const char *found = NULL;
	const json_t *option;
	size_t i;

	json_array_foreach (options, i, option)
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			if (!strncmp(json_string_value(option), names[n], strlen(names[n])))
				found = json_string_value(option) + strlen(names[n]);
	return found;
}

json_t *origin_folder(const json_t *options, bool always, struct err *e)
{
	char *name = getcwd(NULL, 0);
	json_t *folder = json_string(name);
	const char *workdir = workdir_of(options);

	if (!folder && (workdir ? workdir[0] == '/' || !strncmp(workdir, "~/", 2) : !always))
		folder = json_string("/");
	if (!folder && name)
		err_set(e, "the name of the working directory is not UTF-8");
	else if (!folder)
		err_sys(e, "could not find the path of the working directory");
	if (!folder)
		err_hint(e, "change to another folder, or name one by --workdir");
	free(name);
	return folder;
}

bool origin_add(json_t *request, struct err *e)
{
	json_t *folder = origin_folder(json_object_get(request, "options"), true, e);
	char mask_text[8];
	char *line = command_line_own();
	mode_t mask = umask(077);

	umask(mask);
	snprintf(mask_text, sizeof(mask_text), "%04o", (unsigned)mask);
	if (line)
		json_object_set_new(request, "submit_line", json_string(line));
	free(line);
	json_object_set_new(request, "environment", environment());
	json_object_set_new(request, "workdir", folder);
	json_object_set_new(request, "umask", json_string(mask_text));
	json_object_set_new(request, "rlimits", limits());
	return folder != NULL;
}
