/* SPDX-License-Identifier: BSD-2-Clause */
/* The file system of a container: this machine's folders, each under an overlay
 * that takes the node's changes, with a /run, /tmp, /proc, /sys and /dev of its
 * own, and with the cluster's folder where it is.  The changes are on disk, in
 * ".machine/<node>/disk", where they begin with what hosts_stage() has put, and
 * outlive a power cut; /run and /tmp do not.
 *
 * What a cluster of this machine's own has in these folders is hidden: as
 * overlays have it, by an attribute of a folder or a device in place of a file.
 * Nothing in a node reaches the volumes of this machine or its reset: the tools
 * of LVM and DRBD are replaced by such as fail, sysrq-trigger leads nowhere. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/machine.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* Those of this machine that a node sees, where they are folders; as links they
 * are links there, too. */
static const char *const shown[] = {
	"bin", "etc",  "home", "lib", "lib32", "lib64", "libx32",
	"opt", "root", "sbin", "srv", "usr",   "var",
};

#define SHARED ".shared" /* what all nodes of the cluster have in common */

static int fail(struct error *err, const char *what, const char *where)
{
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot %s %s: %s",
			 what, where, strerror(errno));
}

int machine_tree_check(const char *dir, struct error *err)
{
	auto_free char *parent = xstrdup(dir);
	auto_free char *real = NULL;

	while (real == NULL && *parent != '\0') {
		real = realpath(parent, NULL);
		*strrchr(parent, '/') = '\0';
	}
	for (size_t i = 0; real != NULL && i < ARRAY_SIZE(shown); i++) {
		auto_free char *folder = xprintf("/%s", shown[i]);
		size_t n = strlen(folder);

		if (strncmp(real, folder, n) == 0 &&
		    (real[n] == '/' || real[n] == '\0'))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Nodes that are containers show the "
					 "folder %s of this machine, so the "
					 "cluster cannot lie in it; choose one "
					 "like /tmp/cluster",
					 folder);
	}
	return 0;
}

/* --- what it begins with --- */

/* A tool that would reach this machine's volumes. */
static int disarm(const char *disk, const char *name, struct error *err)
{
	static const char text[] = "#!/bin/sh\n"
				   "# No volumes in containers.\n"
				   "exit 5\n";
	auto_free char *file = xprintf("%s/usr/sbin/%s", disk, name);
	auto_free char *folder = xprintf("%s/usr/sbin", disk);

	return fs_mkdirs(folder, 0755, err) < 0
		       ? -1
		       : fs_write_atomic(file, text, sizeof(text) - 1, 0755,
					 err);
}

/* Only what is in the upper folder is seen. */
static int hide(const char *disk, const char *name, struct error *err)
{
	auto_free char *folder = xprintf("%s%s", disk, name);

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	return setxattr(folder, "trusted.overlay.opaque", "y", 1, 0) < 0
		       ? fail(err, "mark the folder", folder)
		       : 0;
}

