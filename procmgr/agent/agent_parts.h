/* agent_parts.h - procmgrd's one object and how its files hang together:
 *
 * agent.c is start, connection, bells and timers; agent_node.c which nodes; agent_hardware.c what a node has; agent_lease.c its lease; agent_order.c takes
 * orders from the database to the launcher, agent_order_read.c reads them; agent_blob.c fetches what they need, agent_cache.c keeps it where keepers read it; agent_launcher.c speaks to the
 * launcher, agent_ahead.c says when what stands ahead begins; agent_report.c takes the journal to the database, agent_hold.c keeps what can wait; agent_sample.c what running steps use, at which agent_look.c looks and to which the site's program (agent_plugin.c) adds; agent_record.c turns one record into JSON.
 *
 * What always holds: an order counts as taken only when the launcher's answer to it is in the journal (launches) or it was handed
 * over (everything else); the journal is truncated only up to what the database has acknowledged. So everything here may die at
 * any moment, and the next start says and asks again what is not known to have arrived. */
#ifndef ROTA_PROCMGR_AGENT_PARTS_H
#define ROTA_PROCMGR_AGENT_PARTS_H

#include <event2/event.h>
#include <jansson.h>

#include "lib/db.h"
#include "lib/order.h"
#include "procmgr/agent/agent.h"
#include "procmgr/agent/agent_hold.h"
#include "procmgr/record/lease.h"
#include "procmgr/record/record.h"
#include "procmgr/record/used.h"

enum agent_order_state {
	AGENT_ORDER_WAITS,  /* for a blob, its turn, another of the same attempt, or a keeper that cannot take it now */
	AGENT_ORDER_HANDED, /* over; a launch's `used` or `refused` is awaited, of all else the launcher's answer */
	AGENT_ORDER_DONE,   /* to be said so to the database */
	AGENT_ORDER_SAID    /* said, in the report under way */
};

/* An attempt that an order is for. */
struct agent_start {
	int step_id, node;
	bool handed; /* over to the launcher */
	bool answered;
};

/* An order in hand, or those that say the same to several nodes. */
struct agent_order {
	int64_t id;   /* the lowest */
	int64_t *ids; /* all, rising */
	int id_count;
	struct record_key key; /* that of the first attempt */
	bool launch;
	int sample_s;	 /* of a launch: seconds between samples of what it uses, 0 = none */
	int behind;	 /* its elements stand ahead: each begins when fewer than so many of the following steps run */
	int first, last; /* last 0: all begin at once */
	int64_t taken_at;
	int first_task, tasks; /* and the tasks to be run here */
	bool units;	       /* it holds generic resources */
	/* In the order of steps and nodes: several of one or of the other; the attempts' numbers are all the same. */
	struct agent_start *starts;
	int start_count, unanswered; /* attempts of a launch; of all else messages to the launcher */
	enum agent_order_state state;
	char *body, *signature;		  /* of a launch */
	char script[65], environment[65]; /* hashes, "" where the order cannot be read */
	const char *lacks;		  /* which of the two the database does not have as it should, or "room"; NULL: none */
	int64_t handed_at;
	char *kind, *args; /* of everything else */
	bool held_up;	   /* its keeper could not take it, and that was logged */
};

struct agent_message; /* on its way to the launcher */

struct agent {
	const struct conf *conf;
	const char *node;
	struct event_base *base;
	struct db *db;
	struct agent_node *nodes; /* those that the database knows, by id */
	int64_t *node_ids;	  /* the same by number, 0: not known */
	int node_count;		  /* 0: not registered on this connection */
	bool stop;		  /* SIGTERM: say what is left, then go */
	bool registering;
	bool unknown; /* the database has no such node, which was logged */
	int strays;   /* attempts here that were given up: register again when they are gone */
	bool leased;  /* `lease` was granted in this boot */
	struct lease lease;

	int launcher_fd;
	struct event *launcher_readable, *launcher_writable;
	struct agent_message *messages, **messages_end;

