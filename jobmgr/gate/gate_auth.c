/* gate_auth.c - a thread that decodes munge credentials and finds the names of users, one claim after the other.
 *
 * gate_intake.c asks, on the loop; the answer comes back on the loop through an eventfd. What always holds: a claim belongs to one
 * side at a time (the worker between the two queues, else the loop), a claim is answered exactly once, and a claim that got no
 * verdict within GATE_AUTH_TIMEOUT is answered without one, so a hung munged costs a client an error and the daemon nothing. What the
 * name service said of a user is good for GATE_AUTH_NAME_AGE: to ask it takes as many system calls as all else of a request. */
#include "jobmgr/gate/gate_auth.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "jobmgr/gate/gate_answer.h"
#include "lib/auth.h"
#include "lib/clock.h"
#include "lib/log.h"

enum {
	GATE_AUTH_TIMEOUT = 10,
	GATE_AUTH_NAME_SIZE = 65536,
	GATE_AUTH_GROUPS = 1024,
	GATE_AUTH_NAME_AGE = 1000, /* milliseconds */
	GATE_AUTH_NAMES = 64	   /* users whose names are kept */
};

/* What the name service said of a user; the worker's alone. */
struct name {
	uid_t uid;
	gid_t gid; /* with which its groups were asked for */
	char user[GATE_USER_SIZE];
	char *home;
	json_t *groups; /* NULL: not asked for yet */
	int64_t until;	/* by clock_ms(); 0: nothing */
};

/* A claim on its way. `answer` is NULL once the asker was told that no verdict came; only the loop looks at it. */
struct task {
	struct gate_auth *auth;
	struct gate_claim *claim;
	gate_auth_answer *answer;
	void *arg;
	struct event *timeout;
	bool abandoned; /* under the lock: the worker need not begin it any more */
	bool valid;
	struct err e;
	STAILQ_ENTRY(task) link;
};

STAILQ_HEAD(task_queue, task);

struct gate_auth {
	struct event_base *base;
	char *socket;
	int wake; /* eventfd: something is in `done` */
	struct event *event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct task_queue todo, done; /* under the lock, as is what follows */
	bool busy, stop;
	struct name names[GATE_AUTH_NAMES]; /* each user's place is by its uid */
};

void gate_claim_free(struct gate_claim *claim)
{
	if (!claim)
		return;
	free(claim->credential);
	free(claim->method);
	free(claim->target);
	free(claim->body);
	free(claim->home);
	json_decref(claim->groups);
	free(claim);
}

static void task_free(struct task *t)
{
	gate_claim_free(t->claim);
	if (t->timeout)
		event_free(t->timeout);
	free(t);
}

/* The login name of the claim's uid; a request without a name behind it is nobody's. */
static bool claim_name(struct gate_claim *claim, struct err *e)
{
	char *space = xmalloc(GATE_AUTH_NAME_SIZE);
	struct passwd entry, *found = NULL;
	int error = getpwuid_r(claim->uid, &entry, space, GATE_AUTH_NAME_SIZE, &found);
	bool ok = false;

	if (error != 0 && error != ENOENT && error != ESRCH) {
		gate_refuse(e, "RT503", "could not look up the name of uid %u: %s", (unsigned)claim->uid, strerrorname_np(error));
	} else if (!found) {
		gate_refuse(e, "RT403", "uid %u has no name on this host", (unsigned)claim->uid);
	} else if (strlen(entry.pw_name) >= sizeof claim->user) {
		gate_refuse(e, "RT403", "the name of uid %u is longer than %d bytes", (unsigned)claim->uid, GATE_USER_SIZE - 1);
	} else {
		strcpy(claim->user, entry.pw_name);
		claim->home = xstrdup(entry.pw_dir);
		ok = true;
	}
	free(space);
	return ok;
}

/* The names of all groups of the claim's user, as the name service knows them; one without a name is left out. */
static json_t *claim_groups(const struct gate_claim *claim)
{
	gid_t *gids = xcalloc(GATE_AUTH_GROUPS, sizeof *gids);
	char *space = xmalloc(GATE_AUTH_NAME_SIZE);
	struct group entry, *found;
	json_t *names = json_array();
	int count = GATE_AUTH_GROUPS;

	if (getgrouplist(claim->user, claim->gid, gids, &count) < 0)
		count = GATE_AUTH_GROUPS; /* the first ones will do */
	for (int i = 0; i < count; i++) {
		if (getgrgid_r(gids[i], &entry, space, GATE_AUTH_NAME_SIZE, &found) == 0 && found)
			json_array_append_new(names, json_string(entry.gr_name));
	}
	free(space);
	free(gids);
	return names;
}

static void name_clear(struct name *name)
{
	free(name->home);
	json_decref(name->groups);
	*name = (struct name){0};
}

/* Who the claim's uid is, as the name service says or said a moment ago. */
static bool claim_know(struct gate_auth *a, struct gate_claim *claim, struct err *e)
{
	struct name *name = &a->names[claim->uid % GATE_AUTH_NAMES];
	int64_t now = clock_ms();

	if (name->uid != claim->uid || name->gid != claim->gid || name->until <= now)
		name_clear(name);
	if (!name->until) {
		if (!claim_name(claim, e))
			return false;
		*name = (struct name){
			.uid = claim->uid, .gid = claim->gid, .home = xstrdup(claim->home), .until = now + GATE_AUTH_NAME_AGE};
		strcpy(name->user, claim->user);
	} else {
		strcpy(claim->user, name->user);
		claim->home = xstrdup(name->home);
	}
	if (claim->ask_groups && !name->groups)
		name->groups = claim_groups(claim);
	if (claim->ask_groups)
		claim->groups = json_deep_copy(name->groups); /* the loop's own: counts of references are no thread's business */
	return true;
}

