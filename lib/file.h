/* file.h - writes to descriptors. */
#ifndef ROTA_FILE_H
#define ROTA_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Write all bytes to a descriptor that blocks, or to a file. Returns false with errno set if not all could be written. */
bool file_write_all(int fd, const void *bytes, size_t size);

#endif
