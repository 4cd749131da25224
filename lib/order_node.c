/* order_node.c - picks the part for one node from a launch request for several consecutive nodes of a step (order.h).
 *
 * Called by: programs that have verified a launch request, for the node on which they run.
 * Invariants:
 * - The picked node is one that the launch request covers, and it has the task ranks that the launch request gives it. */
#include <stdlib.h>
#include <string.h>

#include "lib/hosts.h"
#include "lib/order.h"

bool order_pick_node(struct order *order, const char *node)
{
	if (strcmp(order->node, node) == 0)
		return true;
	int index = order->more_nodes > 0 ? hosts_find(order->nodes, node) : -1;
	if (index < order->first_index || index > order->first_index + order->more_nodes)
		return false;
	char *name = xstrdup(node);
	free(order->name);
	order->node = order->name = name;
	order->first_task += (index - order->node_index) * order->tasks;
	order->node_index = index;
	return true;
}
