/* own_nodes.h - `rota nodes --mine`: the nodes of the step in which the program runs. */
#ifndef ROTA_BIN_OWN_NODES_H
#define ROTA_BIN_OWN_NODES_H

#include <stdbool.h>

/* Print what the step manager knows of the nodes, as a table or as JSON. With `watch`, redraw the table every second until a key ends it or
 * the step ends. Returns the exit status. */
int own_nodes_show(const char *verb, bool watch, bool json);

#endif
