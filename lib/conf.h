/* conf.h - reads and writes rota.conf, the one configuration file of an instance, in INI form. Every program reads it.
 *
 * Path of rota.conf: --config, else $ROTA_CONFIG, else $ROTA_HOME/etc/rota.conf, else ~/.local/state/rota/etc/rota.conf (for
 * root: that of the account `rota`), else /etc/rota/rota.conf. Keys are described once, in conf.def; an unknown key, a bad
 * value or a missing file is an error that names file and line. */
#ifndef ROTA_CONF_H
#define ROTA_CONF_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

struct conf {
#define CONF_TEXT(section, name, otherwise, help) char *section##_##name;
#define CONF_INT(section, name, otherwise, lowest, highest, help) int section##_##name;
#include "lib/conf.def"
#undef CONF_TEXT
#undef CONF_INT
	char *path; /* path of the configuration file that was read */
};

/* Returns the malloc'ed path of the state folder of an instance: $ROTA_HOME, or else the default for the current user. */
char *conf_home(void);

/* Returns true if `value` is one of the words in `words`, which is a list like "a, b, c". */
bool conf_word_is(const char *words, const char *value);

/* Returns true if `value` is an absolute path. An empty value is valid too if `otherwise`, the default of the key, is empty. */
bool conf_path_is(const char *otherwise, const char *value);

/* Read the configuration file `path`. If `path` is NULL, search for rota.conf in the usual places. */
bool conf_load(struct conf *c, const char *path, struct err *e);
void conf_clear(struct conf *c);

/* Return the account of procmgrd (node.account), of runnerd (controller.account) and of rota-credd (credentials.account), each by default
 * instance.account. */
const char *conf_node_account(const struct conf *c);
const char *conf_controller_account(const struct conf *c);
const char *conf_credentials_account(const struct conf *c);

/* Returns true if the site has scripts, whose functions runnerd calls (hooks.job_submit, hooks.burst_buffer). */
bool conf_has_scripts(const struct conf *c);

/* Returns the lowest user id whose jobs run (launcher.min_uid). */
uid_t conf_min_uid(const struct conf *c);

/* Returns true in a private instance of a user other than root: its daemons, its launchers and all of its jobs run as that user. */
bool conf_is_personal(const struct conf *c);

/* Write the configuration `c` to the file `path`, with the help of each key as a comment above the key. */
bool conf_save(const struct conf *c, const char *path, struct err *e);

#endif
