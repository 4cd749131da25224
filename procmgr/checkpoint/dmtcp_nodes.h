/* dmtcp_nodes.h - the nodes of a step whose tasks DMTCP saves together: they reach the coordinator on the first one, and tell it
 * before each checkpoint whether all of their processes would be saved. */
#ifndef ROTA_DMTCP_NODES_H
#define ROTA_DMTCP_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* What a node other than the first one runs beside its tasks. */
struct dmtcp_node {
	const char *run;   /* folder of the attempt's coordinator */
	const char *first; /* host of the first node */
	void (*watch)(int port,
		      void *arg); /* function to run in a process of its own; NULL: none. `port`: reaches the coordinator */
	/* Would all processes of this node be saved? Stores the bytes that they need at most. */
	bool (*check)(int64_t *bytes, void *arg, struct err *e);
	void *arg;
};

/* Returns the path of a program of Rota's that steps with several nodes need on each, malloc'ed; NULL with an error. */
char *dmtcp_nodes_program(const char *name, struct err *e);
/* Has the library of DMTCP what rota-dmtcp-nodes.so uses? `folder`: folder of DMTCP's programs. A library that is not where DMTCP installs it
 * is not checked. */
bool dmtcp_nodes_library_fits(const char *folder, struct err *e);
/* Store in ROTA_CHECKPOINT_ADDRESS the address at which processes of other nodes reach those of this one. `hosts`: the hosts of all
 * nodes. */
bool dmtcp_nodes_export(const json_t *hosts, struct err *e);
/* On the first node, before its coordinator: make the file for questions. After: wait until rota-link listens for the others. */
bool dmtcp_nodes_prepare(const char *run, struct err *e);
bool dmtcp_nodes_await_link(const char *run, struct err *e);
/* On another node, in its first task: start rota-link, and a process that answers questions, which ends after the tasks. */
bool dmtcp_nodes_begin(const struct dmtcp_node *node, struct err *e);
/* On another node: wait until a port of this node reaches the coordinator. Returns the port, -1 with an error. */
int dmtcp_nodes_await_port(const char *run, struct err *e);
/* Read the port by which this node reaches the coordinator, and the process of its first task. Returns false if there is none yet. */
bool dmtcp_nodes_read_port(const char *run, int *port, int *root);
/* On the first node: ask the others whether all of their processes would be saved. Adds the bytes that they need to *bytes. */
bool dmtcp_nodes_ask(const char *run, int64_t *bytes, struct err *e);

#endif
