/* gate_auth.c - a thread that decodes munge credentials and reads names of users, one credential after the other.
 *
 * Called by: gate_dispatch.c, in the event loop. The answer comes back to the loop through an eventfd.
 * Invariants:
 * - A credential belongs to one thread at a time: to the worker thread from queue `queued` to queue `done`, else to the event
 *   loop.
 * - A credential is answered exactly once, after GATE_AUTH_TIMEOUT with an error. So a munged that hangs gives clients an error
 *   and does not block the daemon.
 * - An entry of the name service is used for GATE_AUTH_USER_AGE, because reading it takes as many system calls as the rest of a
 *   request. */
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
#include "jobmgr/gate/gate_names.h"
#include "lib/auth.h"
#include "lib/clock.h"
#include "lib/log.h"

enum {
	GATE_AUTH_TIMEOUT = 10, /* seconds after which a credential that is not checked yet is answered with an error */
	GATE_AUTH_ENTRY_SIZE = 65536,
	GATE_AUTH_GROUPS = 1024,
	GATE_AUTH_USER_AGE = 1000, /* milliseconds for which a cached entry of the name service is used */
	GATE_AUTH_USERS = 64	   /* number of entries in the cache of users */
};

/* A cached entry of the name service. Only the worker thread uses the cache. */
struct auth_user {
	uid_t uid;
	gid_t gid; /* gid of the munge credential for which `groups` were read */
	char user[GATE_USER_SIZE];
	char *home;
	json_t *groups; /* names of the user's groups; NULL: not read yet */
	int64_t until;	/* end of the entry's validity, by clock_ms(); 0: the entry is empty */
};

/* A credential that is being checked. Only the event loop reads `answer`, which is NULL after the timeout. */
struct auth_task {
	struct gate_auth *auth;
	struct gate_credential *credential;
	gate_auth_answer *answer;
	void *arg;
	struct event *timeout;
	bool abandoned; /* guarded by the lock: the credential was answered with a timeout, so the worker skips the task */
	bool valid;
	struct err e;
	STAILQ_ENTRY(auth_task) link;
};

STAILQ_HEAD(auth_queue, auth_task);

struct gate_auth {
	struct event_base *base;
	char *socket;
	char **local_names, **remote_names; /* names of this jobmgrd on the Unix socket, and by HTTPS */
	int wake;			    /* eventfd by which the worker wakes the event loop when `done` is not empty */
	struct event *event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct auth_queue queued, done;		 /* guarded by the lock: tasks for the worker, and checked tasks */
	bool busy, stop;			 /* guarded by the lock: the worker checks a credential; the worker has to end */
	struct auth_user users[GATE_AUTH_USERS]; /* cache of the worker thread; the index of a user is its uid modulo the size */
};

void gate_credential_free(struct gate_credential *credential)
{
	if (!credential)
		return;
	free(credential->text);
	free(credential->method);
	free(credential->target);
	free(credential->body);
	free(credential->home);
	json_decref(credential->groups);
	free(credential);
}

static void auth_free_task(struct auth_task *t)
{
	gate_credential_free(t->credential);
	if (t->timeout)
		event_free(t->timeout);
	free(t);
}

/* Set the login name and the home directory of the credential's uid. A uid without a name is refused. */
static bool auth_read_user(struct gate_credential *credential, struct err *e)
{
	char *space = xmalloc(GATE_AUTH_ENTRY_SIZE);
	struct passwd entry, *found = NULL;
	int error = getpwuid_r(credential->uid, &entry, space, GATE_AUTH_ENTRY_SIZE, &found);
	bool ok = false;

	if (error != 0 && error != ENOENT && error != ESRCH) {
		gate_refuse(e, "RT503", "could not look up the name of uid %u: %s", (unsigned)credential->uid,
			    strerrorname_np(error));
	} else if (!found) {
		gate_refuse(e, "RT403", "uid %u has no name on this host", (unsigned)credential->uid);
	} else if (strlen(entry.pw_name) >= sizeof credential->user) {
		gate_refuse(e, "RT403", "the name of uid %u is longer than %d bytes", (unsigned)credential->uid,
			    GATE_USER_SIZE - 1);
	} else {
		strcpy(credential->user, entry.pw_name);
		credential->home = xstrdup(entry.pw_dir);
		ok = true;
	}
	free(space);
	return ok;
}

