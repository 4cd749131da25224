/* order_fuzz.c - libFuzzer on the parser of launch requests: no input harms it, and each accepted request has exactly one spelling. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order;
	struct err e;
	size_t length;
	if (!order_parse((const char *)data, size, &order, &e))
		return 0;
	struct fields *spec = order_spec_write(&order.spec);
	struct fields *again = order_write(&order, fields_text(spec, NULL));
	const char *text = fields_text(again, &length);
	if (length != size || memcmp(text, data, size) != 0)
		abort();
	fields_free(spec);
	fields_free(again);
	order_free(&order);
	return 0;
}
