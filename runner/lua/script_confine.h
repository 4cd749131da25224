/* script_confine.h - gives up what a program that runs a site's script does not need. */
#ifndef ROTA_RUNNER_SCRIPT_CONFINE_H
#define ROTA_RUNNER_SCRIPT_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Close all descriptors from `first` on, and write no core files. */
void script_confine_files(int first);

/* Confine this process for good: it starts no program or process, gains no privilege by executing one, opens no file for writing and no
 * socket, and has at most `memory` bytes of address space above what it has now. Where the build has a sanitizer, which needs more, only
 * privileges are given up. */
bool script_confine_process(size_t memory, struct err *e);

#endif
