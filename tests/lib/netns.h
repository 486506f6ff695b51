/* SPDX-License-Identifier: BSD-2-Clause */
/* A network and a run folder of the test's own, and programs that look at
 * them. */
#ifndef TESTS_LIB_NETNS_H
#define TESTS_LIB_NETNS_H

#include <criterion/criterion.h>
#include <sched.h>
#include <sys/mount.h>

#include "lib/event/proc.h"
#include "tests/lib/root.h"

struct look {
	const char *argv[12];
	struct proc_result result;
	int rc;
};

static inline void look_task(void *arg)
{
	struct look *l = arg;
	const struct proc_spec spec = {.argv = l->argv, .timeout_ms = 20000};
	struct error err;

	l->rc = proc_run(&spec, &l->result, &err);
}

/* What a program prints; to be freed. */
static inline char *look_printed(struct look l)
{
	char *out;

	task_spawn("look", look_task, &l);
	test_run_tasks();
	cr_assert_eq(l.rc, 0, "%s", l.argv[0]);
	out = steal(&l.result.out);
	proc_result_done(&l.result);
	return out;
}

#define PRINTED(...) look_printed((struct look){.argv = {__VA_ARGS__}})

/* A network with a bridge br0 whose MTU is 1400, at 192.0.2.1, and an empty
 * /run; what comes there goes with the test.  Skips the test where that is not
 * to be had.  To be called before there are tasks: their threads are made once.
 */
static inline void own_node(void)
{
	auto_free char *made = NULL, *up = NULL, *address = NULL;

	if (access("/dev/net/tun", W_OK) < 0 ||
	    unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("run", "/run", "tmpfs", 0, NULL) < 0)
		cr_skip_test("no network and mounts of our own");
	made = PRINTED("ip", "link", "add", "br0", "type", "bridge");
	up = PRINTED("ip", "link", "set", "br0", "mtu", "1400", "up");
	address = PRINTED("ip", "address", "add", "192.0.2.1/24", "dev", "br0");
}

#endif
