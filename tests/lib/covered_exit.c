// SPDX-License-Identifier: BSD-2-Clause
/* _exit() in builds with coverage: the counters are written first.
 *
 * Only exit() writes them.  A forked child that ends by _exit() would have run
 * nothing, as far as `make coverage` can see.  The linker puts this function in
 * the place of _exit() (--wrap, see meson.build); other builds do not have it.
 */
void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
