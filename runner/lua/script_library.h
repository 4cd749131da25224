/* script_library.h - makes the table of constants and functions that a site's script has as `slurm` and as `rota`. */
#ifndef ROTA_RUNNER_SCRIPT_LIBRARY_H
#define ROTA_RUNNER_SCRIPT_LIBRARY_H

#include <jansson.h>
#include <lua.h>
#include <stddef.h>

/* Callback for the script's messages. `level` is "info", "error", "verbose", "debug" (log), or "user" (a text for the user). */
struct script_output {
	void (*message)(void *arg, const char *level, const char *text, size_t length);
	void *arg;
};

/* Push a new table with the constants and functions. Its functions use `output`, which the caller keeps, and the present
 * string.format, even if the script replaces that later. `cluster`: name of the cluster, or NULL. */
void script_library_push(lua_State *L, const struct script_output *output, const char *cluster);

/* Use these priorities of qualities of service, {"NAME": NUMBER}, until the next call of this function; NULL: none are known. */
void script_library_use_qos(const json_t *priorities);

/* Clear the name that script_library_unknown() returns. */
void script_library_forget(void);

/* Returns the name of the last constant that the script read and that does not exist, such as "EROR"; "": none since
 * script_library_forget(). */
const char *script_library_unknown(void);

/* Push the function `print` that writes to the log. */
void script_library_push_print(lua_State *L, const struct script_output *output);

/* Message handler for lua_pcall(): turns any error object into a text. */
int script_library_describe(lua_State *L);

/* Push the number of the constant `name`: NO_VAL, NO_VAL16 and so on. */
void script_library_push_unset(lua_State *L, const char *name);

#endif