/* Returns the names of all groups of the credential's user. A group without a name is left out. */
static json_t *auth_read_groups(const struct gate_credential *credential)
{
	gid_t *gids = xcalloc(GATE_AUTH_GROUPS, sizeof *gids);
	char *space = xmalloc(GATE_AUTH_ENTRY_SIZE);
	struct group entry, *found;
	json_t *group_names = json_array();
	int count = GATE_AUTH_GROUPS;

	if (getgrouplist(credential->user, credential->gid, gids, &count) < 0)
		count = GATE_AUTH_GROUPS; /* groups beyond GATE_AUTH_GROUPS are left out */
	for (int i = 0; i < count; i++) {
		if (getgrgid_r(gids[i], &entry, space, GATE_AUTH_ENTRY_SIZE, &found) == 0 && found)
			json_array_append_new(group_names, json_string(entry.gr_name));
	}
	free(space);
	free(gids);
	return group_names;
}

static void auth_clear_user(struct auth_user *user)
{
	free(user->home);
	json_decref(user->groups);
	*user = (struct auth_user){0};
}

/* Set name, home directory and groups of the credential's user, from the cache if the entry is still valid. */
static bool auth_find_user(struct gate_auth *a, struct gate_credential *credential, struct err *e)
{
	struct auth_user *user = &a->users[credential->uid % GATE_AUTH_USERS];
	int64_t now = clock_ms();

	if (user->uid != credential->uid || user->gid != credential->gid || user->until <= now)
		auth_clear_user(user);
	if (!user->until) {
		if (!auth_read_user(credential, e))
			return false;
		*user = (struct auth_user){.uid = credential->uid,
					   .gid = credential->gid,
					   .home = xstrdup(credential->home),
					   .until = now + GATE_AUTH_USER_AGE};
		strcpy(user->user, credential->user);
	} else {
		strcpy(credential->user, user->user);
		credential->home = xstrdup(user->home);
	}
	if (credential->ask_groups && !user->groups)
		user->groups = auth_read_groups(credential);
	if (credential->ask_groups)
		credential->groups =
			/* copy the groups, since reference counts of JSON values are not thread-safe */
			json_deep_copy(user->groups);
	return true;
}

/* Refuse a valid credential that came by the wrong way. Root's must come by the Unix socket: root of any node can make one. On
 * the Unix socket, a credential must be that of the connecting user: root of any node can make one of any user. */
static bool auth_check_peer(const struct gate_credential *credential, struct err *e)
{
	if (credential->is_remote && credential->uid == 0) {
		gate_refuse(e, "RT403", "root is not served over HTTPS");
		return err_hint(e,
				"Run the command on a host of jobmgrd, where it uses the Unix socket, or as an ordinary user.");
	}
	if (!credential->is_remote && credential->uid != credential->peer) {
		gate_refuse(e, "RT401", "the credential is of uid %u, and the connection of uid %d", (unsigned)credential->uid,
			    (int)credential->peer);
		return err_hint(e, "On the Unix socket each user sends requests with credentials of their own.");
	}
	return true;
}

static bool auth_decode_credential(struct gate_auth *a, struct gate_credential *credential, struct err *e)
{
	const struct auth_request request = {credential->method, credential->target, credential->body, credential->size};
	char **names = credential->is_remote ? a->remote_names : a->local_names;

	if (!auth_decode(a->socket, credential->text, (const char *const *)names, &request, &credential->uid, &credential->gid,
			 e)) {
		if (e->code[0] == '\0')
			memcpy(e->code, "RT401", sizeof e->code);
		return false;
	}
	return auth_check_peer(credential, e) && auth_find_user(a, credential, e);
}

static void auth_finish_task(struct gate_auth *a, struct auth_task *t)
{
	uint64_t one = 1;

	pthread_mutex_lock(&a->lock);
	STAILQ_INSERT_TAIL(&a->done, t, link);
	a->busy = false;
	pthread_mutex_unlock(&a->lock);
	if (write(a->wake, &one, sizeof one) != sizeof one && errno != EAGAIN)
		die("could not write to an eventfd: %s", strerror(errno));
}

