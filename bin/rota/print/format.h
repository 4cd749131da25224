/* format.h - how times, durations, sizes, states and ends are written for people, the same in every verb. */
#ifndef ROTA_BIN_FORMAT_H
#define ROTA_BIN_FORMAT_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

/* A short text by value, so that a call can stand where a string is wanted: format_duration(90).s */
struct word {
	char s[64];
};

/* "4:05", "1:04:05", "2-01:04:05"; "-" below zero. */
struct word format_duration(double seconds);

/* How long a job, step or attempt of an answer ran: "elapsed_s" less "suspended_s"; "-" where it has not started. */
double format_ran_seconds(const json_t *object);
struct word format_ran(const json_t *object);

/* An ISO 8601 time from the gate: "14:05:12" within twelve hours, else "Nov 20 14:05" or, of another year, "2024-11-20"; "-" for null. */
struct word format_when(const json_t *time);
struct word format_when_at(time_t at);

/* The same in full, local: "2025-11-20 14:05:12". */
struct word format_time(const json_t *time);

/* The same of a time of this machine. */
struct word format_moment(time_t at);

/* Seconds since the epoch of an ISO 8601 time; false where it is none. */
bool format_time_parse(const char *text, double *seconds);

/* 1024-based: "512M", "1.5G"; "-" for null. */
struct word format_size_mb(const json_t *mb);
struct word format_size_kb(const json_t *kb);
struct word format_size_bytes(const json_t *bytes);
struct word format_kilobytes(double kb);

/* MiB of "512", "512M", "4G", "1T"; -1 where it is none. */
long format_size_parse(const char *text);

/* A count, "-" for null. */
struct word format_count(const json_t *number);

/* How something ended: "0", "3", "SIGKILL"; "" while it runs. */
struct word format_exit(const json_t *exit_code, const json_t *signal);
struct word format_signal(int number);

/* The terminal colour of a step, job, node or partition state, "" for none. */
const char *format_state_colour(const char *state);

/* Whether a state is an end. */
bool format_state_final(const char *state);

/* Whether a state is an end without a failure. */
bool format_state_good(const char *state);

/* A word as a shell would take it back, quoted where it has to be; malloc'ed. */
char *format_shell(const char *word);

/* The states of jobs and steps, from 0; NULL behind the last one. */
const char *format_state(size_t at);

/* A member as text, "" where it is null or absent. */
const char *format_text(const json_t *object, const char *key);

#endif
