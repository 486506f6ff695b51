// SPDX-License-Identifier: BSD-2-Clause
/* How processes end in builds with coverage: they write their counters first.
 *
 * Only exit() writes them, into files of the user who runs the tests.  A forked
 * child that ends by _exit() would have run nothing, as far as `make coverage`
 * can see, and so would one that has become another user.  The linker puts
 * these functions in the place of _exit() and setresuid() (--wrap, see
 * meson.build); other builds do not have them. */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
int __real_setresuid(uid_t real, uid_t effective, uid_t saved);
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved);

/* Who we were, where __wrap_setresuid() has kept it. */
static void become_root(void)
{
	uid_t real, effective, saved;

	if (getresuid(&real, &effective, &saved) == 0 && saved == 0 &&
	    effective != 0 && seteuid(0) < 0)
		abort();
}

void __wrap__exit(int status)
{
	become_root();
	__gcov_dump();
	__real__exit(status);
}

/* The saved user stays, for the end.  What the process may do is decided by the
 * effective one. */
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved)
{
	static bool registered;

	if (geteuid() != 0)
		return __real_setresuid(real, effective, saved);
	if (!registered && atexit(become_root) != 0)
		return -1;
	registered = true;
	return __real_setresuid(real, effective, 0);
}
