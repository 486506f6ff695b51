/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: how much memory a running container may use: a limit for memory, and one
 * for memory and swap together where the kernel counts swap.
 *
 * Version 1 of control groups refuses a limit below what is used (EBUSY).
 * Version 2 takes each one and kills processes until it is kept, so there the
 * limit is compared with what is used before.  A container that takes more
 * memory between the two steps may still lose a process. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

static const struct lxc_key memory_key = {"memory", "memory.limit_in_bytes",
					  "memory.max"};
/* With version 2 swap has a limit of its own, which is none from the start. */
static const struct lxc_key swap_key = {"memory", "memory.memsw.limit_in_bytes",
					NULL};

#define STAT_MAX (64 * 1024)

/* The number in a line "name number" of such a text; 0: there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *rest;
	uint64_t n = 0;

	for (const char *line = text; *line != '\0';) {
		if (str_starts(line, name) && line[len] == ' ')
			return str_to_number(line + len + 1, INT64_MAX, &n,
					     &rest)
				       ? n
				       : 0;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return 0;
}

int lxc_memory_needed(const char *folder, int64_t *ret, struct error *err)
{
	/* What tmpfs has is not among these, but counted as memory. */
	static const char *const reclaimable[] = {
		"inactive_file", "active_file", "slab_reclaimable"};
	auto_free char *current = xprintf("%s/memory.current", folder);
	auto_free char *stat = xprintf("%s/memory.stat", folder);
	auto_free char *used = fs_read(current, STAT_MAX, NULL, err);
	auto_free char *parts =
		used == NULL ? NULL : fs_read(stat, STAT_MAX, NULL, err);
	uint64_t n = 0;
	const char *rest;

	if (parts == NULL)
		return -1;
	if (!str_to_number(used, INT64_MAX, &n, &rest))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "%s has no number in it", current);
	for (size_t i = 0; i < ARRAY_SIZE(reclaimable); i++) {
		uint64_t part = number_of(parts, reclaimable[i]);

		n -= part < n ? part : n;
	}
	*ret = (int64_t)n;
	return 0;
}

/* What the kernel checks itself in version 1; its words, too. */
static int check_fits(pid_t pid, int64_t bytes, int *ret_errno,
		      struct error *err)
{
	auto_free char *folder = NULL;
	int version =
		lxc_cgroup_place(pid, memory_key.controller, &folder, err);
	int64_t needed;

	if (version == 1)
		return 0;
	if (version < 0 || lxc_memory_needed(folder, &needed, err) < 0)
		return -1;
	if (needed <= bytes)
		return 0;
	*ret_errno = EBUSY;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Cannot write %" PRId64 " to %s/%s: %s", bytes, folder,
			 memory_key.v2, strerror(EBUSY));
}

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
static int set_limits(pid_t pid, const char *old, int64_t bytes, bool shrinks,
		      int *ret_errno, struct error *err)
{
	const struct lxc_key *keys[2] = {&memory_key, NULL};
	auto_free char *value = xprintf("%" PRId64, bytes);
	struct error ignored;
	auto_free char *swap = lxc_cgroup_read(pid, &swap_key, &ignored);
	size_t n = swap != NULL ? 2 : 1, done;
	int none;

	if (n == 2) {
		keys[shrinks ? 1 : 0] = &swap_key;
		keys[shrinks ? 0 : 1] = &memory_key;
	}
	done = set(pid, keys, n, value, ret_errno, err);
	if (done == n)
		return 0;
	set(pid, keys, done, old, &none, &ignored);
	return -1;
}

static int change(pid_t pid, const char *name, const char *old, int64_t bytes,
		  struct error *err)
{
	int64_t old_bytes = INT64_MAX;
	bool shrinks = !str_to_int64(old, &old_bytes) || bytes <= old_bytes;
	int why = 0;

	if ((!shrinks || check_fits(pid, bytes, &why, err) == 0) &&
	    set_limits(pid, old, bytes, shrinks, &why, err) == 0)
		return 0;
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
	return change(pid, name, old, memory * 1024 * 1024, err);
}
