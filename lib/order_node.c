/* order_node.c - an order may be for several nodes of one step that stand behind each other in its list: see order.h. Called by whoever
 * believes an order, for the node it is. What always holds: what was picked is one of the nodes that the order is for, with the ranks that
 * the order gives it. */
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
