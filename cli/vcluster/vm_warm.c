/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes that begin with the state of a machine that has booted.
 *
 * Emulated, a machine takes a minute until it has booted and our packages are
 * installed, and all nodes do the same.  So one does it, without a seed, which
 * is what makes it a node; it says that it waits for that (WARM, see
 * gantry-node-image), and QEMU writes its state into its disks.  Nodes begin
 * with copies of these disks and find a seed.
 *
 * A state is kept beside the image under a name that is made of all that QEMU
 * must find again: hardware, program, packages. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/vm.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define FORMAT "1" /* of the names of states */
#define PREFIX "warm-"
#define KEPT 3 /* states of an image: those used last */
#define DEB_MAX (256 * 1024 * 1024)
#define LOG_MAX (4 * 1024 * 1024)
#define MAKE_US (600 * INT64_C(1000000))
#define END_US (30 * INT64_C(1000000))
#define POLL_NS (100 * 1000 * 1000)

/* --- which state --- */

static int64_t size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* The size that all seeds have; -1: they differ. */
static int64_t seed_size(const struct vcluster *v)
{
	int64_t first = -1;

	for (size_t i = 0; i < v->n; i++) {
		auto_free char *seed = vm_qemu_file(v, &v->nodes[i], VM_SEED);
		int64_t size = size_of(seed);

		if (i == 0)
			first = size;
		if (size != first)
			return -1;
	}
	return first;
}

/* Names and contents of our packages. */
static void add_packages(const char *folder, struct buf *key)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (fs_list(folder, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", folder, names.items[i]);
		size_t len = 0;
		auto_free char *text = NULL;

		if (!str_ends(file, ".deb"))
			continue;
		text = fs_read(file, DEB_MAX, &len, &err);
		buf_addf(key, "%s %016" PRIx64 "\n", names.items[i],
			 text == NULL ? 0 : bytes_hash(text, len));
	}
}

/* The name of the state that fits, to be freed. */
static char *name_of(const struct vcluster *v, const struct vcluster_options *o)
{
	auto_free char *programs = hosts_file(v, "programs.img");
	auto_free char *disks = json_text(v->disks);
	auto_buf struct buf key = {0};
	struct stat qemu = {0};

	stat(vcluster_qemu(), &qemu);
	buf_addf(&key, FORMAT " %s %jd %jd %s\n", vcluster_qemu(),
		 (intmax_t)qemu.st_size, (intmax_t)qemu.st_mtime,
		 vm_accel(v->image));
	buf_addf(&key, "%d %d %s %jd %jd %d\n", v->memory_mib, v->second, disks,
		 (intmax_t)size_of(programs), (intmax_t)seed_size(v),
		 vm_wants_xen(v->hypervisor));
	if (o->debs != NULL)
		add_packages(o->debs, &key);
	return xprintf(PREFIX "%016" PRIx64, bytes_hash(key.data, key.len));
}

/* --- disks --- */

/* The name of disk number i of a machine, from 0; to be freed. */
static char *disk_name(size_t i)
{
	return i == 0 ? xstrdup("root.qcow2") : xprintf("data%zu.qcow2", i - 1);
}

