/* http.c - a client's HTTP/1.1 connection to jobmgrd: sign, send, read the whole answer, keep the connection.
 *
 * Called by: `rota`. Calls block.
 * Invariants:
 * - After a failure or "Connection: close", the next request opens a new connection, so the answer to one request is never
 *   taken for that to another.
 * - Only a GET is sent twice, with a new credential, and only if a kept connection turned out to be closed.
 * - An answer has at most HTTP_MOST bytes.
 * - The header Rota-Seen of a request has the incarnation of the database that the client has seen; jobmgrd refuses the
 *   request if its database lacks that incarnation. If its incarnation is another one, the answer has the header
 *   Rota-Incarnation. */
#include "lib/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/auth.h"
#include "lib/db_seen.h"
#include "lib/http_stream.h"
#include "lib/http_url.h"

enum { HEAD_MOST = 65536, HTTP_MOST = 1 << 30 };

enum outcome { ANSWERED, FAILED, UNANSWERED /* connection closed before the first byte of an answer */ };

struct http {
	struct http_stream *stream; /* NULL: not connected; the next request connects */
	const struct conf *conf;
	bool used;	      /* the stream has served a request before */
	const char *protocol; /* the request under way asks for this protocol; NULL: for none */
	char in[16384];
	size_t at, end; /* begin and end of the unread bytes in `in` */
};

struct head {
	int status;
	long long length; /* bytes of the body, -1: unknown */
	bool chunked, keep;
	size_t budget; /* bytes by which the head may still grow */
};

struct body {
	char *text;
	size_t size, room;
};

static void http_drop(struct http *h)
{
	http_stream_close(h->stream);
	h->stream = NULL;
	h->used = false;
	h->at = h->end = 0;
}

static bool http_connect(struct http *h, struct err *e)
{
	if (!h->stream)
		h->stream = http_stream_open(h->conf, e);
	return h->stream != NULL;
}

struct http *http_open(const struct conf *conf, struct err *e)
{
	struct http *h = xcalloc(1, sizeof *h);
	h->conf = conf;
	if (http_connect(h, e))
		return h;
	http_close(h);
	return NULL;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	http_drop(h);
	free(h);
}

/* reading of answers */

/* Read more bytes into `in`. Returns 1, or 0 at the end of the connection, or -1 on failure. *e is set for 0 and -1. */
static int in_fill(struct http *h, struct err *e)
{
	ssize_t n = http_stream_read(h->stream, h->in, sizeof h->in, e);
	if (n == 0)
		err_set(e, "jobmgrd closed the connection before its answer was complete");
	h->at = 0;
	h->end = n > 0 ? (size_t)n : 0;
	return n > 0 ? 1 : (int)n;
}

/* Read one line of the head of an answer. Returns it malloc'ed without its line end, or NULL on failure. */
static char *line_get(struct http *h, size_t *budget, struct err *e)
{
	struct body line = {0};
	for (;;) {
		if (h->at == h->end && in_fill(h, e) <= 0)
			break;
		if (line.size + 1 >= line.room) {
			line.room = line.room ? line.room * 2 : 256;
			line.text = xrealloc(line.text, line.room);
		}
		char c = h->in[h->at++];
		if (c == '\0' || (*budget)-- == 0) {
			err_set(e, "jobmgrd's answer has a malformed or too long head");
			break;
		}
		if (c == '\n') {
			line.size -= line.size > 0 && line.text[line.size - 1] == '\r';
			line.text[line.size] = '\0';
			return line.text;
		}
		line.text[line.size++] = c;
	}
	free(line.text);
	return NULL;
}

/* Read `size` bytes of an answer and append them to the body. */
static bool body_take(struct http *h, struct body *body, size_t size, struct err *e)
{
	if (size > HTTP_MOST - body->size)
		return err_set(e, "jobmgrd's answer is larger than %d bytes", HTTP_MOST);
	while (size > 0) {
		if (h->at == h->end && in_fill(h, e) <= 0)
			return false;
		size_t n = size < h->end - h->at ? size : h->end - h->at;
		if (body->size + n + 1 > body->room) {
			body->room = (body->size + n + 1) * 2;
			body->text = xrealloc(body->text, body->room);
		}
		memcpy(body->text + body->size, h->in + h->at, n);
		h->at += n;
		body->size += n;
		size -= n;
	}
	return true;
}