static void *auth_run_worker(void *arg)
{
	struct gate_auth *a = arg;
	struct auth_task *t;
	bool abandoned;

	for (;;) {
		pthread_mutex_lock(&a->lock);
		while (!a->stop && STAILQ_EMPTY(&a->queued))
			pthread_cond_wait(&a->work, &a->lock);
		if (a->stop)
			break;
		t = STAILQ_FIRST(&a->queued);
		STAILQ_REMOVE_HEAD(&a->queued, link);
		a->busy = true;
		abandoned = t->abandoned;
		pthread_mutex_unlock(&a->lock);
		if (!abandoned)
			t->valid = auth_decode_credential(a, t->credential, &t->e);
		auth_finish_task(a, t);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* In the event loop: pass each checked credential to its handler. */
static void auth_deliver_answers(evutil_socket_t fd, short what, void *arg)
{
	struct gate_auth *a = arg;
	struct auth_queue done = STAILQ_HEAD_INITIALIZER(done);
	struct auth_task *t;
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
			struct gate_credential *credential = t->credential;

			t->credential = NULL;
			t->answer(credential, t->valid ? NULL : &t->e, t->arg);
		}
		auth_free_task(t);
	}
}

static void auth_expire_task(evutil_socket_t fd, short what, void *arg)
{
	struct auth_task *t = arg;
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
	log_warning("munged did not answer within %d s; a request was refused", GATE_AUTH_TIMEOUT);
	answer(NULL, &e, t->arg);
}

struct gate_auth *gate_auth_new(struct event_base *base, const struct conf *conf)
{
	struct gate_auth *a = xcalloc(1, sizeof *a);
	sigset_t all, before;

	a->base = base;
	a->socket = xstrdup(conf->munge_socket);
	a->local_names = gate_names_new_local(conf);
	a->remote_names = gate_names_new_remote(conf);
	a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->wake < 0)
		die("could not make an eventfd: %s", strerror(errno));
	STAILQ_INIT(&a->queued);
	STAILQ_INIT(&a->done);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	a->event = event_new(base, a->wake, EV_READ | EV_PERSIST, auth_deliver_answers, a);
	event_add(a->event, NULL);
	sigfillset(&all); /* the event loop handles signals, so the worker thread blocks them */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if ((errno = pthread_create(&a->thread, NULL, auth_run_worker, a)) != 0)
		die("could not start a thread: %s", strerror(errno));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return a;
}

static void auth_free_queue(struct auth_queue *queue)
{
	struct auth_task *t;

	while ((t = STAILQ_FIRST(queue))) {
		STAILQ_REMOVE_HEAD(queue, link);
		auth_free_task(t);
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
	if (busy) { /* the worker may hang in libmunge: leave its memory allocated, because the process ends now */
		pthread_detach(a->thread);
		return;
	}
	pthread_join(a->thread, NULL);
	auth_free_queue(&a->queued);
	auth_free_queue(&a->done);
	for (int i = 0; i < GATE_AUTH_USERS; i++)
		auth_clear_user(&a->users[i]);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	close(a->wake);
	gate_names_free(a->local_names);
	gate_names_free(a->remote_names);
	free(a->socket);
	free(a);
}

void gate_auth_check(struct gate_auth *a, struct gate_credential *credential, gate_auth_answer *answer, void *arg)
{
	struct auth_task *t = xcalloc(1, sizeof *t);
	struct timeval limit = {.tv_sec = GATE_AUTH_TIMEOUT};

	t->auth = a;
	t->credential = credential;
	t->answer = answer;
	t->arg = arg;
	t->timeout = event_new(a->base, -1, 0, auth_expire_task, t);
	event_add(t->timeout, &limit);
	pthread_mutex_lock(&a->lock);
	STAILQ_INSERT_TAIL(&a->queued, t, link);
	pthread_mutex_unlock(&a->lock);
	pthread_cond_signal(&a->work); /* signal after unlocking, or the worker would wake up only to wait for the lock */
}
