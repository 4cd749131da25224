/* script_library.h - the table that a site's script knows as `slurm` and as `rota`. */
#ifndef ROTA_RUNNER_SCRIPT_LIBRARY_H
#define ROTA_RUNNER_SCRIPT_LIBRARY_H

#include <jansson.h>
#include <lua.h>
#include <stddef.h>

/* Where the script's messages go. `level` is "info", "error", "verbose", "debug" (log), or "user" (a text for the user). */
struct script_output {
	void (*message)(void *arg, const char *level, const char *text, size_t length);
	void *arg;
};

/* Push a new table with the constants and functions. Its functions use `output`, which the caller keeps, and string.format as it
 * is now. The name of the cluster may be NULL. */
void script_library_push(lua_State *L, const struct script_output *output, const char *cluster);

/* Use these priorities of qualities of service, {"NAME": NUMBER}, until the next call of this function; NULL: none are known. */
void script_library_use_qos(const json_t *priorities);

/* Forget which unknown constants were read. */
void script_library_forget(void);

/* Returns the constant that was read last and does not exist, such as "EROR"; "": none was read since script_library_forget(). */
const char *script_library_unknown(void);

/* Push the function `print` that writes to the log. */
void script_library_push_print(lua_State *L, const struct script_output *output);

/* A handler of Lua errors: makes any error object a text. */
int script_library_describe(lua_State *L);

/* Push the number that NAME, one of NO_VAL and so on, is. */
void script_library_push_unset(lua_State *L, const char *name);

#endif