/* Parse a decimal or hexadecimal number up to the end of `text` or a character of `ends`. Returns -1 for anything else. */
static long long digits(const char *text, int base, const char *ends)
{
	char *end;
	if (!strchr(base == 16 ? "0123456789abcdefABCDEF" : "0123456789", *text) || !*text)
		return -1;
	errno = 0;
	long long n = strtoll(text, &end, base);
	return errno || n > HTTP_MOST || (*end && !strchr(ends, *end)) ? -1 : n;
}

static bool head_line(struct head *head, char *line, struct err *e)
{
	char *value = strchr(line, ':');
	if (!value || value == line)
		return err_set(e, "jobmgrd's answer has a malformed head: \"%.80s\"", line);
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(line, "Content-Length") == 0) {
		long long length = digits(value, 10, " \t");
		if (length < 0 || (head->length >= 0 && head->length != length))
			return err_set(e, "jobmgrd's answer has a bad length: \"%.80s\"", value);
		head->length = length;
	} else if (strcasecmp(line, "Transfer-Encoding") == 0) {
		if (strcasecmp(value, "chunked") != 0)
			return err_set(e, "jobmgrd's answer has an unknown encoding: \"%.80s\"", value);
		head->chunked = true;
	} else if (strcasecmp(line, "Connection") == 0) {
		head->keep = strcasecmp(value, "close") != 0;
	} else if (strcasecmp(line, "Rota-Incarnation") == 0) {
		struct db_seen now;
		if (db_seen_parse(value, &now))
			db_seen_write(&now);
	}
	return true;
}

/* Read the status line and the head lines of an answer, up to the empty line. */
static bool head_read(struct http *h, struct head *head, struct err *e)
{
	*head = (struct head){.length = -1, .budget = HEAD_MOST};
	char *line = line_get(h, &head->budget, e);
	int minor = 0, behind = 0;
	if (!line)
		return false;
	bool ok = sscanf(line, "HTTP/1.%1d %3d%n", &minor, &head->status, &behind) == 2 && head->status >= 100 &&
		  (line[behind] == ' ' || line[behind] == '\0');
	if (!ok)
		err_set(e, "jobmgrd's answer is not HTTP: \"%.80s\"", line);
	head->keep = minor >= 1;
	while (ok) {
		free(line);
		line = line_get(h, &head->budget, e);
		if (!line || !*line)
			break;
		ok = head_line(head, line, e);
	}
	ok = ok && line;
	free(line);
	return ok;
}

static bool chunks_read(struct http *h, struct body *body, size_t budget, struct err *e)
{
	for (;;) {
		size_t room = 256;
		char *line = line_get(h, &room, e);
		if (!line)
			return false;
		long long size = digits(line, 16, "; \t");
		free(line);
		if (size < 0)
			return err_set(e, "jobmgrd's answer has a malformed chunk");
		if (size == 0)
			break;
		if (!body_take(h, body, (size_t)size, e) || !(line = line_get(h, &room, e)))
			return false;
		bool ended = *line == '\0';
		free(line);
		if (!ended)
			return err_set(e, "jobmgrd's answer has a malformed chunk");
	}
	for (bool more = true; more;) { /* skip trailers */
		char *line = line_get(h, &budget, e);
		if (!line)
			return false;
		more = *line != '\0';
		free(line);
	}
	return true;
}

/* Read a body without a length, which ends with the connection. */
static bool rest_read(struct http *h, struct body *body, struct err *e)
{
	int more;
	do {
		if (!body_take(h, body, h->end - h->at, e))
			return false;
		more = in_fill(h, e);
	} while (more > 0);
	return more == 0;
}