	struct agent_order *orders; /* by id */
	int order_count, order_room;
	struct agent_ahead *ahead;	 /* what runs */
	int standing;			 /* elements in hand that stand ahead */
	bool queued;			 /* something that is no launch waits behind another order of its attempt */
	bool orders_asked, orders_again; /* a call is under way; another has to follow */
	bool orders_known;		 /* on this connection: every order there is, is in hand */
	struct used *answered;		 /* attempts whose launch the journal had answered when we started, or answered lately */
	bool blobs_asked;
	int64_t cache_looked_at;
	int64_t cache_gone_at; /* when its folder was found missing, 0: it is there */

	struct journal *journal;
	struct agent_hold *hold; /* records that are read and in no report yet */
	int64_t read_to;	 /* everything before is in `hold`, or in a report that was sent */
	int64_t acked_to;	 /* everything before is in the database */
	int64_t dropped_to;	 /* truncation was asked for up to here */
	bool reporting;		 /* a report is under way */
	int report_most;	 /* records a report may have: 1 after the database refused one */
	int report_refused;	 /* times in a row */
	int64_t seen_to;	 /* everything before is counted in under_way and ended */
	int64_t report_due;	 /* when a report is to go, whatever is held; INT64_MAX: none has to */
	int64_t report_from;	 /* and not before this */
	int64_t gather_until;	 /* nor before this, while anything is under way */
	int under_way;		 /* attempts begun and not ended, by the journal as far as seen_to */
	int ended;		 /* and ended since the last report */
	int report_ends;	 /* how many ends that told of */
	int quiet_ticks;	 /* in a row, with nothing in hand */
	int64_t report_at;	 /* when the last one was made: what was due then is in it, unless it was full */
	struct agent_samples *samples;
	struct event *watch, *report_timer, *tick_timer, *lease_timer, *stop_timer;
};

/* agent_hardware.c: what node_register wants to hear; new reference. */
json_t *agent_hardware_facts(const struct conf *conf, const char *node);
const char *agent_version(const struct conf *conf); /* what is said of us; that nothing is run, too */

/* agent_node.c */
json_t *agent_node_facts(struct agent *a);		      /* for a registration; new reference */
void agent_node_set(struct agent *a, const PGresult *result); /* its answer */
void agent_node_clear(struct agent *a);
bool agent_node_all(const struct agent *a);				   /* the database knows all of them */
int64_t agent_node_bell(const struct agent *a);				   /* whose channel rings for all */
int64_t agent_node_id(const struct agent *a, const struct fields *record); /* whose record it is; 0: none's */
int agent_node_number(const struct agent *a, int64_t id);
struct db_array *agent_node_array(const struct agent *a); /* all ids; free with db_array_free */

/* agent_lease.c */
void agent_lease_open(struct agent *a);
bool agent_lease_has(const struct agent *a);
void agent_lease_granted(struct agent *a, int64_t sent); /* by a request sent then */
void agent_lease_prove(struct agent *a, json_t *facts);	 /* what still runs here, for a registration */

/* agent_record.c: the record as node_report wants it; NULL for what is no business of the database. New reference. */
json_t *agent_record_json(const struct fields *record, int64_t node_id, int64_t now);
/* The same in short, where that is all there is: the attempt waits on its node for the others of a wide step. false: there is more, or less. */
bool agent_record_ready(json_t *ready, int64_t node_id, struct fields *const *records, int count, int64_t now);
/* In one, where the records tell of an attempt up to its end and none says what has no place there: hooks, pauses, several tasks. */
bool agent_record_life(json_t *lives, int64_t node_id, struct fields *const *records, int count, int64_t now);

/* agent_launcher.c */
bool agent_launcher_open(struct agent *a, int fd, struct err *e);
void agent_launcher_close(struct agent *a);
void agent_launcher_send(struct agent *a, const struct fields *message);

/* agent_cache.c: the cache is the folder cache/ below the working directory. */
void agent_cache_open(void);
bool agent_cache_is_there(void);					 /* the folder, where files can be made */
bool agent_cache_has(const char *hash);					 /* and will keep it for a while */
bool agent_cache_fits(const char *hash, const void *bytes, size_t size); /* is it what its name says? */
bool agent_cache_put(const char *hash, const void *bytes, size_t size, struct err *e);
void agent_cache_evict(int64_t most_bytes, int64_t unused_s);

/* agent_blob.c */
enum { AGENT_BLOBS_AT_ONCE = 16 };

