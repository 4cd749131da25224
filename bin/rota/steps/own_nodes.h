/* own_nodes.h - `rota nodes --mine`: the nodes of the step in which the program runs. */
#ifndef ROTA_BIN_OWN_NODES_H
#define ROTA_BIN_OWN_NODES_H

#include <stdbool.h>

/* Print the nodes of the step, as the step manager reports them, as a table or as JSON. With `watch`, redraw the table every
 * second until `q` is pressed or the step ends. Returns the exit status. */
int own_nodes_show(const char *verb, bool watch, bool json);

#endif
