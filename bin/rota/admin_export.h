/* admin_export.h - `rota admin export` and `rota admin range`: jobs out of the database, into files. */
#ifndef ROTA_BIN_ADMIN_EXPORT_H
#define ROTA_BIN_ADMIN_EXPORT_H

#include <jansson.h>
#include <stdbool.h>

/* Export what {month} or {from} names into a folder of its own below `folder`; NULL where that failed, with the reason printed and the
 * exit status in *status, else the manifest. */
json_t *admin_export(const char *folder, json_t *request, int *status);

int admin_export_month(const char *month, const char *folder, bool json);
int admin_range_list(bool json);
int admin_range_drop(const char *from, const char *folder, bool json);

#endif
