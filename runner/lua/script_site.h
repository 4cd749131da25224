/* script_site.h - loads a site's script into a sandbox, and calls its functions. */
#ifndef ROTA_RUNNER_SCRIPT_SITE_H
#define ROTA_RUNNER_SCRIPT_SITE_H

#include <jansson.h>
#include <stddef.h>

struct script_bounds {
	long long instructions;
	size_t memory; /* bytes */
	double seconds;
	const char *cluster; /* name of the cluster, or NULL */
};

struct site_script;

/* Make the script in the file `path`. The file is read when the script is called. The caller keeps `bounds`. */
struct site_script *site_script_new(const char *path, const struct script_bounds *bounds);
void site_script_free(struct site_script *script);

/* Call a function with arguments from the members of the request ("desc", "rec", "parts", "uid", "args", "job_info", "files").
 * Returns a new answer: {"rc", ...} or {"error"}. */
json_t *site_script_call(struct site_script *script, const char *function, const json_t *request);

#endif
