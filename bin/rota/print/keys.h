/* keys.h - keys pressed while a screen is up: `q` ends `rota top` and `rota watch`. */
#ifndef ROTA_BIN_KEYS_H
#define ROTA_BIN_KEYS_H

#include <stdbool.h>

/* Read keys one by one, without echo, from the terminal of standard input, if it is one and this process is in its foreground. The
 * terminal is given back at exit, by any of SIGINT, SIGTERM, SIGHUP and SIGQUIT, and while the process is stopped; `leave` (safe in a
 * signal handler) is called before those end the process. SIGINT ends it with `interrupted`. */
void keys_take(void (*leave)(void), int interrupted);

/* Rest, but not once `q` was pressed: true then. */
bool keys_rest(int milliseconds);

#endif
