/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: how much memory a running container may use: a limit for memory, and one
 * for memory and swap together where the kernel counts swap. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

static const struct lxc_key memory_key = {"memory", "memory.limit_in_bytes",
					  "memory.max"};
/* With version 2 swap has a limit of its own, which is none from the start. */
static const struct lxc_key swap_key = {"memory", "memory.memsw.limit_in_bytes",
					NULL};

/* The first of n values that is refused, or n. */
static size_t set(pid_t pid, const struct lxc_key *const *keys, size_t n,
		  const char *value, int *ret_errno, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (lxc_cgroup_write(pid, keys[i], value, ret_errno, err) < 0)
			return i;
	return n;
}

/* The limit of both must never be below that of memory alone, so the order
 * depends on the direction. */
static int set_limits(pid_t pid, const char *name, const char *old,
		      int64_t bytes, struct error *err)
{
	const struct lxc_key *keys[2] = {&memory_key, NULL};
	auto_free char *value = xprintf("%" PRId64, bytes);
	struct error ignored;
	auto_free char *swap = lxc_cgroup_read(pid, &swap_key, &ignored);
	size_t n = swap != NULL ? 2 : 1, done;
	int64_t old_bytes = INT64_MAX;
	int why = 0;

	if (n == 2) {
		bool shrinks =
			!str_to_int64(old, &old_bytes) || bytes <= old_bytes;

		keys[shrinks ? 1 : 0] = &swap_key;
		keys[shrinks ? 0 : 1] = &memory_key;
	}
	done = set(pid, keys, n, value, &why, err);
	if (done == n)
		return 0;
	set(pid, keys, done, old, &why, &ignored);
	if (why == EBUSY)
		log_warning("instance %s uses more memory than that", name);
	return error_wrap(err, "Failed to balloon the memory of %s", name);
}

int lxc_balloon(const struct paths *p, const json_t *instance, int64_t memory,
		struct error *err)
{
	const char *name = json_str(instance, "name", "");
	pid_t pid = lxc_pid(p, name, err);
	auto_free char *old = NULL;

	if (pid == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to balloon the memory of %s: not "
				 "running",
				 name);
	if (pid < 0)
		return -1;
	old = lxc_cgroup_read(pid, &memory_key, err);
	if (old == NULL)
		return -1;
	return set_limits(pid, name, old, memory * 1024 * 1024, err);
}