/* Scripts and environments to be asked for, or asked for. */
struct agent_blobs {
	struct agent *agent;
	bool full; /* one of them found no room in the cache */
	bool gone; /* or no cache */
	char hashes[AGENT_BLOBS_AT_ONCE][65];
	int count;
};

void agent_blob_want(struct agent_blobs *wanted, const char *hash); /* one more, where it is not among them and there is room */
void agent_blob_ask(struct agent *a, const struct agent_blobs *wanted);

/* agent_order_read.c */
const char *agent_cell(const PGresult *result, int row, const char *column); /* "": null, or no such column */
struct agent_order agent_order_named(const PGresult *result, int row); /* its numbers in the database, and nothing else yet */
void agent_order_read(const struct agent *a, struct agent_order *o, const PGresult *result, int row); /* all the rest */
int agent_order_by_place(const void *a, const void *b);						      /* struct agent_start */

/* agent_order.c */
void agent_order_ask(struct agent *a);
void agent_order_work(struct agent *a);
void agent_order_answered(struct agent *a, const struct fields *record);
/* The launcher has passed a control message on; taken false: it could not yet. */
void agent_order_taken(struct agent *a, int64_t id, bool taken);
void agent_order_lost(struct agent *a);	   /* the connection: nothing that was said is known to have arrived */
void agent_order_drop(struct agent *a);	   /* what is not handed over yet: the database says anew what still holds */
void agent_order_forget(struct agent *a);  /* what was said has arrived */
json_t *agent_order_done(struct agent *a); /* ids that are done, now said; new reference */
void agent_order_free(struct agent *a);
/* The control message for the launcher that an order of this kind with these arguments makes; NULL where it makes none. */
struct fields *agent_order_control(const char *kind, const struct record_key *key, const char *args, struct err *e);

/* agent_ahead.c */
void agent_ahead_open(struct agent *a);
void agent_ahead_close(struct agent *a);
/* Call it for each attempt that has a keeper's folder; false, and logged, where that cannot be told. */
bool agent_ahead_spool(void (*each)(const struct record_key *key, void *arg), void *arg);
void agent_ahead_began(struct agent *a, const struct record_key *key);
void agent_ahead_record(struct agent *a, const struct record_key *key, const struct fields *record);
bool agent_ahead_has(const struct agent *a, const struct record_key *key); /* it runs */
int agent_ahead_room(const struct agent *a, const struct agent_order *o);  /* so many of its elements may begin */

/* agent_report.c */
void agent_report_watch(struct agent *a); /* hear that the journal grows whenever anything here waits for that */
bool agent_report_open(struct agent *a, struct err *e);
void agent_report_close(struct agent *a);
void agent_report_turn(struct agent *a);		 /* report what is new, if that can be done now */
void agent_report_within(struct agent *a, int64_t usec); /* there is something to say, which can wait so long */
void agent_report_lost(struct agent *a);
bool agent_report_refuses(const struct err *e); /* is it the content that the database refuses, rather than the moment? */
void agent_report_idle(struct agent *a);	/* now and then: let the launcher drop what is acknowledged */

/* agent_sample.c */
void agent_sample_open(struct agent *a);
void agent_sample_close(struct agent *a);
/* Its launch was believed. */
void agent_sample_expect(struct agent *a, const struct agent_order *o, const struct record_key *key);
/* It runs, or it is over. */
void agent_sample_record(struct agent *a, const struct fields *record);
void agent_sample_registered(struct agent *a);
/* Somebody looks at what runs here. */
void agent_sample_looked(struct agent *a);

/* agent_plugin.c: run node.sample_command. `figures` ({"gpu0.util": 35}, NULL where it failed) is the answer's own. Starting answers NULL,
 * and logs, where it cannot be run; freeing ends one that runs. */
struct agent_plugin;
typedef void agent_plugin_done(json_t *figures, void *arg);
struct agent_plugin *agent_plugin_start(struct agent *a, agent_plugin_done *done, void *arg);
void agent_plugin_free(struct agent_plugin *p);
/* What it printed: a JSON object, or lines of NAME=number. Changes the text. New reference. */
json_t *agent_plugin_read(char *text);

#endif
