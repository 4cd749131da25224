/* order_element.h - an order may be for several elements of one array that differ in nothing else: which ones, besides the first. */
#ifndef ROTA_ORDER_ELEMENT_H
#define ROTA_ORDER_ELEMENT_H

#include <stdbool.h>

#include "lib/err.h"

struct order_element {
	int step_id, array_index;
};

enum { ORDER_ELEMENTS_MOST = 64 }; /* in one order */

/* "18:8,19:9": step and index of each behind the *count there are in `elements` (room for ORDER_ELEMENTS_MOST), the steps rising. */
bool order_elements_read(const char *text, struct order_element *elements, int *count, struct err *e);

/* That text of them; the caller frees it. */
char *order_elements_text(const struct order_element *elements, int count);

#endif
