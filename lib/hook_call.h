/* hook_call.h - asks runnerd to run functions of the site's Lua scripts. docs/formats.md, "The hook socket", describes requests and
 * answers.
 *
 * All functions belong to the thread of the event loop and never block. */
#ifndef ROTA_HOOK_CALL_H
#define ROTA_HOOK_CALL_H

#include <event2/event.h>
#include <jansson.h>

#include "lib/err.h"

enum { HOOK_CALL_MOST = 1 << 20 }; /* bytes of the longest request and of the longest answer */

struct hook_client;
struct hook_call;

/* How a call ended. Either `answer` or `e` is NULL. `answer`: the function ran. "rc" is 0 if it agreed; "message", "user", "log"
 * and "changes" are as runnerd sent them. It is valid until the callback returns; json_incref() keeps it. `e`: the function did
 * not run to its end, because runnerd cannot be reached or the script is broken or too slow: see hooks.broken of rota.conf. Its
 * code is RT502 if runnerd has answered, so that another attempt would end in the same way; else "". */
typedef void hook_call_done(const json_t *answer, const struct err *e, void *arg);

/* Returns true if runnerd listens at the socket `path` (hooks.socket). */
bool hook_call_listens(const char *path);

/* Make a client of the socket `path` (hooks.socket). It connects at the first call, and again at the first call after a failure.
 * A connection without calls is closed after a minute. A call that has no answer after `seconds` fails. If runnerd works,
 * functions that only compute are answered within 7 times hooks.call_seconds, unless a client has more than 1000 requests under
 * way. */
struct hook_client *hook_client_new(struct event_base *base, const char *path, int seconds);

/* Free the client, not inside `done` of a call. Calls under way are cancelled as by hook_call_cancel(). */
void hook_client_free(struct hook_client *client);

/* A function of a site script, with its arguments. */
struct hook_request {
	const char *script;   /* "job_submit" or "burst_buffer" */
	const char *function; /* for example "slurm_job_submit" */
	const char *body;     /* a JSON object without a newline, which only rota-lua parses */
	int seconds;	      /* the call fails after so many seconds; 0: after the seconds of the client */
};

/* Send a request. It is copied, and sent once at most. `done` is called exactly once, never inside this function, unless the call is
 * cancelled before. Where runnerd cannot be reached, `done` is called as soon as the event loop runs. The returned handle is valid
 * until `done` is called. */
struct hook_call *hook_call(struct hook_client *client, const struct hook_request *request, hook_call_done *done, void *arg);

/* Drop a call: its `done` is never called. If it runs slurm_bb_get_status, runnerd kills the function; other functions may run to
 * their end. */
void hook_call_cancel(struct hook_call *call);

#endif
