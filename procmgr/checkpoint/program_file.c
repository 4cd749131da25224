/* program_file.c - reads the file of a program, and those of the interpreters of a script (program_file.h).
 *
 * Called by: driver.c, driver_criu.c, driver_dmtcp.c, dmtcp_process.c. */
#include "procmgr/checkpoint/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A script may name a script as its interpreter; the kernel follows four. */
enum { HEAD_SIZE = 256, SCRIPTS_MOST = 4 };

/* Does an ELF file name a dynamic linker? */
static bool elf_is_dynamic(int fd, const Elf64_Ehdr *head)
{
	for (int i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr part;
		off_t at = (off_t)head->e_phoff + (off_t)i * head->e_phentsize;
		if (pread(fd, &part, sizeof part, at) == (ssize_t)sizeof part && part.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Cut a script's first line down to the path of its interpreter. Returns the path. */
static char *script_interpreter(char *head)
{
	char *path = head + 2 + strspn(head + 2, " \t");
	path[strcspn(path, " \t\n")] = '\0';
	return path;
}

/* Does an open file give no rights to the process that executes it? */
static bool file_is_plain(int fd, const struct stat *s, const char *path, struct err *e)
{
	if (s->st_mode & (S_ISUID | S_ISGID))
		return err_set(e, "program \"%s\" has the setuid or setgid bit", path);
	return fgetxattr(fd, "security.capability", NULL, 0) <= 0 || err_set(e, "program \"%s\" has capabilities (setcap)", path);
}

static bool file_fits(const char *path, bool dynamic, int depth, struct err *e)
{
	union {
		char text[HEAD_SIZE];
		Elf64_Ehdr elf;
	} head = {.text = {0}};
	struct stat s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 && fstat(fd, &s) == 0 ? pread(fd, head.text, sizeof head.text - 1, 0) : -1;
	bool good;
	if (size < 0)
		good = err_sys(e, "could not read program \"%s\"", path);
	else if (!file_is_plain(fd, &s, path, e))
		good = false;
	else if (strncmp(head.text, "#!", 2) == 0)
		good = depth >= SCRIPTS_MOST || file_fits(script_interpreter(head.text), dynamic, depth + 1, e);
	else
		good = !dynamic || memcmp(head.text, ELFMAG, SELFMAG) != 0 || elf_is_dynamic(fd, &head.elf) ||
		       err_set(e, "program \"%s\" is statically linked", path);
	if (fd >= 0)
		close(fd);
	return good;
}

bool program_file_is_plain(const char *path, struct err *e)
{
	return file_fits(path, false, 0, e);
}

bool program_file_is_dynamic(const char *path, struct err *e)
{
	return file_fits(path, true, 0, e);
}
