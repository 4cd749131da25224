/* option_value.h - the larger parsers of option values, which option_value.c calls. Each returns new JSON, or NULL with an
 * error. */
#ifndef ROTA_OPTION_VALUE_H
#define ROTA_OPTION_VALUE_H

#include "jobmgr/translate/option.h"

json_t *option_duration(const char *text, struct err *e);
json_t *option_moment(const char *text, int64_t now, struct err *e);

json_t *option_hosts(const char *text, struct option_context *context, struct err *e);
json_t *option_array(const char *text, struct option_context *context, struct err *e);
json_t *option_features(const char *text, struct err *e);

json_t *option_gres(const char *text, struct err *e);
json_t *option_licenses(const char *text, struct err *e);
json_t *option_gpus(const char *text, struct err *e);
json_t *option_keep(const char *text, struct err *e);
json_t *option_credentials(const char *text, struct err *e);
json_t *option_signal(const char *text, struct err *e);
json_t *option_catchable(const char *text, struct err *e);
json_t *option_request(const char *text, struct err *e);
json_t *option_mail(const char *text, struct err *e);
json_t *option_export(const char *text, struct err *e);

/* One item of an export list: a name, NAME=value with the value unquoted, or ALL or NONE alone. */
struct option_export_item {
	char *name;
	char *value; /* value of the variable; NULL: the value in the environment */
};

/* Read the next item of an export list and move *text after the item (NULL at the end). The caller frees name and value. Returns
 * false with an error if the item is malformed. */
bool option_export_next(const char **text, struct option_export_item *item, struct err *e);

#endif
