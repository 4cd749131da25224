/* launcher_driver - drives a real rota-launcher without a database, for tests/system/launcher.bats.
 *
 * The program is installed beside rota-launcher as `procmgrd`, so the launcher starts it. It then passes packets unchanged from a
 * socket (sock/driver in the folder of rota.conf) to the launcher. Called by the test, the program makes and sends launch requests
 * (launcher_driver_order.c), encrypts credentials for a node (launcher_driver_box.c), and reads the node's journal. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "lib/seal.h"
#include "procmgr/record/lease.h"
#include "tests/system/launcher_driver.h"

enum { PACKET_LARGEST = 200 * 1024 };

struct conf driver_conf;
const char *driver_node = "n1";

void driver_must(bool good, const struct err *e)
{
	if (!good)
		die("%s", e->message);
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char *copy = xstrdup(driver_conf.path);
	snprintf(a.sun_path, sizeof a.sun_path, "%s/sock/driver", dirname(copy));
	free(copy);
	return a;
}

/* In the role of procmgrd: pass on the packets that arrive. */
static int pass_on(void)
{
	static char packet[PACKET_LARGEST];
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unlink(a.sun_path);
	struct lease lease = lease_extended(NULL, clock_boot_us(), 3600, 60); /* without a lease, nothing starts */
	struct err e;
	driver_must(lease_write(&lease, &e), &e);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || chmod(a.sun_path, 0777) < 0)
		die("could not listen at \"%s\": %m", a.sun_path);
	for (;;) {
		ssize_t size = recv(fd, packet, sizeof packet, 0);
		if (size >= 0 && send(3, packet, (size_t)size, MSG_NOSIGNAL) < 0)
			return 1;
	}
}

static void send_packet(const char *text, size_t size)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (int try = 0; sendto(fd, text, size, 0, (struct sockaddr *)&a, sizeof a) < 0; try++) {
		if (try == 300)
			die("could not reach \"%s\": %m", a.sun_path);
		usleep(10000);
	}
	close(fd);
}

void driver_send_fields(struct fields *f)
{
	size_t size;
	const char *text = fields_text(f, &size);
	send_packet(text, size);
	fields_free(f);
}

bool driver_set(const struct driver_setting *settings, const char *name, const char *value)
{
	for (const struct driver_setting *s = settings; s->name; s++) {
		if (strcmp(s->name, name) != 0)
			continue;
		if (s->number)
			*s->number = (int)strtol(value, NULL, 0);
		if (s->big)
			*s->big = strtoll(value, NULL, 0);
		if (s->flag)
			*s->flag = *value == '1';
		if (s->text)
			*s->text = value;
		return true;
	}
	return false;
}

/* send NAME=VALUE... : one packet of these fields. */
static int send_message(int argc, char **argv)
{
	struct fields *f = fields_new();
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			die("\"%s\" is not NAME=VALUE", argv[i]);
		*value++ = '\0';
		fields_add(f, argv[i], value);
	}
	driver_send_fields(f);
	return 0;
}

struct watch {
	const char *key, *kind; /* NULL: any */
	bool found;
};

static bool print_record(const struct fields *record, void *arg)
{
	struct watch *w = arg;
	char key[64];
	snprintf(key, sizeof key, "%s.%s.%s", fields_get(record, "job"), fields_get(record, "step"),
		 fields_get(record, "attempt"));
	if ((w->key && strcmp(w->key, key) != 0) || (w->kind && strcmp(w->kind, fields_get(record, "kind")) != 0))
		return true;
	w->found = true;
	for (int i = 0; i < fields_count(record); i++)
		printf("%s%s=%s", i ? " " : "", fields_name(record, i), fields_value(record, i));
	putchar('\n');
	return true;
}

static struct journal *open_journal(enum journal_mode mode, struct err *e)
{
	char *path = xasprintf("%s/%s/journal", driver_conf.node_state, driver_node);
	struct journal *j = journal_open(path, mode, e);
	free(path);
	return j;
}

/* journal [KEY [KIND]]: print the matching records; wait KEY KIND [SECONDS]: wait until there is one, and print them. */
static int journal(int argc, char **argv, bool wait)
{
	struct watch w = {argc > 0 ? argv[0] : NULL, argc > 1 ? argv[1] : NULL, false};
	int64_t position = 0;
	int tries = wait ? 100 * (argc > 2 ? atoi(argv[2]) : 20) : 1;
	struct err e;
	struct journal *j = NULL;
	for (int i = 0; i < tries && !w.found; i++) {
		if (i > 0)
			usleep(10000);
		j = j ? j : open_journal(JOURNAL_READ, &e);
		if (j)
			driver_must(journal_read(j, &position, print_record, &w, &e), &e);
	}
	if (wait)
		printf("position=%lld\n", (long long)position);
	journal_close(j);
	return wait && !w.found;
}

/* grow BYTES: append a record of that size, as if many records had not been reported yet. */
static void grow(int size)
{
	struct err e;
	struct journal *j = open_journal(JOURNAL_WRITE, &e);
	struct fields *record = fields_new();
	char *text = xcalloc((unsigned long)size + 1, 1);
	memset(text, 'x', (unsigned long)size);
	fields_add(record, "kind", "filler");
	fields_add(record, "text", text);
	driver_must(j && journal_append(j, record, &e), &e);
	fields_free(record);
	free(text);
	journal_close(j);
}

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

static int run(const char *verb, int argc, char **argv)
{
	struct err e;
	if (strcmp(verb, "launch") == 0 && argc > 0)
		return driver_launch(argc, argv);
	if (strcmp(verb, "box") == 0 && argc > 1)
		return driver_seal_box(argc, argv);
	if (strcmp(verb, "send") == 0)
		return send_message(argc, argv);
	if (strcmp(verb, "journal") == 0 || strcmp(verb, "wait") == 0)
		return journal(argc, argv, *verb == 'w');
	if (strcmp(verb, "keys") == 0)
		driver_must(seal_keys_make(driver_conf.keys_dir, &e), &e);
	else if (strcmp(verb, "grow") == 0 && argc > 0)
		grow(atoi(argv[0]));
	else if (strcmp(verb, "raw") == 0 && argc > 0)
		send_packet(argv[0], strlen(argv[0]));
	else
		die("unknown verb \"%s\"", verb);
	return 0;
}

int main(int argc, char **argv)
{
	struct err e;
	const char *config = option(argc, argv, "--config");
	driver_node = option(argc, argv, "--node") ? option(argc, argv, "--node") : driver_node;
	log_open("launcher_driver", NULL, LOG_LEVEL_INFO);
	if (argc < 6 || !config)
		die("usage: launcher_driver --config FILE --node NAME VERB ...");
	driver_must(conf_load(&driver_conf, config, &e), &e);
	int code = option(argc, argv, "--launcher-fd") ? pass_on() : run(argv[5], argc - 6, argv + 6);
	conf_clear(&driver_conf);
	return code;
}
