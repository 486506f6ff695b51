/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: cpu_mask: which CPUs of the host an instance may run on.  One list is
 * for all of its threads, several are for its vCPUs, whose threads the monitor
 * names. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"

static void split_mask(const json_t *hv, struct strv *ret_lists)
{
	const char *mask = json_str(hv, "cpu_mask", "");

	if (*mask != '\0' && strcmp(mask, "all") != 0)
		str_split(ret_lists, mask, ':');
}

/* "3" or "1-4" */
static int add_range(const char *range, cpu_set_t *set, struct error *err)
{
	auto_strv struct strv ends = {0};
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int64_t first = -1, last = -1;

	str_split(&ends, range, '-');
	if (ends.n >= 1 && ends.n <= 2 && str_to_int64(ends.items[0], &first))
		str_to_int64(ends.items[ends.n - 1], &last);
	if (first < 0 || last < first)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "'%s' of cpu_mask is no CPU and no range of "
				 "CPUs",
				 range);
	if (last >= cpus || last >= CPU_SETSIZE)
		return error_set(
			err, ERR_HYPERVISOR, NULL,
			"cpu_mask names CPU %jd, but this node has CPUs "
			"0 to %ld only",
			(intmax_t)last, cpus - 1);
	for (int64_t cpu = first; cpu <= last; cpu++)
		CPU_SET((size_t)cpu, set);
	return 0;
}

static int read_list(const char *list, cpu_set_t *ret, struct error *err)
{
	auto_strv struct strv ranges = {0};
	cpu_set_t set;

	CPU_ZERO(&set);
	if (strcmp(list, "all") == 0)
		memset(&set, 0xff, sizeof(set));
	else
		str_split(&ranges, list, ',');
	for (size_t i = 0; i < ranges.n; i++)
		if (add_range(ranges.items[i], &set, err) < 0)
			return -1;
	*ret = set;
	return 0;
}

int kvm_check_mask(const json_t *hv, struct error *err)
{
	auto_strv struct strv lists = {0};
	cpu_set_t set;

	split_mask(hv, &lists);
	for (size_t i = 0; i < lists.n; i++)
		if (read_list(lists.items[i], &set, err) < 0)
			return -1;
	return 0;
}

static int pin_thread(pid_t thread, const char *list, struct error *err)
{
	cpu_set_t set;

	if (read_list(list, &set, err) < 0)
		return -1;
	if (sched_setaffinity(thread, sizeof(set), &set) == 0)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Cannot bind thread %d to the CPUs %s: %s",
			 (int)thread, list, strerror(errno));
}

/* New threads inherit the CPUs of the thread that makes them. */
static int pin_all(pid_t pid, const char *list, struct error *err)
{
	auto_free char *folder = xprintf("/proc/%d/task", (int)pid);
	auto_strv struct strv threads = {0};
	int64_t thread;

	if (fs_list(folder, &threads, err) < 0)
		return -1;
	for (size_t i = 0; i < threads.n; i++)
		if (str_to_int64(threads.items[i], &thread) &&
		    pin_thread((pid_t)thread, list, err) < 0)
			return -1;
	return 0;
}

static int check_count(size_t n_lists, size_t n_vcpus, struct error *err)
{
	if (n_lists == n_vcpus)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "cpu_mask has %zu lists of CPUs for %zu vCPUs",
			 n_lists, n_vcpus);
}

int kvm_pin(const struct paths *p, const json_t *instance, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_strv struct strv lists = {0};
	auto_json json_t *vcpus = NULL;

	split_mask(json_get(instance, "hvparams"), &lists);
	if (lists.n == 0)
		return 0;
	if (lists.n == 1)
		return pin_all(kvm_running_pid(p, name), lists.items[0], err);
	vcpus = kvm_monitor(p, name, "query-cpus-fast", NULL, err);
	if (vcpus == NULL ||
	    check_count(lists.n, json_array_size(vcpus), err) < 0)
		return -1;
	for (size_t i = 0; i < lists.n; i++) {
		const json_t *vcpu = json_array_get(vcpus, i);
		int64_t index = json_int(vcpu, "cpu-index", (int64_t)i);

		if (index >= 0 && (size_t)index < lists.n &&
		    pin_thread((pid_t)json_int(vcpu, "thread-id", 0),
			       lists.items[index], err) < 0)
			return -1;
	}
	return 0;
}
