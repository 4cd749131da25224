/* file.h - writes to descriptors, and sets whether they block. */
#ifndef ROTA_FILE_H
#define ROTA_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Write all bytes to a descriptor that blocks, or to a file. Returns false with errno set if not all could be written. */
bool file_write_all(int fd, const void *bytes, size_t size);

/* Set whether reads and writes of a descriptor block. Returns false with errno set if that fails. */
bool file_set_blocking(int fd, bool blocks);

#endif
