/* proc_file.c - files of /proc/PID (proc(5)): how they are read, and their fields.
 *
 * Called by: all programs that look at other processes.
 * Invariants: a process that ends meanwhile has no files. A caller that must know which process it read holds a pidfd. */
#include "lib/proc_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool proc_file_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

const char *proc_file_field(const char *text, const char *word)
{
	size_t length = strlen(word);
	const char *line = text;
	while (line && strncmp(line, word, length) != 0)
		line = (line = strchr(line, '\n')) ? line + 1 : NULL;
	return line ? line + length + strspn(line + length, " \t") : NULL;
}

int64_t proc_file_number(const char *text, const char *word)
{
	const char *value = proc_file_field(text, word);
	return value && isdigit((unsigned char)*value) ? strtoll(value, NULL, 10) : -1;
}

const char *proc_file_stat(const char *text)
{
	const char *end = strrchr(text, ')');
	return end ? end + 1 : NULL;
}
