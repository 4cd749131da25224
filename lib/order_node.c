/* order_node.c - picks the part for one node out of an order for several nodes of one step that follow each other in its list (order.h).
 *
 * Called by: whoever has verified an order, for the node it runs on.
 * Invariants:
 *  - What is picked is one of the nodes that the order is for, with the ranks that the order gives it. */
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
