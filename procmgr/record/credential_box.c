/* credential_box.c - names and headers of the files of boxes in cache/ (docs/formats.md, "Sealed boxes").
 *
 * Called by: procmgrd, which writes the files; keepers, which read them; all programs that end an attempt, to remove the files.
 * The working directory is the node's folder.
 * Invariants:
 * - A name that credential_box_parse() accepts has one spelling, and is below cache/. */
#include "procmgr/record/credential_box.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MARK = 7 };

static const char box_prefix[] = "cred.", gone_prefix[] = "gone.", mark[] = "rotabox";

enum { PREFIX = sizeof box_prefix - 1 };
static_assert(sizeof gone_prefix == sizeof box_prefix, "one length");

static void make_name(const char *prefix, const struct record_key *key, const char *credential, char name[CREDENTIAL_BOX_NAME])
{
	char attempt[RECORD_KEY_SIZE];
	record_key_text(key, attempt);
	snprintf(name, CREDENTIAL_BOX_NAME, "%s%s.%s", prefix, attempt, credential);
}

void credential_box_name(const struct record_key *key, const char *credential, char name[CREDENTIAL_BOX_NAME])
{
	make_name(box_prefix, key, credential, name);
}

void credential_box_gone_name(const struct record_key *key, const char *credential, char name[CREDENTIAL_BOX_NAME])
{
	make_name(gone_prefix, key, credential, name);
}

bool credential_box_parse(const char *name, struct record_key *key, char credential[CREDENTIAL_NAME_SIZE], bool *gone)
{
	char attempt[RECORD_KEY_SIZE];
	const char *from = name + PREFIX, *dot = memrchr(name, '.', strcspn(name, "@")); /* owners may have dots, too */
	*gone = strncmp(name, gone_prefix, PREFIX) == 0;
	if ((!*gone && strncmp(name, box_prefix, PREFIX) != 0) || !dot || dot < from || (size_t)(dot - from) >= sizeof attempt ||
	    !credential_name_valid(dot + 1))
		return false;
	memcpy(attempt, from, (size_t)(dot - from));
	attempt[dot - from] = '\0';
	strcpy(credential, dot + 1);
	return record_key_parse(attempt, key);
}

void credential_box_header(enum credential_kind kind, int64_t version, unsigned char header[CREDENTIAL_BOX_HEADER])
{
	memcpy(header, mark, MARK);
	header[MARK] = (unsigned char)kind;
	for (int i = 0; i < 8; i++)
		header[8 + i] = (unsigned char)((uint64_t)version >> (56 - 8 * i));
}

int64_t credential_box_version(const unsigned char header[CREDENTIAL_BOX_HEADER], enum credential_kind *kind)
{
	uint64_t version = 0;
	for (int i = 0; i < 8; i++)
		version = version << 8 | header[8 + i];
	*kind = (enum credential_kind)header[MARK];
	return memcmp(header, mark, MARK) == 0 && header[MARK] < CREDENTIAL_KINDS && version <= INT64_MAX ? (int64_t)version : 0;
}

void credential_box_tidy(bool (*is_kept)(void *arg, const struct record_key *key), void *arg)
{
	DIR *dir = opendir("cache");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct record_key key;
		char credential[CREDENTIAL_NAME_SIZE];
		bool gone;
		if (credential_box_parse(entry->d_name, &key, credential, &gone) && !is_kept(arg, &key))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

static bool is_another(void *arg, const struct record_key *key)
{
	return !record_key_equal(key, arg);
}

void credential_box_remove(const struct record_key *key)
{
	credential_box_tidy(is_another, (void *)key);
}
