/* gate_numbers.h - a stock of job numbers, reserved ahead while submissions come quickly. For gate*.c only. */
#ifndef ROTA_GATE_NUMBERS_H
#define ROTA_GATE_NUMBERS_H

#include <jansson.h>
#include <stddef.h>

enum { GATE_NUMBERS_MOST = 31 }; /* most numbers that are reserved ahead */

struct gate_numbers;

struct gate_numbers *gate_numbers_new(void);
void gate_numbers_free(struct gate_numbers *stock);

/* Take `count` numbers from the stock. Returns a JSON array, which the caller releases; NULL: the stock has too few. */
json_t *gate_numbers_take(struct gate_numbers *stock, size_t count);

/* Returns how many numbers to reserve in addition to those that are needed now: none unless submissions are frequent. */
size_t gate_numbers_ahead(struct gate_numbers *stock);

/* Replace the stock by the reserved `numbers` from index `first` on. If higher numbers were reserved meanwhile, the stock
 * stays, and these numbers are dropped. A dropped number stays unused. */
void gate_numbers_put(struct gate_numbers *stock, json_t *numbers, size_t first);

#endif
