/* restore_right.c - lets a process of the user restore processes in a PID namespace of its own (restore_right.h).
 *
 * Called by: task.c for the task of a step that the driver criu may restore.
 * Invariants:
 * - The only capability of the process, once it is the user's, is CAP_CHECKPOINT_RESTORE. The step has no user namespace, so the capability
 *   holds on the whole node: the user can choose the process numbers of children there (clone3, set_tid), and what /proc/PID/exe names.
 * - No program that the process or a descendant executes gains rights by the setuid bit or by capabilities of its file, whatever
 *   is restored.
 * - Only system calls are made, since the process may share the keeper's memory. */
#include "procmgr/keeper/restore_right.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHECKPOINT_RESTORE = 40 }; /* CAP_CHECKPOINT_RESTORE, of Linux 5.9 */

bool restore_right_prepare(struct err *e)
{
	if (geteuid() != 0)
		return err_set(e, "only root can let the driver criu restore processes");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return err_sys(e, "could not mount /proc for a PID namespace");
	return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_KEEPCAPS, 1) == 0) ||
	       err_sys(e, "could not keep capabilities");
}

bool restore_right_take(struct err *e)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}, {0}};
	unsigned bit = 1U << (CHECKPOINT_RESTORE % 32);
	sets[CHECKPOINT_RESTORE / 32] = (struct __user_cap_data_struct){.effective = bit, .permitted = bit, .inheritable = bit};
	if (syscall(SYS_capset, &head, sets) < 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CHECKPOINT_RESTORE, 0, 0) < 0)
		return err_sys(e, "could not keep CAP_CHECKPOINT_RESTORE, which the driver criu needs (Linux 5.9)");
	return true;
}
