/* kind_secret.c - secrets in memory (kind_secret.h).
 *
 * Invariants:
 * - Secrets are only in memory files, so no secret is left on disk when the process is killed. */
#include "credmgr/kind/kind_secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"

struct kind_secret kind_secret_of(const void *bytes, size_t size)
{
	struct kind_secret s = {xmalloc(size + 1), size};

	memcpy(s.bytes, bytes, size);
	s.bytes[size] = '\0';
	return s;
}

void kind_secret_free(struct kind_secret *s)
{
	if (s->bytes)
		xfree_wiped(s->bytes, s->size);
	*s = (struct kind_secret){0};
}

bool kind_secret_read(int fd, struct kind_secret *s, struct err *e)
{
	char *bytes = xmalloc(KIND_MOST + 2);
	size_t size = 0;
	ssize_t got = 1;

	while (size <= KIND_MOST && got != 0) {
		got = read(fd, bytes + size, KIND_MOST + 1 - size);
		if (got < 0 && errno != EINTR)
			break;
		size += got > 0 ? (size_t)got : 0;
	}
	if (got >= 0 && size <= KIND_MOST)
		*s = kind_secret_of(bytes, size);
	else if (got < 0)
		err_sys(e, "the secret could not be read");
	else
		err_set(e, "the secret is larger than 1 MiB");
	xfree_wiped(bytes, KIND_MOST + 2);
	return got >= 0 && size <= KIND_MOST;
}

bool kind_secret_write(int fd, const char *bytes, size_t size, struct err *e)
{
	return file_write_all(fd, bytes, size) || err_sys(e, "the answer could not be written");
}

int kind_secret_file(const char *bytes, size_t size)
{
	int fd = memfd_create("rota-credential", MFD_CLOEXEC);
	struct err e;

	/* ssh-keygen refuses a key file that other users could open. */
	if (fd < 0 || fchmod(fd, 0600) != 0)
		die("could not make a file in memory: %s", strerror(errno));
	if (!kind_secret_write(fd, bytes, size, &e) || lseek(fd, 0, SEEK_SET) != 0)
		die("could not write a file in memory: %s", strerror(errno));
	return fd;
}
