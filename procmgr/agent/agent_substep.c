/* agent_substep.c - reports the sub-steps of jobs to the database: step managers append to files in substeps/.
 *
 * Called by: agent.c at each tick, and events of this file: a file grows, the database answers, a delay is over.
 * Invariants:
 * - One report is under way at a time. Lines that the database has not acknowledged stay in their file and are read again, after
 *   a restart all of them. A row that the database gets twice changes nothing.
 * - The files are checked as if they came from an attacker, but root gives their names: the name alone says which attempt a file
 *   is about.
 * - A poll reads at most POLL_BYTES, and there is a pause between reports, so no user can keep procmgrd or the database busy.
 * - A file is removed when its attempt has no folder in spool/ and its lines are acknowledged. The launcher removes that folder
 *   after the end of the attempt, when none of its processes is left. */
#include "procmgr/agent/agent_substep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "procmgr/agent/agent_db.h"
#include "procmgr/agent/agent_node.h"
#include "procmgr/agent/agent_spool.h"
#include "procmgr/agent/agent_substep_line.h"

enum { ROWS_MOST = 2000, LINE_MOST = 1024 * 1024, READ_BYTES = 2 * LINE_MOST, POLL_BYTES = 2 * READ_BYTES };
enum { DELAY_USEC = 500000, PAUSE_USEC = 100000, AGAIN_USEC = 1000000, REJECTED_MOST = 3 };

static const int64_t file_most = 4LL * 1024 * 1024 * 1024; /* bytes of a journal of sub-steps, beyond which it is not read */

/* How far a file was read. */
struct position {
	int64_t offset;	   /* begin of the first line that was not read */
	bool in_long_line; /* `offset` is inside a line that is too long */
	int64_t bad;	   /* number of invalid lines before `offset`, which were skipped */
};

struct file {
	struct record_key key;
	/* acked: up to here, the database has the lines of the file; read: up to here, they were read */
	struct position acked, read;
	int64_t size_seen; /* size of the file when its last complete line was read, or -1 */
	/* the file was found in this poll; the file's attempt is gone, and the database has all lines */
	bool is_there, is_gone;
	bool is_logged; /* a problem of the file has been logged */
};

struct agent_substeps {
	const struct agent_context *context;
	struct event *watch, *timer; /* `watch` is NULL if inotify does not watch the folder */
	struct file *files;
	int count, capacity;
	int next; /* index in `files` of the file that the next poll reads first */
	int most; /* most rows in a report: ROWS_MOST, or 1 after the database rejected a report */
	int rejected;
	bool is_reporting, is_more; /* a report is under way; the files have more lines than this report */
	char *buffer;
};

static void start_timer(struct agent_substeps *s, int64_t usec)
{
	event_add(s->timer, &(struct timeval){usec / 1000000, usec % 1000000});
}

static void resume_watch(struct agent_substeps *s)
{
	if (s->watch)
		event_add(s->watch, NULL);
}

static struct file *find_file(struct agent_substeps *s, const struct record_key *key)
{
	for (int i = 0; i < s->count; i++)
		if (record_key_equal(&s->files[i].key, key))
			return &s->files[i];
	if (s->count == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 16;
		s->files = xrealloc(s->files, (size_t)s->capacity * sizeof *s->files);
	}
	s->files[s->count] = (struct file){.key = *key, .size_seen = -1};
	return &s->files[s->count++];
}

/* Log the first problem of a file. */
static void log_once(struct file *f, const char *name, const char *problem)
{
	if (!f->is_logged)
		log_warning("file \"substeps/%s\": %s", name, problem);
	f->is_logged = true;
}

/* Take the lines in `buffer`, which are at the file's position. Returns false if the rows are full. */
static bool take_lines(struct agent_substeps *s, struct file *f, size_t size, struct agent_substep_rows *rows)
{
	struct position *p = &f->read;
	size_t from = 0;
	for (const char *end; (end = memchr(s->buffer + from, '\n', size - from));) {
		size_t length = (size_t)(end - s->buffer) - from;
		bool is_long = p->in_long_line || length > LINE_MOST;
		enum agent_substep_taken taken =
			is_long ? AGENT_SUBSTEP_BAD : agent_substep_rows_add(rows, s->buffer + from, length);
		if (taken == AGENT_SUBSTEP_FULL)
			return false;
		p->bad += taken == AGENT_SUBSTEP_BAD;
		p->in_long_line = false;
		p->offset += (int64_t)length + 1;
		from += length + 1;
	}
	if (p->in_long_line || size - from > LINE_MOST) {
		p->in_long_line = true;
		p->offset += (int64_t)(size - from);
	}
	return true;
}

