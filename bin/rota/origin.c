/* origin.c - environment, working directory, umask and soft limits of the submitting process. For `rota submit`.
 *
 * All of the environment goes to the gate, which keeps of it what --export says. What is not UTF-8 cannot travel in JSON and is left
 * out, with a word about it. */
#include "bin/rota/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Soft limits that travel, under the names that launch orders know. */
static const struct {
	const char *name;
	int resource;
} LIMITS[] = {
	{"core", RLIMIT_CORE},	 {"cpu", RLIMIT_CPU},	      {"data", RLIMIT_DATA},
	{"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
	{"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},     {"as", RLIMIT_AS},
};

static json_t *environment(void)
{
	json_t *list = json_array();

	for (char **variable = environ; *variable; variable++)
		if (strchr(*variable, '=') && json_array_append_new(list, json_string(*variable)))
			fprintf(stderr, "rota: variable \"%.*s\" is not UTF-8 and is left out\n", (int)strcspn(*variable, "="),
				*variable);
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

void origin_add(json_t *request)
{
	char *cwd = getcwd(NULL, 0), mask_text[8];
	mode_t mask = umask(077);

	umask(mask);
	snprintf(mask_text, sizeof(mask_text), "%04o", (unsigned)mask);
	json_object_set_new(request, "environment", environment());
	json_object_set_new(request, "workdir", json_string(cwd ? cwd : "/"));
	json_object_set_new(request, "umask", json_string(mask_text));
	json_object_set_new(request, "rlimits", limits());
	free(cwd);
}
