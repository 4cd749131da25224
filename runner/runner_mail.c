/* runner_mail.c - mail about jobs: taken from the database, given to the mail program, reported.
 *
 * Called by: runner.c, on each beat; runner_child.c, when a process ends.
 * Invariants:
 * - a mail is sent at least once: api.mail_take has it due again later, until its end is reported
 * - mail and hooks do not wait for each other: each has a limit of its own
 * - mail needs no term, so what is being sent goes on when the term or the database is lost, and is reported later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/log.h"
#include "lib/mail.h"
#include "runner/hook_environment.h"
#include "runner/mail_message.h"
#include "runner/runner_parts.h"

enum { MAIL_STALE = 20 }; /* seconds: within the margin of api.mail_take; an older answer may be another runnerd's by now */

struct runner_mail {
	struct hook *running, *ended, *told; /* told: their report is on its way */
	int running_count;
	bool asking, more; /* more: there may be mails due */
	int64_t asked_at;  /* boot microseconds */
};

struct runner_mail *runner_mail_new(struct runner *r)
{
	(void)r;
	return xcalloc(1, sizeof(struct runner_mail));
}

void runner_mail_free(struct runner_mail *m)
{
	for (struct hook *h = m->running; h; h = h->next)
		hook_kill(h, "was ended with its runner");
	runner_child_free(&m->running);
	runner_child_free(&m->ended);
	runner_child_free(&m->told);
	free(m);
}

bool runner_mail_busy(const struct runner *r)
{
	return r->mail->running || r->mail->ended || r->mail->told;
}

static void report_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_mail *m = r->mail;
	struct hook **last = &m->ended;

	(void)db;
	if (result) {
		runner_child_free(&m->told);
	} else { /* said again on the next beat */
		while (*last)
			last = &(*last)->next;
		*last = m->told;
		m->told = NULL;
		runner_failed(r, "mails could not be reported", e);
	}
}

/* What the database keeps of a failure: how the program ended, and the end of what it printed. NULL: it took the mail. */
static char *failure_of(const struct hook *h)
{
	if (!*h->message)
		return NULL;
	return xasprintf("%s%s%s", h->message, *h->tail ? ": " : "", h->tail);
}

static void mail_report(struct runner *r)
{
	struct runner_mail *m = r->mail;
	struct db_array *ids = db_array_new(), *failures = db_array_new();

	for (const struct hook *h = m->ended; h; h = h->next) {
		char *failure = failure_of(h);

		db_array_int(ids, h->id);
		db_array_text(failures, failure);
		free(failure);
	}
	m->told = m->ended;
	m->ended = NULL;
	db_call(r->db, API_mail_report, (struct db_param[]){{db_array_literal(ids), -1}, {db_array_literal(failures), -1}}, 2,
		report_came, r);
	db_array_free(ids);
	db_array_free(failures);
}

static void mail_over(struct runner_mail *m, struct hook *h)
{
	if (*h->message)
		log_warning("%s: %s", h->label, h->message);
	h->next = m->ended;
	m->ended = h;
}

