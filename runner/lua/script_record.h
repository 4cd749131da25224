/* script_record.h - makes the arguments of a site's functions: the job that it may change, the partitions, and facts about a
 * job. */
#ifndef ROTA_RUNNER_SCRIPT_RECORD_H
#define ROTA_RUNNER_SCRIPT_RECORD_H

#include <jansson.h>
#include <lua.h>

#include "lib/err.h"

/* Push a job: a table of its fields. Numbers that nobody has set read as NO_VAL and the like (script_unset.def). */
void script_record_push_job(lua_State *L, const json_t *job);

/* Returns the changes of the script to the job at `index`, which was pushed from `before`, as a merge patch. NULL with an error
 * if a field has a value that JSON does not have. Runs no code of the script and raises no Lua error. */
json_t *script_record_changes(lua_State *L, int index, const json_t *before, struct err *e);

/* Push a table of partitions by name, from an array of objects that have a member "name". */
void script_record_push_partitions(lua_State *L, const json_t *partitions);

/* Push facts about a job (job_info): an empty table whose metatable returns the fields of `info`. */
void script_record_push_info(lua_State *L, const json_t *info);

#endif
