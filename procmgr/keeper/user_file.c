/* user_file.c - gives one user a file that the user can read, and cannot change.
 *
 * Called by: keeper_file.c for the script and the node file of a step.
 * Invariants:
 * - The file belongs to the keeper's user, and an entry of its access control list names the user of the step. So nobody can use
 *   the file to write to the disk of node.state, and other users of the same group cannot read it.
 * - On a file system without access control lists, the file belongs to the user of the step. The launcher warns of that at its
 *   start. */
#include "procmgr/keeper/user_file.h"

#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool set_access_list(int fd, unsigned bits, uid_t user)
{
	struct {
		struct posix_acl_xattr_header header;
		struct posix_acl_xattr_entry entries[5];
	} list = {
		{POSIX_ACL_XATTR_VERSION},
		{{ACL_USER_OBJ, (unsigned short)bits, (unsigned)ACL_UNDEFINED_ID},
		 {ACL_USER, (unsigned short)bits, user},
		 {ACL_GROUP_OBJ, 0, (unsigned)ACL_UNDEFINED_ID},
		 {ACL_MASK, (unsigned short)bits, (unsigned)ACL_UNDEFINED_ID},
		 {ACL_OTHER, 0, (unsigned)ACL_UNDEFINED_ID}},
	};
	return fsetxattr(fd, "system.posix_acl_access", &list, sizeof list, 0) == 0;
}

/* Returns the permission bits with which a user reads the file, and executes it if it is executable. */
static unsigned bits_of(bool executable)
{
	return executable ? 5 : 4;
}

bool user_file_share(int fd, bool executable, const struct task_owner *owner)
{
	unsigned bits = bits_of(executable);
	if (geteuid() == 0 && set_access_list(fd, bits, owner->uid))
		return true;
	if (geteuid() == 0 && errno != EOPNOTSUPP)
		return false;
	return fchmod(fd, bits << 6) == 0 && (geteuid() != 0 || fchown(fd, owner->uid, owner->gid) == 0);
}

/* If a file has an access control list, the group bits of its mode are the mask of the list. */
bool user_file_is_shared(const struct stat *st, bool executable, const struct task_owner *owner)
{
	unsigned bits = bits_of(executable);
	bool ours = st->st_uid == geteuid() && st->st_mode == (S_IFREG | bits << 6 | bits << 3);
	bool users = st->st_uid == owner->uid && st->st_gid == owner->gid && st->st_mode == (S_IFREG | bits << 6);
	return st->st_nlink == 1 && (ours || users);
}
