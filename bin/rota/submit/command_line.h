/* command_line.h - a command line as text. */
#ifndef ROTA_BIN_COMMAND_LINE_H
#define ROTA_BIN_COMMAND_LINE_H

#include <stddef.h>

/* Returns words that each end with NUL as one line of UTF-8 text, quoted for a shell, of `most` bytes at most; malloc'ed. Of the
 * first word, a path, only the name of the file is left. A longer line is cut with "...". */
char *command_line_text(const char *words, size_t size, size_t most);

/* Returns the command line of this process, with at most 4096 bytes; malloc'ed; NULL if it cannot be read. */
char *command_line_own(void);

#endif
