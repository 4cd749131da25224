/* substep_show.h - prints sub-steps in `rota show`. */
#ifndef ROTA_BIN_SUBSTEP_SHOW_H
#define ROTA_BIN_SUBSTEP_SHOW_H

#include <stdbool.h>

#include "bin/rota/line/verb.h"

/* Print each sub-step in full. Returns the exit status. */
int substep_show(const struct verb_scan *scan, bool json);

#endif
