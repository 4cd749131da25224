/* growth.h - submits a growth: a job that holds additional nodes for a running step. */
#ifndef ROTA_BIN_GROWTH_H
#define ROTA_BIN_GROWTH_H

#include <jansson.h>

/* The resources that a growth asks for. Texts are values of options of a submission; NULL: as the grown step has. Exactly one of
 * nodes and ntasks is above 0. */
struct growth_request {
	long nodes, ntasks, cpus_per_task; /* cpus_per_task 0: as many as the grown step has */
	const char *within, *time, *mem, *gres, *nodelist, *exclude, *constraint;
	const char *key; /* client key; NULL: none. With a key, growth_submit() waits for jobmgrd from its first request on */
};

/* Request more nodes (a growth) for the running step that `word` names: 812 or 812.solve[7]. Returns the answer of jobmgrd; NULL
 * after printing the reason, with the exit status in *status. */
json_t *growth_submit(const char *word, const struct growth_request *r, int *status);

#endif
