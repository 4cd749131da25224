/* runner_mail.c - takes mail about jobs from the database, passes it to the mail program, and reports the outcome.
 *
 * Called by: runner.c on each beat and when a process ended.
 * Invariants:
 * - A mail is sent at least once: api.mail_take() returns it again after a time, until its outcome is reported.
 * - Mail and hooks do not wait for each other, since each has its own limit of processes.
 * - Mail needs no term. A mail program continues when the term or the connection is lost, and its outcome is reported later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/crash.h"
#include "lib/log.h"
#include "lib/mail.h"
#include "runner/hook_environment.h"
#include "runner/mail_message.h"
#include "runner/runner_parts.h"

/* Seconds after which an answer of api.mail_take() is dropped, less than the margin of 30 s in that function: later, another
 * runnerd may have taken the same mail. */
enum { MAIL_STALE = 20 };

struct runner_mail {
	struct hook_set mails;
	bool taking;	     /* a call of api.mail_take() is under way */
	bool may_be_due;     /* the database may have mail to take */
	int64_t asked_at_us; /* last call of api.mail_take(), as time since boot */
};

struct runner_mail *runner_mail_new(struct runner *r)
{
	struct runner_mail *m = xcalloc(1, sizeof *m);

	hook_set_open(&m->mails, &r->bound, r->conf->mail_limit);
	return m;
}

void runner_mail_free(struct runner_mail *m)
{
	hook_set_free(&m->mails);
	free(m);
}

bool runner_mail_busy(const struct runner *r)
{
	return hook_set_is_busy(&r->mail->mails);
}

static void mail_report_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;

	(void)db;
	hook_set_reported(&r->mail->mails, result != NULL);
	if (!result) /* the report failed; the next heartbeat reports these mails again */
		runner_term_failed(r, "could not report sent mail to the database; trying again", e);
}

/* Returns the mail program's error and the end of its output, for the database, or NULL if the program accepted the mail. */
static char *mail_failure(const struct hook *h)
{
	if (!*h->message)
		return NULL;
	return xasprintf("%s%s%s", h->message, *h->tail ? ": " : "", h->tail);
}

static void mail_report(struct runner *r)
{
	struct runner_mail *m = r->mail;
	struct db_array *ids = db_array_new(), *failures = db_array_new();

	for (const struct hook *h = m->mails.ended; h; h = h->next) {
		char *failure = mail_failure(h);

		db_array_int(ids, h->id);
		db_array_text(failures, failure);
		free(failure);
	}
	hook_set_report(&m->mails);
	db_call(r->db, API_mail_report, (struct db_param[]){{db_array_literal(ids), -1}, {db_array_literal(failures), -1}}, 2,
		mail_report_answered, r);
	db_array_free(ids);
	db_array_free(failures);
}

static void mail_send(struct runner *r, struct hook *h, const struct mail_message *message)
{
	char *text = mail_message_write(message), **recipients = mail_recipients(message->recipients);
	char **arguments = mail_message_arguments(recipients), **environment = hook_environment(NULL, 0, r->conf->instance_name);
	int input = hook_open_input(text);

	if (hook_start(h, r->base,
		       &(struct hook_start){.arguments = arguments,
					    .environment = environment,
					    .input = input,
					    .timeout_s = r->conf->mail_timeout}))
		crash_point(CRASH_mail_started);
	close(input);
	hook_environment_free(environment);
	free(arguments);
	mail_recipients_free(recipients);
	free(text);
}

static void mail_begin(struct runner *r, const PGresult *result, int row)
{
	struct mail_message message = {.recipients = db_text(result, row, "recipient"),
				       .subject = db_text(result, row, "subject"),
				       .body = db_text(result, row, "body"),
				       .key = db_text(result, row, "key"),
				       .cluster = r->conf->instance_name,
				       .made_at = strtoll(db_text(result, row, "made_at"), NULL, 10)};
	struct hook *h = hook_new(strtoll(db_text(result, row, "mail_id"), NULL, 10), db_text(result, row, "label"),
				  r->conf->mail_program, "mail program");
	struct err e;

	/* Verify the recipients, since they become arguments of the mail program and the database is not trusted. */
	if (mail_recipients_valid(message.recipients, &e))
		mail_send(r, h, &message);
	else
		snprintf(h->message, sizeof h->message, "not sent: %.400s", e.message);
	hook_set_add(&r->mail->mails, h);
}

static void mail_exchange(struct runner *r);

static void mail_take_answered(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	struct runner *r = arg;
	struct runner_mail *m = r->mail;

	(void)db;
	m->taking = false;
	hook_set_unreserve(&m->mails);
	if (!result) {
		runner_term_failed(r, "could not read mail to send from the database; trying again", e);
		return;
	}
	m->may_be_due = PQntuples(result) > 0;
	if (clock_boot_us() - m->asked_at_us > MAIL_STALE * 1000000LL)
		return;
	for (int i = 0; i < PQntuples(result); i++)
		mail_begin(r, result, i);
	mail_exchange(r);
}

static void mail_take(struct runner *r)
{
	char slots[16], timeout[16];

	snprintf(slots, sizeof slots, "%d", hook_set_reserve(&r->mail->mails));
	snprintf(timeout, sizeof timeout, "%d", r->conf->mail_timeout);
	r->mail->taking = true;
	r->mail->may_be_due = false;
	r->mail->asked_at_us = clock_boot_us();
	db_call(r->db, API_mail_take, (struct db_param[]){{slots, -1}, {timeout, -1}}, 2, mail_take_answered, r);
}

/* Report the mails that were sent, and take new ones, unless a database call for mail is under way. */
static void mail_exchange(struct runner *r)
{
	struct runner_mail *m = r->mail;

	if (!db_is_up(r->db))
		return;
	if (m->mails.ended && !m->mails.reporting)
		mail_report(r);
	if (m->may_be_due && !m->taking && hook_set_room(&m->mails) > 0 && mail_can_send(r->conf))
		mail_take(r);
}

void runner_mail_beat(struct runner *r)
{
	r->mail->may_be_due = true;
	mail_exchange(r);
}

bool runner_mail_reap(struct runner *r, pid_t pid)
{
	if (!hook_set_reap(&r->mail->mails, pid))
		return false;
	crash_point(CRASH_mail_reaped);
	mail_exchange(r);
	return true;
}
