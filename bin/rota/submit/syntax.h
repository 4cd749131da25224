/* syntax.h - lets the shell of a script check the syntax of its steps without running them. */
#ifndef ROTA_BIN_SYNTAX_H
#define ROTA_BIN_SYNTAX_H

#include <stddef.h>

struct syntax;

/* Start to check the first `most` steps of the script `name` in the background. Returns NULL if the script is not for a shell. */
struct syntax *syntax_begin(const char *name, const char *script, size_t size, int most);

/* Wait for the check and print its warnings on standard error. `syntax` may be NULL. */
void syntax_end(struct syntax *syntax);

#endif
