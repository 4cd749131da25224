/* admin_export.h - exports jobs from the database to files, for `rota admin export` and `rota admin range`. */
#ifndef ROTA_BIN_ADMIN_EXPORT_H
#define ROTA_BIN_ADMIN_EXPORT_H

#include <stdbool.h>

int admin_export_month(const char *month, const char *folder, bool json);
int admin_range_list(bool json);
int admin_range_drop(const char *from, const char *folder, bool json);

#endif
