/* proc_file.h - files of /proc/PID (proc(5)): how they are read, and their fields. */
#ifndef ROTA_PROC_FILE_H
#define ROTA_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read a file of a process, such as "status", into `text`, with a NUL. Only what one call of read() returns is read: a file that has
 * more than a page, or does not fit into `size` bytes, is cut. If the process has ended, or the file is empty or cannot be read,
 * returns false and makes `text` "". */
bool proc_file_read(pid_t pid, const char *name, char *text, size_t size);

/* Returns the value in the first line that begins with `word`, such as "PPid:", without the blanks before it; NULL: no line does. */
const char *proc_file_field(const char *text, const char *word);

/* Returns the number that is such a value, or -1 if there is none. */
int64_t proc_file_number(const char *text, const char *word);

/* Returns the third and later fields in the text of /proc/PID/stat, with a space before them; NULL: the text has none. The second
 * field is the name in parentheses, which may have any character. */
const char *proc_file_stat(const char *text);

#endif
