/* keys.h - reads keys during a full-screen display: `q` ends `rota top` and `rota watch`. */
#ifndef ROTA_BIN_KEYS_H
#define ROTA_BIN_KEYS_H

#include <stdbool.h>

/* Read keys without echo from standard input, if that is a terminal and this process is in its foreground. The settings of the
 * terminal are restored at exit, by SIGINT, SIGTERM, SIGHUP and SIGQUIT, and while the process is stopped. Before a signal
 * ends the process, `leave` is called in the handler. After SIGINT, the exit status is `interrupted`. */
void keys_take(void (*leave)(void), int interrupted);

/* Wait for `milliseconds`. Returns true, at once, if `q` is pressed. */
bool keys_rest(int milliseconds);

#endif
