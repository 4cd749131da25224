/* standard.c - opens /dev/null for each of standard input, output and error that is closed. Called by: every main function. */
#include "lib/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/err.h"

void standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			die("could not open \"/dev/null\": %s", strerror(errno));
}
