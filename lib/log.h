/* log.h - a daemon's log: one line an entry on standard error, `<priority>` first when systemd reads it. */
#ifndef ROTA_LOG_H
#define ROTA_LOG_H

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* Name the program (and node, or NULL) at the head of each line, and set the lowest level that is written. */
void log_open(const char *program, const char *node, enum log_level lowest);

void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
