/* conf.h - one configuration file for an instance, INI form, read by every program: rota.conf.
 *
 * Where it is: --config, else $ROTA_CONFIG, else $ROTA_HOME/etc/rota.conf, else ~/.local/state/rota/etc/rota.conf (for
 * root: that of the account `rota`), else /etc/rota/rota.conf. Keys are described once, in conf.def; an unknown key, a bad
 * value or a missing file is an error that names file and line. */
#ifndef ROTA_CONF_H
#define ROTA_CONF_H

#include <stdbool.h>

#include "lib/err.h"

struct conf {
#define CONF_TEXT(section, name, otherwise, help) char *section##_##name;
#define CONF_INT(section, name, otherwise, lowest, highest, help) int section##_##name;
#include "lib/conf.def"
#undef CONF_TEXT
#undef CONF_INT
	char *path; /* the file that was read */
};

/* The state folder of the instance the caller means: $ROTA_HOME or its default; malloc'ed. */
char *conf_home(void);

/* Is it one of the words "a, b, c"? */
bool conf_word_is(const char *words, const char *value);

/* Is it a path from the root, or empty where the key's default is? */
bool conf_path_is(const char *otherwise, const char *value);

/* Read the file (path NULL: searched as said above). */
bool conf_load(struct conf *c, const char *path, struct err *e);
void conf_clear(struct conf *c);

/* Write a file with the values in `c` and each key's help as comment above it. */
bool conf_save(const struct conf *c, const char *path, struct err *e);

#endif
