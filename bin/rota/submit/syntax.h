/* syntax.h - what the shell of a script says of its syntax, step by step, without running it. For `rota submit` and `rota check`. */
#ifndef ROTA_BIN_SYNTAX_H
#define ROTA_BIN_SYNTAX_H

#include <stddef.h>

struct syntax;

/* Have the shell read the first `most` steps of the script called `name`, beside what the caller does meanwhile. NULL where no shell runs the script. */
struct syntax *syntax_begin(const char *name, const char *script, size_t size, int most);

/* Warn of what it found, on standard error; NULL is allowed. */
void syntax_end(struct syntax *syntax);

#endif
