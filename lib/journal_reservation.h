/* journal_reservation.h - reserves disk blocks after the end of a journal, so that no record is lost when the disk is full. */
#ifndef ROTA_JOURNAL_RESERVATION_H
#define ROTA_JOURNAL_RESERVATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/err.h"

/* Returns the bytes that the file system has reserved for a file after `end`, 0 if it does not report them. */
int64_t journal_reservation_behind(const struct stat *st, off_t end);

/* Reserve `bytes` of disk space in the file `fd` after `end`. Also returns true if the file system cannot reserve space. */
bool journal_reservation_take(int fd, off_t end, int64_t bytes, struct err *e);

#endif