/* Read lines of a file that is open. Returns the number of bytes that were read. */
static int64_t read_lines(struct agent_substeps *s, struct file *f, int fd, int64_t size, struct agent_substep_rows *rows)
{
	int64_t left = size > file_most ? 0 : size - f->read.offset;
	ssize_t n = left > 0 ? pread(fd, s->buffer, left < READ_BYTES ? (size_t)left : READ_BYTES, f->read.offset) : 0;
	int64_t before = f->read.offset;
	if (n <= 0) {
		f->size_seen = size;
		return 0;
	}
	agent_substep_rows_begin(rows, &f->key);
	if (take_lines(s, f, (size_t)n, rows) && before + n >= size)
		f->size_seen = size;
	else
		s->is_more = true;
	return n;
}

/* Read the new lines of a file. Returns the number of bytes that were read. */
static int64_t read_file(struct agent_substeps *s, int dir, struct file *f, struct agent_substep_rows *rows)
{
	char name[RECORD_KEY_SIZE];
	struct stat st;
	int64_t bytes = 0;
	bool ended = !agent_spool_has(&f->key);
	record_key_text(&f->key, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || (S_ISREG(st.st_mode) && st.st_size == f->size_seen && !ended))
		return 0;
	int fd = S_ISREG(st.st_mode) ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		log_once(f, name,
			 "procmgrd cannot read it as a file, so the sub-steps of this attempt are missing in the accounting");
		f->size_seen = st.st_size;
	} else if (st.st_size != f->size_seen) {
		bytes = read_lines(s, f, fd, st.st_size, rows);
	}
	if (fd >= 0)
		close(fd);
	if (st.st_size > file_most)
		log_once(f, name, "it is too large, so later sub-steps are missing in the accounting");
	if (f->read.bad > 0)
		log_once(f, name, "a line is not valid; all such lines are skipped");
	f->is_gone = ended && f->size_seen == st.st_size && f->read.offset == f->acked.offset;
	return bytes;
}

/* Remove the file of an attempt that is gone, or drop the entry of a file that is missing. */
static void drop_file(struct agent_substeps *s, int dir, int index)
{
	struct file *f = &s->files[index];
	char name[RECORD_KEY_SIZE];
	record_key_text(&f->key, name);
	if (f->read.bad > 1)
		log_info("file \"substeps/%s\": %lld lines were not valid", name, (long long)f->read.bad);
	if (f->is_there && unlinkat(dir, name, 0) < 0) {
		log_once(f, name, "procmgrd cannot remove it");
		return;
	}
	*f = s->files[--s->count];
}

static void list_files(struct agent_substeps *s, DIR *dir)
{
	struct record_key key;
	for (int i = 0; i < s->count; i++)
		s->files[i].is_there = s->files[i].is_gone = false;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (record_key_parse(entry->d_name, &key))
			find_file(s, &key)->is_there = true;
}

/* Read all files in turn until there are enough rows, and remove those that are not needed any more. */
static void read_files(struct agent_substeps *s, struct agent_substep_rows *rows)
{
	DIR *dir = opendir("substeps");
	int64_t bytes = 0;
	s->is_more = false;
	if (!dir)
		return;
	list_files(s, dir);
	int first = s->count > 0 ? s->next % s->count : 0, i = 0;
	for (; i < s->count && bytes < POLL_BYTES && !agent_substep_rows_is_full(rows); i++) {
		struct file *f = &s->files[(first + i) % s->count];
		if (f->is_there)
			bytes += read_file(s, dirfd(dir), f, rows);
	}
	s->is_more |= i < s->count;
	s->next = first + i;
	for (i = s->count - 1; i >= 0; i--)
		if (!s->files[i].is_there || s->files[i].is_gone)
			drop_file(s, dirfd(dir), i);
	closedir(dir);
}

/* End the report under way: if `is_done`, its lines are acknowledged or left out, else they are read again. */
static void end_report(struct agent_substeps *s, bool is_done)
{
	for (int i = 0; i < s->count; i++) {
		struct file *f = &s->files[i];
		if (is_done) {
			f->acked = f->read;
		} else if (f->read.offset != f->acked.offset) {
			f->read = f->acked;
			f->size_seen = -1;
		}
	}
	s->is_reporting = false;
}

