/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM or emulation.  That /dev/kvm is there and can be opened does not say that
 * a kernel boots by it: where this machine is a virtual one itself it may not.
 * So the image's kernel is started once, with a first process that only says
 * that it is there. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/vm.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* MiB of translated code that it may keep.  Where they are full, all is thrown
 * away and translated anew, which takes seconds: a node that boots, joins and
 * runs guests fills 300.  Memory is taken as it is filled. */
#define TCG "tcg,tb-size=512"
#define PROBE_US 8000000
#define POLL_NS (50 * 1000 * 1000)
#define TEXT_MAX 65536

static bool says_so(const char *log)
{
	struct error err;
	auto_free char *text = fs_read(log, TEXT_MAX, NULL, &err);

	return text != NULL && strstr(text, "PROBED") != NULL;
}

/* What QEMU says of it is of no interest. */
static pid_t start_silent(const char *const *argv, struct error *err)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	pid_t pid;

	dup2(null, STDERR_FILENO);
	pid = run_start(argv, NULL, err);
	dup2(kept, STDERR_FILENO);
	return pid;
}

static bool boots(const char *image)
{
	auto_free char *kernel = xprintf("%s/vmlinuz", image);
	auto_free char *initrd = xprintf("%s/initrd.gz", image);
	auto_free char *log = xstrdup("/tmp/gantry-probe.XXXXXX");
	auto_close int fd = mkstemp(log);
	auto_free char *serial = xprintf("file:%s", log);
	const char *const argv[] = {vcluster_qemu(),
				    "-accel",
				    "kvm",
				    "-m",
				    "128",
				    "-display",
				    "none",
				    "-nodefaults",
				    "-no-user-config",
				    "-no-reboot",
				    "-kernel",
				    kernel,
				    "-initrd",
				    initrd,
				    "-append",
				    "console=ttyS0 panic=-1 gantry.probe",
				    "-serial",
				    serial,
				    NULL};
	int64_t deadline = clock_mono_us() + PROBE_US;
	struct error err;
	bool yes = false, ended = false;
	pid_t pid = fd < 0 ? -1 : start_silent(argv, &err);

	while (pid > 0 && !ended && !yes && clock_mono_us() < deadline) {
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
		yes = says_so(log);
		ended = waitpid(pid, NULL, WNOHANG) == pid;
	}
	if (pid > 0 && !ended) {
		kill(pid, SIGKILL);
		run_wait(pid);
	}
	unlink(log);
	return yes;
}

/* This start of the machine; to be freed. */
static char *boot_id(void)
{
	struct error err;
	char *id = fs_read("/proc/sys/kernel/random/boot_id", TEXT_MAX, NULL,
			   &err);

	return id == NULL ? xstrdup("?") : id;
}

const char *vm_accel(const char *image)
{
	auto_close int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	auto_free char *id = boot_id();
	auto_free char *file = xprintf("%s/accel", image);
	auto_free char *yes = xprintf("kvm %s", id);
	auto_free char *no = xprintf("tcg %s", id);
	struct error err;
	auto_free char *noted = NULL;
	bool works;

	if (kvm < 0)
		return TCG;
	noted = fs_read(file, TEXT_MAX, NULL, &err);
	if (str_eq(noted, yes))
		return "kvm";
	if (str_eq(noted, no))
		return TCG;
	works = boots(image);
	/* An image of somebody else's is tried each time. */
	fs_write_atomic(file, works ? yes : no, strlen(works ? yes : no), 0644,
			&err);
	return works ? "kvm" : TCG;
}
