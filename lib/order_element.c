/* order_element.c - the array elements of a launch request: reads and writes their list, and picks one element.
 *
 * Called by: the signer, which writes launch requests; all parsers of launch requests.
 * Invariants:
 * - A list that order_elements_read() accepts has the same spelling as order_elements_text() gives it. */
#include "lib/order.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parse a decimal number at *at, without a sign or leading zeros, and move *at to after it. Returns false if there is none. */
static bool number(const char **at, int *n)
{
	char *end;
	if (**at < '0' || **at > '9' || (**at == '0' && (*at)[1] >= '0' && (*at)[1] <= '9'))
		return false;
	long long value = strtoll(*at, &end, 10);
	*at = end;
	*n = (int)value;
	return value <= INT_MAX;
}

static bool element_read(const char **at, struct order_element *x)
{
	if (!number(at, &x->step_id) || *(*at)++ != ':')
		return false;
	return number(at, &x->array_index);
}

bool order_elements_read(const char *text, struct order_element *elements, int *count, struct err *e)
{
	const char *at = text;
	int n = *count;
	do {
		if (n == ORDER_ELEMENTS_MOST || !element_read(&at, &elements[n]) ||
		    elements[n].step_id <= elements[n - 1].step_id)
			return err_set(e, "elements are not step:index pairs in order, fewer than %d: \"%.80s\"",
				       ORDER_ELEMENTS_MOST, text);
		n++;
	} while (*at++ == ',');
	*count = n;
	return !at[-1] || err_set(e, "the list of elements ends with \"%.80s\"", at - 1);
}

char *order_elements_text(const struct order_element *elements, int count)
{
	enum { ELEMENT_SIZE = 2 * 10 + 2 };
	char *text = xmalloc((size_t)count * ELEMENT_SIZE + 1), *end = text;
	*end = '\0';
	for (int i = 0; i < count; i++)
		end += sprintf(end, "%s%d:%d", i > 0 ? "," : "", elements[i].step_id, elements[i].array_index);
	return text;
}

/* Returns the malloc'ed label of another element of the array: for index 8, "812.solve[7]" becomes "812.solve[8]". Returns NULL
 * if step_label is not the label of an element. */
static char *label_of(const struct order *order, int array_index)
{
	const char *bracket = strchr(order->step_label, '[');
	return bracket ? xasprintf("%.*s[%d]", (int)(bracket - order->step_label), order->step_label, array_index) : NULL;
}

/* Returns true if a launch request is for an array element whose label ends with its index, so that label_of() can make the
 * labels of further elements. */
static bool others_fit(const struct order *order)
{
	char *label = label_of(order, order->array_index);
	bool fit = order->array_index >= 0 && label && strcmp(label, order->step_label) == 0;
	free(label);
	return fit;
}

bool order_elements_fill(struct order *order, struct err *e)
{
	struct order_element list[ORDER_ELEMENTS_MOST] = {{order->step_id, order->array_index}};
	int count = 1;
	if (order->also && !others_fit(order))
		return err_set(e, "\"%s\" is not element %d of an array", order->step_label, order->array_index);
	if (order->also && !order_elements_read(order->also, list, &count, e))
		return false;
	order->elements = xmalloc((size_t)count * sizeof *list);
	memcpy(order->elements, list, (size_t)count * sizeof *list);
	order->element_count = count;
	return true;
}

bool order_pick(struct order *order, int step_id)
{
	int i = 0;
	while (i < order->element_count && order->elements[i].step_id != step_id)
		i++;
	if (i == order->element_count)
		return false;
	if (order->step_id == step_id)
		return true;
	char *label = label_of(order, order->elements[i].array_index);
	free(order->label);
	order->step_label = order->label = label;
	order->step_id = step_id;
	order->array_index = order->elements[i].array_index;
	return true;
}
