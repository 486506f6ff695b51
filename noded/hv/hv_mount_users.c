/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes use a mounted file system: have their root, their working
 * folder, their program or an open file there.
 *
 * What a link of a process leads to may be on a network file system, whose
 * server may hang: all of this runs beside the loop. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "noded/hv/hv_mount.h"

#define COMM_MAX 256
#define NAMED_MAX 5

/* What is done to each; false: no others are wanted. */
typedef bool user_fn(void *arg, pid_t pid);

static bool leads_to(const char *link, dev_t device)
{
	struct stat st;

	return stat(link, &st) == 0 && st.st_dev == device;
}

static bool has_file_open(const char *process, dev_t device)
{
	auto_free char *folder = xprintf("%s/fd", process);
	auto_strv struct strv names = {0};
	struct error gone;

	if (fs_list(folder, &names, &gone) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *link = xprintf("%s/%s", folder, names.items[i]);

		if (leads_to(link, device))
			return true;
	}
	return false;
}

static bool uses(const char *pid, dev_t device)
{
	static const char *const links[] = {"root", "cwd", "exe"};
	auto_free char *process = xprintf("/proc/%s", pid);

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		auto_free char *link = xprintf("%s/%s", process, links[i]);

		if (leads_to(link, device))
			return true;
	}
	return has_file_open(process, device);
}

static void each_user(dev_t device, user_fn *f, void *arg)
{
	auto_strv struct strv names = {0};
	struct error err;
	bool more = true;
	int64_t pid;

	if (fs_list("/proc", &names, &err) < 0)
		return;
	for (size_t i = 0; more && i < names.n; i++)
		if (str_all_digits(names.items[i]) &&
		    str_to_int64(names.items[i], &pid) && pid != getpid() &&
		    uses(names.items[i], device))
			more = f(arg, (pid_t)pid);
}

struct signalling {
	int sig;
	bool any;
};

static bool signal_one(void *arg, pid_t pid)
{
	struct signalling *s = arg;

	s->any = true;
	if (s->sig != 0)
		kill(pid, s->sig); /* it may have ended meanwhile */
	return s->sig != 0;
}

bool hv_mount_signal(dev_t device, int sig)
{
	struct signalling s = {.sig = sig};

	task_leave();
	each_user(device, signal_one, &s);
	task_enter();
	return s.any;
}

static bool name_one(void *arg, pid_t pid)
{
	auto_free char *file = xprintf("/proc/%d/comm", (int)pid);
	struct error gone;
	auto_free char *comm = fs_read(file, COMM_MAX, NULL, &gone);
	struct strv *names = arg;

	if (comm == NULL)
		return true;
	comm[strcspn(comm, "\n")] = '\0';
	str_repair_utf8(comm);
	strv_addf(names, "%d (%s)", (int)pid, comm);
	return names->n < NAMED_MAX;
}

char *hv_mount_users(dev_t device)
{
	auto_strv struct strv names = {0};

	task_leave();
	each_user(device, name_one, &names);
	task_enter();
	return strv_join(&names, ", ");
}
