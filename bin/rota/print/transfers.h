/* transfers.h - a table of transfers of data, which lines stage-in and stage-out ask for. */
#ifndef ROTA_PRINT_TRANSFERS_H
#define ROTA_PRINT_TRANSFERS_H

#include <jansson.h>
#include <stdbool.h>

/* Print the transfers, a list with the columns of acct.transfer: source, destination, state, files, bytes, rate, message. Columns
 * are cut to the width of the screen unless `wide` is true. */
void transfers_print(const json_t *transfers, bool wide);

#endif