/* A file with the text, at its beginning; what a pipe holds might be less. */
static int text_file(const char *text)
{
	size_t length = strlen(text), done = 0;
	int fd = memfd_create("mail", MFD_CLOEXEC);

	while (fd >= 0 && done < length) {
		ssize_t size = write(fd, text + done, length - done);

		if (size < 0 && errno != EINTR)
			die("could not write a mail: %s", strerror(errno));
		done += size > 0 ? (size_t)size : 0;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
		die("could not make a file for a mail: %s", strerror(errno));
	return fd;
}

/* PROGRAM -i -- RECIPIENT... */
static char **arguments_of(char **recipients)
{
	char **arguments = xcalloc(MAIL_RECIPIENTS_MOST + 3, sizeof *arguments);

	arguments[0] = "-i"; /* a line with a single dot ends nothing */
	arguments[1] = "--";
	for (int i = 0; recipients[i]; i++)
		arguments[i + 2] = recipients[i];
	return arguments;
}

static bool mail_send(struct runner *r, struct hook *h, const struct mail_message *message)
{
	char *text = mail_message_write(message), **recipients = mail_recipients(message->recipients);
	char **arguments = arguments_of(recipients), **environment = hook_environment(NULL, 0, r->conf->instance_name);
	int input = text_file(text);
	bool started = hook_start(
		h, r->base,
		&(struct hook_start){
			.arguments = arguments, .environment = environment, .input = input, .timeout_s = r->conf->mail_timeout});

	if (started)
		crash_point(CRASH_mail_started);
	close(input);
	hook_environment_free(environment);
	free(arguments);
	mail_recipients_free(recipients);
	free(text);
	return started;
}

static const char *cell(const PGresult *result, int row, const char *column)
{
	int field = PQfnumber(result, column);

	if (field < 0)
		die("the database does not tell \"%s\" of a mail", column);
	return PQgetvalue(result, row, field);
}

static void mail_begin(struct runner *r, const PGresult *result, int row)
{
	struct mail_message message = {.recipients = cell(result, row, "recipient"),
				       .subject = cell(result, row, "subject"),
				       .body = cell(result, row, "body"),
				       .key = cell(result, row, "key"),
				       .cluster = r->conf->instance_name,
				       .made_at = strtoll(cell(result, row, "made_at"), NULL, 10)};
	struct hook *h = hook_new(strtoll(cell(result, row, "mail_id"), NULL, 10), cell(result, row, "label"),
				  r->conf->mail_program, "mail program");
	struct err e;

	/* The database is not trusted with the program's arguments. */
	if (!mail_recipients_valid(message.recipients, &e)) {
		snprintf(h->message, sizeof h->message, "not sent: %.400s", e.message);
		mail_over(r->mail, h);
	} else if (mail_send(r, h, &message)) {
		h->next = r->mail->running;
		r->mail->running = h;
		r->mail->running_count++;
	} else {
		mail_over(r->mail, h);
	}
}

static int room(const struct runner *r)
{
	return r->conf->mail_limit - r->mail->running_count;
}

static void mail_work(struct runner *r);

static void take_came(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_mail *m = r->mail;

	(void)db;
	m->asking = false;
	if (!result) {
		runner_failed(r, "mails could not be taken", e);
		return;
	}
	m->more = PQntuples(result) > 0;
	if (clock_boot_us() - m->asked_at > MAIL_STALE * 1000000LL)
		return;
	for (int i = 0; i < PQntuples(result); i++)
		mail_begin(r, result, i);
	mail_work(r);
}

static void mail_take(struct runner *r)
{
	char rooms[16], timeout[16];

	snprintf(rooms, sizeof rooms, "%d", room(r));
	snprintf(timeout, sizeof timeout, "%d", r->conf->mail_timeout);
	r->mail->asking = true;
	r->mail->more = false;
	r->mail->asked_at = clock_boot_us();
	db_call(r->db, API_mail_take, (struct db_param[]){{rooms, -1}, {timeout, -1}}, 2, take_came, r);
}

/* What can be done now, as far as it is not under way. */
static void mail_work(struct runner *r)
{
	struct runner_mail *m = r->mail;

	if (!db_is_up(r->db))
		return;
	if (m->ended && !m->told)
		mail_report(r);
	if (m->more && !m->asking && room(r) > 0 && mail_can_send(r->conf))
		mail_take(r);
}

void runner_mail_beat(struct runner *r)
{
	r->mail->more = true;
	mail_work(r);
}

bool runner_mail_ended(struct runner *r, pid_t pid)
{
	struct hook **place = &r->mail->running, *h;

	while (*place && (*place)->pid != pid)
		place = &(*place)->next;
	h = *place;
	if (!h)
		return false;
	*place = h->next;
	r->mail->running_count--;
	hook_reap(h);
	crash_point(CRASH_mail_reaped);
	mail_over(r->mail, h);
	mail_work(r);
	return true;
}