static bool body_read(struct http *h, struct head *head, struct body *body, struct err *e)
{
	if (head->status == 101 || head->status == 204 || head->status == 304)
		return true;
	if (head->chunked)
		return chunks_read(h, body, head->budget, e);
	if (head->length >= 0)
		return body_take(h, body, (size_t)head->length, e);
	head->keep = false;
	return rest_read(h, body, e);
}

/* sending of requests */

static char *request_head(struct http *h, const char *method, const char *target, const void *body, size_t size, struct err *e)
{
	char *server = http_url_server(h->conf, e);
	char *credential =
		server ? auth_encode(h->conf->munge_socket, server, &(struct auth_request){method, target, body, size}, e) : NULL;
	free(server);
	if (!credential)
		return NULL;
	struct db_seen seen = db_seen_read();
	char newest[DB_SEEN_SIZE] = "";
	if (seen.incarnation > 0)
		db_seen_text(&seen, newest);
	char *text = xasprintf("%s %s HTTP/1.1\r\nHost: rota\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
			       "%s%s%s%s%s%sAuthorization: Munge %s\r\n\r\n",
			       method, target, size, h->protocol ? "Connection: Upgrade\r\nUpgrade: " : "",
			       h->protocol ? h->protocol : "", h->protocol ? "\r\n" : "", *newest ? "Rota-Seen: " : "", newest,
			       *newest ? "\r\n" : "", credential);
	free(credential);
	return text;
}

static enum outcome http_exchange(struct http *h, const char *method, const char *target, const void *body, size_t size,
				  struct head *head, struct body *answer, struct err *e)
{
	struct err unsent;
	char *text = request_head(h, method, target, body, size, e);
	if (!text)
		return FAILED;
	/* jobmgrd may refuse a request, and answer and close before it has read all of the request. So read an answer in any
	 * case. */
	bool sent =
		http_stream_write(h->stream, text, strlen(text), &unsent) && http_stream_write(h->stream, body, size, &unsent);
	free(text);
	if (!sent && !http_stream_is_stale(h->stream)) { /* jobmgrd hangs: it neither answered nor closed the connection */
		if (e)
			*e = unsent;
		return FAILED;
	}
	int more = in_fill(h, e);
	if (more <= 0 && !sent && e)
		*e = unsent;
	if (more <= 0)
		return more == 0 ? UNANSWERED : FAILED;
	do {
		if (!head_read(h, head, e))
			return FAILED;
	} while (head->status < 200 && !(head->status == 101 && h->protocol)); /* skip 100 Continue */
	return body_read(h, head, answer, e) ? ANSWERED : FAILED;
}

bool http_request(struct http *h, const char *method, const char *target, const void *body, size_t size, int *status,
		  char **answer, size_t *answer_size, struct err *e)
{
	struct head head;
	struct body got = {.text = xcalloc(1, 1), .room = 1};
	if (h->stream && h->used && http_stream_is_stale(h->stream))
		http_drop(h);
	enum outcome outcome = FAILED;
	for (bool again = true; again;) {
		if (!http_connect(h, e))
			break;
		outcome = http_exchange(h, method, target, body, size, &head, &got, e);
		again = outcome == UNANSWERED && h->used && strcmp(method, "GET") == 0;
		h->used = true;
		if (outcome != ANSWERED || !head.keep)
			http_drop(h);
	}
	if (outcome != ANSWERED) {
		free(got.text);
		return false;
	}
	got.text[got.size] = '\0';
	*status = head.status;
	*answer = got.text;
	if (answer_size)
		*answer_size = got.size;
	return true;
}

bool http_upgrade(struct http *h, const char *target, const char *body, const char *protocol, int *status, char **answer,
		  struct err *e)
{
	h->protocol = protocol;
	bool answered = http_request(h, "POST", target, body, strlen(body), status, answer, NULL, e);
	h->protocol = NULL;
	if (answered && *status == 101 && (!h->stream || h->at < h->end)) {
		free(*answer);
		return err_set(e, "jobmgrd sent more than its answer, or closed the connection");
	}
	return answered;
}

int http_socket(const struct http *h, struct ssl_st **tls)
{
	return http_stream_socket_of(h->stream, tls);
}