static bool claim_decode(struct gate_auth *a, struct gate_claim *claim, struct err *e)
{
	if (!auth_decode(a->socket, claim->credential, claim->method, claim->target, claim->body, claim->size, &claim->uid,
			 &claim->gid, e)) {
		if (e->code[0] == '\0')
			memcpy(e->code, "RT401", sizeof e->code);
		return false;
	}
	return claim_know(a, claim, e);
}

static void worker_done(struct gate_auth *a, struct task *t)
{
	uint64_t one = 1;

	pthread_mutex_lock(&a->lock);
	STAILQ_INSERT_TAIL(&a->done, t, link);
	a->busy = false;
	pthread_mutex_unlock(&a->lock);
	if (write(a->wake, &one, sizeof one) != sizeof one && errno != EAGAIN)
		die("could not write to an eventfd: %s", strerror(errno));
}

static void *worker_run(void *arg)
{
	struct gate_auth *a = arg;
	struct task *t;
	bool abandoned;

	for (;;) {
		pthread_mutex_lock(&a->lock);
		while (!a->stop && STAILQ_EMPTY(&a->todo))
			pthread_cond_wait(&a->work, &a->lock);
		if (a->stop)
			break;
		t = STAILQ_FIRST(&a->todo);
		STAILQ_REMOVE_HEAD(&a->todo, link);
		a->busy = true;
		abandoned = t->abandoned;
		pthread_mutex_unlock(&a->lock);
		if (!abandoned)
			t->valid = claim_decode(a, t->claim, &t->e);
		worker_done(a, t);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* On the loop: hand every finished claim back to its asker. */
static void auth_deliver(evutil_socket_t fd, short what, void *arg)
{
	struct gate_auth *a = arg;
	struct task_queue done = STAILQ_HEAD_INITIALIZER(done);
	struct task *t;
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof count) < 0 && errno != EAGAIN)
		die("could not read from an eventfd: %s", strerror(errno));
	pthread_mutex_lock(&a->lock);
	STAILQ_CONCAT(&done, &a->done);
	pthread_mutex_unlock(&a->lock);
	while ((t = STAILQ_FIRST(&done))) {
		STAILQ_REMOVE_HEAD(&done, link);
		if (t->answer) {
			struct gate_claim *claim = t->claim;

			t->claim = NULL;
			t->answer(claim, t->valid ? NULL : &t->e, t->arg);
		}
		task_free(t);
	}
}

static void auth_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct task *t = arg;
	gate_auth_answer *answer = t->answer;
	struct err e;

	(void)fd;
	(void)what;
	pthread_mutex_lock(&t->auth->lock);
	t->abandoned = true;
	pthread_mutex_unlock(&t->auth->lock);
	t->answer = NULL;
	gate_refuse(&e, "RT503", "the credential could not be checked within %d s", GATE_AUTH_TIMEOUT);
	err_hint(&e, "Is munged alive on the host of the job manager?");
	log_warning("no verdict on a credential within %d s, munged may hang", GATE_AUTH_TIMEOUT);
	answer(NULL, &e, t->arg);
}

struct gate_auth *gate_auth_new(struct event_base *base, const char *socket)
{
	struct gate_auth *a = xcalloc(1, sizeof *a);
	sigset_t all, before;

	a->base = base;
	a->socket = xstrdup(socket);
	a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->wake < 0)
		die("could not make an eventfd: %s", strerror(errno));
	STAILQ_INIT(&a->todo);
	STAILQ_INIT(&a->done);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	a->event = event_new(base, a->wake, EV_READ | EV_PERSIST, auth_deliver, a);
	event_add(a->event, NULL);
	sigfillset(&all); /* signals are the loop's */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if ((errno = pthread_create(&a->thread, NULL, worker_run, a)) != 0)
		die("could not start a thread: %s", strerror(errno));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return a;
}

static void task_queue_free(struct task_queue *queue)
{
	struct task *t;

	while ((t = STAILQ_FIRST(queue))) {
		STAILQ_REMOVE_HEAD(queue, link);
		task_free(t);
	}
}

void gate_auth_free(struct gate_auth *a)
{
	bool busy;

	if (!a)
		return;
	event_free(a->event);
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	busy = a->busy;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	if (busy) { /* inside libmunge for who knows how long: leave it its memory, the process ends now */
		pthread_detach(a->thread);
		return;
	}
	pthread_join(a->thread, NULL);
	task_queue_free(&a->todo);
	task_queue_free(&a->done);
	for (int i = 0; i < GATE_AUTH_NAMES; i++)
		name_clear(&a->names[i]);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	close(a->wake);
	free(a->socket);
	free(a);
}

void gate_auth_check(struct gate_auth *a, struct gate_claim *claim, gate_auth_answer *answer, void *arg)
{
	struct task *t = xcalloc(1, sizeof *t);
	struct timeval limit = {.tv_sec = GATE_AUTH_TIMEOUT};

	t->auth = a;
	t->claim = claim;
	t->answer = answer;
	t->arg = arg;
	t->timeout = event_new(a->base, -1, 0, auth_timeout, t);
	event_add(t->timeout, &limit);
	pthread_mutex_lock(&a->lock);
	STAILQ_INSERT_TAIL(&a->todo, t, link);
	pthread_mutex_unlock(&a->lock);
	pthread_cond_signal(&a->work); /* behind the lock, or the worker would wake up only to wait for it */
}
