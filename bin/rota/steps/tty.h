/* tty.h - the terminal of a person whose program runs in a sub-step with a terminal of its own. */
#ifndef ROTA_BIN_TTY_H
#define ROTA_BIN_TTY_H

#include <stdbool.h>
#include <stddef.h>

/* Set the terminal to raw mode, so that every key, Ctrl-C and Ctrl-Z too, goes to the sub-step's program, until tty_end() or the
 * end of this process. Does nothing if standard input is not a terminal. */
void tty_begin(void);
void tty_end(void);

/* Returns the size of the terminal; 24 x 80 without a terminal. */
void tty_size(int *rows, int *cols);

/* Copy typed keys to `bytes`, which has room for size + 1 bytes. The escape `~.` at the beginning of a line, by which the user
 * leaves, is not copied. Returns the number of bytes for the program; *leave becomes true after the escape. */
size_t tty_filter(const char *typed, size_t size, char *bytes, bool *leave);

#endif
