/* script_cut.h - cuts the script of one step out of the job's script. */
#ifndef ROTA_SCRIPT_CUT_H
#define ROTA_SCRIPT_CUT_H

#include <stddef.h>

#include "lib/order.h"

/* Cut the script of a step from the job's script: the `#!` line, the preamble and the step's lines. Every other line becomes
 * empty, so the line numbers in a shell's messages are those of the user's file. If `spec` has no line numbers, the whole script
 * is kept. The result is malloc'ed and NUL-terminated; *length is without the NUL. */
char *script_cut(const char *script, size_t size, const struct order_spec *spec, size_t *length);

#endif
