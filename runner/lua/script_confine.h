/* script_confine.h - drops the rights that a process does not need which runs a site's script in the sandbox. */
#ifndef ROTA_RUNNER_SCRIPT_CONFINE_H
#define ROTA_RUNNER_SCRIPT_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* Close all descriptors from `first` on, and write no core files. */
void script_confine_files(int first);

/* Confine this process for good: it starts no program or process, gains no privilege by executing one, opens no file for writing
 * and no socket, and has at most `memory` bytes of address space above what it has now. In a build with a sanitizer, which needs
 * such system calls and memory, only privileges are dropped. */
bool script_confine_process(size_t memory, struct err *e);

#endif
