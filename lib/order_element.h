/* order_element.h - the list of array elements that a launch request covers besides its first element. */
#ifndef ROTA_ORDER_ELEMENT_H
#define ROTA_ORDER_ELEMENT_H

#include <stdbool.h>

#include "lib/err.h"

struct order_element {
	int step_id, array_index;
};

enum { ORDER_ELEMENTS_MOST = 64 }; /* most array elements of one launch request */

/* Parse a list "STEP:INDEX,...", such as "18:8,19:9", and append it to the *count elements in `elements`, which has room for
 * ORDER_ELEMENTS_MOST. The step ids must rise, from element to element and from the last one that `elements` already has. */
bool order_elements_read(const char *text, struct order_element *elements, int *count, struct err *e);

/* Returns the malloc'ed list "STEP:INDEX,..." of array elements. */
char *order_elements_text(const struct order_element *elements, int count);

#endif