static int hide_file(const char *disk, const char *name, struct error *err)
{
	auto_free char *file = xprintf("%s%s", disk, name);
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	return mknod(file, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST
		       ? fail(err, "make", file)
		       : 0;
}

/* Relative, so that they lead to the same place from outside. */
static int link_run(const char *disk, struct error *err)
{
	auto_free char *run = xprintf("%s/var/run", disk);
	auto_free char *lock = xprintf("%s/var/lock", disk);

	if (fs_remove_tree(run, err) < 0 || fs_remove_tree(lock, err) < 0)
		return -1;
	return symlink("../run", run) < 0 || symlink("../run/lock", lock) < 0
		       ? fail(err, "link", run)
		       : 0;
}

int machine_tree_stage(const struct vcluster *v,
		       const struct vcluster_node *node,
		       const struct vcluster_options *o, struct error *err)
{
	static const char *const hidden[] = {
		"/etc/ganeti",	   "/root/.ssh",      "/srv/ganeti",
		"/var/lib/ganeti", "/var/log/ganeti", "/usr/share/ganeti/os",
	};
	/* The last ones begin each command over SSH, for whoever has them. */
	static const char *const hidden_files[] = {
		"/etc/default/ganeti", "/root/.bashrc",	 "/root/.bash_profile",
		"/root/.bash_login",   "/root/.profile", "/root/.zshenv",
	};
	static const char *const tools[] = {"lvm", "drbdsetup", "drbdadm",
					    "drbdmeta"};
	auto_free char *home = hosts_folder(v, node);
	auto_free char *disk = xprintf("%s/disk", home);
	auto_free char *programs = hosts_programs();

	if (hosts_stage(v, node, o, programs, disk, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (hide(disk, hidden[i], err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (disarm(disk, tools[i], err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(hidden_files); i++)
		if (hide_file(disk, hidden_files[i], err) < 0)
			return -1;
	return link_run(disk, err);
}

/* --- what is mounted --- */

static int overlay(const char *home, const char *root, const char *name,
		   struct error *err)
{
	auto_free char *upper = xprintf("%s/disk/%s", home, name);
	auto_free char *work = xprintf("%s/work/%s", home, name);
	auto_free char *target = xprintf("%s/%s", root, name);
	auto_free char *options = xprintf("lowerdir=/%s,upperdir=%s,workdir=%s",
					  name, upper, work);

	if (fs_mkdirs(upper, 0755, err) < 0 || fs_mkdirs(work, 0755, err) < 0 ||
	    fs_mkdirs(target, 0755, err) < 0)
		return -1;
	if (mount("overlay", target, "overlay", 0, options) < 0)
		return fail(err, "mount an overlay at", target);
	return 0;
}

static int show(const char *home, const char *root, const char *name,
		struct error *err)
{
	auto_free char *here = xprintf("/%s", name);
	auto_free char *there = xprintf("%s/%s", root, name);
	char target[PATH_MAX];
	ssize_t n = readlink(here, target, sizeof(target) - 1);

	if (n > 0) {
		target[n] = '\0';
		return symlink(target, there) < 0 ? fail(err, "link", there)
						  : 0;
	}
	return fs_is_dir(here) ? overlay(home, root, name, err) : 0;
}

static int bind_to(const char *from, const char *root, const char *to,
		   unsigned long flags, struct error *err)
{
	auto_free char *target = xprintf("%s%s", root, to);

	if (!fs_exists(target) && fs_mkdirs(target, 0755, err) < 0)
		return -1;
	if (mount(from, target, NULL, MS_BIND | flags, NULL) < 0)
		return fail(err, "mount at", target);
	return 0;
}

static int fresh(const char *root, const char *name, const char *options,
		 struct error *err)
{
	auto_free char *target = xprintf("%s/%s", root, name);

	if (fs_mkdirs(target, 0755, err) < 0)
		return -1;
	if (mount("tmpfs", target, "tmpfs", 0, options) < 0)
		return fail(err, "mount at", target);
	return 0;
}

/* Our programs, where they are no part of what is shown anyway. */
static int show_programs(const char *root, struct error *err)
{
	auto_free char *folder = hosts_programs();
	auto_free char *top = NULL;

	if (str_starts(folder, "/usr/"))
		return 0;
	top = xstrndup(folder, (size_t)(strrchr(folder, '/') - folder));
	if (bind_to(top, root, top, 0, err) < 0)
		return -1;
	return bind_to(top, root, top, MS_REMOUNT | MS_RDONLY, err);
}

int machine_tree(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	auto_free char *home = hosts_folder(v, node);
	auto_free char *root = xprintf("%s/root", home);
	auto_free char *shared = xprintf("%s/shared-file-storage", v->dir);

	if (fs_mkdirs(root, 0755, err) < 0)
		return -1;
	/* Of its former life, if there was one. */
	umount2(root, MNT_DETACH);
	if (mount("tmpfs", root, "tmpfs", 0, "mode=755") < 0)
		return fail(err, "mount at", root);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (show(home, root, shown[i], err) < 0)
			return -1;
	if (fresh(root, "run", "mode=755", err) < 0 ||
	    fresh(root, "tmp", "mode=1777", err) < 0 ||
	    bind_to("/dev", root, "/dev", MS_REC, err) < 0 ||
	    bind_to(shared, root, "/" SHARED, 0, err) < 0 ||
	    bind_to(v->dir, root, v->dir, 0, err) < 0)
		return -1;
	return show_programs(root, err);
}

/* --- as the root of a process --- */

/* Those that belong to the namespaces of who mounts them. */
static int mount_kernel(struct error *err)
{
	static const struct {
		const char *type, *target, *options;
	} mounts[] = {
		{"proc", "/proc", NULL},
		{"sysfs", "/sys", NULL},
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620"},
		{"tmpfs", "/dev/shm", "mode=1777"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].target, 0755);
		if (mount(mounts[i].type, mounts[i].target, mounts[i].type, 0,
			  mounts[i].options) < 0)
			return fail(err, "mount", mounts[i].target);
	}
	machine_cgroup_mount();
	if (mkdir("/run/lock", 01777) < 0 || mkdir("/run/sshd", 0755) < 0)
		return fail(err, "make folders in", "/run");
	/* Not from outside, where a link in the path would lead out. */
	if (mount("/" SHARED, HOSTS_SHARED_DIR, NULL, MS_BIND, NULL) < 0)
		return fail(err, "mount at", HOSTS_SHARED_DIR);
	/* What gnt-node powercycle writes there would reset this machine. */
	if (fs_exists("/proc/sysrq-trigger") &&
	    mount("/dev/null", "/proc/sysrq-trigger", NULL, MS_BIND, NULL) < 0)
		return fail(err, "cover", "/proc/sysrq-trigger");
	return 0;
}

int machine_tree_enter(const struct vcluster *v,
		       const struct vcluster_node *node, struct error *err)
{
	auto_free char *home = hosts_folder(v, node);
	auto_free char *root = xprintf("%s/root", home);

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(root, root, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    chdir(root) < 0)
		return fail(err, "enter", root);
	/* The old root lies on top of the new one until it is taken off. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return fail(err, "change the root to", root);
	return mount_kernel(err);
}
