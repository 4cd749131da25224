/* log.h - the log of a daemon: one line for each entry on standard error, with `<priority>` in front if systemd reads the log. */
#ifndef ROTA_LOG_H
#define ROTA_LOG_H

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* Set the names of the program and of the node (NULL: none) that begin each log line, and the lowest level that is written. */
void log_open(const char *program, const char *node, enum log_level lowest);

void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