static void handle_failure(struct agent_substeps *s, const struct err *e)
{
	bool permanent = agent_db_is_permanent(e), left_out = permanent && s->most == 1 && ++s->rejected >= REJECTED_MOST;
	log_warning("the database did not accept a report of sub-steps: %s", e->message);
	if (permanent)
		s->most = 1;
	if (left_out) {
		log_error("left out a sub-step: the database rejected it %d times", REJECTED_MOST);
		s->rejected = 0;
	}
	end_report(s, left_out);
	start_timer(s, AGAIN_USEC);
}

static void handle_answer(struct db *db, PGresult *result, const struct err *e, void *arg)
{
	(void)db;
	struct agent_substeps *s = arg;
	bool is_more = s->is_more;
	if (!result) {
		handle_failure(s, e);
		return;
	}
	if (atoi(agent_db_text(result, 0, "dropped")) > 0)
		log_warning("the database left out %s sub-steps of attempts that it does not know on this node",
			    agent_db_text(result, 0, "dropped"));
	s->rejected = 0;
	s->most = s->most * 2 < ROWS_MOST ? s->most * 2 : ROWS_MOST;
	end_report(s, true);
	if (is_more)
		start_timer(s, PAUSE_USEC);
	else
		resume_watch(s);
}

static void send_report(struct agent_substeps *s, const struct agent_substep_rows *rows)
{
	const struct agent_context *c = s->context;
	json_t *report = json_pack("{s:I, s:I, s:O}", "node", (json_int_t)agent_node_own_id(c->nodes), "boot_us",
				   (json_int_t)c->clock->boot_us, "rows", agent_substep_rows_json(rows));
	if (json_array_size(agent_substep_rows_calls(rows)) > 0)
		json_object_set(report, "calls", agent_substep_rows_calls(rows));
	char *text = json_dumps(report, JSON_COMPACT);
	if (!text)
		die("sub-steps cannot be written as JSON");
	const struct db_param params[] = {{text, -1}};
	s->is_reporting = true;
	db_call(c->db, API_node_substep_report, params, 1, handle_answer, s);
	free(text);
	json_decref(report);
}

void agent_substep_poll(struct agent_substeps *s)
{
	const struct agent_context *c = s->context;
	if (!s->timer || s->is_reporting || event_pending(s->timer, EV_TIMEOUT, NULL) || agent_node_count(c->nodes) == 0 ||
	    !db_is_up(c->db))
		return;
	struct agent_substep_rows *rows = agent_substep_rows_new(s->most);
	read_files(s, rows);
	if (agent_substep_rows_count(rows) > 0) {
		send_report(s, rows);
	} else {
		end_report(s, true);
		if (s->is_more)
			start_timer(s, DELAY_USEC);
		else
			resume_watch(s);
	}
	agent_substep_rows_free(rows);
}

bool agent_substep_is_idle(const struct agent_substeps *s)
{
	return !s->timer || (s->watch && event_pending(s->watch, EV_READ, NULL) && !s->is_reporting);
}

static void handle_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	agent_substep_poll(arg);
}

/* A file has grown. Wait for more lines; meanwhile the folder is not watched. */
static void handle_growth(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct agent_substeps *s = arg;
	char events[4096];
	while (read(fd, events, sizeof events) > 0)
		continue;
	event_del(s->watch);
	if (!s->is_reporting && !event_pending(s->timer, EV_TIMEOUT, NULL))
		start_timer(s, DELAY_USEC);
}

static void watch_folder(struct agent_substeps *s)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, "substeps", IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
		log_warning("could not watch folder \"substeps\", so it is read once a second: %m");
		if (fd >= 0)
			close(fd);
		return;
	}
	s->watch = event_new(s->context->base, fd, EV_READ | EV_PERSIST, handle_growth, s);
}

struct agent_substeps *agent_substep_new(const struct agent_context *c)
{
	struct agent_substeps *s = xcalloc(1, sizeof *s);
	s->context = c;
	s->most = ROWS_MOST;
	/* A virtual node runs nothing, and the name of an attempt does not say on which virtual node it is. */
	if (c->conf->launcher_virtual > 0)
		return s;
	s->buffer = xmalloc(READ_BYTES);
	s->timer = evtimer_new(c->base, handle_timer, s);
	watch_folder(s);
	return s;
}

void agent_substep_free(struct agent_substeps *s)
{
	if (!s)
		return;
	if (s->watch) {
		close(event_get_fd(s->watch));
		event_free(s->watch);
	}
	if (s->timer)
		event_free(s->timer);
	free(s->files);
	free(s->buffer);
	free(s);
}
