/* format.h - formats times, durations, sizes, states and exit statuses for people, the same in every verb. */
#ifndef ROTA_BIN_FORMAT_H
#define ROTA_BIN_FORMAT_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

/* A short text by value, so that a call can stand where a string is wanted: format_duration(90).s */
struct word {
	char s[64];
};

/* A duration as "4:05", "1:04:05" or "2-01:04:05"; "-" for a negative duration. */
struct word format_duration(double seconds);

/* Seconds that a job, step or attempt of an answer ran: "elapsed_s" less "suspended_s". Before its start, the number is -1 and
 * the text "-". */
double format_ran_seconds(const json_t *object);
struct word format_ran(const json_t *object);

/* An ISO 8601 time as local time: "14:05:12" within twelve hours, else "Nov 20 14:05" or, in another year, "2024-11-20"; "-"
 * for null. */
struct word format_when(const json_t *time);
struct word format_when_at(time_t at);

/* An ISO 8601 time as full local time: "2025-11-20 14:05:12". */
struct word format_time(const json_t *time);

/* Seconds since the epoch as full local time: "2025-11-20 14:05:12". */
struct word format_moment(time_t at);

/* Convert an ISO 8601 time to seconds since the epoch. Returns false if `text` is no such time. */
bool format_time_parse(const char *text, double *seconds);

/* A size in units of 1024: "512M", "1.5G"; "-" for null. */
struct word format_size_mb(const json_t *mb);
struct word format_size_kb(const json_t *kb);
struct word format_size_bytes(const json_t *bytes);
struct word format_kilobytes(double kb);

/* Returns the MiB of a size such as "512", "512M", "4G" or "1T"; -1 if `text` is no size. */
long format_size_parse(const char *text);

/* A number as text, "-" for null. */
struct word format_count(const json_t *number);

/* How a step or attempt ended: exit code "0" or "3", signal "SIGKILL"; "" while the step runs. */
struct word format_exit(const json_t *exit_code, const json_t *signal);
/* The same of a row with "state", "exit_code" and "signal"; "" also where the code is 0 but the row is not completed: its tasks did not
 * begin, or something else than their codes ended it. */
struct word format_row_exit(const json_t *row);
struct word format_signal(int number);

/* The terminal colour of a step, job, node or partition state, "" for none. */
const char *format_state_colour(const char *state);

/* Returns true if `state` is a final state of a job or step. */
bool format_state_final(const char *state);

/* Returns true if `state` is a final state that is no failure. */
bool format_state_good(const char *state);

/* Returns a word quoted for a shell, if it needs quotes; malloc'ed. */
char *format_shell(const char *word);

/* Returns the name of state number `at` of jobs and steps, from 0 on; NULL after the last state. */
const char *format_state(size_t at);

/* Returns a member of an object as text, "" if the member is null or absent. */
const char *format_text(const json_t *object, const char *key);

/* Returns the numbers of a step's sub-steps by state, as "5 ended, 1 failed, 2 running"; "" if it has none. */
struct word format_substeps(const json_t *totals);

#endif