static int copy_disks(const struct vcluster *v, const char *from,
		      const char *to, struct error *err)
{
	for (size_t i = 0; i <= json_array_size(v->disks); i++) {
		auto_free char *name = disk_name(i);
		auto_free char *source = xprintf("%s/%s", from, name);
		auto_free char *target = xprintf("%s/%s", to, name);
		const char *const argv[] = {"cp",   "--reflink=auto", "--",
					    source, target,	      NULL};

		if (vm_run(argv, NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* A node that has this file has not begun yet. */
static char *mark_of(const struct vcluster *v, const struct vcluster_node *node)
{
	return vm_qemu_file(v, node, "warm");
}

static int give(const struct vcluster *v, const struct vcluster_node *node,
		const char *warm, struct error *err)
{
	auto_free char *home = hosts_folder(v, node);
	auto_free char *mark = mark_of(v, node);

	return copy_disks(v, warm, home, err) < 0
		       ? -1
		       : fs_write_atomic(mark, "", 0, 0600, err);
}

/* --- to make one --- */

static bool waits(const struct vcluster *v, const struct vcluster_node *node)
{
	auto_free char *file = vm_qemu_file(v, node, "log");
	struct error err;
	auto_free char *text = fs_read(file, LOG_MAX, NULL, &err);

	return text != NULL && strstr(text, "WARM") != NULL;
}

static void pause_a_moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

static int await(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	int64_t deadline = clock_mono_us() + MAKE_US;

	while (!waits(v, node)) {
		if (vm_qemu_pid(v, node) == 0 || clock_mono_us() > deadline)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "A machine of the image %s does not "
					 "boot",
					 v->image);
		pause_a_moment();
	}
	return 0;
}

/* Its disks are whole when it has ended by itself. */
static int end(const struct vcluster *v, const struct vcluster_node *node,
	       struct error *err)
{
	int64_t deadline = clock_mono_us() + END_US;
	struct error ignored;

	vm_monitor(v, node, "quit", &ignored); /* it says nothing any more */
	while (vm_qemu_pid(v, node) != 0) {
		if (clock_mono_us() > deadline)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "QEMU of %s does not end", node->name);
		pause_a_moment();
	}
	return 0;
}

static int make_blank(const struct vcluster *v,
		      const struct vcluster_node *node, struct error *err)
{
	auto_free char *blank = vm_qemu_file(v, node, VM_BLANK);

	if (fs_write_atomic(blank, "", 0, 0600, err) < 0)
		return -1;
	if (truncate(blank, (off_t)seed_size(v)) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot write %s: %s",
			 blank, strerror(errno));
}

/* Boot the first node as the machine that is nobody's, and keep its state in
 * its disks. */
static int boot_template(const struct vcluster *v,
			 const struct vcluster_node *node, struct error *err)
{
	if (make_blank(v, node, err) < 0 ||
	    vm_qemu_start(v, node, VM_TEMPLATE, err) < 0)
		return -1;
	return await(v, node, err) < 0 ||
			       vm_monitor(v, node, "savevm " VM_STATE, err) < 0
		       ? -1
		       : end(v, node, err);
}

static int make(const struct vcluster *v, const char *warm, struct error *err)
{
	const struct vcluster_node *node = &v->nodes[0];
	auto_free char *home = hosts_folder(v, node);
	auto_free char *fresh = xprintf("%s.new", warm);
	struct error ignored;
	int rc;

	fprintf(stderr, "A machine is booted once, and nodes begin with its "
			"state: a minute or two\n");
	rc = boot_template(v, node, err);
	if (vm_qemu_kill(v, node, &ignored) < 0)
		return -1;
	if (rc < 0 || fs_remove_tree(fresh, err) < 0 ||
	    fs_mkdirs(fresh, 0755, err) < 0 ||
	    copy_disks(v, home, fresh, err) < 0)
		return -1;
	if (rename(fresh, warm) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot make %s: %s",
			 warm, strerror(errno));
}

/* --- those that are kept --- */

static int64_t used_at(const char *image, const char *name)
{
	auto_free char *folder = xprintf("%s/%s", image, name);
	struct stat st;

	return stat(folder, &st) == 0 ? (int64_t)st.st_mtime : 0;
}

/* Remove the one that was used longest ago while there are too many. */
static void prune(const char *image)
{
	auto_strv struct strv names = {0};
	const char *oldest = NULL;
	struct error err;
	size_t n = 0;

	if (fs_list(image, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		if (!str_starts(names.items[i], PREFIX))
			continue;
		n++;
		if (oldest == NULL ||
		    used_at(image, names.items[i]) < used_at(image, oldest))
			oldest = names.items[i];
	}
	if (n > KEPT) {
		auto_free char *folder = xprintf("%s/%s", image, oldest);

		fs_remove_tree(folder, &err);
	}
}

/* --- all of it --- */

/* One at a time makes a state, or copies one, or removes one. */
static int lock(const char *image)
{
	auto_free char *file = xprintf("%s/warm.lock", image);
	int64_t deadline = clock_mono_us() + MAKE_US;
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (clock_mono_us() > deadline) {
			close(fd);
			return -1;
		}
		pause_a_moment();
	}
	return fd;
}

static int empty_all(const struct vcluster *v, struct error *err)
{
	for (size_t i = 0; i < v->n; i++) {
		auto_free char *mark = mark_of(v, &v->nodes[i]);

		if (fs_remove(mark, err) < 0 ||
		    vm_disks_empty(v, &v->nodes[i], err) < 0)
			return -1;
	}
	return 0;
}

static int give_all(const struct vcluster *v, const char *warm,
		    struct error *err)
{
	if (!fs_exists(warm) && make(v, warm, err) < 0)
		return -1;
	utimensat(AT_FDCWD, warm, NULL, 0);
	for (size_t i = 0; i < v->n; i++)
		if (give(v, &v->nodes[i], warm, err) < 0)
			return -1;
	return 0;
}

int vm_warm(const struct vcluster *v, const struct vcluster_options *o,
	    struct error *err)
{
	auto_free char *name = NULL, *warm = NULL;
	auto_close int held = -1;

	if (strcmp(vm_accel(v->image), "kvm") == 0 || seed_size(v) < 0)
		return 0;
	held = lock(v->image);
	if (held < 0) /* somebody else's */
		return 0;
	name = name_of(v, o);
	warm = xprintf("%s/%s", v->image, name);
	if (give_all(v, warm, err) == 0) {
		prune(v->image);
		return 0;
	}
	fprintf(stderr, "%s; all nodes boot\n", err->text);
	return empty_all(v, err);
}

int vm_warm_start(const struct vcluster *v, const struct vcluster_node *node,
		  struct error *err)
{
	auto_free char *mark = mark_of(v, node);
	bool warm = fs_exists(mark);

	if (fs_remove(mark, err) < 0)
		return -1;
	if (!warm)
		return vm_qemu_start(v, node, VM_BOOT, err);
	if (vm_qemu_start(v, node, VM_WARM, err) == 0)
		return 0;
	fprintf(stderr,
		"%s does not begin with the state that is kept, and "
		"boots: %s\n",
		node->name, err->text);
	return vm_disks_empty(v, node, err) < 0
		       ? -1
		       : vm_qemu_start(v, node, VM_BOOT, err);
}
