/* task_script.h - the script of one step, cut from the job's script. */
#ifndef ROTA_PROCMGR_TASK_SCRIPT_H
#define ROTA_PROCMGR_TASK_SCRIPT_H

#include <stddef.h>

#include "lib/order.h"

/* Keep the `#!` line, the preamble's lines and the step's lines. Every other line becomes empty, so the line numbers in a
 * shell's messages are those of the user's file. A spec without lines means the whole script. malloc'ed, NUL-terminated;
 * *length without the NUL. */
char *task_script_cut(const char *script, size_t size, const struct order_spec *spec, size_t *length);

#endif
