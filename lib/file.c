/* file.c - writes to descriptors.
 *
 * Called by: all who write a file, pipe or file in memory whole. */
#include "lib/file.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

bool file_write_all(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)bytes + done, size - done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}
