/* holder.c - makes requests for jobs that hold nodes and run nothing (holder.h).
 *
 * Called by: allocation.c, growth.c. Invariants: the job's script calls the path of this program, which must therefore be the
 * same on the nodes. */
#include "bin/rota/steps/holder.h"

#include <stdlib.h>
#include <unistd.h>

#include "bin/rota/print/format.h"
#include "bin/rota/submit/origin.h"
#include "bin/rota/submit/submit_key.h"

json_t *holder_request(const char *verb, const char *name, json_t *options, const char *key, struct err *e)
{
	char self[4096];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *quoted;
	json_t *request;

	self[size > 0 ? size : 0] = '\0';
	quoted = format_shell(self);
	request = json_pack(
		"{s:o, s:s, s:o}", "script",
		json_sprintf("#!/bin/sh\n# This script was created by rota %s.\nexec %s %s --hold\n", verb, quoted, verb),
		"script_name", name, "options", options);
	free(quoted);
	if (!request) {
		err_set(e, "the name of the command is not UTF-8");
		return NULL;
	}
	submit_key_add(request, key);
	if (origin_add(request, e))
		return request;
	json_decref(request);
	return NULL;
}
